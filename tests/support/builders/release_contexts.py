"""Tiny collections and all their neighbours, from each mechanism's own messages."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt

from deniable_aggregator.releases.kinds.contract import ReleaseContext, Tallies, TallyPart
from deniable_aggregator.releases.kinds.message_spaces import message_space_of
from deniable_aggregator.releases.kinds.sensitivity import Sensitivity
from deniable_central.accounting import Installation
from deniable_estimators.inference.payload_arrays import first_round
from deniable_shared.domains import Bits, Choice, Domain, Number, Text
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.protocols import Mechanism
from support.builders.record_domains import record
from support.oracles.message_laws import MessageLaw

Vector = tuple[int, ...]
PRICES = ("1", "2.50", "4", "4.01")


def context(
    built: Mechanism,
    n: int,
    *,
    repeat: str | None = None,
    epochs: int = 1,
    labels: tuple[str, ...] | None = None,
    cohorts: int = 1,
    numbers: bool = False,
) -> ReleaseContext:
    default = "memoized" if isinstance(built, MemoizedChain) else "once"
    return ReleaseContext(
        collection="question-aaaaaa",
        domain=_domain(built, labels, numbers=numbers),
        mechanism=built,
        repeat=repeat or default,
        read="releases",
        epochs=tuple(range(epochs)),
        n=n,
        cohorts=cohorts,
        installation=Installation(epochs, built.epsilon * epochs),
    )


def _domain(built: Mechanism, labels: tuple[str, ...] | None, *, numbers: bool) -> Domain:
    form = first_round(built)
    if "record" in built.domain_types and "choice" not in built.domain_types:
        return record(*form.radices)  # type: ignore[attr-defined]  # a mechanism of records
    if "text" in built.domain_types:
        return Text(built.domain_size)
    if "number" in built.domain_types and (numbers or "choice" not in built.domain_types):
        return Number(Fraction(0), Fraction(built.domain_size - 1), Fraction(1))
    named = labels or tuple(f"label {v}" for v in range(built.domain_size))
    return Choice(named) if "choice" in built.domain_types else Bits(named)


def tallies(counts: Vector, n: int) -> Tallies:
    return Tallies((TallyPart(epoch=0, cohort=0, n=n, counts=np.array(counts, dtype=np.int64)),))


def messages(built: Mechanism) -> list[Vector]:
    """What each message adds to the tally, by the kernel that counts real reports."""
    return sorted({tuple(row) for row in MessageLaw(built).tallies.tolist()})


def neighbours(built: Mechanism, n: int) -> Iterator[tuple[Vector, Vector]]:
    """The tally of every n messages, and that after replacing one report."""
    every, seen = messages(built), set[tuple[Vector, Vector]]()
    for kept in combinations_with_replacement(every, n - 1):
        others = np.sum(kept, axis=0) if kept else np.zeros(len(every[0]), dtype=np.int64)
        with_one = [tuple((others + message).tolist()) for message in every]
        for pair in ((one, other) for one in with_one for other in with_one if one != other):
            if pair not in seen:
                seen.add(pair)
                yield pair


def all_tallies(built: Mechanism, n: int) -> set[Vector]:
    """The tally of every n messages."""
    return {
        tuple(np.sum(chosen, axis=0).tolist())
        for chosen in combinations_with_replacement(messages(built), n)
    }


def sensitivity_of(mechanism: Mechanism, matrix: npt.NDArray[np.int64]) -> Sensitivity:
    """Of a matrix of one row an answer, one column a count of the tally."""
    return Sensitivity(message_space_of(mechanism), np.ascontiguousarray(matrix))
