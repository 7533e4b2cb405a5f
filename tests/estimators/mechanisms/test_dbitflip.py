"""Bit flips on buckets as counted: as sampled bits, read as the shares of a number's values."""

from __future__ import annotations

import numpy as np
import pytest

from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.simulation import simulated_tally
from deniable_shared.errors import DecodeError
from deniable_shared.mechanisms import build
from deniable_shared.randomness.coins import Coins


@pytest.mark.parametrize("sampled", [1, 3])
def test_the_tally_and_the_estimate_are_those_of_sampled_bits(sampled: int) -> None:
    mechanism = build("dbitflip/1", domain_size=9, epsilon="1", sampled=sampled)
    bits = build("rr-sampled/1", domain_size=9, epsilon="1", sampled=sampled, distance=2)
    sent = [mechanism.randomize(value % 9, Coins.system()) for value in range(500)]
    rows = np.frombuffer(b"".join(sent), dtype=np.uint8).reshape(500, -1)
    ours, theirs = estimator_for(mechanism), estimator_for(bits)
    tally = ours.tally(rows)
    assert tally.tolist() == theirs.tally(rows).tolist()
    one, other = ours.estimate(tally, 500), theirs.estimate(tally, 500)
    assert one.frequencies.tolist() == other.frequencies.tolist()
    assert one.std_errors.tolist() == other.std_errors.tolist()


@pytest.mark.parametrize("repeat", ["once", "fresh", "memoized"])
def test_everybody_in_one_bucket_is_estimated_so(repeat: str) -> None:
    permanent = "4" if repeat == "memoized" else None
    mechanism = build("dbitflip/1", domain_size=4, epsilon="2", permanent=permanent, sampled=1)
    n = 4 * 10**12
    yes = [round(10**12 * (mechanism.p if place == 2 else mechanism.q)) for place in range(4)]
    tally = np.array([10**12] * 4 + yes)
    estimate = estimator_for(mechanism, repeat).estimate(tally, n, epochs=3)
    assert estimate.frequencies.tolist() == pytest.approx([0, 0, 1, 0], abs=1e-11)


def test_a_bucket_nobody_told_of_has_no_estimate() -> None:
    mechanism = build("dbitflip/1", domain_size=3, epsilon="1")
    estimate = estimator_for(mechanism).estimate(np.array([5, 0, 5, 1, 0, 2]), 10)
    assert np.isnan(estimate.frequencies).tolist() == [False, True, False]


def test_two_buckets_in_the_wrong_order_are_refused() -> None:
    mechanism = build("dbitflip/1", domain_size=3, epsilon="1", sampled=2)
    with pytest.raises(DecodeError, match="rising order"):
        estimator_for(mechanism).tally(np.array([[4, 1]], dtype=np.uint8))


@pytest.mark.statistical
@pytest.mark.parametrize("sampled", [1, 4])
def test_a_million_people_are_estimated_within_their_errors(sampled: int) -> None:
    """n = 10^6, 40 buckets: |z| < 7 for each, false alarm below 1e-9 over all."""
    mechanism = build("dbitflip/1", domain_size=40, epsilon="1", sampled=sampled)
    people = np.arange(40) * 1_000 + 5_500
    tally = simulated_tally(mechanism, np.arange(40), people)
    estimate = estimator_for(mechanism).estimate(tally, 1_000_000)
    z = (estimate.frequencies - people / 1_000_000) / estimate.std_errors
    assert 0.1 < np.abs(z).max() < 7
