"""An audit of reports as bytes, which knows no mechanism."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from itertools import combinations

from support.oracles.privacy_checks import Encoded

Counts = Mapping[Encoded, Counter[bytes]]
"""How often each payload was sent for each answer."""


def proven_epsilon(counts: Counts, *, false_alarm: float) -> float:
    """An ε that the true one exceeds, but for a chance of `false_alarm`.

    The largest ln(P[event|x]/P[event|x']) over all pairs of answers and all events, with each
    probability at the limit that favours the randomizer. An event is a payload, or two bits of it.
    The limits hold for every n (Chernoff), all of them together (union bound).
    """
    seen = {value: _events(sent) for value, sent in counts.items()}
    events = set().union(*seen.values())
    nats = math.log(2 * len(events) * len(counts) / false_alarm)
    sizes = {value: sent.total() for value, sent in counts.items()}
    return max(
        _proven([_limits(seen[value][event], sizes[value], nats) for value in counts])
        for event in events
    )


def proven_by_event(
    seen: tuple[int, int], draws: int, *, delta: float = 0.0, false_alarm: float
) -> float:
    """An ε that the true one exceeds: one event, seen so often in so many draws of each law."""
    nats = math.log(2 / false_alarm)
    low = _limits(seen[0], draws, nats)[0] - delta
    high = _limits(seen[1], draws, nats)[1]
    return math.log(low / high) if low > 0 else -math.inf


def _events(sent: Counter[bytes]) -> Counter[Hashable]:
    events: Counter[Hashable] = Counter()
    for payload, count in sent.items():
        for event in _shown_by(payload):
            events[event] += count
    return events


def _shown_by(payload: bytes) -> Iterator[Hashable]:
    yield payload
    number = int.from_bytes(payload, "big")
    for one, other in combinations(range(8 * len(payload)), 2):
        yield one, other, number >> one & 1, number >> other & 1


def _proven(limits: list[tuple[float, float]]) -> float:
    low, high = max(low for low, _ in limits), min(high for _, high in limits)
    return math.log(low / high) if low else -math.inf


def _limits(count: int, n: int, nats: float) -> tuple[float, float]:
    """Each end is passed with probability at most e^−nats, for every true probability."""
    return _farthest(count / n, 0.0, nats / n), _farthest(count / n, 1.0, nats / n)


def _farthest(seen: float, end: float, most: float) -> float:
    """The probability from `seen` towards `end` where the divergence reaches `most`."""
    inner, outer = seen, end
    for _ in range(40):
        middle = (inner + outer) / 2
        if _divergence(seen, middle) < most:
            inner = middle
        else:
            outer = middle
    return outer


def _divergence(seen: float, p: float) -> float:
    """Kullback–Leibler divergence of two coins, in nats."""
    return _part(seen, p) + _part(1 - seen, 1 - p)


def _part(seen: float, p: float) -> float:
    if seen == 0:
        return 0.0
    return seen * math.log(seen / p) if p > 0 else math.inf
