"""Warnings of reports made up: what honest reports never raise, and what they catch."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deniable_estimators.inference.anomalies import FALSE_ALARMS, Anomaly, find_anomalies
from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.simulation import generator as repeatable
from deniable_shared import mechanisms
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.randomness.coins import Coins
from support.oracles.message_laws import MessageLaw, generator

CODED = ["affine/1", "cyclic/1", "hadamard/1", "projective/1"]
UNARY = ["oue/1", "sue/1"]
SIZE, N = 9, 20_000


def law(id: str, *, repeat: str = "once") -> MessageLaw:
    permanent = Fraction(2) if repeat == "memoized" else None
    return MessageLaw(mechanisms.build(id, domain_size=SIZE, epsilon="1", permanent=permanent))


def found(of: MessageLaw, tally: np.ndarray, n: int, *, epochs: int = 1) -> tuple[Anomaly, ...]:
    repeat = "once" if epochs == 1 else "memoized"
    estimator = estimator_for(of.mechanism, repeat)
    return find_anomalies(estimator, of.mechanism, tally, n, epochs=epochs)


@pytest.mark.parametrize("id", CODED + UNARY)
@pytest.mark.parametrize("value", [0, SIZE - 1])
def test_honest_reports_raise_nothing(id: str, value: int) -> None:
    """The same 500 reports each time: of others one collection in 10^6 would, as is promised."""
    of = law(id)
    (tally,) = of.draw_tallies({value: Fraction(1)}, 500, 1, repeatable(seed=value))
    assert found(of, tally, 500) == ()


@pytest.mark.statistical
@pytest.mark.parametrize("id", CODED + UNARY)
def test_alarms_are_rarer_than_allowed_at_a_level_that_can_be_counted(
    id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Level 0.02, 3,000 collections of 300: of Bin(3000, 0.02), 104 or more have chance 1.2e-7.

    The level is scaled and the code is the same: at 1e-6 nothing could be counted.
    """
    monkeypatch.setattr("deniable_estimators.inference.anomalies.FALSE_ALARMS", 0.02)
    of = law(id)
    tallies = of.draw_tallies({0: Fraction(1, 2), 7: Fraction(1, 2)}, 300, 3000)
    assert sum(bool(found(of, tally, 300)) for tally in tallies) < 104


@pytest.mark.parametrize("id", CODED)
def test_a_repeated_message_shows_at_codes_without_a_label(id: str) -> None:
    of = law(id)
    honest = of.draw_tallies({1: Fraction(1)}, N, 1)[0]
    chosen = max(range(len(of.messages)), key=lambda place: _unused(of, place))
    seen = found(of, honest + N // 10 * of.tallies[chosen], N + N // 10)
    assert "unused-code" in {oddity.kind for oddity in seen}
    assert all(oddity.chance <= FALSE_ALARMS for oddity in seen)


def _unused(of: MessageLaw, place: int) -> int:
    codes = of.estimator.code_supports(of.tallies[place])  # type: ignore[attr-defined]  # only some estimators have it
    return int(codes[SIZE:].sum())


@pytest.mark.parametrize("id", CODED)
def test_messages_without_an_answer_show_at_all_such_codes_together(id: str) -> None:
    of = law(id)
    drawn = generator().multinomial(50 * N, np.full(len(of.messages), 1 / len(of.messages)))
    (oddity,) = [one for one in found(of, drawn @ of.tallies, 50 * N) if one.code is None]
    assert oddity.kind == "unused-codes"
    assert oddity.seen > oddity.expected


@pytest.mark.parametrize("id", UNARY)
@pytest.mark.parametrize("ones", [0, SIZE])
def test_vectors_of_an_impossible_weight_are_seen(id: str, ones: int) -> None:
    of = law(id)
    honest = of.draw_tallies({1: Fraction(1)}, N, 1)[0]
    made_up = np.where(np.arange(SIZE) < ones, N // 10, 0)
    (oddity,) = found(of, honest + made_up, N + N // 10)
    assert oddity.kind == "weight"
    assert (oddity.seen > oddity.expected) == bool(ones)


@pytest.mark.parametrize("id", ["grr/1", "subset/1", "rr/1"])
def test_where_every_tally_may_be_honest_nothing_is_odd(id: str) -> None:
    of = law(id)
    assert found(of, 1000 * of.tallies[0], 1000) == ()


@pytest.mark.parametrize("id", CODED + UNARY)
def test_no_reports_are_not_odd(id: str) -> None:
    of = law(id)
    assert found(of, np.zeros_like(of.tallies[0]), 0) == ()


@pytest.mark.parametrize("id", CODED + UNARY)
def test_a_few_permanent_answers_told_for_a_year_are_not_odd(id: str) -> None:
    """20 devices, 365 epochs: as reports of 7,300 devices they would be, nearly always."""
    chain = law(id, repeat="memoized").mechanism
    assert isinstance(chain, MemoizedChain)
    coins = Coins.derive(b"a year", id.encode())
    reports = []
    for _ in range(20):
        permanent = chain.memoize(3, coins)
        reports += [chain.rerandomize(permanent, coins) for _ in range(365)]
    rows = np.frombuffer(b"".join(reports), dtype=np.uint8).reshape(len(reports), -1)
    of = MessageLaw(chain)
    assert found(of, of.estimator.tally(rows), len(reports), epochs=365) == ()
