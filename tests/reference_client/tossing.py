"""Streams of coins and three mechanisms that read them (PROTOCOL.md, sections 2 and 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import shake_256

WORD = 64


def lp(*parts: bytes) -> bytes:
    """Each part behind its length in two bytes."""
    return b"".join(len(part).to_bytes(2, "big") + part for part in parts)


def packed(bits: Sequence[int]) -> bytes:
    """Bits, most significant first, zero padded."""
    size = (len(bits) + 7) // 8
    number = int("".join(map(str, bits)), 2) << 8 * size - len(bits)
    return number.to_bytes(size, "big")


def integer(number: int, largest: int) -> bytes:
    """A number in as few whole bytes as hold the largest."""
    return number.to_bytes((largest.bit_length() + 7) // 8, "big")


@dataclass
class Stream:
    """SHAKE-256 of lp(key) ‖ lp(label) ‖ …, read in order."""

    seed: bytes
    position: int = field(default=0, init=False)

    def bits(self, count: int) -> int:
        """The most significant `count` bits of the next ⌈count/8⌉ bytes."""
        size = (count + 7) // 8
        self.position += size
        read = shake_256(self.seed).digest(self.position)[self.position - size :]
        return int.from_bytes(read, "big") >> 8 * size - count

    def below(self, bound: int) -> int:
        """Uniform below the bound, by rejection."""
        while True:
            drawn = self.bits((bound - 1).bit_length())
            if drawn < bound:
                return drawn

    def bernoulli(self, threshold: int, lanes: int) -> list[int]:
        """64 planes of so many bits; a lane is 1 if its 64 bits are below the threshold."""
        planes = [self.bits(lanes) for _ in range(WORD)]
        columns = (
            sum((plane >> lanes - 1 - lane & 1) << WORD - 1 - place for place, plane in numbered)
            for lane in range(lanes)
            for numbered in [list(enumerate(planes))]
        )
        return [int(column < threshold) for column in columns]

    def places(self, sent: int, of: int) -> list[int]:
        """`sent` of `of` places, in rising order."""
        drawn: set[int] = set()
        for last in range(of - sent, of):
            place = self.below(last + 1)
            drawn.add(last if place in drawn else place)
        return sorted(drawn)


def rr(bits: Sequence[int], threshold: int, coins: Stream) -> list[int]:
    """Each bit is flipped with probability 1 − T/2^64."""
    flips = coins.bernoulli(2**WORD - threshold, len(bits))
    return [bit ^ flip for bit, flip in zip(bits, flips, strict=True)]


def rr_renewed(answer: Sequence[int], keep: int, coins: Stream) -> list[int]:
    """Each bit is kept with probability A/2^64, drawn again otherwise."""
    kept = coins.bernoulli(keep, len(answer))
    drawn = coins.bits(len(answer))
    anew = [drawn >> len(answer) - 1 - lane & 1 for lane in range(len(answer))]
    return [a if keeps else b for a, keeps, b in zip(answer, kept, anew, strict=True)]


def rr_sampled(
    bits: Sequence[int], sent: int, threshold: int, coins: Stream, public: Stream
) -> list[tuple[int, int]]:
    """Place and randomized bit, of those in the report."""
    places = public.places(sent, len(bits))
    return list(zip(places, rr([bits[each] for each in places], threshold, coins), strict=True))


def sampled_payload(answer: Sequence[tuple[int, int]], size: int) -> bytes:
    """Each reported bit as 2·place + bit."""
    return b"".join(integer(2 * place + bit, 2 * size - 1) for place, bit in answer)


def grr(index: int, size: int, threshold: int, coins: Stream) -> int:
    """The index with probability T/2^64, another one otherwise."""
    result = coins.bits(WORD) < threshold
    other = coins.below(size - 1)
    return index if result else other + (other >= index)


def grr_renewed(answer: int, size: int, keep: int, coins: Stream) -> int:
    """Kept with probability A/2^64, drawn again among all otherwise."""
    kept = coins.bits(WORD) < keep
    anew = coins.below(size)
    return answer if kept else anew
