"""Cyclic designs as counted: a histogram, correlated exactly for all counts."""

from __future__ import annotations

import numpy as np
import pytest

from deniable_estimators.mechanisms import estimator_for
from deniable_shared.algebra.difference_sets import difference_set
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms import build
from deniable_shared.mechanisms.cyclic import CyclicResponse
from deniable_shared.randomness.coins import Coins


def cyclic(d: int, epsilon: str = "1", **pinned: int) -> CyclicResponse:
    mechanism = build("cyclic/1", domain_size=d, epsilon=epsilon, permanent=None, **pinned)
    assert isinstance(mechanism, CyclicResponse)
    return mechanism


def by_definition(mechanism: CyclicResponse, counts: list[int]) -> list[int]:
    members = difference_set(mechanism.field_order, mechanism.dimension)
    codes = mechanism.alphabet_size
    return [
        sum(counts[(label + member) % codes] for member in members)
        for label in range(mechanism.domain_size)
    ]


@pytest.mark.parametrize(("d", "epsilon"), [(5, "1"), (64, "1"), (100, "3"), (300, "0.5")])
@pytest.mark.parametrize("most", [1, 1000, 10**11, 2**53])
def test_supports_are_exact_whatever_the_counts(d: int, epsilon: str, most: int) -> None:
    mechanism = cyclic(d, epsilon)
    of = estimator_for(mechanism)
    coins = Coins.system()
    counts = [coins.below(most + 1) for _ in range(mechanism.alphabet_size)]
    if mechanism.support_size * sum(counts) < 2**62:
        assert of.supports(np.array(counts)).tolist() == by_definition(mechanism, counts)


def test_two_cells_of_a_hundred_billion_among_eighty_thousand_are_exact() -> None:
    mechanism = cyclic(60_000)
    counts = np.zeros(mechanism.alphabet_size, dtype=np.int64)
    counts[[3, 77_777]] = 10**11, 10**11 + 1
    supports = estimator_for(mechanism).supports(counts)
    members = set(difference_set(mechanism.field_order, mechanism.dimension))
    for label in (0, 3, 1000, 59_999):
        held = [(place - label) % mechanism.alphabet_size in members for place in (3, 77_777)]
        assert supports[label] == held[0] * 10**11 + held[1] * (10**11 + 1)


@pytest.mark.parametrize(("d", "epsilon"), [(9, "1"), (64, "1"), (1000, "2")])
def test_supports_are_those_of_each_payload_and_tallies_add(d: int, epsilon: str) -> None:
    mechanism, coins = cyclic(d, epsilon), Coins.system()
    sent = [mechanism.randomize(coins.below(d), coins) for _ in range(40)]
    rows = np.frombuffer(b"".join(sent), dtype=np.uint8).reshape(40, -1)
    of = estimator_for(mechanism)
    tally = of.tally(rows)
    assert (tally == of.tally(rows[:13]) + of.tally(rows[13:])).all()
    supports = of.supports(tally)
    for label in range(0, d, max(1, d // 50)):
        assert supports[label] == sum(mechanism.supports(payload, label) for payload in sent)


def test_many_tallies_are_read_at_once() -> None:
    mechanism = cyclic(20)
    of = estimator_for(mechanism)
    tallies = np.arange(6 * mechanism.alphabet_size).reshape(2, 3, -1)
    read = of.supports(tallies)
    assert read.shape == (2, 3, 20)
    assert (read[1, 2] == of.supports(tallies[1, 2])).all()
    assert (of.supports(tallies[:0]) == 0).all()


def test_expected_counts_are_estimated_as_the_truth() -> None:
    mechanism = cyclic(13, field_order=3, dimension=3)
    truth = np.arange(13) / 78
    law = [[float(chance) for chance in mechanism.pmf(value).values()] for value in range(13)]
    n = 10**12
    counts = np.floor(truth @ np.array(law) * n).astype(np.int64)
    counts[0] += n - counts.sum()
    estimate = estimator_for(mechanism).estimate(counts, n)
    assert estimate.frequencies == pytest.approx(truth, abs=1e-9)


def test_impossible_codes_and_tallies_with_wrong_sums_are_refused() -> None:
    mechanism = cyclic(9)
    of = estimator_for(mechanism)
    with pytest.raises(DecodeError):
        of.tally(np.full((1, 1), mechanism.alphabet_size, dtype=np.uint8))
    with pytest.raises(ParameterError, match="must add up to n"):
        of.estimate(np.zeros(mechanism.alphabet_size, dtype=np.int64), 1)
