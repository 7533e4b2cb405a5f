"""Checks an installation and its log, without changing them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """A result: a level ("ok", "warn", "fail"), the checked thing, the finding and its cure."""

    level: str
    what: str
    message: str

    def __post_init__(self) -> None:
        if self.level not in ("ok", "warn", "fail"):
            raise ValueError(f"level must be ok, warn or fail, got {self.level!r}")
