"""Tables of a record: unbiased, with the variance and covariance they claim, by enumeration."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from deniable_estimators.inference.channel import Floats
from deniable_estimators.inference.marginals import axes_of, labels_of
from deniable_estimators.inference.tables import IntervalSettings, one_way_tables, table
from deniable_estimators.mechanisms.fourier import FourierEstimator, Parities
from deniable_estimators.mechanisms.pairs import PairsEstimator
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms.fourier import FourierMarginals, set_at
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.pairs import SampledPairs
from support.builders.record_domains import record
from support.oracles.record_laws import RecordLaw, floats, law, table_of, uneven
from support.tiers import grid

PRODUCTS = [law(id, 2, 3) for id in ("grr/1", "subset/1", "sue/1", "oue/1", "hadamard/1")]
PRODUCTS += [law("subset/1", 2, 2, 2), law("grr/1", 2, 2, 2), law("subset/1", 2, 3, permanent="2")]
PRODUCTS += [law("hadamard/1", 2, 3, permanent="2"), law("oue/1", 2, 2, permanent="2")]
PAIRS = [law("pairs/1", 2, 3), law("pairs/1", 2, 2, 2), law("pairs/1", 2, 2, 3)]
PAIRS += [law("pairs/1", 2, 2, 3, permanent="2"), law("pairs/1", 2, 2, 2, epsilon="3")]
ONE_OF_EACH_KIND = [*PRODUCTS[:6], PRODUCTS[-1], PAIRS[0], PAIRS[3]]
FOURIER = [law("fourier/1", 2, 2), law("fourier/1", 2, 2, 2)]
FOURIER += [law("fourier/1", 2, 2, 2, permanent="2")]
AXES = grid([(0,), (1,), (0, 1), (1, 0)], by_default=[(0,), (1, 0)])


def title(given: RecordLaw) -> str:
    kind = "chain-" if isinstance(given.mechanism, MemoizedChain) else ""
    return f"{kind}{given.mechanism.id}-{given.domain.radices}-{given.mechanism.epsilon}"


@cache
def one_report(given: RecordLaw, axes: tuple[int, ...]) -> tuple[Floats, Floats, Floats]:
    """Chances of the messages that tell of the table of `axes`, their scores, and their sum."""
    chances = floats(given.chances(uneven(given.domain.size)))
    scores = [
        table(given.tabular, tally, 1, axes, IntervalSettings()).frequencies
        for tally in given.tallies
    ]
    result = np.array([np.isfinite(score).all() for score in scores])
    return chances[result] / chances[result].sum(), np.array(scores)[result], chances[result].sum()


@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize(
    "given",
    grid(
        PRODUCTS + PAIRS,
        by_default=lambda law: any(law is each for each in ONE_OF_EACH_KIND),
    ),
    ids=title,
)
def test_one_report_that_tells_of_a_table_is_unbiased_for_its_cells(
    given: RecordLaw, axes: tuple[int, ...]
) -> None:
    chances, scores, _ = one_report(given, axes)
    true = floats(table_of(uneven(given.domain.size), given.domain, axes))
    assert chances @ scores == pytest.approx(true, abs=1e-13)
    if given.mechanism.id in ("grr/1", "subset/1", "pairs/1"):
        assert scores.sum(axis=1) == pytest.approx(1)


DESIGNS = [law("affine/1", 2, 3), law("cyclic/1", 2, 3), law("projective/1", 2, 2, 2)]
DESIGNS += [law("loloha/1", 2, 3)]
DESIGNS += [law("cyclic/1", 2, 3, permanent="2"), law("affine/1", 2, 2, 2, permanent="2")]


@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("given", DESIGNS, ids=title)
def test_cells_of_designs_are_unbiased_with_the_errors_of_messages(
    given: RecordLaw, axes: tuple[int, ...]
) -> None:
    chances, scores, result = one_report(given, axes)
    true = floats(table_of(uneven(given.domain.size), given.domain, axes))
    assert result == pytest.approx(1)
    assert chances @ scores == pytest.approx(true, abs=1e-12)
    n = 10**9
    counts = np.rint(chances * n).astype(np.int64)
    actual = table(
        given.tabular, counts @ given.tallies, int(counts.sum()), axes, IntervalSettings()
    )
    errors = np.sqrt(chances @ (scores - true) ** 2 / n)
    assert actual.std_errors == pytest.approx(errors, rel=1e-3)
    assert actual.influence * n >= (scores.max(axis=0) - scores.min(axis=0)).max() * (1 - 1e-6)
    assert (actual.lower <= true).all()
    assert (true <= actual.upper).all()


@pytest.mark.statistical
@pytest.mark.parametrize("given", DESIGNS, ids=title)
@pytest.mark.parametrize("n", [20, 2000])
def test_cells_of_designs_are_covered_as_often_as_they_say(given: RecordLaw, n: int) -> None:
    """1,000 runs at 95%: a right one misses a cell more than 88 times with chance below 1e-6."""
    population = uneven(given.domain.size)
    true = floats(table_of(population, given.domain, (0,)))
    missed = np.zeros(len(true))
    for tally in given.draw(population, n, 1000):
        actual = table(given.tabular, tally, n, (0,), IntervalSettings())
        missed += (true < actual.lower) | (actual.upper < true)
    assert missed.max() <= 88


@pytest.mark.parametrize("axes", grid([(0,), (0, 1), (1, 0)], by_default=[(0,), (1, 0)]), ids=str)
@pytest.mark.parametrize("given", [*PRODUCTS, PAIRS[0]], ids=title)
def test_variance_and_covariance_are_those_of_the_score_of_one_report(
    given: RecordLaw, axes: tuple[int, ...]
) -> None:
    chances, scores, _ = one_report(given, axes)
    true = floats(table_of(uneven(given.domain.size), given.domain, axes))
    off = scores - true
    source = given.source(given.tallies[0], 1, axes)
    assert source.covariance(true, 1) == pytest.approx(off.T @ (chances[:, None] * off), abs=1e-12)
    assert source.variances(true, 1) == pytest.approx(chances @ off**2, abs=1e-12)


@pytest.mark.parametrize(
    "given", grid(PAIRS[1:], by_default=lambda law: law is PAIRS[1] or law is PAIRS[3]), ids=title
)
def test_tables_of_sampled_pairs_have_the_variance_of_their_reports(
    given: RecordLaw,
) -> None:
    for axes in ((0, 1), (0, 2), (2, 1)):
        chances, scores, share = one_report(given, axes)
        assert share == pytest.approx(1 / 3)
        true = floats(table_of(uneven(given.domain.size), given.domain, axes))
        first = next(
            t
            for t in given.tallies
            if np.isfinite(table(given.tabular, t, 1, axes, IntervalSettings()).frequencies).all()
        )
        source = given.source(first, 1, axes)
        off = scores - true
        assert source.covariance(true, 1) == pytest.approx(off.T @ (chances[:, None] * off))


@pytest.mark.slow
@pytest.mark.parametrize(
    "given", grid(PAIRS, by_default=lambda law: any(law is each for each in PAIRS[:2])), ids=title
)
def test_pooled_attributes_are_unbiased_with_the_stated_variance(
    given: RecordLaw,
) -> None:
    """Over every sequence of two reports, by the number of reports about each pair."""
    pairs = given.mechanism.public_outcomes
    population = uneven(given.domain.size)
    chances = floats(given.chances(population))
    for axis, radix in enumerate(given.domain.radices):
        true = floats(table_of(population, given.domain, (axis,)))
        groups: dict[bytes, list[tuple[float, Floats, Floats]]] = {}
        for one, two in product(range(len(chances)), repeat=2):
            tally = given.tallies[one] + given.tallies[two]
            source = given.source(tally, 2, (axis,))
            if source.n:
                row = (chances[one] * chances[two], source.frequencies, source.variances(true, 1))
                groups.setdefault(tally[:pairs].tobytes(), []).append(row)
        for rows in groups.values():
            weights = np.array([row[0] for row in rows]) / sum(row[0] for row in rows)
            actual = np.array([row[1] for row in rows])
            assert weights @ actual == pytest.approx(true, abs=1e-12)
            assert weights @ (actual - true) ** 2 == pytest.approx(rows[0][2], rel=1e-9)
            assert len(true) == radix


@pytest.mark.parametrize(
    "given", grid(FOURIER, by_default=lambda law: law is not FOURIER[1]), ids=title
)
def test_parities_give_unbiased_tables_with_the_covariance_claimed(given: RecordLaw) -> None:
    """Over every sequence of three reports that tell of each of the three parities once."""
    chances, axes = floats(given.chances(uneven(given.domain.size))), (1, 0)
    true = floats(table_of(uneven(given.domain.size), given.domain, axes))
    rows = []
    for drawn in product(range(len(chances)), repeat=3):
        tally = given.tallies[list(drawn)].sum(axis=0)
        source = given.source(tally, 3, axes)
        assert isinstance(source, Parities)
        if source.reports.min() == 1:
            rows.append((chances[list(drawn)].prod(), source.frequencies, source))
    weights = np.array([row[0] for row in rows]) / sum(row[0] for row in rows)
    off = np.array([row[1] for row in rows]) - true
    assert weights @ off == pytest.approx(np.zeros(4), abs=1e-12)
    source = rows[0][2]
    assert source.covariance(true, 1) == pytest.approx(off.T @ (weights[:, None] * off), abs=1e-12)
    assert source.variances(true, 1) == pytest.approx(np.diag(source.covariance(true, 1)))


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
@pytest.mark.parametrize(("attributes", "ways"), [(2, 2), (3, 2), (3, 3), (4, 2)])
def test_our_variance_is_below_that_of_weighing_by_expected_counts(
    attributes: int, ways: int, epsilon: str
) -> None:
    """[(2^k − 1)·C/(p − q)² /4^k − (f − 2^−k)²]/n, in exact fractions.

    docs/mathematics/records.md, Parities of attributes.
    """
    mechanism = FourierMarginals(attributes, Fraction(epsilon), ways)
    gap, many = mechanism.p - mechanism.q, mechanism.coefficients
    population, axes = uneven(mechanism.domain_size), tuple(range(ways))
    true = table_of(population, record(*mechanism.radices), axes)[0]
    first = second = Fraction()
    for value, weight in enumerate(population):
        for payload, chance in mechanism.pmf(value).items():
            code = int.from_bytes(payload, "big")
            known = set(set_at(code >> 1, attributes)) <= set(axes)
            score = Fraction(many * (-1) ** (code & 1) * known, 2**ways) / gap
            first += weight * chance * score
            second += weight * chance * score**2
    assert first == true - Fraction(1, 2**ways)
    variance = second - first**2
    assert (
        variance == ((2**ways - 1) * many / gap**2 / 4**ways) - (true - Fraction(1, 2**ways)) ** 2
    )
    n = 10_000 * many
    result = np.full(2**ways - 1, n // many)
    ours = Parities(result, np.zeros_like(result), float(gap), 1.0)
    frequencies = floats(table_of(population, record(*mechanism.radices), axes))
    assert ours.variances(frequencies, 1)[0] <= float(variance) / n


@pytest.mark.parametrize("given", [*PRODUCTS[-3:], PAIRS[3]], ids=title)
def test_what_reports_of_one_permanent_answer_share_is_its_own_covariance(
    given: RecordLaw,
) -> None:
    """Cov of two reports of one device, drawn from the population: V_∞, by enumeration."""
    chain = given.mechanism
    assert isinstance(chain, MemoizedChain)
    axes, population = (0, 1), uneven(given.domain.size)
    true = floats(table_of(population, given.domain, axes))
    scores = {
        message: table(given.tabular, tally, 1, axes, IntervalSettings()).frequencies - true
        for message, tally in zip(given.messages, given.tallies, strict=True)
    }
    known = {message for message, score in scores.items() if np.isfinite(score).all()}
    shared, chance_told = np.zeros((len(true), len(true))), 0.0
    for value, weight in enumerate(population):
        for (one, two), chance in chain.pmf_history([value, value]).items():
            if one in known and two in known:
                shared += float(weight * chance) * np.outer(scores[one], scores[two])
                chance_told += float(weight * chance)
    source = given.source(given.tallies[[m in known for m in given.messages]][0], 1, axes)
    claimed = source.covariance(true, 2) - source.covariance(true, 1)
    assert claimed == pytest.approx(shared / chance_told, abs=1e-12)


def test_fresh_reports_of_one_device_share_its_value() -> None:
    for given in (law("subset/1", 2, 3), law("pairs/1", 2, 3)):
        true = floats(table_of(uneven(6), given.domain, (0, 1)))
        source = given.source(given.tallies[0], 1, (0, 1))
        claimed = source.covariance(true, 4) - source.covariance(true, 1)
        assert claimed == pytest.approx(3 * (np.diag(true) - np.outer(true, true)))


def test_cells_with_binary_supports_are_estimated_like_labels() -> None:
    for id in ("grr/1", "subset/1", "hadamard/1"):
        given = law(id, 2, 3)
        tally = given.draw(uneven(6), 5000, 1)[0]
        whole = given.estimator.estimate(tally, 5000, family="all")
        cells = table(given.tabular, tally, 5000, (0, 1), IntervalSettings(family="all"))
        for name in ("frequencies", "std_errors", "lower", "upper", "reports_to_leave"):
            assert getattr(cells, name).tolist() == getattr(whole, name).tolist()
        assert cells.influence == whole.influence


def test_a_table_in_another_order_has_the_same_cells() -> None:
    for given in (law("pairs/1", 2, 3, 2), law("subset/1", 2, 3, 2), law("fourier/1", 2, 2, 2)):
        tally = given.draw(uneven(given.domain.size), 5000, 1)[0]
        one = table(given.tabular, tally, 5000, (0, 1), IntervalSettings())
        other = table(given.tabular, tally, 5000, (1, 0), IntervalSettings())
        shape = given.domain.radices[:2]
        for name in ("frequencies", "std_errors", "lower", "upper"):
            turned = getattr(other, name).reshape(shape[::-1]).T.reshape(-1)
            assert getattr(one, name) == pytest.approx(turned, abs=1e-12)


def test_without_reports_nothing_is_known() -> None:
    for given in (law("pairs/1", 2, 2, 3), law("fourier/1", 2, 2, 2), law("subset/1", 2, 2, 2)):
        estimate = table(
            given.tabular, np.zeros_like(given.tallies[0]), 0, (0,), IntervalSettings()
        )
        unknown = [*estimate.frequencies, *estimate.std_errors, estimate.influence]
        assert np.isnan(unknown).all()
        assert [estimate.lower.tolist(), estimate.upper.tolist()] == [[0, 0], [1, 1]]
        assert estimate.reports_to_leave.tolist() == [0, 0]


def test_the_estimate_of_a_record_is_each_attribute_by_itself() -> None:
    for given in (law("pairs/1", 2, 2, 3), law("fourier/1", 2, 2, 2)):
        tally = given.draw(uneven(given.domain.size), 50_000, 1)[0]
        whole = given.estimator.estimate(tally, 50_000)
        start = 0
        for axis, radix in enumerate(given.domain.radices):
            part = table(given.tabular, tally, 50_000, (axis,), IntervalSettings())
            assert whole.frequencies[start : start + radix].tolist() == part.frequencies.tolist()
            start += radix
        together = one_way_tables(given.tabular, tally, 50_000, IntervalSettings(family="all"))
        assert (together.upper - together.lower >= whole.upper - whole.lower).all()


@pytest.mark.slow
def test_a_made_up_report_moves_no_cell_further_than_the_influence() -> None:
    for given in (law("pairs/1", 2, 2, 2), law("fourier/1", 2, 2, 2), law("subset/1", 2, 2, 2)):
        tally = given.draw(uneven(8), 300, 1)[0]
        for axes in ((0,), (0, 1)):
            estimate = table(given.tabular, tally, 300, axes, IntervalSettings())
            for fake in given.tallies:
                moved = table(
                    given.tabular, tally + fake, 301, axes, IntervalSettings()
                ).frequencies
                assert np.abs(moved - estimate.frequencies).max() <= estimate.influence * 1.001


def test_names_of_attributes_are_read_and_cells_are_labelled() -> None:
    domain = record(2, 3)
    assert axes_of(domain, ["b", "a"]) == (1, 0)
    assert labels_of(domain, (1, 0))[:3] == ("b=l0, a=l0", "b=l0, a=l1", "b=l1, a=l0")
    for names, match in (
        (["c"], "among a, b, got 'c'"),
        (["a", "a"], "each once"),
        ([], "one or more"),
    ):
        with pytest.raises(ParameterError, match=match):
            axes_of(domain, names)
    with pytest.raises(ParameterError, match="at most 65,536 cells"):
        axes_of(record(300, 300), ["a", "b"])


def test_what_reports_do_not_tell_together_is_refused() -> None:
    three = law("pairs/1", 2, 2, 2)
    with pytest.raises(ParameterError, match="at most 2 attributes, got 3: a report of pairs/1"):
        table(three.tabular, three.tallies[0], 1, (0, 1, 2), IntervalSettings())
    parities = law("fourier/1", 2, 2, 2)
    with pytest.raises(ParameterError, match="at most 2 attributes, got 3: that is the ways"):
        table(parities.tabular, parities.tallies[0], 1, (0, 1, 2), IntervalSettings())


def test_tallies_that_no_reports_give_are_refused() -> None:
    pairs, parities = law("pairs/1", 2, 2, 3), law("fourier/1", 2, 2, 2)
    wrong = pairs.tallies[0].copy()
    wrong[-1] += 1
    for given, tally, n in (
        (pairs, pairs.tallies[0], 2),
        (pairs, np.zeros_like(wrong) + np.eye(len(wrong), dtype=np.int64)[0], 1),
        (parities, parities.tallies[0], 2),
    ):
        with pytest.raises(ParameterError, match="tally must"):
            given.estimator.estimate(tally, n)


def test_kernels_add_and_refuse_what_no_device_sends() -> None:
    for given in (law("pairs/1", 2, 2, 3), law("pairs/1", 2, 3), law("fourier/1", 2, 2, 2)):
        rows = np.array([list(message) for message in given.messages], dtype=np.uint8)
        assert given.estimator.tally(rows).tolist() == given.tallies.sum(axis=0).tolist()
        assert given.estimator.tally(rows[:0]).tolist() == [0] * given.mechanism.tally_size
        with pytest.raises(DecodeError):
            given.estimator.tally(np.full_like(rows, 255))


def test_estimators_take_their_own_mechanism_only() -> None:
    grr = law("grr/1", 2, 2).mechanism
    for estimator in (PairsEstimator, FourierEstimator):
        with pytest.raises(ParameterError, match="got grr/1"):
            _ = estimator(grr).radices


def test_the_domain_of_a_tally_of_pairs_is_laid_out_as_the_page_says() -> None:
    mechanism = law("pairs/1", 2, 2, 3).mechanism
    assert isinstance(mechanism, SampledPairs)
    assert mechanism.tally_size == 3 + 4 + 6 + 6
