"""Charges for stores, and a budget that ends."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from hashlib import sha256

from deniable_aggregator.store.rows import ChargeRow, ResultRow
from support.builders.store_reports import COLLECTION, EPOCH


class Spent(Exception):  # noqa: N818  (the word of the domain)
    """The budget of these tests is used up."""


def charge_row(
    number: int,
    epsilon: str = "1/10",
    *,
    epochs: tuple[int, ...] = (EPOCH,),
    collection: str = COLLECTION,
) -> ChargeRow:
    """The charge of request `number`."""
    name = sha256(b"release %d" % number).digest()
    return ChargeRow(
        collection=collection,
        release=name[:8].hex(),
        request=name,
        terms=b'{"mechanism":"counts"}',
        epochs=epochs,
        epsilon=epsilon,
        rho=None,
        delta="0",
        adjacency="replace",
        created=1_800_000_000 + number,
    )


def result_row(number: int, text: bytes = b'{"counts":[1]}') -> ResultRow:
    """A result of the release that `charge_row(number)` pays."""
    return ResultRow(charge_row(number).release, sha256(text).digest(), text)


class Budget:
    """Admits while Σε stays within the limit; `seen` is what it was given each time."""

    def __init__(self, limit: str, price: str = "1/10") -> None:
        self.limit, self.price = Fraction(limit), Fraction(price)
        self.seen: list[int] = []

    def __call__(self, rows: Sequence[ChargeRow]) -> None:
        self.seen.append(len(rows))
        if spent(rows) + self.price > self.limit:
            raise Spent


def spent(rows: Sequence[ChargeRow]) -> Fraction:
    return sum((Fraction(row.epsilon or 0) for row in rows), Fraction(0))


def admitted(rows: Sequence[ChargeRow]) -> None:
    """No budget at all."""
