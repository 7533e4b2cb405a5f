"""Coins for randomizers: a given stream, or every path once.

`exact_law` runs the shipped `randomize` on `Branching` coins and returns the exact probability of
every payload, so that nothing it says rests on sampling.
"""

from __future__ import annotations

import builtins
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import cast

from deniable_shared.randomness.coins import Coins

ENUMERATED_BITS = 8
DRAWS = 2


class Scripted(Coins):
    """Reads a given stream, and fails where it ends."""

    def __init__(self, stream: builtins.bytes) -> None:
        super().__init__(b"")
        self.rest = stream

    def bytes(self, count: int) -> builtins.bytes:
        assert count <= len(self.rest), "read past the script"
        read, self.rest = self.rest[:count], self.rest[count:]
        return read


class TooManyDrawsError(Exception):
    """A path of more rejected draws than are followed."""


class Branching(Coins):
    """Follows one path and notes down those that turn off it.

    The path has the probability `ways` / `of_ways`.

    A draw of few bits branches over all its values. A draw of many bits, or below a large
    bound, stays open until it is compared, once, with a threshold, and branches over the two
    answers. The rest of `Coins` is as shipped, but for three whose laws are checked on their own:
    each lane of a Bernoulli vector is a branch (test_coins), and so is each integer below a small
    bound (`check_below_is_uniform`). Many draws are as many single ones (test_coins).
    """

    def __init__(
        self, path: tuple[int, ...], pending: list[tuple[int, ...]], most_draws: int
    ) -> None:
        # Without a stream, of which no path may read: to make one takes as long as a whole path.
        self.path, self.pending, self.most_draws = path, pending, most_draws
        self.depth = self.draws = 0
        self.ways = self.of_ways = 1

    def choose(self, ways: tuple[int, int]) -> int:
        """The place of one possible outcome of two; the other is left for a later path."""
        if self.depth == len(self.path):
            if all(ways):
                self.pending.append((*self.path, 1))
            self.path += (0 if ways[0] else 1,)
        place = self.path[self.depth]
        self.depth += 1
        self.ways *= ways[place]
        self.of_ways *= sum(ways)
        return place

    def choose_evenly(self, count: int) -> int:
        """One of so many equally likely places; the others are left for later paths."""
        if self.depth == len(self.path):
            self.pending += [(*self.path, place) for place in range(1, count)]
            self.path += (0,)
        place = self.path[self.depth]
        self.depth += 1
        self.of_ways *= count
        return place

    def bits(self, count: int) -> int:
        if count > ENUMERATED_BITS:
            return cast(int, _Open(self, 1 << count))
        if count == 0:
            return 0
        self.draws += 1
        if self.draws > self.most_draws:
            raise TooManyDrawsError
        return self.choose_evenly(1 << count)

    def below(self, bound: int) -> int:
        if bound > 1 << ENUMERATED_BITS:
            return cast(int, _Open(self, bound))
        return self.choose_evenly(bound)

    def below_each(self, bounds: Sequence[int]) -> list[int]:
        return [self.below(bound) for bound in bounds]

    def bernoulli_vector(self, threshold: int, length: int) -> int:
        vector, ways = 0, ((1 << 64) - threshold, threshold)
        for _ in range(length):
            vector = vector << 1 | self.choose(ways)
        return vector


class _Open:
    """A uniform integer that is not read yet, divided by `scale`."""

    def __init__(self, coins: Branching, size: int, scale: int = 1) -> None:
        self.coins, self.size, self.scale, self.fresh = coins, size, scale, True

    def __truediv__(self, divisor: int) -> _Open:
        return _Open(self.coins, self.size, self.scale * divisor)

    def __lt__(self, bound: float | Fraction) -> bool:
        if self.scale == 1 and isinstance(bound, int):
            return self._is_among(bound)
        return self._is_among(math.ceil(Fraction(bound) * self.scale))

    def __le__(self, bound: float | Fraction) -> bool:
        return self._is_among(math.floor(Fraction(bound) * self.scale) + 1)

    def _is_among(self, smallest: int) -> bool:
        assert self.fresh, "an open draw may be compared once"
        self.fresh = False
        below = min(max(smallest, 0), self.size)
        return bool(self.coins.choose((self.size - below, below)))


def exact_law(
    run: Callable[[Coins], builtins.bytes], *, most_draws: int = DRAWS
) -> dict[builtins.bytes, Fraction]:
    """The exact probability of every result of `run`, over all its paths.

    Paths of more than `most_draws` draws of few bits are dropped and the rest scaled to 1: exact,
    since a draw that is rejected leaves no trace. They must hold less than a quarter, as every draw
    is accepted with probability over one half.
    """
    ways: dict[builtins.bytes, Counter[int]] = defaultdict(Counter)
    pending: list[tuple[int, ...]] = [()]
    while pending:
        coins = Branching(pending.pop(), pending, most_draws)
        try:
            result = run(coins)
        except TooManyDrawsError:
            continue
        ways[result][coins.of_ways] += coins.ways
    law = {
        result: sum((Fraction(own, every) for every, own in of.items()), start=Fraction())
        for result, of in ways.items()
    }
    followed = sum(law.values())
    assert followed > Fraction(3, 4)
    if followed == 1:
        return law
    return {result: chance / followed for result, chance in law.items()}
