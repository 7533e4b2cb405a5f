"""Unlisted texts: supports, the search, the counts of a list, what texts add to each other.

Statistical parts state n and a bound; each false alarm has a chance below 1e-6.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable_estimators.inference import heavy_hitters
from deniable_estimators.inference.heavy_hitters import find_heavy_hitters, search
from deniable_estimators.inference.prefix_extension import PrefixExtension
from deniable_estimators.inference.texts import TextTally, estimate_texts
from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.mechanisms.prefix_hash import PrefixHashEstimator
from deniable_shared import mechanisms
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.randomness.coins import Coins
from support.builders.text_populations import estimator_of, tally_of, zipf

SURE = 1 - 1e-6
SMALL = {"base": 3, "digits": 3, "tables": 2, "step": 1}
DRINKS = [b"tea", b"coffee", "maté".encode(), b"t"]


def reports(estimator: PrefixHashEstimator, texts: list[bytes]) -> np.ndarray:
    coins = Coins.system()
    sent = b"".join(estimator.mechanism.randomize(text, coins) for text in texts)
    return np.frombuffer(sent, np.uint8).reshape(len(texts), -1)


def test_supports_are_those_that_the_mechanism_counts_report_by_report() -> None:
    estimator = estimator_of("1", 4, **SMALL)
    rows = reports(estimator, [b"tea", b"t", b"mate"] * 100)
    evidence = TextTally(estimator, estimator.tally(rows))
    texts = [b"tea", b"t", b"mate", b"none"]
    counts, trials = evidence.of(texts, held_out=True)
    for text, count, result in zip(texts, counts, trials, strict=True):
        answers = [estimator.mechanism.supports(row.tobytes(), text) for row in rows]  # type: ignore[arg-type]  # a text mechanism takes a text
        assert count == sum(answer is True for answer in answers)
        assert result == sum(answer is not None for answer in answers)


@pytest.mark.parametrize(("base", "digits"), [(2, 5), (3, 3), (7, 2), (139, 1)])
def test_one_report_of_each_message_supports_every_code_alike(base: int, digits: int) -> None:
    estimator = estimator_of("1", 1, base=base, digits=digits, tables=1, step=0)
    group = estimator.group(np.ones(estimator.mechanism.tally_size, np.int64), 0)
    assert (group.supports == estimator.coding.points).all()


def test_expected_supports_are_p_for_the_true_code_and_equal_for_others() -> None:
    estimator = estimator_of("2", 2, base=3, digits=2, tables=1, step=0)
    law = estimator.mechanism.pmf(b"ab")
    result = [Fraction() for _ in range(9)]
    held = Fraction()
    for payload, chance in law.items():
        group = estimator.group(estimator.tally(np.frombuffer(payload, np.uint8)[None]), 0)
        if group.trials[0]:
            held += chance
            result = [t + chance * int(c) for t, c in zip(result, group.supports[0], strict=True)]
    own = estimator.coding.code(0, b"ab")
    p = estimator.mechanism.p
    inside = Fraction(9 // 3 - 1, 8)
    other = inside * p + (1 - inside) * (1 - p) / 2
    assert result[own] / held == p
    assert {t / held for place, t in enumerate(result) if place != own} == {other}


def test_a_payload_beyond_the_last_message_is_refused() -> None:
    estimator = estimator_of("1", 4, **SMALL)
    with pytest.raises(DecodeError, match="below"):
        estimator.tally(np.full((1, estimator.mechanism.payload_size), 255, np.uint8))


def test_a_tally_that_n_reports_cannot_give_is_refused() -> None:
    estimator = estimator_of("1", 4, **SMALL)
    with pytest.raises(ParameterError, match="must add up to n = 5"):
        find_heavy_hitters(estimator, np.zeros(estimator.mechanism.tally_size, np.int64), 5)


def test_without_reports_nothing_is_found_and_a_list_has_no_frequencies() -> None:
    estimator = estimator_of("1", 4, **SMALL)
    tally = np.zeros(estimator.mechanism.tally_size, np.int64)
    assert find_heavy_hitters(estimator, tally, 0).texts == ()
    result = estimate_texts(TextTally(estimator, tally), [b"tea"], held_out=False)
    assert np.isnan(result.estimate.frequencies).all()
    assert (result.estimate.lower[0], result.estimate.upper[0]) == (0.0, 1.0)


@pytest.mark.statistical
@pytest.mark.parametrize(("step", "epsilon"), [(1, "4"), (2, "4"), (1, "1")])
def test_what_everybody_says_is_found_and_nothing_else(step: int, epsilon: str) -> None:
    """n = 200,000, f ≥ 0.1: over 20 standard errors in every group, at ε = 1 over 9."""
    estimator = estimator_of(epsilon, 7, step=step)
    people = np.array([80_000, 60_000, 40_000, 20_000])
    tally = tally_of(estimator, DRINKS, people)
    result = find_heavy_hitters(estimator, tally, int(people.sum()), confidence=SURE)
    assert list(result.texts) == DRINKS
    assert (result.estimate.lower <= people / people.sum()).all()
    assert (people / people.sum() <= result.estimate.upper).all()
    assert result.estimate.family == "all"


@pytest.mark.statistical
def test_nothing_is_found_where_everybody_says_something_else() -> None:
    """n = 50,000: family-wise 5e-7 by the promise itself."""
    estimator = estimator_of("2", 4)
    texts = [bytes((97 + i % 26, 97 + i // 26 % 26, 97 + i // 676 % 26)) for i in range(17_576)]
    tally = tally_of(estimator, texts, np.full(len(texts), 3))
    assert find_heavy_hitters(estimator, tally, 3 * len(texts), confidence=SURE).texts == ()


@pytest.mark.statistical
def test_a_skewed_list_gives_the_real_texts_above_the_error() -> None:
    """n = 300,000, ε = 4: 1/rank over 200 texts; each of the top three is 18 errors above 0."""
    estimator = estimator_of("4", 8)
    texts = [f"word{place}".encode() for place in range(200)]
    people = np.floor(300_000 * zipf(200)).astype(np.int64)
    result = find_heavy_hitters(
        estimator, tally_of(estimator, texts, people), int(people.sum()), confidence=SURE
    )
    assert set(result.texts) <= set(texts)
    assert set(texts[:3]) <= set(result.texts)
    frequencies = result.estimate.frequencies
    assert (np.diff(frequencies) <= 0).all()


@pytest.mark.statistical
def test_a_list_given_later_is_told_within_its_errors() -> None:
    """n = 200,000, 30 texts: |f̂ − f| < 7 standard errors each, 1e-10 in all."""
    estimator = estimator_of("2", 8)
    texts = [f"w{place}".encode() for place in range(30)]
    people = np.floor(200_000 * zipf(30)).astype(np.int64)
    evidence = TextTally(estimator, tally_of(estimator, texts, people))
    result = estimate_texts(evidence, [*texts, b"absent"], held_out=False)
    off = np.abs(result.estimate.frequencies - np.append(people / people.sum(), 0))
    assert (off < 7 * result.estimate.std_errors).all()
    alone = estimate_texts(evidence, texts, held_out=True)
    assert (alone.reports < result.reports[:-1]).all()
    assert (alone.estimate.std_errors > result.estimate.std_errors[:-1]).all()


@pytest.mark.statistical
def test_what_texts_with_one_code_add_to_each_other_is_taken_out() -> None:
    """n = 200,000 at ε = 8, 9 codes: a raw count gives b"z" ten errors too much or more."""
    estimator = estimator_of("8", 1, base=3, digits=2, tables=2, step=0)
    heavy = b"a"
    evidence = TextTally(estimator, np.zeros(0, np.int64))
    codes = evidence.codes(0, [bytes((b,)) for b in range(97, 123)])[:, 0]
    shared = (codes == codes[:, :1]).sum(axis=0)
    twin = bytes((97 + next(i for i in range(1, 26) if 0 < shared[i] < 6),))
    evidence = TextTally(estimator, tally_of(estimator, [heavy], np.array([200_000])))
    counts, trials = evidence.of([twin], held_out=True)
    p, q = float(estimator.mechanism.p), float(estimator.mechanism.q)
    raw = (counts[0] / trials[0] - q) / (p - q)
    result = estimate_texts(evidence, [heavy, twin], held_out=True).estimate
    assert abs(raw) > 0.01
    assert np.abs(result.frequencies - [1, 0]).max() < 0.01


def test_two_texts_that_nothing_tells_apart_share_what_is_theirs() -> None:
    estimator = estimator_of("8", 1, base=2, digits=1, tables=1, step=0)
    evidence = TextTally(estimator, np.full(estimator.mechanism.tally_size, 50))
    codes = evidence.codes(0, [bytes((b,)) for b in range(97, 123)])[:, 0]
    same = [i for i in range(1, 26) if (codes[:, i] == codes[:, 0]).all()]
    result = estimate_texts(evidence, [b"a", bytes((97 + same[0],))], held_out=True)
    assert result.estimate.frequencies[0] == pytest.approx(result.estimate.frequencies[1])


@pytest.mark.parametrize("repeat", ["fresh", "memoized"])
def test_several_epochs_of_one_device_widen_the_intervals(repeat: str) -> None:
    permanent = "4" if repeat == "memoized" else None
    if permanent is None:
        mechanism = mechanisms.build("prefix-hash/1", domain_size=4, epsilon="2", **SMALL)
    else:
        mechanism = mechanisms.build(
            "prefix-hash/1", domain_size=4, epsilon="2", permanent=permanent, **SMALL
        )
    estimator = estimator_for(mechanism, repeat)
    assert isinstance(estimator, PrefixHashEstimator)
    rows = reports(estimator, [b"tea", b"mate"] * 1_500)
    evidence = TextTally(estimator, estimator.tally(rows))
    one, ten = (
        estimate_texts(evidence, [b"tea", b"mate"], held_out=True, epochs=epochs).estimate
        for epochs in (1, 10)
    )
    assert (ten.upper - ten.lower > one.upper - one.lower).all()
    assert (ten.std_errors > one.std_errors).all()


def test_there_is_no_search_without_levels() -> None:
    estimator = estimator_of("4", 4, step=0)
    tally = tally_of(estimator, [b"tea"], np.array([10_000]))
    assert search(TextTally(estimator, tally)) == []
    assert find_heavy_hitters(estimator, tally, 10_000).texts == ()
    result = estimate_texts(TextTally(estimator, tally), [b"tea"], held_out=False)
    assert result.reports[0] == 10_000


def test_tallies_of_two_sets_of_reports_add_up_to_that_of_both() -> None:
    estimator = estimator_of("1", 4, **SMALL)
    rows = reports(estimator, [b"tea", b"mate"] * 20)
    parts = estimator.tally(rows[:15]) + estimator.tally(rows[15:])
    assert (parts == estimator.tally(rows)).all()
    assert parts.sum() == 40


def test_the_beam_keeps_the_likeliest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heavy_hitters, "BEAM", 2)
    best = heavy_hitters._Likeliest()
    tails = np.frombuffer(b"abc", np.uint8).reshape(3, 1)
    best.add(b"x", tails, np.array([1.0, 3.0, 2.0]))
    best.add(b"y", tails, np.array([2.5, -20.0, 0.0]))
    assert best.texts == [b"xb", b"ya"]
    assert best.odds.tolist() == [3.0, 2.5]


@pytest.mark.statistical
def test_what_shares_a_code_with_a_frequent_text_is_not_taken_for_frequent() -> None:
    """n = 200,000 at ε = 8: a twin of b"a" in one of two tables is 200 errors above the noise.

    What is left to it after b"a" is taken out is noise of one error: 9 of them have a chance below
    1e-18.
    """
    estimator = estimator_of("8", 1, base=3, digits=2, tables=2, step=1)
    tally = tally_of(estimator, [b"a"], np.array([200_000]))
    (family,) = PrefixExtension(TextTally(estimator, tally), 1).candidates(
        [b""], np.array([math.inf])
    )
    odds = {tail.tobytes(): odd for tail, odd in zip(family.tails, family.odds, strict=True)}
    codes = TextTally(estimator, tally).codes(1, list(odds))[:, 0]
    agreeing = dict(
        zip(odds, (codes == codes[:, [list(odds).index(b"a")]]).sum(axis=0), strict=True)
    )
    assert odds[b"a"] > 1_000
    assert {1} < set(agreeing.values())
    assert max(odd for tail, odd in odds.items() if agreeing[tail] < 2) < 9 * 9 / 2
