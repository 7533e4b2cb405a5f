"""Public weights: unbiased for every value, never above their ceilings, exactly by all messages."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable_estimators.inference.channel import Floats
from deniable_estimators.inference.public_scores import Ceiling, PublicScores, label_scores
from deniable_estimators.inference.public_texts import public_texts
from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.simulation import generator
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.protocols import Mechanism
from support.builders.small_mechanisms import CHOICES, mechanism
from support.builders.small_readings import MEANS, RANGES, TABLES, TEXTS
from support.oracles.message_laws import MessageLaw


def laws_of(scores: PublicScores, built: Mechanism, inputs: list[Any]) -> tuple[Floats, Floats]:
    """φ of each message (k, messages), and the chance of each by input (inputs, messages)."""
    law = MessageLaw(built)
    said = scores.offset[:, None] + scores.weights @ law.tallies.T
    rows = [built.pmf(value) for value in inputs]
    return said, np.array([[float(row[message]) for message in law.messages] for row in rows])


def check(scores: PublicScores, built: Mechanism, truth: Floats, inputs: list[Any]) -> None:
    said, chances = laws_of(scores, built, inputs)
    assert said @ chances.T == pytest.approx(truth, abs=1e-9)
    assert (said.min(axis=1) >= scores.low - 1e-9).all()
    assert (said.max(axis=1) <= scores.high + 1e-9).all()
    moments = said**2 @ chances.T
    for ceiling, places, each in zip(scores.ceilings, truth, moments, strict=True):
        assert (each <= np.interp(places, ceiling.places, ceiling.moments) + 1e-9).all()


def some_rows(size: int) -> Floats:
    uneven = np.array([v * v % 7 / 6 for v in range(size)])
    return np.array([*np.tri(size)[:-1], np.linspace(0, 1, size), uneven])


@pytest.mark.parametrize("name", sorted(MEANS))
def test_a_mean_is_read_without_bias_and_below_its_ceiling(name: str) -> None:
    built = MEANS[name]
    truth = np.linspace(0, 1, built.domain_size)[None, :]
    check(estimator_for(built).public_mean(), built, truth, list(built.inputs()))  # type: ignore[attr-defined]  # it has means


@pytest.mark.parametrize("name", sorted(RANGES))
def test_sums_over_values_are_read_without_bias_and_below_their_ceilings(name: str) -> None:
    built = RANGES[name]
    rows = some_rows(built.domain_size)
    check(estimator_for(built).public_scores(rows), built, rows, list(built.inputs()))  # type: ignore[attr-defined]  # it has ranges


@pytest.mark.parametrize("name", sorted(TABLES))
def test_cells_of_tables_are_read_without_bias_and_below_their_ceilings(name: str) -> None:
    built = TABLES[name]
    estimator: Any = estimator_for(built)
    combinations = list(product(*map(range, estimator.radices)))
    for axes in [(0,), (1,), (0, 1), (1, 0)]:
        cells = product(*(range(estimator.radices[axis]) for axis in axes))
        truth = [[all(x[a] == c for a, c in zip(axes, cell, strict=True)) for x in combinations]
                 for cell in cells]  # fmt: skip
        inputs = list(range(len(combinations)))
        check(estimator.public_tables(axes), built, np.array(truth, dtype=float), inputs)


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_listed_texts_are_read_without_bias_and_below_their_ceilings(name: str) -> None:
    built, texts = TEXTS[name], [b"a", b"z"]
    scores = public_texts(estimator_for(built), texts)  # type: ignore[arg-type]  # it has texts
    check(scores, built, np.eye(2), [tuple(text) for text in texts])
    assert (np.asarray(scores.floor) > 0).all()


@pytest.mark.slow
def test_listed_texts_of_digits_are_read_without_bias() -> None:
    built, texts = mechanism("prefix-hash/1", 2, "2"), [b"ab", b"c"]
    estimator: Any = estimator_for(built)
    scores = public_texts(estimator, texts)
    tally = estimator.sample_texts(texts, np.array([300_000, 100_000]), generator(1))
    shares = scores.offset + scores.weights @ tally / 400_000
    errors = np.sqrt([each.largest / 400_000 for each in scores.ceilings])
    assert (np.abs(shares - (0.75, 0.25)) < 5 * errors).all()


def test_more_texts_than_fit_are_refused() -> None:
    built = mechanism("prefix-hash/1", 2, "2")
    texts = [bytes([97 + v % 26, 97 + v // 26]) for v in range(200)]
    with pytest.raises(ParameterError, match="texts must be at most 171 of prefix-hash/1 here"):
        public_texts(estimator_for(built), texts)  # type: ignore[arg-type]  # it has texts


@pytest.mark.parametrize("name", [*sorted(CHOICES), "dbitflip-1-of-3", "dbitflip-2-of-4"])
def test_labels_say_sums_below_their_second_moments(name: str) -> None:
    buckets = {"dbitflip-1-of-3": (3, 1), "dbitflip-2-of-4": (4, 2)}
    built = CHOICES.get(name)
    if built is None:
        size, sampled = buckets[name]
        built = mechanism("dbitflip/1", size, sampled=sampled)
    law = MessageLaw(built)
    rows = some_rows(built.domain_size)
    low, high, moments = label_scores(law.estimator, rows)
    held = law.supports(law.tallies)
    result = law.tallies[:, : built.domain_size] if name in buckets else np.ones_like(held)
    fraction, gap = float(built.sampling_fraction), float(built.p - built.q)
    said = rows @ (held - float(built.q) * result).T / (fraction * gap)
    chances = np.array([[float(built.pmf(v)[m]) for m in law.messages] for v in law.inputs])
    assert said @ chances.T == pytest.approx(rows, abs=1e-9)
    assert (said**2 @ chances.T <= moments + 1e-9).all()
    assert (said.min(axis=1) >= low - 1e-9).all()
    assert (said.max(axis=1) <= high + 1e-9).all()


@pytest.mark.parametrize("name", sorted(n for n in {**MEANS, **RANGES, **TABLES} if "chain" in n))
def test_what_reports_share_varies_by_no_more_than_the_first_round_says(name: str) -> None:
    """E[φ | permanent answer] over the law of permanent answers, for every value."""
    built = {**MEANS, **RANGES, **TABLES}[name]
    assert isinstance(built, MemoizedChain)
    for axes in [(0,), (0, 1)]:
        check_shared(built, _any_scores(built, axes), _any_scores(built.first, axes))


def check_shared(built: MemoizedChain, scores: PublicScores, first: PublicScores) -> None:
    law = MessageLaw(built)
    said = scores.offset[:, None] + scores.weights @ law.tallies.T
    permanent = list(built.first.pmf(law.inputs[0]))
    renewed = [_renewed(built, answer) for answer in permanent]
    means = said @ np.array([[float(r.get(m, 0)) for m in law.messages] for r in renewed]).T
    for place, value in enumerate(law.inputs):
        chances = np.array([float(built.first.pmf(value)[answer]) for answer in permanent])
        for row, ceiling in enumerate(scores.permanent or first.ceilings):
            truth = float(means[row] @ chances)
            assert float(means[row] ** 2 @ chances) <= (
                np.interp(truth, ceiling.places, ceiling.moments) + 1e-9
            ), (place, row)


def _any_scores(built: Mechanism, axes: tuple[int, ...]) -> PublicScores:
    estimator: Any = estimator_for(built)
    if hasattr(estimator, "public_mean"):
        scores: PublicScores = estimator.public_mean()
    elif hasattr(estimator, "public_scores"):
        scores = estimator.public_scores(some_rows(built.domain_size))
    else:
        scores = estimator.public_tables(axes)
    return scores


def _renewed(built: MemoizedChain, answer: bytes) -> dict[bytes, Any]:
    return built.first.rerandomized_pmf(answer, built.renewal_threshold)


def test_a_ceiling_is_the_least_concave_function_above_its_points() -> None:
    ceiling = Ceiling.over(np.array([0.0, 0.5, 1.0, 0.5, 0.25]), np.array([1.0, 4, 2, 3, 1]))
    assert ceiling.places.tolist() == [0, 0.5, 1]
    assert ceiling.moments.tolist() == [1, 4, 2]
    assert ceiling.variance(0.5) == 3.75
    assert ceiling.variance(-3) == 1
    grid = [ceiling.variance(share) for share in np.linspace(0, 1, 10_001)]
    assert ceiling.largest == pytest.approx(max(grid), abs=1e-6)
    assert ceiling.largest >= max(grid)
