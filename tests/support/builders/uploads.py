"""Reports with any part made wrong, for collections of four kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from deniable_shared.manifest.model import Manifest
from deniable_shared.wire.envelope import seal
from deniable_shared.wire.key_list import PublicKey
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import (
    Extension,
    Plaintext,
    Report,
    ReportHeader,
    padded_size,
    seal_info,
)
from deniable_shared.wire.voucher import decode_voucher, format_key, issue
from support.builders.service_world import DAY, NOON, TODAY, TOML, World, authored

__all__ = ["CLOSED", "FEBRUARY", "KINDS", "STRANGE", "Draft", "Reports", "drafts", "uploads"]

FEBRUARY = int(NOON) // DAY + 17  # the first epoch after the collections' life
CLOSED = TODAY - 1  # by its operator, before its time
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


def uploads() -> Mapping[str, st.SearchStrategy[Any]]:
    """Strategies for the arguments `kind`, `batch`, `now` and `token` of a test."""
    return {
        "kind": st.sampled_from(KINDS),
        "batch": st.lists(drafts(), min_size=1, max_size=8),
        "now": st.sampled_from(TIMES),
        "token": st.sampled_from(TOKENS),
    }


@dataclass
class Reports:
    """Seals drafts for a service with one collection of each kind in two versions, and two keys."""

    world: World
    versions: dict[str, tuple[Manifest, Manifest]] = field(init=False)
    keys: dict[int, PublicKey] = field(init=False)

    def __post_init__(self) -> None:
        service = self.world.running
        self.versions = {kind: _versions(kind) for kind in KINDS}
        for manifest in (manifest for pair in self.versions.values() for manifest in pair):
            service.registry.apply(self.world.signed(manifest), audit=None)
            service.store.close_epoch(manifest.collection, CLOSED, NOON, audit=None)
        service.keys.rotate(at_once=True, audit=None)
        self.keys = {key.id: key for key in self.world.key_list().keys}

    def collection(self, kind: str) -> str:
        """Its id."""
        return self.versions[kind][0].collection

    def sealed(self, kind: str, draft: Draft) -> Report:
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
        sealed = seal(self._plaintext(manifest, draft), public_key=key.public_key, info=info)
        return Report(header, _spoilt(sealed, draft.sealed_as))

    def _plaintext(self, manifest: Manifest, draft: Draft) -> bytes:
        extensions = self._vouchers(manifest, draft) + (STRANGE,) * draft.strange
        size = draft.size or padded_size(
            len(draft.payload), sum(4 + len(each.data) for each in extensions)
        )
        whole = bytearray(Plaintext(draft.payload, extensions).encode(size))
        place, change = draft.flipped
        whole[place] = (whole[place] + change) % 256
        return bytes(whole)

    def _vouchers(self, manifest: Manifest, draft: Draft) -> tuple[Extension, ...]:
        """Three reports share a person, so that some vouchers are spent."""
        if not manifest.requires or draft.voucher == "none":
            return ()
        epoch = draft.epoch - 1 if draft.voucher == "of another epoch" else draft.epoch
        epoch, person = max(0, epoch), str(draft.number // 3)
        key = format_key(self.world.running.voucher_keys.of(manifest.collection, epoch))
        right = decode_voucher(
            issue(key, collection=manifest.collection, epoch=epoch, person=person)
        )
        return (Extension(1, bytes(32) if draft.voucher == "false" else right),)


def _spoilt(sealed: bytes, how: str) -> bytes:
    if how == "cut":
        return sealed[:-1]
    return sealed[:-1] + bytes([sealed[-1] ^ 1]) if how == "damaged" else sealed


def _versions(kind: str) -> tuple[Manifest, Manifest]:
    text = MORE.get(kind, "") + TOML.replace('"settings"', f'"{kind}"')
    first = authored(text)
    return first, authored(text.replace("Which", "What"), previous=first)
