"""Settings of the service, from the fields of `Settings` and the docstrings below them."""

from __future__ import annotations

from dataclasses import fields

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.base.settings_sources import PREFIX
from site_reference.markdown import code, field_docs, table


def every_setting() -> str:
    """A row for each setting: its variable, its default, its meaning."""
    meanings = field_docs(Settings)
    return table(
        ["variable", "default", "meaning"],
        [
            [code(variable(name)), code(default(name)) or "empty", meanings[name]]
            for name in names()
        ],
    )


def variable(name: str) -> str:
    """Its name in the environment."""
    return PREFIX + name.upper()


def names() -> list[str]:
    """Every setting."""
    return [field.name for field in fields(Settings)]


def default(name: str) -> str:
    """As an environment variable has it."""
    value = getattr(Settings(), name)
    return str(value).lower() if isinstance(value, bool) else str(value)
