"""What draws of a release from two neighbours of 100,000 reports prove about its ε.

One event is counted in the draws of both. The laws choose it, and the verdict is from the counts
alone. A price of bounded range says more than ε: two log-ratios differ by at most ε. So two events,
one for each way, count together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

import numpy as np

from deniable_aggregator.releases.kinds.confidence_limits import NoisyFrequency
from deniable_aggregator.releases.kinds.contract import Tallies
from deniable_aggregator.releases.kinds.randomized_counts import RandomizedCounts
from deniable_aggregator.releases.kinds.table_association import Association
from deniable_central.guarantee import bounded_range_rho
from deniable_central.pmf import Pmf
from support.oracles.release_audit import ASKED, SUMS, Audit, Neighbours, laws, noiseless
from support.oracles.report_audit import proven_by_event

_DEVIATIONS = 6
_RAREST = 1e-6

Outcomes = Callable[[Any], bool]


@dataclass(frozen=True)
class Events:
    """Neighbours, and outcomes that are likelier for the first one; others for the second one."""

    pair: Neighbours
    events: tuple[Outcomes, ...]


def has_bounded_range(release: Any) -> bool:
    """Whether its price says that any two log-ratios differ by at most ε."""
    claimed = release.guarantee
    return bool(claimed.rho == bounded_range_rho(claimed.epsilon))


def proven(audit: Audit, release: Any, *, draws: int, false_alarm: float) -> float:
    """An ε that the true one exceeds, but for a chance of `false_alarm`."""
    chosen = best_events(audit, release, draws)
    sample = DRAWN.get(audit.kind, _index)
    with without_limits(release), patch.object(Association, "level", lambda self, sums: None):
        seen = [[sample(release, each) for _ in range(draws)] for each in chosen.pair]
    total = 0.0
    for way, event in enumerate(chosen.events):
        here, there = (sum(map(event, outcomes)) for outcomes in (seen[way], seen[1 - way]))
        total += proven_by_event(
            (here, there),
            draws,
            delta=float(release.guarantee.delta),
            false_alarm=false_alarm / len(chosen.events),
        )
    return total


def best_events(audit: Audit, release: Any, draws: int) -> Events:
    """Those that so many draws prove the most by."""
    if isinstance(release, SUMS):
        return _beyond(release, next(audit.neighbours(release)))
    best, chosen = -math.inf, None
    for pair in audit.neighbours(release):
        one, other = laws(release, pair)
        (worth, here), (back, there) = _likelier(one, other, draws), _likelier(other, one, draws)
        if has_bounded_range(release):
            worth, found = worth + back, Events(pair, (here, there))
        elif worth >= back:
            found = Events(pair, (here,))
        else:
            worth, found = back, Events(pair[::-1], (there,))
        if worth > best:
            best, chosen = worth, found
    assert chosen is not None
    return chosen


def _beyond(release: Any, pair: Neighbours) -> Events:
    """Every sum that the report moves is at that of the first database, or farther that way."""
    mine, theirs = (np.array(noiseless(release, each)) for each in pair)
    side = np.sign(mine - theirs)
    return Events(pair, (lambda noisy: bool((side * (np.array(noisy) - mine) >= 0).all()),))


def _likelier(one: Pmf[Any], other: Pmf[Any], draws: int) -> tuple[float, Outcomes]:
    """As many outcomes of the largest ratios as prove the most, and about what they prove."""
    theirs = dict(zip(other.outcomes, other.probabilities.tolist(), strict=True))
    rows = [
        (p, theirs[outcome], outcome)
        for outcome, p in zip(one.outcomes, one.probabilities.tolist(), strict=True)
        if p > _RAREST and outcome in theirs
    ]
    rows.sort(key=lambda row: row[0] / max(row[1], _RAREST), reverse=True)
    best, chosen, p, q = -math.inf, 0, 0.0, 0.0
    for place, (mine, yours, _) in enumerate(rows):
        p, q = p + mine, q + yours
        low, high = p - _deviations(p, draws), q + _deviations(q, draws)
        worth = math.log(low / high) if low > 0 else -math.inf
        if worth > best:
            best, chosen = worth, place + 1
    return best, frozenset(outcome for *_, outcome in rows[:chosen]).__contains__


@contextmanager
def without_limits(release: Any) -> Iterator[None]:
    """Limits and error bars follow from what was drawn, and take up to thirty times as long."""
    with (
        patch.object(type(release), "expected", ()),
        patch.object(NoisyFrequency, "_ends", lambda self, f, level: (f, f)),
    ):
        yield


def _deviations(p: float, draws: int) -> float:
    return _DEVIATIONS * math.sqrt(p / draws)


def _index(release: Any, tallies: Tallies) -> object:
    result = release.draw(tallies).result
    if release.mechanism == "exponential" and result["index"] is None:
        return len(release.score.candidates) - 1  # none of the labels is a candidate, too
    if release.mechanism == "price":
        return release.score.candidates.index(result["label"])
    return result["index"]


def _estimates(release: Any, tallies: Tallies) -> object:
    return tuple(row["noisy"] for row in release.draw(tallies).result["estimates"])


def _rounds(release: Any, tallies: Tallies) -> object:
    return tuple(chain.from_iterable(r["noisy"] for r in release.draw(tallies).result["rounds"]))


def _mean(release: Any, tallies: Tallies) -> object:
    return (release.draw(tallies).result["noisy"],)


def _picks(release: Any, tallies: Tallies) -> object:
    return tuple(release.draw(tallies).result["indices"])


def _rows(release: Any, tallies: Tallies) -> object:
    held = {each["label"]: each["rows"] for each in release.draw(tallies).result["rows"]}
    labels = release.context.domain.labels
    return tuple(place for place, label in enumerate(labels) for _ in range(held.get(label, 0)))


def _measurements(release: Any, tallies: Tallies) -> object:
    data = RandomizedCounts.of(release.context, tallies)
    return release.linear.release(data).result.measurements


def _transcript(release: Any, tallies: Tallies) -> object:
    session, _ = release.open(tallies, lambda _: None)
    answers = [session.linear.ask(question) for question in ASKED]
    return tuple(answer.count if answer.taught else None for answer in answers)


DRAWN: Mapping[str, Callable[[Any, Tallies], object]] = MappingProxyType(
    {
        "allocate": _rounds,
        "histogram": _estimates,
        "mean": _mean,
        "mwem": _measurements,
        "queries": _transcript,
        "shares": _estimates,
        "small-db": _rows,
        "table": _estimates,
        "texts": _estimates,
        "top-k": _picks,
    }
)
"""The outcome of one draw, as the law of its kind has it; `index` for the other kinds."""
