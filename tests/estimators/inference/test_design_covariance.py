"""How cells of a design's table vary together: by enumeration of its messages."""

from __future__ import annotations

import numpy as np
import pytest

from deniable_estimators.inference.association import Association, Untestable, association
from deniable_estimators.inference.cell_sums import CellSums
from deniable_estimators.inference.channel import Floats
from deniable_estimators.inference.designs import covariance_of_sums, within_reach
from deniable_estimators.inference.tables import IntervalSettings, table
from deniable_estimators.mechanisms import estimator_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import build
from deniable_shared.mechanisms.memoization import MemoizedChain
from support.oracles.record_laws import RecordLaw, floats, independent, law, table_of, uneven
from support.tiers import by_tier, grid

CHAINS = [law("cyclic/1", 2, 3, permanent="2"), law("affine/1", 2, 3, permanent="2")]
CHAINS += [law("projective/1", 2, 3, permanent="2")]
DESIGNS = [law("affine/1", 2, 3), law("affine/1", 3, 4, epsilon="2"), law("cyclic/1", 2, 2, 2)]
DESIGNS += [law("projective/1", 2, 2, 3), law("loloha/1", 2, 3), *CHAINS]
ONE_OF_EACH_KIND = [DESIGNS[0], *DESIGNS[2:5], CHAINS[0]]


def title(given: RecordLaw) -> str:
    kind = "chain-" if isinstance(given.mechanism, MemoizedChain) else ""
    return f"{kind}{given.mechanism.id}-{given.domain.radices}"


def cells_of(given: RecordLaw, axes: tuple[int, ...], chances: Floats) -> CellSums:
    """The table of about 10^12 reports that came as often as they should."""
    counts = np.rint(chances * 10**12).astype(np.int64)
    actual = given.tabular.source(counts @ given.tallies, int(counts.sum()), axes)
    assert isinstance(actual, CellSums)
    return actual


def scores_of(given: RecordLaw, axes: tuple[int, ...], true: Floats) -> Floats:
    """How far each message alone is off."""
    alone = [
        table(given.tabular, tally, 1, axes, IntervalSettings()).frequencies
        for tally in given.tallies
    ]
    return np.array(alone) - true


@pytest.mark.parametrize("axes", grid([(0,), (0, 1), (1, 0)], by_default=[(0,), (1, 0)]), ids=str)
@pytest.mark.parametrize(
    "given",
    grid(DESIGNS, by_default=lambda law: any(law is each for each in ONE_OF_EACH_KIND)),
    ids=title,
)
def test_covariance_is_that_of_the_scores_of_one_report(
    given: RecordLaw, axes: tuple[int, ...]
) -> None:
    population = uneven(given.domain.size)
    chances, true = (
        floats(given.chances(population)),
        floats(table_of(population, given.domain, axes)),
    )
    off = scores_of(given, axes, true)
    exact = off.T @ (chances[:, None] * off)
    sums = cells_of(given, axes, chances)
    assert sums.covariance(true, 1) * sums.n == pytest.approx(exact, abs=1e-9)
    rows = (sums.cell_of == np.arange(sums.cells)[:, None]).astype(float)
    everybody = floats(population)
    actual = covariance_of_sums(given.estimator, given.mechanism, rows, everybody)
    assert actual == pytest.approx(exact, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("given", CHAINS, ids=title)
def test_what_reports_of_one_permanent_answer_share_is_its_own_covariance(
    given: RecordLaw,
) -> None:
    """Cov of two reports of one device, drawn from the population: V_∞, by enumeration."""
    axes, population = (0, 1), uneven(given.domain.size)
    true = floats(table_of(population, given.domain, axes))
    scores = dict(zip(given.messages, scores_of(given, axes, true), strict=True))
    shared = np.zeros((len(true), len(true)))
    for value, weight in enumerate(population):
        for (one, two), chance in given.mechanism.pmf_history([value, value]).items():  # type: ignore[attr-defined]  # only chains have it
            shared += float(weight * chance) * np.outer(scores[one], scores[two])
    sums = cells_of(given, axes, floats(given.chances(population)))
    claimed = (sums.covariance(true, 2) - sums.covariance(true, 1)) * sums.n
    assert claimed == pytest.approx(shared, abs=1e-9)


def test_fresh_reports_of_one_device_share_its_value() -> None:
    given = law("cyclic/1", 2, 3)
    true = floats(table_of(uneven(6), given.domain, (0, 1)))
    sums = cells_of(given, (0, 1), floats(given.chances(uneven(6))))
    claimed = (sums.covariance(true, 4) - sums.covariance(true, 1)) * sums.n
    assert claimed == pytest.approx(3 * (np.diag(true) - np.outer(true, true)), abs=1e-9)


@pytest.mark.parametrize("given", DESIGNS, ids=title)
def test_what_goes_together_is_found_and_what_does_not_is_not(given: RecordLaw) -> None:
    """By 10^12 reports that came as often as they should: W is all but 0, or enormous."""
    shape = (given.domain.radices[0], given.domain.radices[1])
    apart = cells_of(given, (0, 1), floats(given.chances(independent(*given.domain.radices))))
    together = cells_of(given, (0, 1), floats(given.chances(uneven(given.domain.size))))
    actual, none = association(together, shape), association(apart, shape)
    assert isinstance(actual, Association)
    assert isinstance(none, Association)
    assert actual.degrees == none.degrees == (shape[0] - 1) * (shape[1] - 1)
    assert none.p_value > 0.99
    assert actual.p_value < 1e-9


@pytest.mark.deeper
@pytest.mark.parametrize("given", DESIGNS, ids=title)
def test_too_few_reports_give_no_answer_and_say_so(given: RecordLaw) -> None:
    shape = (given.domain.radices[0], given.domain.radices[1])
    for n in (0, 1, 30):
        for tally in given.draw(uneven(given.domain.size), n, by_tier(5, 20)):
            actual = association(given.tabular.source(tally, n, (0, 1)), shape)
            assert isinstance(actual, Untestable)
            assert actual.reason.startswith("too few reports")


def test_a_table_that_takes_too_long_says_what_to_collect_with() -> None:
    given = law("cyclic/1", 30, 30, 60)
    tally = np.zeros(given.mechanism.tally_size, dtype=np.int64)
    tally[:9] = 1
    actual = association(given.tabular.source(tally, 9, (0, 1)), (30, 30))
    assert isinstance(actual, Untestable)
    assert "900 cells of cyclic/1 take too long to test here" in actual.reason
    assert actual.reason.endswith("collect with grr/1, subset/1, hadamard/1 or pairs/1")


def test_what_is_within_reach_is_what_a_page_can_wait_for() -> None:
    wide = build("affine/1", domain_size=1_000, epsilon="4")
    assert within_reach(wide, 49)
    assert not within_reach(wide, 81)
    assert within_reach(build("cyclic/1", domain_size=60_000, epsilon="1"), 64)
    assert not within_reach(build("projective/1", domain_size=1_000_000, epsilon="1"), 64)


def test_another_mechanism_is_refused() -> None:
    rows, built = np.eye(3), build("grr/1", domain_size=3, epsilon="1")
    with pytest.raises(ParameterError, match="must be of a design, got grr/1"):
        covariance_of_sums(estimator_for(built), built, rows, rows[0])
