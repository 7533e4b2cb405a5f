"""`plan`: published tables, and what its own mechanisms, estimates and simulations say."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from deniable_aggregator.collections.authoring.recommendation import DomainShape, recommend
from deniable_aggregator.collections.planning import Plan, plan
from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.simulation import simulated_tally
from deniable_shared import mechanisms
from deniable_shared.domains import Bits, Choice, Number
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain
from support.tiers import grid, rows

HALF_WIDTHS = (0.05, 0.02, 0.01, 0.005, 0.001)
OF_A_CHOICE = {  # docs/mathematics/planning.md, How many reports
    "0.25": (97_985, 612_403, 2.45e6, 9.80e6, 2.45e8),
    "0.5": (24_234, 151_458, 605_829, 2.42e6, 6.06e7),
    "1": (5_813, 36_328, 145_311, 581_243, 1.45e7),
    "2": (1_267, 7_914, 31_656, 126_624, 3.17e6),
    "3": (493, 3_079, 12_315, 49_258, 1.23e6),
    "4": (271, 1_691, 6_762, 27_048, 676_181),
}
OF_A_BIT = {
    "0.25": (24_458, 152_861, 611_443, 2.45e6, 6.1e7),
    "0.5": (6_020, 37_625, 150_497, 601_988, 1.5e7),
    "1": (1_415, 8_842, 35_368, 141_470, 3.5e6),
    "2": (279, 1_739, 6_954, 27_815, 695_364),
    "3": (85, 530, 2_119, 8_473, 211_822),
    "4": (30, 183, 731, 2_921, 73_009),
}
EPSILONS_NEEDED = [  # users, half-width, of a choice at f = 0, of a bit
    (10**3, 0.05, 2.08, 1.17),
    (10**3, 0.02, 3.70, 2.44),
    (10**3, 0.01, 5.05, 3.70),
    (10**4, 0.05, 0.77, 0.39),
    (10**4, 0.005, 4.15, 2.85),
    (10**5, 0.01, 1.17, 0.61),
    (10**5, 0.001, 5.05, 3.70),
    (10**6, 0.005, 0.77, 0.39),
    (10**7, 0.005, 0.25, 0.12),
]


def sample(domain: int, epsilon: str, half_width: float, **more: object) -> Plan:
    """Of those who answer, as the tables have it."""
    return plan(
        domain,
        epsilon,
        1000,
        half_width=half_width,
        population=False,
        **more,  # type: ignore[arg-type]  # one dict has values of many types
    )


@pytest.mark.usefixtures("unshuffled")
@pytest.mark.slow
@pytest.mark.parametrize("epsilon", grid(OF_A_CHOICE, by_default=["0.25", "3"]))
def test_the_reports_that_a_choice_needs_are_those_of_the_table(epsilon: str) -> None:
    for half_width, result in zip(HALF_WIDTHS, OF_A_CHOICE[epsilon], strict=True):
        found = sample(60_000, epsilon, half_width, mechanism="affine/1", frequency=0.1)
        assert found.users_needed == pytest.approx(result, rel=0.003)


@pytest.mark.slow
@pytest.mark.usefixtures("unshuffled")
@pytest.mark.parametrize("epsilon", grid(OF_A_BIT, by_default=["0.25", "3"]))
def test_the_reports_that_a_bit_needs_are_those_of_the_table(epsilon: str) -> None:
    for half_width, result in zip(HALF_WIDTHS, OF_A_BIT[epsilon], strict=True):
        found = sample(1, epsilon, half_width, domain_type="bits", frequency=0.1)
        assert found.users_needed == pytest.approx(result, rel=0.02, abs=1)


@pytest.mark.usefixtures("unshuffled")
@pytest.mark.parametrize(
    ("users", "half_width", "choice", "bit"),
    rows(EPSILONS_NEEDED, by_default=EPSILONS_NEEDED[1::4]),
)
def test_the_epsilon_that_a_half_width_needs_is_that_of_the_table(
    users: int, half_width: float, choice: float, bit: float
) -> None:
    one = plan(65_000, 1, users, mechanism="affine/1", half_width=half_width, population=False)
    assert float(one.epsilon_needed or math.nan) == pytest.approx(choice, abs=0.012)
    result = plan(1, 1, users, domain_type="bits", half_width=half_width, population=False)
    assert float(result.epsilon_needed or math.nan) == pytest.approx(bit, abs=0.012)


@pytest.mark.usefixtures("unshuffled")
@pytest.mark.slow
@pytest.mark.parametrize("repeat", grid(["once", "memoized"], by_default=["memoized"]))
def test_what_is_needed_is_enough_and_a_little_less_is_not(repeat: str) -> None:
    found = plan(40, "1", 5_000, half_width=0.04, repeat=repeat)
    assert plan(40, "1", found.users_needed, repeat=repeat).half_width <= 0.04
    assert plan(40, "1", found.users_needed - 1, repeat=repeat).half_width > 0.04
    assert found.epsilon_needed is not None
    enough = Fraction(found.epsilon_needed)
    assert plan(40, enough, 5_000, repeat=repeat).half_width <= 0.04
    assert plan(40, enough - Fraction(1, 1000), 5_000, repeat=repeat).half_width > 0.04


def test_no_epsilon_is_enough_where_people_differ_more_than_that() -> None:
    """√(¼/100) = 5 points for a share of one half, even if all people answer truthfully."""
    assert plan(1, "1", 100, domain_type="bits", half_width=0.05).epsilon_needed is None


@pytest.mark.usefixtures("unshuffled")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("domain", "epsilon"),
    rows([(2, "1"), (30, "0.5"), (30, "3"), (1000, "1")], by_default=[(2, "1"), (30, "3")]),
)
def test_its_standard_error_is_that_of_estimates(domain: int, epsilon: str) -> None:
    found = plan(domain, epsilon, 50_000)
    mechanism = mechanisms.build(
        found.mechanism, domain_size=domain, epsilon=epsilon, **found.parameters
    )
    tally = simulated_tally(mechanism, [domain - 1], [50_000])
    estimate = estimator_for(mechanism).estimate(tally, 50_000)
    assert estimate.channel is not None
    (at_zero,) = estimate.channel.std_errors(np.zeros(1), estimate.n)
    assert at_zero == pytest.approx(found.std_error)
    assert estimate.influence == pytest.approx(found.influence)


@pytest.mark.usefixtures("unshuffled")
@pytest.mark.slow
def test_it_chooses_as_a_manifest_that_names_none() -> None:
    for domain in (Choice(tuple("abcdefghijklmnop")), Bits(tuple("abc"))):
        chosen = recommend(DomainShape(domain.type, domain.size), Fraction(1))
        found = plan(domain, 1, 1000)
        assert (found.mechanism, found.reason) == (chosen.id, chosen.reason)
        assert found.payload_bytes == chosen.mechanism.payload_size
    numbers = Number(Fraction(0), Fraction(15), Fraction(1))
    assert plan(numbers, 1, 1000).mechanism == plan(16, 1, 1000).mechanism
    assert plan(numbers, 1, 1000).type == "number"


def test_a_named_mechanism_is_taken_and_judged() -> None:
    found = plan(1000, 1, 1000, mechanism="grr/1")
    assert found.mechanism == "grr/1"
    assert found.reason.startswith("named; 92.5 times the least error")
    assert found.ratio_to_optimum == pytest.approx(92.4, abs=0.1)


@pytest.mark.usefixtures("unshuffled")
@pytest.mark.exhaustive
def test_the_least_that_shows_up_is_above_the_noise_of_all_labels() -> None:
    """About (z_{1−.05/d} + z_{.8})·√(V0/n): 1.645 + 0.842 for one, 3.891 + 0.842 for many."""
    one = plan(1, "1", 10_000, domain_type="bits")
    assert one.smallest_detectable == pytest.approx(2.4865 * math.sqrt(0.92067 / 10_000), rel=0.02)
    many = plan(1000, "1", 100_000)
    assert many.smallest_detectable == pytest.approx(4.7322 * many.std_error, rel=0.02)
    assert plan(1000, "0.1", 100).smallest_detectable is None


@pytest.mark.usefixtures("unshuffled")
@pytest.mark.slow
def test_influence_is_that_of_the_literature_at_many_labels() -> None:
    """2·coth(ε/2): 4.3 at ε = 1; one percent of all widen an interval by .0437."""
    found = plan(60_000, "1", 10_000, mechanism="affine/1")
    assert found.influence is not None
    assert 10_000 * found.influence == pytest.approx(2 / math.tanh(0.5), rel=1e-3)
    assert found.influence_of_one_percent == pytest.approx(0.04372, rel=1e-3)


@pytest.mark.usefixtures("unshuffled")
@pytest.mark.slow
def test_each_way_to_repeat_has_its_own_cost_and_error() -> None:
    found = plan(4, "1", 10_000, epochs=10)
    once, fresh, memoized = found.repeats
    assert [way.epsilon_lifetime for way in found.repeats] == [1, 10, 2]
    assert once.std_error_all == once.std_error == fresh.std_error
    assert fresh.std_error_all == pytest.approx(once.std_error / math.sqrt(10))
    kept = mechanisms.build("grr/1", domain_size=4, epsilon="2")
    least = math.sqrt(float(kept.q * (1 - kept.q) / (kept.p - kept.q) ** 2) / 10_000)
    assert least < memoized.std_error_all < memoized.std_error
    far = plan(4, "1", 10_000, epochs=10**9).repeats[2]
    assert far.std_error_all == pytest.approx(least, rel=1e-6)


@pytest.mark.usefixtures("unshuffled")
@pytest.mark.statistical
def test_averages_over_a_hold_spread_as_planned() -> None:
    """400 fleets of 2,000 devices, 4 epochs of one permanent answer.

    A ratio of variances within 6 · √(2/400) of 1: of a χ² with 399 degrees of freedom 5e-8 is
    beyond.
    """
    found = plan(2, "1", 2_000, epochs=4, permanent="2").repeats[2]
    chain = mechanisms.build(found.mechanism, domain_size=2, epsilon="1", permanent="2")
    assert isinstance(chain, MemoizedChain)
    kept, blurred, first = map(float, (chain.keep_probability, chain.redraw_support, chain.first.q))
    draws = np.random.default_rng()  # noqa: TID251  (simulates a fleet)
    permanent = draws.random((400, 2_000)) < first
    result = draws.random((4, 400, 2_000)) < np.where(permanent, kept + blurred, blurred)
    shares = result.mean(axis=(0, 2))
    means = (shares - float(chain.q)) / float(chain.p - chain.q)
    assert means.var() / found.std_error_all**2 == pytest.approx(1, abs=6 * math.sqrt(2 / 400))


@pytest.mark.slow
def test_shuffling_helps_and_more_people_help_more() -> None:
    few, many = (plan(64, "1", users).shuffle_epsilon for users in (1_000, 100_000))
    assert 0 < many < few < 1
    assert many == pytest.approx(0.0085, abs=5e-4)


@pytest.mark.slow
def test_the_document_is_json_with_what_planners_read() -> None:
    result = json.loads(json.dumps(plan(16, "1", 1000).to_json()))
    wanted = {
        *("mechanism", "reason", "payload_bytes", "std_error", "users_needed", "epsilon_needed"),
        *("ratio_to_optimum", "smallest_detectable", "influence", "shuffle_epsilon"),
    }
    assert wanted <= set(result)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"domain": 1}, "domain must have at least 2 labels"),
        ({"domain_type": "record"}, "give the record itself"),
        ({"asks": "mode"}, "asks must be one of labels, mean, ranges"),
        ({"asks": "mean"}, "asks must be labels but for a number"),
        ({"domain_type": "number", "asks": "mean", "mechanism": "grr/1"}, "one of optimal-mean/1"),
        ({"domain_type": "number", "asks": "ranges", "domain": 5000}, "use fewer steps"),
        ({"domain": True}, "domain must be a domain or its size"),
        ({"domain_type": "colour"}, "type must be bits, choice, number or text"),
        ({"users": 0}, "users must be at least 1, got 0"),
        ({"users": 10**12 + 1}, "users must be at most 1,000,000,000,000, got 1,000,000,000,001"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"half_width": 0.0}, "half_width must be strictly between 0 and 1"),
        ({"half_width": 1e-12}, "half_width must be larger, got 1e-12: it needs more than 4,6"),
        ({"confidence": 1.0}, "confidence must be strictly between"),
        ({"frequency": 1.5}, r"frequency must be in \[0, 1\]"),
        ({"repeat": "daily"}, "repeat must be one of once, fresh, memoized"),
        ({"mechanism": "duchi/1"}, "mechanism must measure frequencies, one of affine/1"),
        ({"epsilon": "21"}, "epsilon must lie in"),
        ({"repeat": "memoized", "permanent": "1"}, "permanent must be more than epsilon = 1"),
    ],
)
def test_what_cannot_be_planned_is_refused(arguments: dict[str, object], reason: str) -> None:
    given: dict[str, object] = {"domain": 8, "epsilon": "1", "users": 1000} | arguments
    with pytest.raises(ParameterError, match=reason):
        plan(**given)  # type: ignore[arg-type]  # a wrong type is the point
