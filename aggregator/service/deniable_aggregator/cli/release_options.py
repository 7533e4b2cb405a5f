"""The arguments of every mechanism of releases as options, and the other way round.

They are those that `releases.kinds.parameters` lists, so a new mechanism brings its own. Values
stay text, as requests carry them; a list is written as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

import click

from deniable_aggregator.releases.kinds import RELEASE_KINDS, parameters
from deniable_aggregator.releases.kinds.arguments import nearest
from deniable_aggregator.releases.kinds.contract import Parameter

P = ParamSpec("P")
R = TypeVar("R")


def argument_options(command: Callable[P, R]) -> Callable[P, R]:
    """One option for each argument that some mechanism takes, in alphabetical order."""
    for name in sorted(_parameters_by_name(), reverse=True):
        option = click.option(f"--{name}", name, metavar="VALUE", help=_help_text(name))
        command = option(command)
    return command


def arguments_of(mechanism: str, given: Mapping[str, object]) -> dict[str, object]:
    """What a request carries; UsageError, before anything is asked, for what is no request."""
    if mechanism not in RELEASE_KINDS:
        raise click.UsageError(
            f"mechanism must not be {mechanism!r:.80}{nearest(mechanism, RELEASE_KINDS)}"
        )
    named = {name: value for name, value in given.items() if value is not None}
    accepted = {parameter.name: parameter for parameter in parameters(mechanism)}
    for name in named:
        if name not in accepted:
            raise click.UsageError(f"{mechanism} has no --{name}{nearest(name, accepted)}")
    for name, parameter in accepted.items():
        if parameter.default is None and name not in named:
            raise click.UsageError(f"{mechanism} needs --{name}: {parameter.accepted}")
    return {name: read_value(str(value)) for name, value in named.items()}


def read_value(text: str) -> object:
    """The text itself, or the list that it is in JSON."""
    if not text.startswith("["):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"{text!r:.80} is no JSON list: {error}") from error


def read_labels(text: str) -> list[object]:
    """Labels between commas, or a JSON list where a label has a comma in it."""
    read = read_value(text)
    return read if isinstance(read, list) else [label.strip() for label in text.split(",")]


def _parameters_by_name() -> dict[str, dict[str, Parameter]]:
    """By argument, by mechanism."""
    by_name: dict[str, dict[str, Parameter]] = {}
    for mechanism in RELEASE_KINDS:
        for parameter in parameters(mechanism):
            by_name.setdefault(parameter.name, {})[mechanism] = parameter
    return by_name


def _help_text(name: str) -> str:
    """What is accepted, for whom; mechanisms that say the same together."""
    ways: dict[tuple[str, str | None], list[str]] = {}
    for mechanism, parameter in _parameters_by_name()[name].items():
        ways.setdefault((parameter.accepted, parameter.default), []).append(mechanism)
    lines = []
    for (accepted, default), mechanisms in ways.items():
        whose = (
            "every mechanism" if len(mechanisms) == len(RELEASE_KINDS) else ", ".join(mechanisms)
        )
        lines.append(f"{whose}: {accepted}{f' [default: {default}]' if default else ''}.")
    return " ".join(lines)
