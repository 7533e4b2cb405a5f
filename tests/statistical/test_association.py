"""The test of association, and intervals of tables, over populations of simulated reports."""

from __future__ import annotations

import math
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from deniable_estimators.inference.association import Association, Untestable, association
from deniable_estimators.inference.channel import Counts, Floats
from deniable_estimators.inference.tables import IntervalSettings, table
from support.oracles.message_laws import generator
from support.oracles.record_laws import RecordLaw, floats, independent, law, table_of, uneven
from support.tiers import grid

pytestmark = pytest.mark.statistical

binom = import_module("scipy.stats").binom
FALSE_ALARM = 1e-6
TALLIES = 3_000
REPORTS = 20_000
LAWS = [
    law("pairs/1", 2, 2, 3),
    law("pairs/1", 3, 3, epsilon="2"),
    law("fourier/1", 2, 2, 2),
    law("subset/1", 2, 3, 2),
    law("hadamard/1", 2, 3),
    law("subset/1", 2, 3, permanent="2"),
]
DESIGNS = [
    law("affine/1", 3, 3, epsilon="2"),
    law("cyclic/1", 2, 3),
    law("projective/1", 2, 2, 2, epsilon="2"),
    law("cyclic/1", 2, 3, permanent="2"),
]
SOME = [LAWS[0], LAWS[5], DESIGNS[0]]
EACH = grid(LAWS + DESIGNS, by_default=SOME, long=LAWS + DESIGNS)


def title(given: RecordLaw) -> str:
    chain = "chain-" if given.estimator.repeat == "memoized" else ""
    return f"{chain}{given.mechanism.id}-{given.domain.radices}"


def decided(given: RecordLaw, population: list[Fraction], n: int, times: int) -> list[Association]:
    shape = (given.domain.radices[0], given.domain.radices[1])
    actual = [
        association(given.tabular.source(tally, n, (0, 1)), shape)
        for tally in given.draw(population, n, times)
    ]
    return [each for each in actual if isinstance(each, Association)]


def together(*radices: int) -> list[Fraction]:
    """A population in which the first two attributes are the same half of the time."""
    first, second, *rest = radices
    apart = independent(*radices)
    same = [
        Fraction(1, min(first, second) * math.prod(rest)) if one == other else Fraction(0)
        for one in range(first)
        for other in range(second)
        for _ in range(math.prod(rest))
    ]
    return [(one + other) / 2 for one, other in zip(apart, same, strict=True)]


@pytest.mark.parametrize("given", EACH, ids=title)
def test_five_percent_of_independent_tables_are_rejected_and_not_more(given: RecordLaw) -> None:
    """n = 20,000 reports, 3,000 times; rejections are binomial: false alarm ≤ 1e-6.

    χ² is the limit law; the exact level at this n lies within half a point of 5% (of 20,000 tables
    4.8% to 5.2% were rejected), so the bounds are those of 4.5% and of 5.5%.
    """
    actual = decided(given, independent(*given.domain.radices), REPORTS, TALLIES)
    assert len(actual) == TALLIES
    rejected = sum(each.p_value <= 0.05 for each in actual)
    least = binom.ppf(FALSE_ALARM / 2, TALLIES, 0.045)
    assert least <= rejected <= binom.isf(FALSE_ALARM / 2, TALLIES, 0.055)
    assert {each.degrees for each in actual} == {
        (given.domain.radices[0] - 1) * (given.domain.radices[1] - 1)
    }


@pytest.mark.parametrize("given", LAWS + DESIGNS, ids=title)
def test_attributes_that_go_together_are_found(given: RecordLaw) -> None:
    """n = 20,000, θ of 0.08 or more: W exceeds its 5% limit by five standard errors and more."""
    actual = decided(given, together(*given.domain.radices), REPORTS, 200)
    assert np.mean([each.p_value <= 0.05 for each in actual]) >= 0.97


def test_an_ordinary_chi_square_of_debiased_counts_is_wrong_everywhere() -> None:
    """Why it is not offered: at ε = 1 it rejects most independent tables where 5% is claimed."""
    given = law("subset/1", 2, 3)
    rejected = 0
    for tally in given.draw(independent(2, 3), REPORTS, 200):
        counts = (
            REPORTS * table(given.tabular, tally, REPORTS, (0, 1), IntervalSettings()).frequencies
        )
        rejected += chi_square(np.maximum(counts, 1).reshape(2, 3)) >= 5.991
    assert rejected >= 100


def chi_square(counts: Floats) -> float:
    """Of a table of 2 degrees of freedom: 5% lie above 5.991."""
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    return float(((counts - expected) ** 2 / expected).sum())


def test_too_few_reports_give_no_answer_and_say_so() -> None:
    given = law("pairs/1", 2, 2, 3)
    for n in (0, 1, 30, 300):
        for tally in given.draw(independent(2, 2, 3), n, 20):
            actual = association(given.source(tally, n, (0, 1)), (2, 2))
            assert isinstance(actual, Untestable)
            assert actual.reason.startswith("too few reports")


def test_a_table_of_too_many_cells_is_not_tested() -> None:
    given = law("grr/1", 33, 32)
    source = given.source(given.estimator.tally(np.zeros((9, 2), np.uint8)), 9, (0, 1))
    actual = association(source, (33, 32))
    assert isinstance(actual, Untestable)
    assert "at most 1,024 cells, this one has 1,056" in actual.reason


@pytest.mark.parametrize("n", grid([60, 2_000, 60_000], by_default=[60, 60_000], long=[2_000]))
@pytest.mark.parametrize("given", grid(LAWS, by_default=LAWS[::2], long=LAWS), ids=title)
def test_intervals_of_tables_cover_the_truth_at_every_number_of_reports(
    given: RecordLaw, n: int
) -> None:
    """1,000 tallies, binomial: 90.9% or more in every cell but for a false alarm of 1e-6."""
    population = uneven(given.domain.size)
    axes_of_tables: list[tuple[int, ...]] = [(0,), (1, 0)]
    tallies = given.draw(population, n, 1000)
    for axes in axes_of_tables:
        true = floats(table_of(population, given.domain, axes))
        tables = [table(given.tabular, tally, n, axes, IntervalSettings()) for tally in tallies]
        missed = np.sum([(t.lower > true) | (true > t.upper) for t in tables], axis=0)
        assert missed.max() <= binom.isf(FALSE_ALARM / (2 * missed.size), len(tables), 0.05)


@pytest.mark.parametrize("repeat", ["fresh", "memoized"])
@pytest.mark.parametrize(
    "id", grid(["pairs/1", "fourier/1"], by_default=["pairs/1"], long=["fourier/1"])
)
def test_intervals_hold_where_each_device_answers_in_seven_epochs(id: str, repeat: str) -> None:
    """400 devices that never change, 500 times: misses are binomial, false alarm 1e-6."""
    permanent = "2" if repeat == "memoized" else None
    given = law(id, 2, 2, permanent=permanent)
    given = RecordLaw(given.domain, given.mechanism, repeat)
    population, devices, epochs = uneven(4), 400, 7
    tallies = seven_epochs(given, population, devices, epochs, 500)
    for axes in ((0,), (0, 1)):
        true = floats(table_of(population, given.domain, axes))
        settings = IntervalSettings(epochs=epochs)
        tables = [
            table(given.tabular, tally, devices * epochs, axes, settings) for tally in tallies
        ]
        missed = np.sum([(t.lower > true) | (true > t.upper) for t in tables], axis=0)
        assert missed.max() <= binom.isf(FALSE_ALARM / (2 * missed.size), len(tables), 0.05)


def seven_epochs(
    given: RecordLaw, population: list[Fraction], devices: int, epochs: int, times: int
) -> list[Counts]:
    """Tallies of devices whose value, or whose permanent answer, is the same in all epochs."""
    draw = generator()
    mechanism = given.mechanism
    if given.repeat == "fresh":
        states = [(float(weight), mechanism.pmf(v)) for v, weight in enumerate(population)]
    else:
        first, keep = mechanism.first, mechanism.renewal_threshold  # type: ignore[attr-defined]  # only chains have it
        chances: dict[bytes, float] = {}
        for value, weight in enumerate(population):
            for message, chance in first.pmf(value).items():
                chances[message] = chances.get(message, 0.0) + float(weight * chance)
        states = [(p, first.rerandomized_pmf(message, keep)) for message, p in chances.items()]
    shares = np.array([share for share, _ in states])
    rows = np.array([[float(law.get(m, 0)) for m in given.messages] for _, law in states])
    rows /= rows.sum(axis=1, keepdims=True)
    tallies = []
    for _ in range(times):
        held = draw.multinomial(devices, shares / shares.sum())
        sent = sum(draw.multinomial(n * epochs, row) for n, row in zip(held, rows, strict=True))
        tallies.append(sent @ given.tallies)
    return tallies
