"""Projective designs as counted: the histogram of the points, decoded round a circle."""

from __future__ import annotations

import numpy as np
import pytest

from deniable_estimators.inference.projective_cycle import cycle_points
from deniable_estimators.mechanisms import estimator_for
from deniable_shared.algebra.recurrences import point_count
from deniable_shared.analysis.optimal_error import total_error
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms import build
from deniable_shared.mechanisms.geometric import GeometricResponse
from deniable_shared.mechanisms.projective import ProjectiveResponse
from deniable_shared.randomness.coins import Coins
from support.tiers import by_tier, rows

SPACES = [(2, 3), (2, 6), (3, 3), (3, 5), (4, 4), (5, 3), (7, 3), (8, 3), (9, 3), (13, 3), (16, 3)]
SOME = [(2, 3), (3, 5), (5, 3), (8, 3), (9, 3)]


def whole(q: int, t: int) -> ProjectiveResponse:
    return projective(point_count(q, t), field_order=q, dimension=t)


def projective(d: int, epsilon: str = "1", **pinned: int) -> ProjectiveResponse:
    mechanism = build("projective/1", domain_size=d, epsilon=epsilon, permanent=None, **pinned)
    assert isinstance(mechanism, ProjectiveResponse)
    return mechanism


def by_definition(mechanism: ProjectiveResponse, counts: list[int], label: int) -> int:
    return sum(
        count for code, count in enumerate(counts) if mechanism._supports_value(0, code, label)
    )


@pytest.mark.parametrize("most", [1, 10**11, 2**53])
@pytest.mark.parametrize(("q", "t"), rows(SPACES, by_default=SOME))
def test_supports_are_exact_whatever_the_counts(q: int, t: int, most: int) -> None:
    mechanism, coins = whole(q, t), Coins.system()
    counts = [coins.below(most + 1) for _ in range(mechanism.alphabet_size)]
    supports = estimator_for(mechanism).supports(np.array(counts))
    for label in range(0, mechanism.alphabet_size, max(1, mechanism.alphabet_size // 40)):
        assert supports[label] == by_definition(mechanism, counts, label)


@pytest.mark.parametrize(("q", "t"), [(25, 3), (27, 3), (49, 3), (128, 3), (131, 3), (2, 14)])
def test_two_cells_of_a_hundred_billion_among_thousands_are_exact(q: int, t: int) -> None:
    mechanism = whole(q, t)
    counts = np.zeros(mechanism.alphabet_size, dtype=np.int64)
    cells = (3, mechanism.alphabet_size - 5)
    counts[[*cells]] = 10**11, 10**11 + 1
    supports = estimator_for(mechanism).supports(counts)
    for label in range(0, mechanism.alphabet_size, mechanism.alphabet_size // 200):
        held = [mechanism._supports_value(0, cell, label) for cell in cells]
        assert supports[label] == held[0] * 10**11 + held[1] * (10**11 + 1)


@pytest.mark.parametrize(
    ("q", "t"), rows([*SPACES, (121, 3), (1009, 3)], by_default=[*SOME, (121, 3)])
)
def test_every_point_and_every_value_is_on_the_circle_once(q: int, t: int) -> None:
    for places in cycle_points(q, t):
        assert (np.bincount(places, minlength=point_count(q, t)) == 1).all()


@pytest.mark.slow
@pytest.mark.deeper
def test_a_million_choices_are_counted_as_each_payload_says() -> None:
    """A tenth of them by default."""
    choices = by_tier(10**5, 10**6)
    mechanism, coins = projective(choices), Coins.system()
    values = [0, 1, choices - 1, *(coins.below(choices) for _ in range(50))]
    sent = [mechanism.randomize(value, coins) for value in values]
    rows = np.frombuffer(b"".join(sent), dtype=np.uint8).reshape(len(sent), -1)
    of = estimator_for(mechanism)
    supports = of.supports(of.tally(rows))
    assert supports.shape == (choices,)
    for label in {*values, 1000, 50_000}:
        assert supports[label] == sum(mechanism.supports(payload, label) for payload in sent)


@pytest.mark.parametrize("id", ["cyclic/1", "projective/1"])
@pytest.mark.parametrize("repeat", ["once", "fresh", "memoized"])
def test_everybody_alike_is_estimated_as_one_and_the_others_as_zero(id: str, repeat: str) -> None:
    """Of the expected histogram; its rounding to whole reports moves a support by w at most."""
    permanent = "4" if repeat == "memoized" else None
    mechanism = build(id, domain_size=100, epsilon="2", permanent=permanent)
    plain = build(id, domain_size=100, epsilon="2")
    assert isinstance(plain, GeometricResponse)
    of, n, codes, size = estimator_for(mechanism, repeat), 10**15, *sizes(plain)
    inside, outside = mechanism.p / size, (1 - mechanism.p) / (codes - size)
    counts = [
        round(n * (inside if plain._supports_value(0, code, 7) else outside))
        for code in range(codes)
    ]
    counts[0] += n - sum(counts)
    estimate = of.estimate(np.array(counts), n, epochs=3)
    expected = [float(label == 7) for label in range(100)]
    assert estimate.frequencies.tolist() == pytest.approx(expected, abs=1e-11)


def sizes(mechanism: GeometricResponse) -> tuple[int, int]:
    return mechanism.alphabet_size, mechanism.support_size


@pytest.mark.parametrize("id", ["cyclic/1", "projective/1"])
def test_frequencies_of_all_codes_add_up_to_one(
    id: str,
) -> None:
    used, every = (
        build(id, domain_size=d, epsilon="1", field_order=4, dimension=4) for d in (60, 85)
    )
    tally = np.arange(85) ** 2 % 31
    few, all_codes = (
        estimator_for(each).estimate(tally, int(tally.sum())) for each in (used, every)
    )
    assert all_codes.frequencies.sum() == pytest.approx(1, abs=1e-12)
    assert few.frequencies.tolist() == all_codes.frequencies[:60].tolist()
    assert few.channel == all_codes.channel


def test_what_no_reports_can_be_is_refused() -> None:
    mechanism = projective(60)
    of = estimator_for(mechanism)
    with pytest.raises(DecodeError, match="indices below 85, got 85"):
        of.tally(np.array([[84], [85]], dtype=np.uint8))
    for tally in (np.zeros(85, np.int64), np.ones(84, np.int64), np.full(85, -1)):
        with pytest.raises(ParameterError, match="tally must"):
            of.estimate(tally, 1)
    with pytest.raises(ParameterError, match="mechanism must be of a geometry, got grr/1"):
        type(of)(build("grr/1", domain_size=85, epsilon="1"), "once").supports(tally)  # type: ignore[call-arg]  # a wrong type is the point


@pytest.mark.statistical
@pytest.mark.parametrize(("id", "choices"), [("cyclic/1", 100), ("projective/1", 300)])
def test_the_measured_total_error_is_that_of_the_formula(id: str, choices: int) -> None:
    """60,000 reports of uneven values in batches of 100, each batch a sample of Σ(f̂ − f)².

    600 sums, each of which has a relative deviation of at most √(2/20): the effective number of
    labels is over 20. The bound is 6 deviations of the mean, 7.8%; false alarm under 1e-8.
    """
    mechanism, n, coins = build(id, domain_size=choices, epsilon="1"), 100, Coins.system()
    of = estimator_for(mechanism)
    values = [(7 * place * place) % choices for place in range(n)]
    true = np.bincount(values, minlength=choices) / n
    sent = b"".join(mechanism.randomize(value, coins) for _ in range(600) for value in values)
    batches = np.frombuffer(sent, dtype=np.uint8).reshape(600, n, -1)
    off = [
        float(((of.estimate(of.tally(rows), n).frequencies - true) ** 2).sum()) for rows in batches
    ]
    expected = float(total_error(mechanism.p, mechanism.q, choices)) / n
    assert np.mean(off) == pytest.approx(expected, rel=0.078)
