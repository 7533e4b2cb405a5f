"""Plans of means, ranges, tables and texts: what is chosen, and the errors it then has."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable_aggregator.collections.authoring.record_recommendation import (
    candidate_mechanisms,
    two_way_error,
)
from deniable_aggregator.collections.planning import Plan, plan
from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.simulation import simulated_tally
from deniable_shared import mechanisms
from deniable_shared.analysis.range_error import tree_error
from deniable_shared.domains import Record, Text
from deniable_shared.mechanisms import build
from deniable_shared.mechanisms.haar import HaarResponse
from support.builders.record_domains import record
from support.tiers import grid, rows

RECORDS = [(3, 4, 2), (2, 2, 2, 2, 2, 2), (5, 6, 7, 8)]
WANTED = {
    *("mechanism", "reason", "payload_bytes", "std_error", "users_needed", "epsilon_needed"),
    *("ratio_to_optimum", "smallest_detectable", "influence", "shuffle_epsilon"),
}


def asked(domain: Record | Text | int, epsilon: str = "1", **more: object) -> Plan:
    return plan(domain, epsilon, 100_000, **more)  # type: ignore[arg-type]  # one dict has values of many types


@pytest.mark.usefixtures("unshuffled")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "chosen"), [("0.1", "duchi/1"), ("4", "optimal-mean/1"), ("12", "discrete")]
)
def test_a_mean_is_told_by_what_shows_the_narrowest_interval(epsilon: str, chosen: str) -> None:
    found = asked(101, epsilon, domain_type="number", asks="mean")
    assert found.mechanism.startswith(chosen)
    for other in ("optimal-mean/1", "duchi/1"):
        named = asked(101, epsilon, domain_type="number", asks="mean", mechanism=other)
        assert found.half_width <= named.half_width
    assert found.ratio_to_optimum is None
    assert found.ratio_unknown is not None
    assert "3%" in found.ratio_unknown


@pytest.mark.usefixtures("unshuffled")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "repeat"),
    rows(
        product(["optimal-mean/1", "duchi/1"], ["once", "memoized"]),
        by_default=[("optimal-mean/1", "once"), ("duchi/1", "memoized")],
    ),
)
def test_the_error_of_a_mean_is_no_less_than_that_of_any_answer(id: str, repeat: str) -> None:
    planned = plan(
        41,
        "2",
        1,
        domain_type="number",
        asks="mean",
        mechanism=id,
        repeat=repeat,
        population=False,
    )
    more = {"permanent": "4"} if repeat == "memoized" else {}
    mechanism = build(id, domain_size=41, epsilon="2", **more)
    of = estimator_for(mechanism)
    worst = 0.0
    for value in range(0, 41, 4):
        law = mechanism.pmf(value)
        rows = [np.frombuffer(y, np.uint8)[None, :] for y in law]
        said = np.array([of.estimate(of.tally(row), 1).frequencies[0] for row in rows])
        chances = np.array([float(chance) for chance in law.values()])
        assert chances @ said == pytest.approx(value / 40, abs=1e-9)
        worst = max(worst, float(chances @ (said - value / 40) ** 2))
        assert planned.influence is not None
        assert said.max() - said.min() <= planned.influence * (1 + 1e-9)
    assert 0.93 * planned.std_error <= math.sqrt(worst) <= planned.std_error * (1 + 1e-9)


@pytest.mark.usefixtures("unshuffled")
@pytest.mark.slow
def test_ranges_are_told_by_haar_below_nine_tenths_and_by_a_tree_above() -> None:
    below, above = (asked(256, e, domain_type="number", asks="ranges") for e in ("0.5", "1.5"))
    assert (below.mechanism, above.mechanism) == ("haar/1", "tree/1")
    least = math.sqrt(HaarResponse(256, Fraction(1, 2)).range_error / 100_000)
    assert below.std_error == pytest.approx(least, rel=1e-9)
    of_tree = math.sqrt(tree_error(256, above.parameters["fan_out"], Fraction("1.5")) / 100_000)
    assert above.std_error == pytest.approx(of_tree, rel=1e-6)
    assert below.influence is None


@pytest.mark.usefixtures("unshuffled")
@pytest.mark.slow
@pytest.mark.parametrize("radices", grid(RECORDS, by_default=RECORDS[:1]), ids=str)
def test_a_record_is_planned_by_the_error_of_a_cell_of_two_attributes(
    radices: tuple[int, ...],
) -> None:
    domain = record(*radices)
    found = asked(domain, population=True)
    errors = {
        each.id: two_way_error(each, radices) for each in candidate_mechanisms(domain, Fraction(1))
    }
    assert errors[found.mechanism] <= min(errors.values()) * Fraction(21, 20)
    assert found.std_error == pytest.approx(math.sqrt(errors[found.mechanism] / 100_000))
    assert found.about.startswith("a cell of two attributes")
    assert found.epsilon_needed is not None
    more = plan(domain, found.epsilon_needed, 100_000)
    assert more.half_width <= found.half_width_wanted


@pytest.mark.usefixtures("unshuffled")
@pytest.mark.long
def test_the_error_planned_for_texts_is_that_of_many_reports() -> None:
    """n = 300 runs of 20,000: the spread is within 20% of the plan but for 1e-6."""
    from deniable_estimators.inference.texts import TextTally, estimate_texts
    from support.builders.text_populations import estimator_of, tally_of

    estimator = estimator_of("3", 4)
    found = plan(Text(4), "3", 20_000)
    seen = []
    for _ in range(300):
        tally = tally_of(estimator, [b"most"], np.array([20_000]))
        result = estimate_texts(TextTally(estimator, tally), [b"rare"], held_out=True)
        seen.append(float(result.estimate.frequencies[0]))
    assert np.std(seen) == pytest.approx(found.std_error, rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("domain", "more"),
    [
        (21, {"domain_type": "number", "asks": "mean"}),
        (64, {"domain_type": "number", "asks": "ranges"}),
        (record(3, 4, 2), {}),
        (Text(16), {}),
        (16, {"domain_type": "text"}),
    ],
)
def test_every_plan_has_what_the_document_promises(
    domain: Record | Text | int, more: dict[str, object]
) -> None:
    found = asked(domain, **more)  # type: ignore[arg-type]  # one dict has values of many types
    assert set(found.to_json()) >= WANTED
    assert found.ratio_to_optimum is None
    assert found.ratio_unknown
    assert [way.repeat for way in found.repeats] == ["once", "fresh", "memoized"]
    assert found.shuffle_epsilon < 1
    assert found.mechanism in mechanisms.mechanism_ids()


@pytest.mark.usefixtures("unshuffled")
@pytest.mark.statistical
def test_the_error_planned_for_a_mean_is_that_of_many_reports() -> None:
    """n = 1,000 runs of 10,000 at the worst answer: within 12% but for 1e-6."""
    found = plan(101, "1", 10_000, domain_type="number", asks="mean")
    mechanism = build("optimal-mean/1", domain_size=101, epsilon="1")
    of = estimator_for(mechanism)
    tallies = (simulated_tally(mechanism, [50], [10_000]) for _ in range(1000))
    seen = [float(of.estimate(tally, 10_000).frequencies[0]) for tally in tallies]
    assert np.std(seen) == pytest.approx(found.std_error, rel=0.12)
