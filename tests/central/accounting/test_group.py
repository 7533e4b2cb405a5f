"""Groups, adjacency, contraction, and what a release promises to whom: exact, and reached."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from deniable_central.accounting import (
    AccountError,
    Installation,
    contracted_guarantee,
    group_guarantee,
    promise,
    replacement_guarantee,
    total_variation,
)
from deniable_central.guarantee import Guarantee, bounded_range_rho, pure_rho
from deniable_shared.errors import ParameterError
from support.oracles.central_accounting import (
    ADD_REMOVE,
    MICRO,
    REPLACE,
    UP,
    after,
    approximate_response,
    check_contracts,
    check_group,
    check_group_rho,
    check_replacement,
    hockey_stick,
    randomized_response,
)
from support.tiers import grid

HALF = Fraction(1, 2)


def test_a_group_is_promised_what_a_chain_of_rows_reaches() -> None:
    check_group(group_guarantee)
    check_group_rho(group_guarantee)


def test_a_group_of_one_is_the_row() -> None:
    one = Guarantee.bounded_range(HALF, REPLACE)
    assert group_guarantee(one, 1) is one


def test_the_rho_of_a_large_group_is_no_more_than_its_epsilon_implies() -> None:
    many = group_guarantee(Guarantee.pure(HALF, REPLACE), 40)
    assert many.epsilon == 20
    assert many.rho == pure_rho(Fraction(20)) < 1600 * pure_rho(HALF)


def test_add_remove_enters_twice_under_replacement() -> None:
    check_replacement(replacement_guarantee)
    twice = replacement_guarantee(Guarantee.pure(HALF, ADD_REMOVE))
    assert twice.epsilon == 1
    assert twice.adjacency is REPLACE
    assert replacement_guarantee(twice) == twice


def test_only_the_exponential_mechanism_enters_with_its_smaller_rho() -> None:
    drawn = replacement_guarantee(Guarantee.bounded_range(HALF, ADD_REMOVE))
    other = replacement_guarantee(Guarantee.pure(HALF, ADD_REMOVE))
    assert drawn.rho == 4 * bounded_range_rho(HALF)
    assert other.rho == min(4 * pure_rho(HALF), pure_rho(Fraction(1)))


def test_a_group_whose_delta_reaches_one_is_promised_nothing() -> None:
    with pytest.raises(AccountError, match="nothing is promised to 40 rows together"):
        group_guarantee(Guarantee.approximate(HALF, MICRO, REPLACE), 40)


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.3])
@pytest.mark.parametrize("epsilon", grid(["0.1", "1", "8"], by_default=["1"]))
def test_total_variation_is_reached_by_the_response_of_both(epsilon: str, delta: float) -> None:
    claimed = Guarantee.approximate(Fraction(epsilon), Fraction(delta), REPLACE)
    pair = approximate_response(float(epsilon), delta)
    assert float(total_variation(claimed)) == pytest.approx(hockey_stick(*pair, 0.0), rel=1e-12)


def test_total_variation_of_a_small_rho_is_that_of_pinsker() -> None:
    gaussian = Guarantee.concentrated(Fraction(1, 50), REPLACE)
    assert float(total_variation(gaussian)) == pytest.approx(0.1, rel=1e-12)
    assert hockey_stick(*randomized_response(0.2), 0.0) <= float(
        total_variation(Guarantee(None, pure_rho(Fraction(1, 5)), Fraction(0), REPLACE))
    )


def test_contraction_is_reached_by_randomized_response_twice() -> None:
    check_contracts(lambda central, local: contracted_guarantee(central, local=local))


TABLE = {
    "0.5": (0.024, 0.120, 0.227, 0.377, 0.481),
    "1": (0.046, 0.227, 0.434, 0.735, 0.958),
    "2": (0.076, 0.377, 0.735, 1.325, 1.876),
    "4": (0.096, 0.481, 0.958, 1.876, 3.307),
}


@pytest.mark.parametrize("local", TABLE)
def test_the_table_of_contraction(local: str) -> None:
    for central, expected in zip(("0.1", "0.5", "1", "2", "4"), TABLE[local], strict=True):
        bound = contracted_guarantee(
            Guarantee.pure(Fraction(central), REPLACE), local=local
        ).epsilon
        assert bound is not None
        assert float(bound) == pytest.approx(expected, abs=6e-4)
        assert bound < min(Fraction(local), Fraction(central))


@pytest.mark.parametrize("options", [2, 3, 7])
def test_contraction_holds_for_other_mechanisms_before(options: int) -> None:
    e0, ec = 1.3, 0.8
    p = math.exp(e0) / (math.exp(e0) + options - 1)
    local = np.full((options, options), (1 - p) / (options - 1))
    np.fill_diagonal(local, p)
    bound = contracted_guarantee(Guarantee.pure(Fraction(ec), REPLACE), local=Fraction(e0)).epsilon
    assert bound is not None
    honest, lie = randomized_response(ec)
    for said in itertools.product((0, 1), repeat=options):
        central = np.array([honest if bit else lie for bit in said])
        laws = local @ central
        assert float(np.log(laws.max(axis=0) / laws.min(axis=0)).max()) <= float(bound) * UP


def test_contraction_speaks_of_replacement() -> None:
    added = contracted_guarantee(Guarantee.pure(HALF, ADD_REMOVE), local=1)
    exchanged = contracted_guarantee(Guarantee.pure(Fraction(1), REPLACE), local=1)
    assert added.epsilon == exchanged.epsilon


def test_contraction_of_a_gaussian_release_needs_an_epsilon_first() -> None:
    with pytest.raises(AccountError, match="by `epsilon_of`"):
        contracted_guarantee(Guarantee.concentrated(HALF, REPLACE), local=1)


def test_a_release_promises_a_report_an_installation_and_its_true_values() -> None:
    said = promise(
        Guarantee.bounded_range(HALF, REPLACE),
        Installation.fresh(epochs=3, report=1, lifetime=10),
        read="releases",
    )
    assert said.installation is not None
    assert said.reports == said.local == 3
    assert (said.report.epsilon, said.installation.epsilon) == (HALF, Fraction(3, 2))
    assert said.installation.rho == 9 * bounded_range_rho(HALF)
    expected = 2 * math.atanh(math.tanh(1.5) * math.tanh(0.75))
    assert float(said.true_values.epsilon or 0) == pytest.approx(expected, rel=1e-12)


def test_three_randomized_reports_and_a_release_reach_the_promise() -> None:
    said = promise(
        Guarantee.pure(HALF, REPLACE),
        Installation.fresh(epochs=3, report=1, lifetime=3),
        read="releases",
    )
    pair = after(randomized_response(3.0), randomized_response(1.5))  # what is worst of J = 3
    assert said.true_values.epsilon is not None
    assert hockey_stick(*pair, float(said.true_values.epsilon)) <= 1e-12
    assert hockey_stick(*pair, float(said.true_values.epsilon) * 0.999) > 0


@pytest.mark.parametrize("read", ["live", "closed"])
def test_where_estimates_can_be_read_only_the_local_epsilon_protects(read: str) -> None:
    said = promise(Guarantee.pure(HALF, REPLACE), Installation.once(report=2), read=read)
    assert said.true_values.epsilon == said.local == 2


def test_lifetimes_end_what_installations_can_have() -> None:
    fresh = Installation.fresh(epochs=30, report=1, lifetime=10)
    assert fresh == Installation(10, Fraction(10))
    memoized = Installation.memoized(epochs=30, holds=5, permanent=2, lifetime=7)
    assert memoized == Installation(30, Fraction(6))
    assert Installation.once(report="0.5") == Installation(1, HALF)


def test_a_group_that_is_promised_nothing_keeps_the_local_epsilon() -> None:
    said = promise(
        Guarantee.approximate(HALF, MICRO, REPLACE),
        Installation.memoized(epochs=60, holds=1, permanent=2, lifetime=4),
        read="releases",
    )
    assert said.installation is None
    assert said.true_values == Guarantee.pure(Fraction(2), REPLACE)


@pytest.mark.parametrize("given", [{"report": 2, "lifetime": 1}, {"report": 0, "lifetime": 1}])
def test_an_answer_dearer_than_the_lifetime_is_refused(given: dict[str, int]) -> None:
    with pytest.raises(AccountError, match="no more than the lifetime"):
        Installation.fresh(epochs=1, **given)


def test_an_unknown_way_to_read_is_refused_with_the_known_ones() -> None:
    with pytest.raises(AccountError, match="live, closed, releases"):
        promise(Guarantee.pure(HALF, REPLACE), Installation.once(report=1), read="open")


def test_a_float_is_no_epsilon() -> None:
    with pytest.raises(ParameterError, match="write it as a string"):
        contracted_guarantee(Guarantee.pure(HALF, REPLACE), local=0.5)  # type: ignore[arg-type]  # a wrong type is the point
