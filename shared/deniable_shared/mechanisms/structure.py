"""The form of a message: the combinatorial part of a mechanism, without value and ε.

    OneOf             one of K symbols                                     grr/1
    Subset            any w of K codes                                     subset/1
    Design            w of K codes, each pair of codes in equally many     cyclic/1, hadamard/1
    IndependentBits   m bits, each randomized independently                rr/1, oue/1
    SampledBits       t of m such bits, publicly drawn                     rr-sampled/1
    OneOfParts        one of several messages, publicly drawn              pairs/1, fourier/1
    Window            an output; w in a row are more likely                square-wave/1

Three things follow from a structure: the covariances of two supports (`joint_supports`), what two
reports of one permanent answer share (`linkage`), and how far one report moves a tally
(`one_report_moves`). A mechanism of another kind has no structure, and these features are not
available for it.
Sources: docs/mathematics/supports-and-estimates.md, Joint supports; the sets of `hadamard/1` are a
3-design.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Protocol

from deniable_shared.analysis.joint_supports import JointSupports
from deniable_shared.analysis.mutual_information import (
    bit_information,
    encoding_information,
    output_information,
    symbol_information,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True)
class LabelSensitivity:
    """How far one replaced report moves all readings: their range, L1, L2² and largest move.

    `sets` is the most that it moves the sum of the readings of any set of labels.
    """

    range: int
    l1: int
    l2_squared: int
    linf: int
    sets: int

    @classmethod
    def of_supports(cls, apart: int, sets: int) -> LabelSensitivity:
        """It for reports that differ in at most `apart` labels, if each has some of its own."""
        return cls(range=2, l1=apart, l2_squared=apart, linf=1, sets=sets)


class MessageStructure(Protocol):
    """What features need to know about a mechanism's messages."""

    def joint_supports(self, p: Fraction, q: Fraction) -> JointSupports | None:
        """How supports of two choices vary together; None if no single law describes them.

        `p` and `q` are those of one report.
        """

    def linkage(self, p: Fraction, q: Fraction, kept: Fraction) -> float:
        """Return the bits that two reports share of a permanent answer randomized with `p` and `q`.

        Each keeps a symbol of it with the chance `kept`.
        """
        ...

    def one_report_moves(
        self, labels: int, unit: int = 1, blank: int = 0
    ) -> LabelSensitivity | None:
        """How far one replaced report moves the readings of the first `labels` codes at most.

        A report adds `unit` to each label it supports, minus `blank` for each label it is about.
        None if a tally has no reading for each label.
        """


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of K = `codes` symbols; each supports one choice."""

    codes: int

    @property
    def support_size(self) -> int:
        """w: the number of codes that a message supports."""
        return 1

    def joint_supports(self, p: Fraction, q: Fraction) -> JointSupports:
        """No message supports two choices."""
        return JointSupports(p, q, Fraction(0), Fraction(0), 1)

    def linkage(self, p: Fraction, q: Fraction, kept: Fraction) -> float:
        """The linkage of one symbol."""
        return symbol_information(self.codes, kept)

    def one_report_moves(self, labels: int, unit: int = 1, blank: int = 0) -> LabelSensitivity:
        """One count falls by one, another rises."""
        return LabelSensitivity.of_supports(2, 1)


@dataclass(frozen=True, slots=True)
class Subset:
    """Any w = `support_size` of K = `codes` codes."""

    codes: int
    support_size: int

    def joint_supports(self, p: Fraction, q: Fraction) -> JointSupports:
        """A set holds x or not, and is otherwise uniform."""
        k, w = self.codes, self.support_size
        both = p * Fraction(w - 1, k - 1)
        ways = p * (w - 1) * (w - 2) + (1 - p) * w * (w - 1)
        neither = ways / ((k - 1) * (k - 2)) if k > 2 else Fraction(0)
        return JointSupports(p, q, both, neither, w)

    def linkage(self, p: Fraction, q: Fraction, kept: Fraction) -> float:
        """A symbol is a set."""
        return symbol_information(comb(self.codes, self.support_size), kept)

    def one_report_moves(self, labels: int, unit: int = 1, blank: int = 0) -> LabelSensitivity:
        """No two sets differ by more than w codes on either side, or K − w."""
        return _of_sets(labels, min(self.support_size, self.codes - self.support_size))


@dataclass(frozen=True, slots=True)
class Design:
    """`messages` sets of w = `support_size` of K = `codes` codes; each pair is in equally many.

    The sets are in `classes` of equal size; the class of a message is public. `triples` is the
    number of sets that contain three codes; None if it depends on the codes.
    """

    codes: int
    support_size: int
    messages: int
    classes: int = 1
    triples: int | None = None

    @property
    def supporting(self) -> int:
        """The number of messages that support one code."""
        return self.messages * self.support_size // self.codes

    @property
    def pairs(self) -> int:
        """λ: the number of messages that support a pair of codes."""
        return self.supporting * (self.support_size - 1) // (self.codes - 1)

    def joint_supports(self, p: Fraction, q: Fraction) -> JointSupports | None:
        """Return the law if all triples of codes are alike.

        All supported codes may count as one choice.
        """
        if self.triples is None:
            return None
        inside, outside = self.supporting, self.messages - self.supporting
        both = p * Fraction(self.pairs, inside)
        neither = p * Fraction(self.triples, inside)
        neither += (1 - p) * Fraction(self.pairs - self.triples, outside)
        return JointSupports(p, q, both, neither, self.support_size, self.support_size)

    def linkage(self, p: Fraction, q: Fraction, kept: Fraction) -> float:
        """The linkage of the class and of one of its messages."""
        return math.log2(self.classes) + symbol_information(self.messages // self.classes, kept)

    def one_report_moves(self, labels: int, unit: int = 1, blank: int = 0) -> LabelSensitivity:
        """If there are as many messages as codes, any two share λ codes."""
        if self.messages == self.codes:
            return _of_sets(labels, self.support_size - self.pairs)
        return _of_sets(labels, min(self.support_size, self.codes - self.support_size))


@dataclass(frozen=True, slots=True)
class IndependentBits:
    """m = `bits` bits, each randomized independently; `exclusive` if exactly one is true."""

    bits: int
    exclusive: bool = False

    def joint_supports(self, p: Fraction, q: Fraction) -> JointSupports | None:
        """Exclusive bits are independent given the truth; otherwise more than one may be true."""
        return JointSupports(p, q, p * q, q * q, self.bits) if self.exclusive else None

    def linkage(self, p: Fraction, q: Fraction, kept: Fraction) -> float:
        """The linkage of all bits; an upper bound if they are exclusive."""
        if self.exclusive:
            return encoding_information(p, q, self.bits, kept)
        return self.bits * symbol_information(2, kept)

    def one_report_moves(self, labels: int, unit: int = 1, blank: int = 0) -> LabelSensitivity:
        """Each count moves by one, up or down."""
        m = self.bits
        return LabelSensitivity(range=2 if m > 1 else 0, l1=m, l2_squared=m, linf=1, sets=m)


@dataclass(frozen=True, slots=True)
class SampledBits:
    """t = `sampled` of m = `bits` bits, all sets equally likely; the choice of bits is public."""

    bits: int
    sampled: int
    exclusive: bool = False

    def joint_supports(self, p: Fraction, q: Fraction) -> None:
        """None: a report is about only some of the choices."""

    def linkage(self, p: Fraction, q: Fraction, kept: Fraction) -> float:
        """The linkage of the places and of their bits; a bound for two or more exclusive bits."""
        openly = math.log2(comb(self.bits, self.sampled))
        if not self.exclusive:
            return openly + self.sampled * symbol_information(2, kept)
        if self.sampled == 1:
            return openly + bit_information(q + (p - q) / self.bits, kept)
        share = float(Fraction(self.sampled, self.bits))
        return openly + share * encoding_information(p, q, self.bits, kept)

    def one_report_moves(self, labels: int, unit: int = 1, blank: int = 0) -> LabelSensitivity:
        """A place that one of two reports has moves a reading by at most unit − blank.

        A place that both have moves it by the unit. With u places of the second kind there are 2(t
        − u) of the first, so sums are largest at one end of u.
        """
        m, t, one, both = self.bits, self.sampled, unit - blank, unit
        ends = [(2 * (t - u), u) for u in (max(0, 2 * t - m), t)]
        return LabelSensitivity(
            range=0 if m == 1 else 2 * (one if t == 1 else both),
            l1=max(alone * one + shared * both for alone, shared in ends),
            l2_squared=max(alone * one**2 + shared * both**2 for alone, shared in ends),
            linf=both,
            sets=t * both,
        )


@dataclass(frozen=True, slots=True)
class OneOfParts:
    """One of several messages, equally likely: each of `parts` comes `copies` times."""

    parts: tuple[MessageStructure, ...]
    copies: int = 1

    def joint_supports(self, p: Fraction, q: Fraction) -> None:
        """None: the supports of a report depend on its part."""

    def linkage(self, p: Fraction, q: Fraction, kept: Fraction) -> float:
        """The linkage of the part, which is public, plus the mean of those of the messages."""
        shared = {part: part.linkage(p, q, kept) for part in {*self.parts}}
        mean = math.fsum(shared[part] for part in self.parts) / len(self.parts)
        return math.log2(len(self.parts) * self.copies) + mean

    def one_report_moves(self, labels: int, unit: int = 1, blank: int = 0) -> None:
        """None: a tally counts every part separately."""


@dataclass(frozen=True, slots=True)
class Window:
    """One of `outputs` in a row; `window` of them around the answer are more likely.

    `shares` gives for each output the share of all values whose window contains it.
    """

    outputs: int
    window: int
    shares: Callable[[], Sequence[Fraction]]

    def joint_supports(self, p: Fraction, q: Fraction) -> None:
        """None: a report is about a place on a scale, not about a choice."""

    def linkage(self, p: Fraction, q: Fraction, kept: Fraction) -> float:
        """The sum over classes of equally likely outputs."""
        inside, outside = p / self.window, (1 - p) / (self.outputs - self.window)
        chances = Counter(outside + (inside - outside) * share for share in self.shares())
        return output_information(tuple(chances.items()), kept)

    def one_report_moves(self, labels: int, unit: int = 1, blank: int = 0) -> None:
        """None: a tally has no count for a label."""


def _of_sets(labels: int, own: int) -> LabelSensitivity:
    """Return it for two sets, each with at most `own` codes that the other lacks."""
    return LabelSensitivity.of_supports(min(labels, 2 * own), min(labels, own))
