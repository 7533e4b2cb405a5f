"""Exact laws of messages, tallies and supports, from a mechanism's own pmf."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np

from deniable_estimators.inference.channel import Channel, Counts
from deniable_estimators.inference.protocols import Estimator
from deniable_estimators.mechanisms import estimator_for
from deniable_shared import mechanisms
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.protocols import Mechanism
from support.oracles.privacy_checks import by_size

Value = int | tuple[int, ...]
Population = Mapping[Value, Fraction]


@dataclass(frozen=True)
class MessageLaw:
    """Every message of a mechanism, what it adds to the tally, and its probability by input.

    Its estimator says what a tally supports. If a report is about some labels only, the tally
    starts with the reports that tell of each.
    """

    mechanism: Mechanism

    @cached_property
    def estimator(self) -> Estimator:
        return estimator_for(self.mechanism)

    @cached_property
    def channel(self) -> Channel:
        return Channel(self.mechanism.p, self.mechanism.q)

    @cached_property
    def inputs(self) -> list[Value]:
        return list(self.mechanism.inputs())

    @cached_property
    def messages(self) -> list[bytes]:
        return list(self.mechanism.pmf(self.inputs[0]))

    @property
    def labels(self) -> int:
        return self.mechanism.domain_size

    @cached_property
    def tallies(self) -> Counts:
        """(messages, tally_size): the tally of each message alone, by the real kernel."""
        rows = [np.frombuffer(message, dtype=np.uint8)[None, :] for message in self.messages]
        return np.array([self.estimator.tally(row) for row in rows])

    def supports(self, tallies: Counts) -> Counts:
        """(…, labels) of tallies (…, tally_size)."""
        return self.estimator.supports(tallies)

    def trials(self, tallies: Counts, n: int) -> Counts:
        """(…, labels): how many of the n reports tell of each label."""
        if self.mechanism.sampling_fraction == 1:
            return np.full((*tallies.shape[:-1], self.labels), n)
        return tallies[..., : self.labels]

    def probabilities(self, population: Population) -> list[Fraction]:
        """Of each message from a sender drawn from the population."""
        rows = {value: self.mechanism.pmf(value) for value in population}
        return [
            sum((weight * rows[value][message] for value, weight in population.items()), Fraction())
            for message in self.messages
        ]

    def frequencies(self, population: Population) -> list[Fraction]:
        """True frequency of each label, by definition of the encoding."""
        sums = [Fraction()] * self.labels
        for value, weight in population.items():
            for label, held in enumerate(self.truth(value)):
                sums[label] += weight * held
        return sums

    def truth(self, value: Value) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        return tuple(int(label == value) for label in range(self.labels))

    def uneven(self) -> dict[Value, Fraction]:
        """A population in which every input has a weight of its own."""
        total = len(self.inputs) * (len(self.inputs) + 1) // 2
        return {value: Fraction(rank + 1, total) for rank, value in enumerate(self.inputs)}

    def outcomes(self, population: Population, n: int) -> Iterator[tuple[Fraction, Counts]]:
        """Every sequence of n messages: its exact probability and its tally."""
        chances = self.probabilities(population)
        for drawn in product(range(len(chances)), repeat=n):
            chance = Fraction(1)
            for message in drawn:
                chance *= chances[message]
            yield chance, self.tallies[list(drawn)].sum(axis=0)

    def draw_tallies(
        self,
        population: Population,
        n: int,
        replicates: int,
        draws: np.random.Generator | None = None,  # noqa: TID251  (of a test that needs the same)
    ) -> Counts:
        """(replicates, tally_size): tallies of n independent reports each, from the exact pmf."""
        chances = np.array([float(chance) for chance in self.probabilities(population)])
        chosen = (draws or generator()).multinomial(n, chances / chances.sum(), size=replicates)
        return np.asarray(chosen @ self.tallies)

    def draw_supports(
        self, population: Population, n: int, replicates: int
    ) -> tuple[Counts, Counts]:
        """Supports and trials, (replicates, labels) each, of such tallies: they add up.

        Messages that support the same labels are drawn as one.
        """
        said = np.stack([self.supports(self.tallies), self.trials(self.tallies, 1)], axis=1)
        kinds, kind = np.unique(said, axis=0, return_inverse=True)
        chances = np.array([float(chance) for chance in self.probabilities(population)])
        merged = np.bincount(kind.ravel(), chances)
        chosen = generator().multinomial(n, merged / merged.sum(), size=replicates)
        supports, trials = np.moveaxis(np.tensordot(chosen, kinds, axes=1), 1, 0)
        return supports, trials


def laws(epsilons: tuple[str, ...], sizes: tuple[int, ...]) -> list[MessageLaw]:
    """Each mechanism for labels, with each ε and each domain size that it takes."""
    return [
        MessageLaw(mechanism)
        for id in known()
        for epsilon, size in product(epsilons, sizes)
        if (mechanism := _build(id, epsilon, size)) is not None
    ]


def chains(epsilons: tuple[str, ...], sizes: tuple[int, ...]) -> list[MessageLaw]:
    """One report of each mechanism's chain, with twice the ε for the permanent answer."""
    return [
        MessageLaw(mechanism)
        for id in known()
        for epsilon, size in product(epsilons, sizes)
        if (mechanism := _build(id, epsilon, size, permanent=2 * Fraction(epsilon))) is not None
    ]


def known() -> Iterator[str]:
    """Mechanisms that tell labels."""
    for id in by_size():
        if estimator_for(mechanisms.build(id, domain_size=2, epsilon=1)).estimand == "labels":
            yield id


def law_of(id: str, epsilon: str, size: int) -> MessageLaw:
    return MessageLaw(mechanisms.build(id, domain_size=size, epsilon=epsilon))


def label(law: MessageLaw) -> str:
    built = law.mechanism
    chain = "chain-" if isinstance(built, MemoizedChain) else ""
    return f"{chain}{built.id}-size{built.domain_size}-eps{float(built.epsilon):g}"


def _build(id: str, epsilon: str, size: int, permanent: Fraction | None = None) -> Mechanism | None:
    try:
        if permanent is not None:
            return mechanisms.build(id, domain_size=size, epsilon=epsilon, permanent=permanent)
        return mechanisms.build(id, domain_size=size, epsilon=epsilon)
    except ParameterError:
        return None


def generator() -> np.random.Generator:  # noqa: TID251  (simulates whole populations in tests)
    return np.random.default_rng()  # noqa: TID251  (draws people of a test)
