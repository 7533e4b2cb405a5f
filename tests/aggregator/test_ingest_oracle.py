"""The ingest's one path gives every upload the outcome of PROTOCOL §4, checked step by step."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from deniable_aggregator.ingest.checks import Upload, UploadContext, check_reports
from deniable_aggregator.ingest.extensions import Vouchers
from deniable_aggregator.keys.cohorts import Cohorts
from deniable_aggregator.store.rows import Arrival
from deniable_shared.envelope import seal
from deniable_shared.keylist import PublicKey
from deniable_shared.manifest import Manifest
from deniable_shared.problems import ReportError
from deniable_shared.report import (
    Extension,
    Plaintext,
    Report,
    ReportHeader,
    encode_upload,
    padded_size,
    seal_info,
)
from deniable_shared.voucher import decode_voucher, format_key, issue
from support.core_world import DAY, NOON, TODAY, TOML, World, authored, opened
from support.oracles import ingest as oracle

PROTOCOL = Path(__file__).parents[2] / "shared" / "PROTOCOL.md"
FEBRUARY = int(NOON) // DAY + 17  # the first epoch after the collections' life
CLOSED = TODAY - 1
STRANGE = Extension(7, b"strange")
KINDS = ("once", "grouped", "survey", "memoized")
MORE = {
    "grouped": "cohorts = 64\n",
    "survey": 'requires = ["voucher/1"]\n',
    "memoized": 'repeat = "memoized"\n',
}


@dataclass(frozen=True, slots=True)
class Draft:
    """One report to make: an honest one, but for the fields that a fault has changed.

    `flipped` is a place in the plaintext and what is added to its byte, `size` its size.
    """

    number: int = 0
    epoch: int = TODAY
    version: int = 1
    key_id: int = 1
    header: tuple[Extension, ...] = ()
    payload: bytes = b"\xa0"
    voucher: str = "right"
    strange: bool = False
    flipped: tuple[int, int] = (0, 0)
    size: int | None = None
    sealed_as: str = "this"


FAULTS: Mapping[str, Sequence[object]] = {
    "epoch": [0, TODAY - 15, TODAY - 14, TODAY - 3, CLOSED, TODAY + 1, FEBRUARY - 1, FEBRUARY],
    "version": [0, 3, 65_535],
    "key_id": [0, 3, 255],
    "header": [(STRANGE,)],
    "payload": [b"\x1f", b"\xff", b"\xa0\x00", bytes(9)],
    "voucher": ["none", "false", "of another epoch"],
    "strange": [True],
    "size": [128, 256],
    "sealed_as": ["another manifest", "another id", "cut", "damaged"],
}
HONEST = {"epoch": [TODAY - 2, TODAY], "version": [1, 2], "key_id": [1, 2]}
TIMES = [
    NOON,
    (TODAY + 1) * DAY - 300,
    (TODAY + 1) * DAY - 300.001,
    (TODAY + 3) * DAY,
    (TODAY + 3) * DAY + 0.001,
    FEBRUARY * DAY + 60,
]
TOKENS = [None, None, None, ReportError.TOKEN_REQUIRED, ReportError.TOKEN_INVALID]


FLIPPED = st.tuples(st.integers(0, 63), st.integers(1, 255))


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    """Mostly honest, with at most two faults."""
    fields: dict[str, Any] = {
        name: draw(st.sampled_from(values)) for name, values in HONEST.items()
    }
    names = draw(st.lists(st.sampled_from([*FAULTS, "flipped"]), max_size=2, unique=True))
    for name in names:
        fields[name] = draw(FLIPPED if name == "flipped" else st.sampled_from(FAULTS[name]))
    return Draft(number=draw(st.integers(0, 199)), **fields)


@dataclass
class Subject:
    """A service with four collections of two versions each, two keys and one epoch closed early."""

    world: World
    versions: dict[str, tuple[Manifest, Manifest]]
    keys: dict[int, PublicKey]
    held: oracle.CommitOracle = field(default_factory=oracle.CommitOracle)
    known_closed: set[tuple[str, int]] = field(default_factory=set)

    def report(self, kind: str, draft: Draft) -> Report:
        """Sealed as the draft says."""
        manifest = self.versions[kind][min(max(draft.version, 1), 2) - 1]
        header = ReportHeader(
            draft.number.to_bytes(16, "big"),
            draft.epoch,
            draft.version,
            draft.key_id,
            draft.header,
        )
        bound = header
        if draft.sealed_as == "another id":
            bound = replace(header, report_id=bytes(16))
        if draft.sealed_as == "another manifest":
            manifest = self.versions[kind][draft.version % 2]
        key = self.keys.get(draft.key_id, self.keys[1])
        info = seal_info(manifest.collection, manifest.digest, bound)
        sealed = seal(self.plaintext(manifest, draft), public_key=key.public_key, info=info)
        return Report(header, _spoilt(sealed, draft.sealed_as))

    def plaintext(self, manifest: Manifest, draft: Draft) -> bytes:
        extensions = self.vouchers(manifest, draft) + (STRANGE,) * draft.strange
        size = draft.size or padded_size(
            len(draft.payload), sum(4 + len(each.data) for each in extensions)
        )
        whole = bytearray(Plaintext(draft.payload, extensions).encode(size))
        place, change = draft.flipped
        whole[place] = (whole[place] + change) % 256
        return bytes(whole)

    def vouchers(self, manifest: Manifest, draft: Draft) -> tuple[Extension, ...]:
        """Three reports share a person, so that some vouchers are spent."""
        if not manifest.requires or draft.voucher == "none":
            return ()
        epoch = draft.epoch - 1 if draft.voucher == "of another epoch" else draft.epoch
        epoch, person = max(0, epoch), str(draft.number // 3)
        key = format_key(self.world.service.voucher_keys.of(manifest.collection, epoch))
        right = decode_voucher(
            issue(key, collection=manifest.collection, epoch=epoch, person=person)
        )
        return (Extension(1, bytes(32) if draft.voucher == "false" else right),)

    def context(self, kind: str, token_error: ReportError | None) -> UploadContext:
        service = self.world.service
        return UploadContext(
            collection=service.registry.get(self.versions[kind][0].collection),
            now=self.world.clock(),
            token_error=token_error,
            closed=frozenset(self.known_closed),
            opener=service.keys.opener,
            verifiers={"voucher/1": Vouchers(service.voucher_keys.of)},
            cohorts=Cohorts.open(service.settings.data / "keys"),
        )

    def expected(
        self, reports: Sequence[Report], context: UploadContext
    ) -> list[ReportError | None]:
        """What the upload is answered; the oracle's store holds the reports afterwards."""
        outcomes = [oracle.outcome(report, context) for report in reports]
        arrivals = [each for each in outcomes if isinstance(each, Arrival)]
        codes = self.held.commit(arrivals)
        self.known_closed |= {
            (arrival.cell.collection, arrival.cell.epoch)
            for arrival, code in zip(arrivals, codes, strict=True)
            if code is ReportError.EPOCH_CLOSED
        }
        committed = iter(codes)
        return [next(committed) if isinstance(each, Arrival) else each for each in outcomes]

    def upload(self, kind: str, reports: Sequence[Report], token: ReportError | None) -> None:
        """Through ingest and store: codes and tallies are the oracle's."""
        alone = len(reports) == 1 and token is ReportError.TOKEN_REQUIRED
        context = self.context(kind, None if alone else token)
        expected = self.expected(reports, context)
        failed = self.world.service.ingest.upload(
            context.collection.id,
            encode_upload(reports),
            prefix=None,
            relay=token is None,
            token_refused=token is ReportError.TOKEN_INVALID,
        )
        assert Counter((each.report_id, each.error) for each in failed) == Counter(
            (report.header.report_id, code)
            for report, code in zip(reports, expected, strict=True)
            if code is not None
        )
        assert self.counted(context.collection.id) == self.deserved(context)

    def counted(self, collection: str) -> dict[object, tuple[int, list[int]]]:
        rows = self.world.service.store.tallies(collection, 0, 2**32)
        return {row.cell: (row.n, row.tally.tolist()) for row in rows}

    def deserved(self, context: UploadContext) -> dict[object, tuple[int, list[int]]]:
        tally = context.collection.estimator.tally
        return {
            cell: (len(payloads), tally(np.frombuffer(b"".join(payloads), "u1")[:, None]).tolist())
            for cell, payloads in self.held.reports.items()
            if cell.collection == context.collection.id
        }


def _spoilt(sealed: bytes, how: str) -> bytes:
    if how == "cut":
        return sealed[:-1]
    return sealed[:-1] + bytes([sealed[-1] ^ 1]) if how == "damaged" else sealed


def _versions(kind: str) -> tuple[Manifest, Manifest]:
    text = MORE.get(kind, "") + TOML.replace('"settings"', f'"{kind}"')
    first = authored(text)
    return first, authored(text.replace("Which", "What"), previous=first)


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    with opened(tmp_path_factory.mktemp("oracle")) as world:
        service, versions = world.service, {kind: _versions(kind) for kind in KINDS}
        held = oracle.CommitOracle()
        for manifest in (manifest for pair in versions.values() for manifest in pair):
            service.registry.apply(world.signed(manifest), audit=None)
            service.store.close_epoch(manifest.collection, CLOSED, world.clock(), audit=None)
            held.closed.add((manifest.collection, CLOSED))
        service.keys.rotate(at_once=True, audit=None)
        yield Subject(world, versions, {key.id: key for key in world.key_list().keys}, held)


uploads = given(
    kind=st.sampled_from(KINDS),
    batch=st.lists(drafts(), min_size=1, max_size=8),
    now=st.sampled_from(TIMES),
    token=st.sampled_from(TOKENS),
)


@uploads
@examples(max_examples=300)
def test_checks_have_the_oracles_outcomes(
    subject: Subject, kind: str, batch: list[Draft], now: float, token: ReportError | None
) -> None:
    subject.world.clock.now = now
    reports = [subject.report(kind, draft) for draft in batch]
    context = replace(
        subject.context(kind, token), closed={(subject.versions[kind][0].collection, CLOSED)}
    )
    outcomes = [(each, oracle.outcome(each, context)) for each in reports]
    arrivals, failed = check_reports(Upload.decode(encode_upload(reports)), context)
    assert arrivals == [each for _, each in outcomes if isinstance(each, Arrival)]
    assert [(each.report_id, each.error) for each in failed] == [
        (report.header.report_id, each)
        for report, each in outcomes
        if isinstance(each, ReportError)
    ]


@uploads
@examples(max_examples=150)
def test_an_upload_has_the_oracles_answer_and_tallies(
    subject: Subject, kind: str, batch: list[Draft], now: float, token: ReportError | None
) -> None:
    subject.world.clock.now = now
    subject.upload(kind, [subject.report(kind, draft) for draft in batch], token)


EVERY: Sequence[tuple[ReportError | None, str, Draft]] = [
    (None, "once", Draft()),
    (ReportError.EPOCH_CLOSED, "once", Draft(epoch=TODAY - 3)),
    (ReportError.EPOCH_CLOSED, "grouped", Draft(epoch=CLOSED)),
    (ReportError.CANNOT_OPEN, "grouped", Draft(sealed_as="damaged")),
    (ReportError.INVALID_MESSAGE, "once", Draft(size=128)),
    (ReportError.INVALID_MESSAGE, "memoized", Draft(payload=b"\xff")),
    (ReportError.TOO_EARLY, "once", Draft(epoch=TODAY + 1)),
    (ReportError.NOT_STARTED, "once", Draft(epoch=0)),
    (ReportError.OUTDATED_KEY, "memoized", Draft(key_id=3)),
    (ReportError.MANIFEST_UNKNOWN, "memoized", Draft(version=3)),
    (ReportError.UNKNOWN_EXTENSION, "once", Draft(header=(STRANGE,))),
    (ReportError.UNKNOWN_EXTENSION, "survey", Draft(strange=True)),
    (ReportError.VOUCHER_REQUIRED, "survey", Draft(voucher="none")),
    (ReportError.VOUCHER_INVALID, "survey", Draft(voucher="of another epoch")),
]


def test_every_code_is_reached_by_both_paths(subject: Subject) -> None:
    subject.world.clock.now = NOON
    for code, kind, draft in EVERY:
        report = subject.report(kind, replace(draft, number=300))
        assert subject.expected([report], subject.context(kind, None)) == [code]
        subject.upload(kind, [report], None)
    spent = [subject.report("survey", Draft(number=number)) for number in (303, 304)]
    subject.upload("survey", spent[:1], None)
    assert subject.expected(spent[1:], subject.context("survey", None)) == [
        ReportError.VOUCHER_SPENT
    ]
    subject.upload("survey", spent[1:], None)
    subject.world.clock.now = FEBRUARY * DAY + 60
    late = subject.report("once", Draft(epoch=FEBRUARY))
    assert oracle.outcome(late, subject.context("once", None)) is ReportError.COLLECTION_EXPIRED
    subject.upload("once", [late], None)
    subject.upload("once", [subject.report("once", Draft(epoch=FEBRUARY - 1))], None)
    for token in (ReportError.TOKEN_REQUIRED, ReportError.TOKEN_INVALID):
        subject.upload("once", [late, late], token)


def test_the_oracle_checks_in_the_protocols_order() -> None:
    said = re.search(r"### Order of checks\n\n(.*?)\n\n", PROTOCOL.read_text(), re.DOTALL)
    assert said is not None
    steps = re.split(r" → |, (?=ended)", " ".join(said[1].split()).partition(". The sizes")[0])
    assert steps[steps.index("collection") + 1 : steps.index("commit")] == [
        "relay's token",
        "too early",
        "not started",
        "ended",
        "epoch closed",
        "manifest version",
        "key",
        "header extensions",
        "opens",
        "plaintext extensions",
        "payload valid",
    ]
    assert [check.__name__ for check in oracle.CHECKS] == [
        "token_fits",
        "not_too_early",
        "collection_has_started",
        "collection_has_not_ended",
        "epoch_is_open",
        "manifest_is_known",
        "key_is_current",
        "header_has_no_extension",
        "opens",
        "inside_is_a_message",
        "extensions_are_those_required",
        "payload_is_possible",
    ]
