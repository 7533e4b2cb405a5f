"""Days as people write them in a form, and what is wrong with one, in words of the form."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Meta, UnsetType

from deniable_aggregator.queries.epoch_ranges import epoch_range
from deniable_aggregator.web.dashboard.formatting import day_words
from deniable_gateway.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

DayText = Annotated[str, Meta(max_length=40, description="a day like 2026-11-22")]


@dataclass(frozen=True, slots=True)
class DaySpan:
    """From one day to another; `wrong` says what to correct, by the name of the field."""

    first: str | UnsetType
    last: str | UnsetType
    wrong: Mapping[str, str] = field(default_factory=dict)


def day_span(
    first: str | UnsetType,
    last: str | UnsetType,
    seconds: int,
    names: tuple[str, str] = ("from", "to"),
) -> DaySpan:
    """Both days, in their order: two that cross change places."""
    given = dict(zip(names, (first, last), strict=True))
    wrong = {name: text for name, day in given.items() if (text := _unreadable(day, seconds))}
    if wrong or _holds(first, last, seconds):
        return DaySpan(first, last, wrong)
    if _holds(last, first, seconds):
        return DaySpan(last, first)
    cure = f"No period starts in these days. Each lasts {day_words(seconds)}: choose more days"
    return DaySpan(first, last, {names[1]: cure})


def day_error(text: str) -> str:
    """What is wrong with a day; empty for a day like 2026-11-22, or for nothing."""
    try:
        day = date.fromisoformat(text or "1970-01-01")
    except ValueError:
        day = date.min
    return "" if text in ("", day.isoformat()) else f"Write a day like 2026-11-22. This is “{text}”"


def _unreadable(day: str | UnsetType, seconds: int) -> str:
    """What is wrong with it; empty for a day, an epoch's index, or nothing."""
    try:
        epoch_range(day, UNSET, seconds)
    except Problem:
        return f"Write a day like 2026-11-22. This is “{day}”"
    return ""


def _holds(first: str | UnsetType, last: str | UnsetType, seconds: int) -> bool:
    try:
        epoch_range(first, last, seconds)
    except Problem:
        return False
    return True
