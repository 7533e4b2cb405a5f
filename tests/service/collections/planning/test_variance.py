"""V_T = V_∞ + (V_1 − V_∞)/T: permanent answers over T epochs, by the exact law of reports."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable_aggregator.collections.planning.variance import Precision
from deniable_estimators.inference.functionals import LinearEstimator
from deniable_estimators.mechanisms import estimator_for
from deniable_shared.mechanisms import Mechanism, build, mechanism_ids
from deniable_shared.mechanisms.memoization import MemoizedChain
from support.tiers import rows

EPOCHS = (1, 2, 3)
FEW = {"dbitflip/1", "grr/1"}
"""Histories of three reports: the default tier takes them for these, which have few messages."""
LABELS: dict[str, tuple[int, dict[str, object]]] = {
    "affine/1": (5, {}),
    "cyclic/1": (7, {"field_order": 2, "dimension": 3}),
    "dbitflip/1": (3, {"sampled": 1}),
    "grr/1": (5, {}),
    "hadamard/1": (4, {}),
    "loloha/1": (5, {"field_order": 3, "dimension": 2}),
    "oue/1": (3, {}),
    "projective/1": (7, {"field_order": 2, "dimension": 3}),
    "rr-sampled/1": (3, {"sampled": 2}),
    "rr/1": (3, {}),
    "subset/1": (5, {"subset_size": 2}),
    "sue/1": (3, {}),
}
MEANS: dict[str, tuple[int, dict[str, object]]] = {
    "discrete-piecewise/1": (5, {"outputs": 7, "window": 3}),
    "duchi/1": (5, {}),
    "optimal-mean/1": (5, {"odds": 200_000, "outputs": 5, "window": 2}),
    "square-wave/1": (5, {"reach": 1}),
}
OF_THEIR_OWN = {
    "cms/1",
    "fourier/1",
    "haar/1",
    "hcms/1",
    "pairs/1",
    "prefix-hash/1",
    "rappor/1",
    "tree/1",
}
"""Tables, hierarchies, searches and sketches have laws of their own, in their own tests."""


def chain_of(id: str, size: int, shape: dict[str, object]) -> MemoizedChain:
    chain = build(id, domain_size=size, epsilon="1", permanent="2", **shape)
    assert isinstance(chain, MemoizedChain)
    return chain


def moments(
    chain: MemoizedChain,
    value: int | tuple[int, ...],
    epochs: int,
    of: Callable[[bytes], float | None],
) -> tuple[float, float]:
    """Mean and variance of the average score over the reports that have one."""
    share, first, second = Fraction(), 0.0, 0.0
    for reports, chance in chain.pmf_history([value] * epochs).items():
        scores = [of(report) for report in reports]
        if None not in scores:
            average = sum(score for score in scores if score is not None) / epochs
            share += chance
            first += float(chance) * average
            second += float(chance) * average**2
    mean = first / float(share)
    return mean, second / float(share) - mean**2


def score(mechanism: Mechanism, label: int) -> Callable[[bytes], float | None]:
    def of(report: bytes) -> float | None:
        result = mechanism.supports(report, label)
        if result is None:
            return None
        return float((result - mechanism.q) / (mechanism.p - mechanism.q))

    return of


def test_every_mechanism_is_here() -> None:
    assert {*LABELS, *MEANS, *OF_THEIR_OWN} == set(mechanism_ids())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "epochs"),
    rows(product(LABELS, EPOCHS), by_default=lambda row: row[1] == (3 if row[0] in FEW else 2)),
)
def test_a_label_of_a_device_over_some_epochs_varies_as_the_formula_says(
    id: str, epochs: int
) -> None:
    """For people who have the label and for those who do not; among the reports that tell of it."""
    chain = chain_of(id, *LABELS[id])
    inputs = list(chain.inputs())
    for value in (inputs[0], inputs[-1]):
        held = value == 0 if isinstance(value, int) else bool(value[0])
        mean, variance = moments(chain, value, epochs, score(chain, 0))
        assert mean == pytest.approx(float(held), abs=1e-9)
        planned = Precision(chain, float(held), population=False).over(epochs, repeat="memoized")
        assert variance == pytest.approx(planned * float(chain.sampling_fraction), rel=1e-9)


@pytest.mark.parametrize("id", LABELS)
def test_over_a_thousand_epochs_it_is_that_of_the_permanent_answer(id: str) -> None:
    chain = chain_of(id, *LABELS[id])
    one = Precision(chain, 0.0).over(1, repeat="memoized")
    kept = Precision(chain.first, 0.0).variance
    for epochs in (10, 1000):
        whole = Precision(chain, 0.0).over(epochs, repeat="memoized")
        assert whole == pytest.approx(kept + (one - kept) / epochs, rel=1e-12)


@pytest.mark.parametrize(
    ("id", "value", "epochs"),
    rows(
        product(MEANS, [0, 2, 4], EPOCHS),
        by_default=lambda row: row[1:] in {(0, 2), (2, 3), (4, 1)},
    ),
)
def test_a_mean_of_numbers_over_some_epochs_has_the_error_that_is_claimed(
    id: str, value: int, epochs: int
) -> None:
    """Everybody alike and the tally as expected: n·error² = T·V_T, with nothing between people."""
    chain = chain_of(id, *MEANS[id])
    estimator, law = estimator_for(chain), chain.pmf(value)

    def mean_of(tally: np.ndarray, n: int, epochs: int) -> tuple[float, float]:
        if isinstance(estimator, LinearEstimator):
            weights = np.linspace(0, 1, 5)[None, :]
            found = estimator.functionals(weights, tally, n, epochs=epochs)
            return float(found.values[0]), float(found.std_errors[0])
        result = estimator.estimate(tally, n, epochs=epochs)
        return float(result.frequencies[0]), float(result.std_errors[0])

    def rows(report: bytes) -> np.ndarray:
        return estimator.tally(np.frombuffer(report, dtype=np.uint8)[None, :])

    scores = {report: mean_of(rows(report), 1, 1)[0] for report in law}
    mean, variance = moments(chain, value, epochs, scores.__getitem__)
    assert mean == pytest.approx(value / 4, abs=1e-9)
    n = 10**14
    counts = {report: round(n * chance) for report, chance in law.items()}
    counts[next(iter(counts))] += n - sum(counts.values())
    tally = sum(rows(report) * many for report, many in counts.items())
    _, error = mean_of(np.asarray(tally), n, epochs)
    assert n * error**2 == pytest.approx(epochs * variance, rel=1e-6)
