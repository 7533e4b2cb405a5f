"""Intervals drawn in text."""

from __future__ import annotations

import pytest

from deniable_aggregator.cli.interval_bars import Scale, scale_over


def test_a_bar_runs_from_lower_to_upper_with_the_estimate_between() -> None:
    assert Scale(0.0, 1.0, width=11).bar(0.2, 0.8, 0.5) == "  ├──●──┤  "


def test_the_truth_is_marked_and_merges_with_an_estimate_in_the_same_place() -> None:
    scale = Scale(0.0, 1.0, width=11)
    assert scale.bar(0.2, 0.8, 0.5, 0.3) == "  ├◇─●──┤  "
    assert scale.bar(0.2, 0.8, 0.5, 0.5) == "  ├──◆──┤  "


def test_a_truth_outside_the_interval_stands_outside_the_bar() -> None:
    assert Scale(0.0, 1.0, width=11).bar(0.2, 0.6, 0.4, 0.9) == "  ├─●─┤  ◇ "


def test_a_terminal_without_unicode_gets_ascii() -> None:
    scale = Scale(0.0, 1.0, width=11, ascii_only=True)
    assert scale.bar(0.2, 0.8, 0.5, 0.5) == "  |--X--|  "


def test_an_interval_beyond_the_scale_is_drawn_at_its_ends() -> None:
    assert Scale(0.0, 1.0, width=5).bar(-3.0, 7.0, 0.5) == "├─●─┤"


def test_a_scale_holds_zero_and_every_value_in_tens_of_percent() -> None:
    scale = scale_over([0.13, 0.38])
    assert (scale.low, scale.high) == (0.0, 0.4)
    assert scale_over([-0.02, 0.05]).low == -0.1


def test_a_scale_over_nothing_can_still_be_drawn_on() -> None:
    scale = scale_over([])
    assert scale.bar(0.0, 0.0, None).strip() != ""


def test_the_ends_of_a_scale_are_as_wide_as_its_bars() -> None:
    scale = scale_over([0.37], width=20)
    assert scale.ends() == "0%" + "40%".rjust(18)


def test_a_scale_that_is_empty_is_refused() -> None:
    with pytest.raises(ValueError, match="low < high"):
        Scale(0.5, 0.5)
