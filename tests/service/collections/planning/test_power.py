"""“Shows up … 80 % of the time”: the power of the exact test at the frequency that a plan names."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from deniable_aggregator.collections.planning import plan
from deniable_aggregator.collections.planning.power import LabelTest, critical_counts
from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.simulation import simulated_tally
from deniable_shared import mechanisms
from deniable_shared.mechanisms.protocols import Mechanism
from support.tiers import grid, rows

pytestmark = pytest.mark.usefixtures("unshuffled")

LABELS_AND_EPSILON = [(10, "4"), (64, "6"), (1_000, "4"), (1_000, "6"), (1_000, "8"), (60_000, "8")]
MORE = [(2, "1"), (10, "0.5"), (1_000, "2")]


def planned(domain: int, epsilon: str, users: int, type: str = "choice") -> tuple[Mechanism, float]:
    """The mechanism that the plan chose, and the least frequency that it says is found."""
    found = plan(domain, epsilon, users, domain_type=type)
    assert found.smallest_detectable is not None
    mechanism = mechanisms.build(
        found.mechanism, domain_size=domain, epsilon=epsilon, **found.parameters
    )
    return mechanism, found.smallest_detectable


@pytest.mark.slow
@pytest.mark.parametrize("users", grid([1_000, 20_000, 1_000_000], by_default=[20_000]))
@pytest.mark.parametrize(
    ("domain", "epsilon"), rows([*LABELS_AND_EPSILON, *MORE], by_default=LABELS_AND_EPSILON[:2])
)
def test_a_label_of_that_frequency_is_found_as_often_as_said(
    domain: int, epsilon: str, users: int
) -> None:
    """By scipy's binomial law, which the plan does not use; 0.07 to 0.77 before."""
    mechanism, least = planned(domain, epsilon, users)
    p, q = float(mechanism.p), float(mechanism.q)
    critical = binom.isf(0.05 / domain, users, q) + 1
    assert binom.sf(critical - 1, users, q) <= 0.05 / domain < binom.sf(critical - 2, users, q)
    assert binom.sf(critical - 1, users, q + (p - q) * least) == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize("bits", [8, 200])
def test_so_is_a_bit_that_only_some_reports_speak_of(bits: int) -> None:
    """Each report says something of some bits only: the mean over all numbers of such reports."""
    users = 5_000
    mechanism, least = planned(bits, "1", users, "bits")
    p, q, result = float(mechanism.p), float(mechanism.q), float(mechanism.sampling_fraction)
    trials = np.arange(users + 1)
    critical = critical_counts(trials, q, 0.05 / bits)
    power = binom.sf(critical - 1, trials, q + (p - q) * least)
    assert binom.pmf(trials, users, result) @ power == pytest.approx(0.8, abs=1e-3)


@pytest.mark.statistical
@pytest.mark.parametrize(("domain", "epsilon"), [(10, "4"), (64, "6")])
def test_estimates_call_it_significant_as_often(domain: int, epsilon: str) -> None:
    """2,000 tallies: a share off by 5 · √(.8·.2/2000) = .045 comes once in two million.

    Holm's test, which is the default, finds no less than Bonferroni's.
    """
    users, runs = 1_000, 2_000
    mechanism, least = planned(domain, epsilon, users)
    estimator = estimator_for(mechanism)
    drawn = np.random.default_rng().binomial(users, least, runs)  # noqa: TID251  (people)
    hits = 0
    for holders in drawn.tolist():
        tally = simulated_tally(mechanism, [0, domain - 1], [holders, users - holders])
        hits += bool(estimator.estimate(tally, users).significant("holm")[0])
    assert hits / runs == pytest.approx(0.8, abs=5 * math.sqrt(0.16 / runs))


@pytest.mark.parametrize("power", [0.01, 0.5, 0.999])
@pytest.mark.parametrize("reports", [1, 7, 1_000])
def test_the_answer_is_a_frequency_that_reaches_the_power_or_none(
    reports: int, power: float
) -> None:
    p, q = 0.7, 0.1
    least = LabelTest(p, q, 1.0, 0.01).least_frequency(reports, power)
    (critical,) = critical_counts(np.array([reports]), q, 0.01)
    best = binom.sf(critical - 1, reports, p)
    assert (least is None) == (best < power)
    if least:
        assert binom.sf(critical - 1, reports, q + (p - q) * least) == pytest.approx(power)
