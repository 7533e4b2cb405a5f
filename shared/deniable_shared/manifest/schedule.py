"""How often one device answers, what it pays for, and when it stops.

    once       one report ever                              costs epsilon.report
    fresh      a new draw in each of the first epochs       costs epsilon.report, each
    memoized   a permanent answer a hold, renewed for       costs epsilon.permanent, each hold
               the report of each of its epochs

Each toss is paid for: the report of `once`, the report of an epoch, the answer of a hold. After the
last toss that the lifetime pays for, `fresh` stops, and `memoized` goes on with its last permanent
answer. That costs nothing, because it depends on no new data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_shared.manifest.epochs import hold_at, hold_end, hold_start, holds_in

if TYPE_CHECKING:
    from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Schedule:
    """A collection's rule of repetition under one lifetime: the manifest's, or a lower ceiling's.

    `price` is the ε of one toss. The collection runs from `first_epoch` to `last_epoch`, inclusive.
    `hold_epochs` matters for memoized only.
    """

    repeat: str
    price: Fraction
    lifetime: Fraction
    first_epoch: int
    last_epoch: int
    hold_epochs: int

    @property
    def epochs(self) -> int:
        """The number of epochs in the collection's life."""
        return self.last_epoch - self.first_epoch + 1

    @property
    def paid_holds(self) -> int:
        """The tosses that the lifetime pays for, each for one hold; 0 if it pays for none."""
        affordable = self.lifetime // self.price
        return min(affordable, 1) if self.repeat == "once" else affordable

    @property
    def paid_epochs(self) -> int:
        """The epochs that paid tosses can serve. After them no answer depends on new data."""
        return self.paid_holds * (self.hold_epochs if self.repeat == "memoized" else 1)

    @property
    def holds(self) -> int:
        """The number of tosses that fit into the collection's life."""
        if self.repeat == "memoized":
            return holds_in(self.epochs, self.hold_epochs)
        return self.epochs if self.repeat == "fresh" else 1

    @property
    def lifetime_cost(self) -> Fraction:
        """The most a device pays in the collection's life."""
        return min(self.paid_holds, self.holds) * self.price

    def hold_at(self, epoch: int) -> int:
        """The hold of an epoch, as it keys the coins: 0 for `once`, the epoch for `fresh`."""
        if self.repeat == "memoized":
            return hold_at(epoch, first_epoch=self.first_epoch, hold_epochs=self.hold_epochs)
        return epoch if self.repeat == "fresh" else 0

    def hold_span(self, hold: int) -> range:
        """Return the epochs of a hold; for `once`, the collection's whole life."""
        if self.repeat == "fresh":
            return range(hold, hold + 1)
        if self.repeat == "once":
            return range(self.first_epoch, self.last_epoch + 1)
        first, length = self.first_epoch, self.hold_epochs
        return range(
            hold_start(hold, first_epoch=first, hold_epochs=length),
            hold_end(hold, first_epoch=first, hold_epochs=length),
        )

    @property
    def description(self) -> str:
        """When a device stops, in words that follow "a device"."""
        tosses = min(self.paid_holds, self.holds)
        if self.repeat == "once" or not tosses:
            return f"answers in {_counted(tosses, 'epoch')}"
        if self.repeat == "memoized":
            answered = f"{_counted(tosses, 'hold')} of {_counted(self.hold_epochs, 'epoch')}"
            after = "then repeats its last"
        else:
            answered, after = _counted(tosses, "epoch"), "counted from its first"
        return f"answers in {answered}, {after if tosses < self.holds else 'all there are'}"

    def words(self, period: str) -> str:
        """When a device answers and when it stops, in words for people, after "a device".

        `period` is what people call an epoch: see `period_name`.
        """
        paid = min(self.paid_holds, self.holds)
        if not paid:
            return "never answers: ε for its lifetime is too small"
        if self.repeat == "once":
            return "answers once"
        if self.repeat == "fresh":
            return f"answers {'on' if period == 'day' else 'in'} {_counted(paid, period)}"
        kept = _counted(self.hold_epochs, period)
        if paid == self.holds == 1:
            return (
                f"keeps one scrambled answer for {kept} and sends it with new noise each {period}"
            )
        return (
            f"makes a new scrambled answer every {kept}, {paid} in total, and sends the latest "
            f"one with new noise each {period}"
        )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
