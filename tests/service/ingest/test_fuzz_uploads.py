"""Upload bodies that were honest until something happened to them on the way.

Whatever is sent is answered with 200 and codes, or with a 4xx. Counted is a report that is, byte
for byte, one that a device sealed, once; and an inside that is, byte for byte, one of those that an
honest device can make.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, reduce
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable_aggregator.web.app import create_app
from deniable_aggregator.web.front import front_of
from deniable_shared.errors import DecodeError
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import (
    MEDIA_TYPE,
    Plaintext,
    decode_errors,
    decode_upload,
    encode_upload,
)
from support.builders import service_world
from support.builders.service_world import World
from support.doubles.asgi_as_wsgi import AsgiAsWsgi
from support.tiers import by_tier

if TYPE_CHECKING:
    pass

PATH = "/v1/collections/settings/reports"
PAYLOADS = tuple(bytes([bits << 5]) for bits in range(8))
"""All that rr/1 over three bits can send."""

SIZE = 64
EXAMPLES = by_tier(15, 150)

quick = settings(
    max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


@dataclass
class Relayed:
    """A service that a relay speaks to, and what must be counted there by now.

    `honest`: encoded report → its payload; `kept`: report id → payload, the first that came.
    """

    world: World
    token: str
    honest: dict[bytes, bytes]
    kept: dict[bytes, bytes] = field(default_factory=dict)

    @cached_property
    def front(self) -> AsgiAsWsgi:
        return AsgiAsWsgi(front_of(create_app(self.world.running)))

    def post(self, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer."""
        environ = {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": PATH,
            "CONTENT_TYPE": MEDIA_TYPE,
            "CONTENT_LENGTH": str(len(body)),
            "REMOTE_ADDR": "192.0.2.77",
            "HTTP_AUTHORIZATION": f"Bearer {self.token}",
            "wsgi.input": BytesIO(body),
        }
        answers: list[str] = []
        chunks = self.front(environ, lambda status, headers, _=None: answers.append(status))  # type: ignore[arg-type]  # a double of start_response
        [status] = answers
        return int(status.split()[0]), b"".join(chunks)

    def check(self, body: bytes) -> None:
        """Send it: what is answered, and what is counted by now, is what its bytes deserve."""
        status, answer = self.post(body)
        try:
            sent = [(each.header.report_id, each.encode()) for each in decode_upload(body)]
        except DecodeError:
            assert status == 400
        else:
            assert status == 200
            strange = [report_id for report_id, report in sent if report not in self.honest]
            assert [each.report_id for each in decode_errors(answer)] == strange
            for report_id, report in sent:
                if report in self.honest:
                    self.kept.setdefault(report_id, self.honest[report])
        assert self.counted() == self.deserved()

    def counted(self) -> tuple[int, ...]:
        """n, and how many said yes to each bit, over all epochs."""
        cells = self.world.running.store.tallies(self.world.manifest.collection, 0, 2**31)
        bits = (sum(int(cell.tally[bit]) for cell in cells) for bit in range(3))
        return sum(cell.n for cell in cells), *bits

    def deserved(self) -> tuple[int, ...]:
        bits = (
            sum(payload[0] >> 7 - bit & 1 for payload in self.kept.values()) for bit in range(3)
        )
        return len(self.kept), *bits


@pytest.fixture(scope="module")
def relayed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relayed]:
    """With two dozen honest reports, of which two have one id."""
    with service_world.opened(tmp_path_factory.mktemp("uploads")) as world:
        _, token = world.running.tokens.create("relay", "relay", audit=None)
        headers = [world.header() for _ in range(23)]
        payloads = [PAYLOADS[number % 8] for number in range(24)]
        honest = {
            world.report(header, payload=payload).encode(): payload
            for header, payload in zip([*headers, headers[0]], payloads, strict=True)
        }
        yield Relayed(world, token, honest)


def flipped(body: bytes, at: int, by: int) -> bytes:
    return body[:at] + bytes([body[at] ^ by]) + body[at + 1 :]


def edits(longest: int) -> st.SearchStrategy[list[tuple[str, int, int, bytes]]]:
    """What happens to bytes, one after the other, at places that are taken modulo the length."""
    kinds = st.sampled_from(("flip", "flip", "cut", "drop", "insert", "overwrite", "move"))
    place = st.integers(0, longest)
    return st.lists(st.tuples(kinds, place, place, st.binary(max_size=40)), max_size=3)


def edited(body: bytes, edit: tuple[str, int, int, bytes]) -> bytes:
    kind, first, second, more = edit
    if not body:
        return more
    at, end = sorted((first % len(body), second % len(body)))
    match kind:
        case "flip":
            return flipped(body, at, 1 << second % 8)
        case "cut":
            return body[:at]
        case "drop":
            return body[:at] + body[end:]
        case "insert":
            return body[:at] + more + body[at:]
        case "overwrite":
            return body[:at] + more + body[at + len(more) :]
        case _:
            return body[end:] + body[at:end] + body[:at]


@pytest.mark.slow
@quick
@given(chosen=st.lists(st.integers(0, 23), min_size=1, max_size=5), changes=edits(700))
def test_a_body_of_honest_reports_with_edits_is_judged_by_its_bytes(
    relayed: Relayed, chosen: list[int], changes: list[tuple[str, int, int, bytes]]
) -> None:
    reports = list(relayed.honest)
    relayed.check(reduce(edited, changes, b"".join(reports[number] for number in chosen)))


@pytest.mark.slow
@pytest.mark.deeper
def test_no_bit_of_a_report_can_be_changed_unseen(relayed: Relayed) -> None:
    [report, *_] = relayed.honest
    places = range(0, 8 * len(report), by_tier(7, 1))  # by default one bit of each byte or more
    others = [flipped(report, place // 8, 1 << place % 8) for place in places]
    assert not set(others) & relayed.honest.keys()
    for other in others:
        relayed.check(other)


@pytest.mark.slow
@quick
@given(payload=st.sampled_from(PAYLOADS), changes=edits(SIZE), size=st.sampled_from((64, 64, 128)))
def test_an_edited_plaintext_counts_only_if_a_device_can_send_it(
    relayed: Relayed, payload: bytes, changes: list[tuple[str, int, int, bytes]], size: int
) -> None:
    inside = reduce(edited, changes, Plaintext(payload).encode(size))
    report = relayed.world.report(plaintext=inside).encode()
    possible = {Plaintext(each).encode(SIZE): each for each in PAYLOADS}
    if inside in possible:
        relayed.honest[report] = possible[inside]
    relayed.check(report)


@pytest.mark.slow
@pytest.mark.parametrize("inside", [b"", b"\0", bytes(64), bytes(63), b"\xff" * 64, bytes(40_000)])
def test_an_inside_that_is_none_is_an_invalid_message(relayed: Relayed, inside: bytes) -> None:
    status, answer = relayed.post(encode_upload([relayed.world.report(plaintext=inside)]))
    assert status == 200
    assert [each.error for each in decode_errors(answer)] == [ReportError.INVALID_MESSAGE]
    assert relayed.counted() == relayed.deserved()
