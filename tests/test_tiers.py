"""Which cases of a grid are made for which `-m`, and which tests run then."""

from __future__ import annotations

from typing import Any

import pytest

from support import tiers

MADE = {
    "": [1],
    "fast": [1],
    "not exhaustive": [1],
    "not (exhaustive or long)": [1],
    "exhaustive": [1, 2],
    "long": [1, 2, 3],
    "exhaustive or long": [1, 2, 3],
}
"""A value of `exhaustive` is made for `long`, too: in another argument it may meet a long one."""


def value_of(case: Any) -> Any:
    return case if isinstance(case, int) else case.values[0]


def test_a_grid_has_the_values_of_the_tiers_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    actual = {}
    for expression in MADE:
        monkeypatch.setattr(tiers, "asked", tiers.named(expression))
        cases = tiers.grid([1, 2, 3], by_default=[1], long=[3])
        actual[expression] = [value_of(case) for case in cases]
    assert actual == MADE


def test_a_row_has_the_marker_of_its_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "asked", {"long"})
    usual, *others = tiers.rows(
        [(1, "a"), (2, "b"), (3, "c")], by_default=[(1, "a")], long=lambda row: row[1] == "c"
    )
    assert usual == (1, "a")
    assert [(*case.values, *(mark.name for mark in case.marks)) for case in others] == [
        (2, "b", "exhaustive"),
        (3, "c", "long"),
    ]
