"""Raw tallies as counts for linear queries: the offset, one report's reach, τ, who is refused."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from deniable_aggregator.releases.kinds.randomized_counts import (
    RandomizedCounts,
    check_joint,
    local_error,
)
from deniable_central.queries import intervals
from deniable_shared import mechanisms
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.protocols import Mechanism
from support.builders.release_contexts import context, neighbours, tallies
from support.builders.small_mechanisms import CHOICES, SMALL, mechanism
from support.oracles.central_queries import Integers, binomial_tail
from support.oracles.message_laws import MessageLaw, Population
from support.oracles.selection_checks import FALSE_ALARM
from support.tiers import grid

NAMES = sorted(CHOICES)


def queries_of(labels: int) -> Integers:
    """All of them."""
    return np.array(list(product((0, 1), repeat=labels)))


def counted(built: Mechanism, counts: tuple[int, ...], n: int | None = None) -> RandomizedCounts:
    reports = sum(counts) if n is None else n
    return RandomizedCounts.of(context(built, reports), tallies(counts, reports))


def answer(built: Mechanism, counts: tuple[int, ...], query: Integers) -> int:
    return int(counted(built, counts, 2).observe(query[None])[0])


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_the_truth_times_n_and_the_gain_but_for_half_a_unit(name: str) -> None:
    built, n = SMALL[name], 3
    law, queries = MessageLaw(built), queries_of(SMALL[name].domain_size)
    for truth in combinations_with_replacement(range(built.domain_size), n):
        population: Population = {v: Fraction(k, n) for v, k in Counter(truth).items()}
        chances = law.probabilities(population)
        supports = law.supports(law.tallies)
        mean = [
            n * sum(c * int(row[v]) for c, row in zip(chances, supports, strict=True))
            for v in range(built.domain_size)
        ]
        data = counted(built, (0,) * built.tally_size, n)
        for query in queries.tolist():
            raw = sum(a * m for a, m in zip(query, mean, strict=True)) - data.offset(sum(query))
            assert abs(raw - data.gain * sum(query[v] for v in truth)) <= Fraction(1, 2)


@pytest.mark.parametrize("name", grid(NAMES, by_default=NAMES[::4]))
def test_one_report_moves_answers_as_stated_and_never_the_offset(name: str) -> None:
    built = SMALL[name]
    pairs = list(neighbours(built, 2))
    for query in queries_of(built.domain_size):
        said = cache(partial(answer, built, query=query))
        moved = {abs(said(one) - said(other)) for one, other in pairs}
        stated = counted(built, (0,) * built.tally_size, 2).sensitivity(query[None])
        assert max(moved) == stated
        assert built.id != "grr/1" or moved <= {0, 1}


def test_offsets_stay_exact_where_floats_would_not() -> None:
    built = mechanism("grr/1", 4)
    data = counted(built, (0, 0, 0, 0), (1 << 31) - 1)
    exact = data.rows * built.q * 3
    assert abs(data.offset(3) - exact) <= Fraction(1, 2)
    assert data.observe(np.array([[0, 1, 1, 1]])).tolist() == [-data.offset(3)]


def test_other_counts_have_another_fingerprint() -> None:
    built = SMALL["grr-4"]
    prints = {counted(built, c).fingerprint for c in [(1, 1, 0, 0), (0, 2, 0, 0), (1, 1, 0, 0)]}
    assert len(prints) == 2


def chain(epsilon: str) -> MemoizedChain:
    built = mechanisms.build("grr/1", domain_size=4, epsilon=epsilon, permanent="2")
    assert isinstance(built, MemoizedChain)
    return built


@pytest.mark.statistical
@pytest.mark.parametrize("alike", [1, 4])
def test_every_query_is_within_tau_for_devices_that_answer_alike(alike: int) -> None:
    """1,000 collections of 2,000 reports miss at most 5% each: above 105 is below 1e-6.

    Devices answer `alike` times with one permanent answer that is hardly renewed.
    """
    built = chain("1.99")
    given = context(built, 2000, epochs=alike)
    queries = intervals(4).matrix
    tau = local_error(given, queries=len(queries), beta=0.05, moves=1)
    devices, first = 2000 // alike, built.first
    draw = np.random.default_rng()  # noqa: TID251  (a population)
    chances = np.full(4, float(first.q))
    chances[0] = float(first.p)
    truth, missed = np.array([1.0, 0, 0, 0]), 0
    keep = float(built.keep_probability)
    for _ in range(1000):
        permanent = draw.multinomial(devices, chances / chances.sum())
        kept = draw.binomial(permanent * alike, keep)
        renewed = draw.multinomial(2000 - int(kept.sum()), [0.25] * 4)
        data = counted(built, tuple((kept + renewed).tolist()))
        shares = data.observe(queries) / float(2000 * data.gain)
        missed += float(np.abs(shares - queries @ truth).max()) > tau
    assert binomial_tail(1000, 0.05, missed) > FALSE_ALARM


def test_a_device_in_four_epochs_counts_for_as_much_as_four() -> None:
    built = chain("1")
    n = 10**8
    once, often = (
        local_error(context(built, n, epochs=epochs), queries=10, beta=0.05, moves=1)
        for epochs in (1, 4)
    )
    assert often == pytest.approx(2 * once, rel=1e-3)
    by_hand = math.sqrt(math.log(20 / 0.05) / (2 * n)) / float(built.p - built.q)
    assert once == pytest.approx(by_hand, rel=1e-3)
    alone = context(mechanism("grr/1", 4), n, repeat="once", epochs=4)
    assert local_error(alone, queries=10, beta=0.05, moves=1) < once * 2


@pytest.mark.parametrize("name", ["rr-2", "sampled-1-of-2"])
def test_bits_have_no_joint_counts_and_are_told_so(name: str) -> None:
    with pytest.raises(ParameterError, match=r"Bits are counted singly.*use histogram"):
        check_joint("mwem", context(SMALL[name], 10))


def test_reports_without_labels_are_refused_before_reading_a_tally() -> None:
    given = replace(context(SMALL["grr-4"], 10), mechanism=mechanism("square-wave/1", 4))
    with pytest.raises(ParameterError, match=r"square-wave/1 does not have: use mean, shares"):
        check_joint("small-db", given)
    check_joint("small-db", context(SMALL["subset-2-of-4"], 10))


def test_reports_that_speak_of_some_labels_are_refused() -> None:
    given = context(mechanism("dbitflip/1", 4, sampled=1), 10, numbers=True)
    with pytest.raises(
        ParameterError, match="dbitflip/1 contain only some: use histogram or shares"
    ):
        check_joint("mwem", given)


def test_more_reports_than_stay_exact_are_refused() -> None:
    given = context(SMALL["grr-4"], 1 << 31)
    with pytest.raises(ParameterError, match="release fewer epochs at a time"):
        check_joint("small-db", given)
    check_joint("small-db", replace(given, n=(1 << 31) - 1))
