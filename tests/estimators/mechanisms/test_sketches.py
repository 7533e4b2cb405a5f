"""Sketches of texts: counts report by report, collisions taken out, errors that are met.

Statistical parts state n and a bound; each false alarm has a chance below 1e-6.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import numpy.typing as npt
import pytest

from deniable_estimators.inference.heavy_hitters import find_heavy_hitters
from deniable_estimators.inference.protocols import TextEstimator
from deniable_estimators.inference.texts import TextEstimates, TextTally, estimate_texts
from deniable_estimators.mechanisms import estimator_for
from deniable_shared import mechanisms
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms import Mechanism
from deniable_shared.mechanisms.bit_sketch import BitSketch
from deniable_shared.randomness.coins import Coins

IDS = ("cms/1", "hcms/1", "rappor/1")
DRINKS = [b"tea", b"coffee", b"mate"]


def estimator_of(
    id: str,
    epsilon: str = "2",
    *,
    repeat: str | None = None,
    permanent: str | None = None,
    **shape: int,
) -> TextEstimator:
    if permanent is None:
        mechanism: Mechanism = mechanisms.build(id, domain_size=8, epsilon=epsilon, **shape)
    else:
        mechanism = mechanisms.build(
            id, domain_size=8, epsilon=epsilon, permanent=permanent, **shape
        )
    return cast(TextEstimator, estimator_for(mechanism, repeat))


def reports(estimator: TextEstimator, texts: list[bytes]) -> npt.NDArray[np.uint8]:
    coins = Coins.system()
    sent = b"".join(estimator.mechanism.randomize(text, coins) for text in texts)
    return np.frombuffer(sent, np.uint8).reshape(len(texts), -1)


def stated(estimator: TextEstimator, people: dict[bytes, int], asked: list[bytes]) -> TextEstimates:
    rows = reports(estimator, [text for text, count in people.items() for _ in range(count)])
    return estimate_texts(TextTally(estimator, estimator.tally(rows)), asked, held_out=False)


@pytest.mark.parametrize("id", IDS)
def test_supports_are_those_that_the_mechanism_counts_report_by_report(id: str) -> None:
    estimator = estimator_of(id, tables=3, cells=16)
    rows = reports(estimator, DRINKS * 100)
    group = estimator.group(estimator.tally(rows), 0)
    assert group.n == estimator.reports_of(estimator.tally(rows)) == 300
    first = estimator.codes(0, [*DRINKS, b"none"])[:, 0]
    for place, text in enumerate([*DRINKS, b"none"]):
        counted = sum(bool(estimator.mechanism.supports(r.tobytes(), text)) for r in rows)  # type: ignore[arg-type]  # a text mechanism takes a text
        assert counted == group.supports[np.arange(3), first[:, place]].sum()


@pytest.mark.parametrize("id", IDS)
def test_tallies_of_two_sets_of_reports_add_up_to_that_of_both(id: str) -> None:
    estimator = estimator_of(id, tables=3, cells=16)
    rows = reports(estimator, DRINKS * 10)
    whole = estimator.tally(rows)
    assert (estimator.tally(rows[:11]) + estimator.tally(rows[11:]) == whole).all()
    assert estimator.checked(whole, 30)[1] == 30
    with pytest.raises(ParameterError, match="n = 29"):
        estimator.checked(whole, 29)


def test_bits_beyond_the_reports_of_their_table_are_refused() -> None:
    estimator = estimator_of("cms/1", tables=2, cells=8)
    tally = np.zeros(18, np.int64)
    tally[:2] = 0, 1
    tally[9] = 1
    with pytest.raises(ParameterError, match="at most as many ones"):
        estimator.checked(tally, 1)


@pytest.mark.parametrize("id", IDS)
def test_a_payload_that_names_no_table_is_refused(id: str) -> None:
    estimator = estimator_of(id, tables=3, cells=16)
    rows = np.full((1, estimator.mechanism.payload_size), 255, np.uint8)
    with pytest.raises(DecodeError, match="below"):
        estimator.tally(rows)


@pytest.mark.statistical
@pytest.mark.parametrize("permanent", [None, "4"])
@pytest.mark.parametrize("id", IDS)
def test_a_list_is_told_within_its_errors(id: str, permanent: str | None) -> None:
    """n = 6,000: |f̂ − f| < 7 standard errors for four texts, below 1e-10."""
    estimator = estimator_of(id, permanent=permanent, tables=16, cells=64)
    answer = stated(estimator, {b"tea": 3_000, b"coffee": 2_000, b"mate": 1_000}, [*DRINKS, b"no"])
    off = np.abs(answer.estimate.frequencies - [1 / 2, 1 / 3, 1 / 6, 0])
    assert (off < 7 * answer.estimate.std_errors).all()
    assert (answer.reports == 6_000).all()
    assert answer.estimate.n == 6_000


@pytest.mark.statistical
@pytest.mark.parametrize("id", IDS)
def test_what_other_texts_add_by_collisions_is_taken_out(id: str) -> None:
    """ε = 8, eight cells: without the correction one in eight is added to absent texts.

    n = 20,000: coins and the choice of tables make errors below 0.0075; 0.06 is eight of them.
    """
    estimator = estimator_of(id, "8", tables=512, cells=8)
    evidence = TextTally(estimator, estimator.tally(reports(estimator, [b"tea"] * 20_000)))
    tea, absent = (estimator.codes(0, [text])[:, :, 0] for text in (b"tea", b"absent"))
    has = (absent[:, :, None] == tea[:, None, :]).any(axis=2) & (absent >= 0)
    collided, beta = has.sum() / (absent >= 0).sum(), estimator.agreeing
    counts, trials = evidence.of([b"absent"], held_out=True)
    p, inside = float(estimator.mechanism.p), estimator.inside
    uncorrected = (counts[0] / trials[0] - inside) / (p - inside)
    (f,) = estimate_texts(evidence, [b"absent"], held_out=False).estimate.frequencies
    assert collided > beta / 2
    assert abs(uncorrected - collided) < 0.06
    assert abs(f - (collided - beta) / (1 - beta)) < 0.06
    both = estimate_texts(evidence, [b"tea", b"absent"], held_out=False).estimate
    assert (np.abs(both.frequencies - [1, 0]) < 7 * both.std_errors).all()


@pytest.mark.statistical
@pytest.mark.parametrize("id", IDS)
def test_the_error_shown_is_the_error_made_over_hashes_and_coins(id: str) -> None:
    """160 absent texts, n = 4,000: the mean of z² within 0.3 … 1.9.

    Measured over ten runs each: 0.83 to 0.98, standard deviation 0.10, which is that of a χ² of
    160. That leaves the limits with a chance below 1e-9.
    """
    estimator = estimator_of(id, "2", tables=64, cells=64)
    absent = [f"no{number}".encode() for number in range(160)]
    answer = stated(estimator, {b"tea": 2_000, b"coffee": 1_000, b"mate": 1_000}, absent)
    z = answer.estimate.frequencies / answer.estimate.std_errors
    assert 0.3 < float((z**2).mean()) < 1.9


@pytest.mark.parametrize("id", IDS)
def test_nothing_is_found_without_a_list(id: str) -> None:
    estimator = estimator_of(id)
    tally = estimator.tally(reports(estimator, DRINKS * 10))
    assert find_heavy_hitters(estimator, tally, 30).texts == ()
    assert len(estimator.estimate(tally, 30).frequencies) == 0
    empty = np.zeros(estimator.mechanism.tally_size, np.int64)
    assert np.isnan(
        estimate_texts(TextTally(estimator, empty), DRINKS, held_out=False).estimate.frequencies
    ).all()


@pytest.mark.parametrize("repeat", ["fresh", "memoized"])
@pytest.mark.parametrize("id", IDS)
def test_several_epochs_of_one_device_widen_the_intervals(id: str, repeat: str) -> None:
    permanent = "4" if repeat == "memoized" else None
    estimator = estimator_of(id, repeat=repeat, permanent=permanent, tables=4, cells=16)
    tally = estimator.tally(reports(estimator, DRINKS * 600))
    one, ten = (
        estimate_texts(TextTally(estimator, tally), DRINKS, held_out=False, epochs=epochs).estimate
        for epochs in (1, 10)
    )
    assert (ten.std_errors > one.std_errors).all()
    assert (ten.upper - ten.lower > one.upper - one.lower).all()


def test_two_bits_of_a_report_count_for_less_than_two_reports() -> None:
    estimator = estimator_of("rappor/1", "4", tables=4, cells=64)
    one = estimator_of("rappor/1", "2", tables=4, cells=64, hashes=1)
    assert estimator.mechanism.threshold == one.mechanism.threshold
    assert isinstance(estimator.mechanism, BitSketch)
    assert estimator.coding.hashes == 2
    tally = estimator.tally(reports(estimator, DRINKS * 1_000))
    both = estimate_texts(TextTally(estimator, tally), [b"tea"], held_out=False).estimate
    raw = float(both.frequencies[0])
    share = float(one.mechanism.q) + raw * float(one.mechanism.p - one.mechanism.q)
    gap = float(one.mechanism.p - one.mechanism.q)
    assert both.std_errors[0] > np.sqrt(share * (1 - share) / 6_000) / gap
