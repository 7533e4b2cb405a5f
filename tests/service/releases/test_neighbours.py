"""One report changed: every field of documents, refusals, log lines and ledger stays but the draw.

Two worlds with the same coins for ids and salts, whose collections differ in one report.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest

from deniable_aggregator.documents.releases import AccountDocument, ReleasesDocument
from deniable_aggregator.queries.ledger import accounts
from deniable_aggregator.queries.releases import releases
from deniable_aggregator.releases import kinds
from deniable_aggregator.releases.kinds import error_simulation
from deniable_aggregator.releases.kinds.contract import (
    PreparedRelease,
    ReleaseContext,
    ReleaseResult,
    Tallies,
)
from deniable_aggregator.releases.request import ReleaseRequest
from deniable_aggregator.store.rows import ChargeRow
from deniable_gateway.problem import Problem
from deniable_shared.randomness.coins import Coins
from support.builders.release_world import (
    FIRST,
    LAST,
    OPEN,
    ReleaseWorld,
    document,
    opened,
    over,
    stream,
)
from support.doubles.release_plans import Counts
from support.tiers import by_tier, grid

pytestmark = [pytest.mark.slow, pytest.mark.deeper]

DRAWN = {"result", "error_bars"}
LABELS = ("red", "green", "blue")
REQUESTS = [
    ReleaseRequest("histogram", {"epsilon": "0.25"}),
    ReleaseRequest("exponential", {"score": "mode", "epsilon": "0.1"}),
    ReleaseRequest("noisy-max", {"score": "mode", "epsilon": "0.1"}, over(FIRST)),
    ReleaseRequest("top-k", {"k": 2, "epsilon": "0.1"}, over(LAST)),
]
REFUSED = [
    ReleaseRequest("histogram", {"epsilon": "20"}),
    ReleaseRequest("histogram", {"epsilon": "0.25"}, over(OPEN)),
    ReleaseRequest("histogram", {"epsilon": "0.25"}, over(FIRST - 1)),
    ReleaseRequest("histogram", {}),
    ReleaseRequest("nothing", {}),
]
EVEN, ODD = bytes([0]), bytes([2])
EVERYONE = [bytes([0])] * 6 + [bytes([1])] * 5

Worlds = tuple[ReleaseWorld, ReleaseWorld]


@pytest.fixture(params=grid(["live", "closed", "releases"], by_default=["releases"]))
def worlds(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Worlds]:
    runs = by_tier(error_simulation.FEWEST_RUNS, error_simulation.MOST_RUNS)
    monkeypatch.setattr(error_simulation, "MOST_RUNS", runs)  # from the same public facts
    with ExitStack() as stack:
        yield tuple(  # type: ignore[misc]  # two of them, which mypy does not count
            stack.enter_context(neighbour(tmp_path / str(place), request.param, one))
            for place, one in enumerate((EVEN, ODD))
        )


class neighbour:  # noqa: N801  (used as a function)
    """A world with one report of its own among the others."""

    def __init__(self, folder: Path, read: str, one: bytes) -> None:
        self._opened = opened(
            folder,
            type="choice",
            labels=LABELS,
            read=read,
            prepare=kinds.prepare,
            entropy=stream(),
            empty=True,
        )
        self._one = one

    def __enter__(self) -> ReleaseWorld:
        world = self._opened.__enter__()
        for epoch in (FIRST, LAST, OPEN):
            world.count(epoch, [self._one, *EVERYONE])
        return world

    def __exit__(self, *error: object) -> None:
        self._opened.__exit__(*error)  # type: ignore[arg-type]  # as it was called


def without_the_draw(document: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in document.items() if name not in DRAWN}


def test_every_field_of_a_release_but_the_draw_is_equal(worlds: Worlds) -> None:
    for request in REQUESTS:
        one, other = (
            document(w.releases.release(w.collection, request, audit=None)) for w in worlds
        )
        assert without_the_draw(one) == without_the_draw(other)
        assert one.keys() == other.keys() > DRAWN
        assert one["result"].keys() == other["result"].keys()  # type: ignore[attr-defined]  # a document has values of many types


@pytest.mark.slow
def test_quotes_are_equal_before_and_after(worlds: Worlds) -> None:
    for request in [*REQUESTS, *REQUESTS]:
        one, other = (w.releases.quote(w.collection, request) for w in worlds)
        assert one == other
        for w in worlds:
            w.releases.release(w.collection, request, audit=None)


def test_refusals_are_equal(worlds: Worlds) -> None:
    for w in worlds:
        w.releases.release(w.collection, REQUESTS[0], audit=None)
    for request in REFUSED:
        refusals = [refusal(w, request) for w in worlds]
        assert refusals[0] == refusals[1]


def refusal(world: ReleaseWorld, request: ReleaseRequest) -> tuple[int, dict[str, object]]:
    with pytest.raises(Problem) as caught:
        world.releases.release(world.collection, request, audit=None)
    return caught.value.status, caught.value.document()


def test_lists_ledgers_and_log_lines_are_equal(
    worlds: Worlds, caplog: pytest.LogCaptureFixture
) -> None:
    lines = []
    for w in worlds:
        caplog.clear()
        with caplog.at_level(logging.DEBUG):
            for request in REQUESTS:
                w.releases.release(w.collection, request, audit=None)
        lines.append([(record.name, record.getMessage()) for record in caplog.records])
    stores = [w.service.running.store for w in worlds]
    assert lines[0] == lines[1]
    lists, ledgers = zip(*(listed(w) for w in worlds), strict=True)
    assert lists[0] == lists[1]
    assert ledgers[0] == ledgers[1]
    assert [entry.type for entry in stores[0].log()] == [entry.type for entry in stores[1].log()]


def listed(w: ReleaseWorld) -> tuple[ReleasesDocument, list[AccountDocument]]:
    """Releases and ledger, as everybody reads them."""
    store = w.service.running.store
    return releases(store, w.collection), accounts(store, [w.collection])


@dataclass(frozen=True, slots=True)
class Constant(Counts):
    """Draws the same for any data."""

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        return ReleaseResult({"counts": [7]}, ())


def constant(
    mechanism: str, arguments: Mapping[str, object], context: ReleaseContext
) -> PreparedRelease:
    return Constant(context, Fraction(1, 10))


def test_equal_draws_make_equal_entries_of_the_log(worlds: Worlds) -> None:
    """Nothing but the salt and what is shown is hashed."""
    entries = []
    for w in worlds:
        same = ReleaseWorld(w.service, w.collection, constant, stream())
        same.releases.release(w.collection, REQUESTS[0], audit=None)
        entries.append(w.service.running.store.log()[-1])
    assert entries[0].type == "release"
    assert entries[0] == entries[1]


@pytest.mark.slow
def test_only_the_digest_that_is_never_shown_tells_the_two_apart(worlds: Worlds) -> None:
    rows: list[ChargeRow] = []
    for w in worlds:
        w.releases.release(w.collection, REQUESTS[0], audit=None)
        rows += w.service.running.store.charges(w.collection.id)
    one, other = rows
    assert one.request != other.request
    assert (one.release, one.terms, one.epochs) == (other.release, other.terms, other.epochs)
    for w, row in zip(worlds, rows, strict=True):
        result = w.service.running.store.results(w.collection.id)[0]
        listing = msgspec.json.encode(listed(w)).decode()
        assert row.request.hex() not in listing + result.document.decode()
