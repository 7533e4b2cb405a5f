"""Looking at an installation without changing it: its health, its log."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """How it is ("ok", "warn", "fail"), what was looked at, what was found, the cure."""

    level: str
    what: str
    message: str

    def __post_init__(self) -> None:
        if self.level not in ("ok", "warn", "fail"):
            raise ValueError(f"level must be ok, warn or fail, got {self.level!r}")
