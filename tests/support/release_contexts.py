"""Tiny collections beside all their neighbours, built from each mechanism's own messages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np

from deniable_aggregator.releases.kinds.contract import ReleaseContext, Tallies, TallyPart
from deniable_central.accounting import Installation
from deniable_shared import mechanisms
from deniable_shared.domain import Bits, Choice, Domain
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.protocols import Mechanism
from support.message_laws import MessageLaw

Vector = tuple[int, ...]
PRICES = ("1", "2.50", "4", "4.01")


def mechanism(id: str, size: int, epsilon: str = "1", **parameters: int) -> Mechanism:
    return mechanisms.build(id, domain_size=size, epsilon=epsilon, permanent=None, **parameters)


def chain(id: str, size: int, epsilon: str = "1", permanent: str = "2", **given: int) -> Mechanism:
    return mechanisms.build(id, domain_size=size, epsilon=epsilon, permanent=permanent, **given)


SMALL = {
    "grr-2": mechanism("grr/1", 2),
    "grr-4": mechanism("grr/1", 4),
    "grr-chain": chain("grr/1", 3),
    "rr-2": mechanism("rr/1", 2),
    "rr-3-one-hot": mechanism("rr/1", 3, distance=2),
    "rr-chain": chain("rr/1", 2),
    "sampled-1-of-2": mechanism("rr-sampled/1", 2, sampled=1),
    "sampled-2-of-3": mechanism("rr-sampled/1", 3, sampled=2),
    "sampled-1-of-3": mechanism("rr-sampled/1", 3, sampled=1),
    "sampled-2-of-2-chain": chain("rr-sampled/1", 2, sampled=2),
    "subset-2-of-4": mechanism("subset/1", 4, subset_size=2),
    "subset-2-of-3-chain": chain("subset/1", 3, subset_size=2),
    "affine-4-of-5": mechanism("affine/1", 4, modulus=5, subset_size=2),
    "affine-3-chain": chain("affine/1", 3, modulus=3, subset_size=2),
    "cyclic-4-of-7": mechanism("cyclic/1", 4, field_order=2, dimension=3),
    "projective-4-of-7": mechanism("projective/1", 4, field_order=2, dimension=3),
    "hadamard-3": mechanism("hadamard/1", 3),
    "hadamard-4-chain": chain("hadamard/1", 4),
    "oue-3": mechanism("oue/1", 3),
    "sue-2-chain": chain("sue/1", 2),
}
"""At most four labels, and ten messages or fewer."""

CHOICES = {name: built for name, built in SMALL.items() if "choice" in built.domain_types}


def context(
    built: Mechanism,
    n: int,
    *,
    repeat: str | None = None,
    epochs: int = 1,
    labels: tuple[str, ...] | None = None,
    cohorts: int = 1,
) -> ReleaseContext:
    default = "memoized" if isinstance(built, MemoizedChain) else "once"
    return ReleaseContext(
        collection="question-aaaaaa",
        domain=_domain(built, labels),
        mechanism=built,
        repeat=repeat or default,
        read="releases",
        epochs=tuple(range(epochs)),
        n=n,
        cohorts=cohorts,
        installation=Installation(epochs, built.epsilon * epochs),
    )


def _domain(built: Mechanism, labels: tuple[str, ...] | None) -> Domain:
    named = labels or tuple(f"label {v}" for v in range(built.domain_size))
    return Choice(named) if "choice" in built.domain_types else Bits(named)


def tallies(counts: Vector, n: int) -> Tallies:
    return Tallies((TallyPart(epoch=0, cohort=0, n=n, counts=np.array(counts, dtype=np.int64)),))


def messages(built: Mechanism) -> list[Vector]:
    """What each message adds to the tally, by the kernel that counts real reports."""
    return sorted({tuple(row) for row in MessageLaw(built).tallies.tolist()})


def neighbours(built: Mechanism, n: int) -> Iterator[tuple[Vector, Vector]]:
    """The tally of every n messages beside what replacing one report makes of it."""
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
