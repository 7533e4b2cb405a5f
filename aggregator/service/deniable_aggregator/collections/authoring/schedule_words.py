"""How often a device answers, in words for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable_shared.manifest.model import Manifest


def schedule_words(manifest: Manifest, period: str) -> str:
    """When a device answers and when it stops, in words that follow "each device"."""
    schedule = manifest.schedule
    paid = min(schedule.paid_holds, schedule.holds)
    if manifest.repeat == "once":
        return "answers once"
    if not paid:
        return "never answers: ε for its lifetime is too small"
    if manifest.repeat == "fresh":
        return (
            f"answers on {_counted(paid, period)}"
            if period == "day"
            else (f"answers in {_counted(paid, period)}")
        )
    kept = _counted(manifest.hold_epochs, period)
    if paid == schedule.holds == 1:
        return f"keeps one scrambled answer for {kept} and sends it with new noise each {period}"
    return (
        f"makes a new scrambled answer every {kept}, {paid} in total, and sends the latest one "
        f"with new noise each {period}"
    )


def _counted(number: int, one: str) -> str:
    return f"{number:,} {one if number == 1 else one + 's'}"
