"""What a relay's batches leave of ε: exact for small ones, and nothing for permanent answers."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, exp

import pytest

from deniable_aggregator.collections.planning import plan
from deniable_aggregator.collections.planning.anonymity import shuffle_anonymity
from deniable_central.accounting.shuffle import shuffled_delta
from deniable_shared import mechanisms
from deniable_shared.errors import ParameterError
from support.tiers import rows

GRR = mechanisms.build("grr/1", domain_size=16, epsilon="4")
KEPT = mechanisms.build("rr/1", domain_size=1, epsilon="1", permanent="2")


def seen_in_batches(value: int, *, batch: int, epochs: int, local: float) -> dict[object, float]:
    """The law of the sums of batches that hold one kept answer and ever new honest companions."""
    p = exp(local) / (1 + exp(local))
    law: dict[object, float] = {}
    for kept in (0, 1):
        for others in product(range(batch), repeat=epochs):
            chance = p if kept == value else 1 - p
            for ones in others:
                chance *= comb(batch - 1, ones) * (1 - p) ** ones * p ** (batch - 1 - ones)
            view = tuple(ones + kept for ones in others)
            law[view] = law.get(view, 0.0) + chance
    return law


def divergence(epsilon: float, **crowd: float) -> float:
    """δ at ε between the two values of the one, exactly."""
    laws = [seen_in_batches(value, **crowd) for value in (0, 1)]  # type: ignore[arg-type]  # one dict has values of many types
    return max(
        sum(max(0.0, a.get(view, 0.0) - exp(epsilon) * b.get(view, 0.0)) for view in {*a, *b})
        for a, b in (laws, laws[::-1])
    )


def test_one_batch_hides_a_report_exactly_as_well_as_claimed() -> None:
    for epsilon in (0.1, 0.5, 0.7):
        exact = divergence(epsilon, batch=2, epochs=1, local=1.0)
        assert exact == pytest.approx(shuffled_delta(epsilon, local=1, reports=2), rel=1e-6)


@pytest.mark.parametrize(("batch", "epochs"), [(2, 3), (2, 6), (5, 4)])
def test_several_batches_hide_a_permanent_answer_less_than_one(batch: int, epochs: int) -> None:
    exact = divergence(0.5, batch=batch, epochs=epochs, local=1.0)
    assert exact > 1.3 * shuffled_delta(0.5, local=1, reports=batch)


def test_for_permanent_answers_only_the_local_epsilon_is_claimed() -> None:
    found = shuffle_anonymity(KEPT, batch=10_000, repeat="memoized", lifetime=Fraction(4))
    assert found.epsilon < 0.1
    assert (found.epsilon_all, found.delta_all) == (4.0, 0.0)


@pytest.mark.slow
def test_fresh_answers_add_up_and_never_cost_more_than_without_a_relay() -> None:
    few = shuffle_anonymity(GRR, batch=20_000, repeat="fresh", lifetime=Fraction(40))
    assert (few.epsilon_all, few.delta_all) == (10 * few.epsilon, 10 * few.delta)
    small = shuffle_anonymity(GRR, batch=2, repeat="fresh", lifetime=Fraction(40))
    assert (small.epsilon, small.epsilon_all) == pytest.approx((4.0, 40.0), rel=1e-6)
    assert small.epsilon_all <= 40.0


@pytest.mark.slow
def test_one_answer_is_all_there_is() -> None:
    found = shuffle_anonymity(GRR, batch=20_000, repeat="once", lifetime=Fraction(4))
    assert (found.epsilon_all, found.delta_all) == (found.epsilon, found.delta)


@pytest.mark.slow
def test_made_up_reports_hide_nobody() -> None:
    found = [
        shuffle_anonymity(GRR, batch=1_000, liars=liars, repeat="once", lifetime=Fraction(4))
        for liars in (0.0, 0.2, 0.5, 0.999, 0.9999)
    ]
    assert [each.reports for each in found] == [1_000, 800, 500, 1, 1]
    epsilons = [each.epsilon for each in found]
    assert epsilons == sorted(epsilons)
    assert epsilons[0] < epsilons[2] < 3.9
    assert epsilons[-1] == pytest.approx(4.0, rel=1e-6)


def test_half_of_a_batch_is_taken_for_made_up_unless_told() -> None:
    assert shuffle_anonymity(GRR, batch=1_000, repeat="once", lifetime=Fraction(4)).reports == 500


@pytest.mark.parametrize(("name", "value"), [("batch", 1), ("liars", 1.0), ("liars", -0.1)])
def test_what_is_no_batch_is_refused(name: str, value: float) -> None:
    given = {"batch": 10, "liars": 0.5, name: value}
    with pytest.raises(ParameterError, match=f"{name} must"):
        shuffle_anonymity(GRR, repeat="once", lifetime=Fraction(4), **given)  # type: ignore[arg-type]  # a wrong type is the point


@pytest.mark.usefixtures("unshuffled")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("repeat", "whole"),
    rows(
        [("once", None), ("fresh", None), ("memoized", 2.0)],
        by_default=[("fresh", None), ("memoized", 2.0)],
    ),
)
def test_a_plan_says_what_a_relay_leaves(repeat: str, whole: float | None) -> None:
    without = plan(16, "1", 10_000, repeat=repeat)
    assert without.relay is None
    found = plan(16, "1", 10_000, repeat=repeat, batch=2_000, liars=0.1).relay
    assert found is not None
    assert (found.batch, found.reports) == (2_000, 1_800)
    assert found.epsilon < 0.2
    assert whole is None or found.epsilon_all == whole
