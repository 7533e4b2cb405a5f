"""Ceilings are exact, and a float is never taken for one."""

from __future__ import annotations

from fractions import Fraction

import pytest

from deniable_client import Ceiling, ConfigurationError, Outcome
from support.builders.client_world import SETTINGS, MakeDevice, manifest


def test_strings_ints_and_fractions_say_the_same() -> None:
    said = {
        Ceiling("2", "4.0", "8"),
        Ceiling(2, 4, 8),
        Ceiling(Fraction(2), Fraction(4), Fraction(8)),
    }
    assert len(said) == 1


@pytest.mark.parametrize(
    "given", [1.0, 0.5, True, None, "1e5000000", "0.0000001", "100", 0, -1, 21]
)
def test_what_is_not_an_exact_epsilon_in_range_is_refused_by_name(given: object) -> None:
    with pytest.raises(ConfigurationError, match="epsilon_per_report"):
        Ceiling(given, 4, 8)  # type: ignore[arg-type]  # a wrong type is the point


def test_a_float_is_refused_with_the_cure() -> None:
    with pytest.raises(ConfigurationError, match=r'write it as a string, like "0\.5"'):
        Ceiling(0.5, 4, 8)  # type: ignore[arg-type]  # a wrong type is the point


def test_a_report_of_exactly_the_ceiling_is_given(make_device: MakeDevice) -> None:
    client = make_device().granted(ceiling=Ceiling(1, 1, 1))
    assert client.record("settings", SETTINGS) is Outcome.QUEUED


def test_a_report_a_millionth_above_the_ceiling_is_not(make_device: MakeDevice) -> None:
    client = make_device(manifest(epsilon='"1.000001"')).granted(ceiling=Ceiling(1, 4, 8))
    assert client.record("settings", SETTINGS) is Outcome.OVER_CEILING
    assert client.budget().spent == 0


def test_a_report_above_the_lifetime_of_the_app_is_over_the_ceiling(
    make_device: MakeDevice,
) -> None:
    client = make_device().granted(ceiling=Ceiling(2, 2, "0.999999"))
    assert client.record("settings", SETTINGS) is Outcome.OVER_CEILING


def test_a_ceiling_between_two_millionths_is_rounded_down(make_device: MakeDevice) -> None:
    thirds = [manifest(name, epsilon='"0.333333"') for name in "abcd"]
    client = make_device(*thirds).granted(
        ceiling=Ceiling(2, 2, Fraction(4, 3) - Fraction(1, 10**7))
    )
    outcomes = [client.record(name, SETTINGS) for name in "abcd"]
    assert outcomes == [Outcome.QUEUED] * 4
    assert client.budget().left.exact == Fraction(4, 3) - Fraction(1, 10**7) - 4 * Fraction(
        "0.333333"
    )
