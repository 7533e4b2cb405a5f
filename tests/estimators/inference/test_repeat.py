from __future__ import annotations

import numpy as np
import pytest

from deniable_estimators.inference.protocols import REPEATS
from deniable_estimators.mechanisms import estimator_for
from deniable_shared import mechanisms
from deniable_shared.errors import ParameterError

PLAIN = mechanisms.build("rr/1", domain_size=1, epsilon="1")
CHAIN = mechanisms.build("rr/1", domain_size=1, epsilon="1", permanent="2")


def width(repeat: str, epochs: int) -> float:
    mechanism = CHAIN if repeat == "memoized" else PLAIN
    estimate = estimator_for(mechanism, repeat).estimate(np.array([40_000]), 100_000, epochs=epochs)
    return float(estimate.upper[0] - estimate.lower[0])


def test_a_chain_is_memoized_and_anything_else_once_unless_it_is_said() -> None:
    assert estimator_for(CHAIN).repeat == "memoized"
    assert estimator_for(PLAIN).repeat == "once"
    assert estimator_for(PLAIN, "fresh").repeat == "fresh"


@pytest.mark.parametrize("repeat", ["once", "fresh"])
def test_a_chain_cannot_be_asked_otherwise(repeat: str) -> None:
    with pytest.raises(ParameterError, match="build it without permanent"):
        estimator_for(CHAIN, repeat)


def test_memoized_needs_a_chain() -> None:
    with pytest.raises(ParameterError, match="cannot be memoized: build it with permanent"):
        estimator_for(PLAIN, "memoized")


def test_another_repeat_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ParameterError, match="one of once, fresh, memoized, got 'daily'"):
        estimator_for(PLAIN, "daily")


@pytest.mark.parametrize("repeat", REPEATS)
def test_one_epoch_is_as_if_nothing_were_repeated(repeat: str) -> None:
    assert width(repeat, 1) == pytest.approx(width("once", 1), rel=1e-9)


def test_epochs_of_devices_that_answer_once_change_no_interval() -> None:
    assert width("once", 30) == width("once", 1)


def test_more_epochs_of_the_same_reports_and_permanence_say_less() -> None:
    assert width("once", 30) < width("fresh", 7) < width("fresh", 30)
    assert width("fresh", 30) < width("memoized", 30)
    assert width("memoized", 7) < width("memoized", 30)


@pytest.mark.parametrize("repeat", REPEATS)
@pytest.mark.parametrize("epochs", [0, -1])
def test_epochs_below_one_are_refused(repeat: str, epochs: int) -> None:
    mechanism = CHAIN if repeat == "memoized" else PLAIN
    with pytest.raises(ParameterError, match="epochs must be at least 1"):
        estimator_for(mechanism, repeat).estimate(np.array([1]), 2, epochs=epochs)


@pytest.mark.parametrize("repeat", REPEATS)
def test_no_reports_of_many_epochs_say_nothing(repeat: str) -> None:
    mechanism = CHAIN if repeat == "memoized" else PLAIN
    estimate = estimator_for(mechanism, repeat).estimate(np.array([0]), 0, epochs=30)
    assert (estimate.lower.tolist(), estimate.upper.tolist()) == ([0], [1])
    assert np.isnan(estimate.frequencies).all()


@pytest.mark.parametrize("repeat", REPEATS)
def test_a_device_that_lies_may_do_so_in_every_epoch(repeat: str) -> None:
    mechanism = CHAIN if repeat == "memoized" else PLAIN
    built = estimator_for(mechanism, repeat)
    one, many = (built.estimate(np.array([300]), 1000, epochs=epochs) for epochs in (1, 7))
    assert many.influence == pytest.approx(7 * one.influence)
    assert many.devices_to_leave[0] == -(-many.reports_to_leave[0] // 7)
    assert one.devices_to_leave.tolist() == one.reports_to_leave.tolist()


def test_estimates_of_a_chain_use_the_p_and_q_of_one_report() -> None:
    n = 10**12
    estimate = estimator_for(CHAIN).estimate(np.array([round(n * CHAIN.p)]), n, epochs=7)
    assert estimate.frequencies[0] == pytest.approx(1, abs=1e-9)
