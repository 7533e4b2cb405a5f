"""Checks as lines: ok, warn or fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from deniable_aggregator.operations.doctor.checkup import Check

COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


def print_checks(checks: Sequence[Check]) -> None:
    """One line a check."""
    for check in checks:
        level = click.style(f"{check.level:<4}", fg=COLOURS[check.level])
        click.echo(f"{level}  {check.what:<12}  {check.message}")


def as_documents(checks: Sequence[Check]) -> list[dict[str, str]]:
    """The same for machines."""
    return [
        {"level": check.level, "what": check.what, "message": check.message} for check in checks
    ]


def has_failure(checks: Sequence[Check]) -> bool:
    """Whether any fails."""
    return any(check.level == "fail" for check in checks)
