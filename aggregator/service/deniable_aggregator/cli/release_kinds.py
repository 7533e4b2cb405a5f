"""Makes a command for each kind of release from its `PARAMETERS`: `releases quote` and `make`.

A new kind so gets its command and options. Values stay text, as in requests; a list is JSON.
"""

from __future__ import annotations

import inspect
import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.command_groups import CommandGroup
from deniable_aggregator.cli.options import (
    Target,
    collection_argument,
    example,
    json_option,
    service_options,
)

if TYPE_CHECKING:
    from deniable_aggregator.client.service_client import ServiceClient
    from deniable_aggregator.releases.kinds import ReleaseKind
    from deniable_aggregator.releases.kinds.contract import Parameter

Request = dict[str, object]
Send = Callable[["ServiceClient", str, Request, bool], None]
"""Sends a request about a collection and prints the answer; the flag says whether as JSON."""


class KindGroup(CommandGroup):
    """One command for each kind of release; it passes its request to `send`."""

    def __init__(self, name: str, send: Send, *, help_text: str, notes: str) -> None:
        """`notes` ends the help of each command."""
        super().__init__(name, help=help_text)
        self._send = send
        self._notes = notes

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The kinds, by name."""
        return sorted(_kinds())

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a kind, made now."""
        kind = _kinds().get(cmd_name)
        return None if kind is None else self._command(cmd_name, kind)

    def _command(self, name: str, kind: ReleaseKind) -> click.Command:
        @click.command(
            name,
            help=f"{_summary(name, kind)}\n\n{self._notes}",
            epilog=_example(f"deniable releases {self.name} {name} theme", kind.PARAMETERS),
        )
        @collection_argument
        @click.option("--from", "first", metavar="EPOCH|DATE", help="First epoch, or a date.")
        @click.option("--to", "last", metavar="EPOCH|DATE", help="Last epoch, inclusive.")
        @service_options
        @json_option
        def command(
            *,
            collection: str,
            first: str | None,
            last: str | None,
            target: Target,
            as_json: bool,
            **arguments: object,
        ) -> None:
            given = {"mechanism": name, "from": first, "to": last, **arguments}
            request = {key: value for key, value in given.items() if value is not None}
            with target.connect() as client:
                self._send(client, collection, request, as_json)

        command.params[1:1] = [_option(parameter) for parameter in kind.PARAMETERS]
        return command


class _Value(click.ParamType[object]):
    """A text or a JSON list; `accepted` describes what the option takes."""

    name = "value"

    def __init__(self, accepted: str) -> None:
        self._accepted = accepted

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """Read the value by `read`. A value that it refuses is wrong usage."""
        try:
            return read_value(str(value))
        except ValueError as error:
            self.fail(f"{value!r:.80} is not a JSON list: {error}", param, ctx)

    def get_missing_message(
        self,
        param: click.Parameter,  # noqa: ARG002  (click names it)
        ctx: click.Context | None,  # noqa: ARG002  (click names it)
    ) -> str:
        """The text after "Missing option": what the option takes."""
        return f"It takes {self._accepted}."


def read_value(text: str) -> object:
    """The text, or the list that it is in JSON. Raises ValueError for a broken list."""
    return json.loads(text) if text.startswith("[") else text


def read_labels(text: str) -> list[object]:
    """Labels between commas, or a JSON list where a label has a comma in it."""
    read = read_value(text)
    return read if isinstance(read, list) else [label.strip() for label in text.split(",")]


def _kinds() -> Mapping[str, ReleaseKind]:
    from deniable_aggregator.releases.kinds import RELEASE_KINDS

    return RELEASE_KINDS


def _option(parameter: Parameter) -> click.Option:
    default = f" [default: {parameter.default}]" if parameter.default else ""
    return click.Option(
        [f"--{parameter.name}", parameter.name],
        type=_Value(parameter.accepted),
        required=parameter.default is None,
        help=f"{parameter.accepted[0].upper()}{parameter.accepted[1:]}.{default}",
    )


def _summary(name: str, kind: ReleaseKind) -> str:
    """The first sentence of the kind's module, without its name."""
    first, _, _ = (inspect.getdoc(kind) or name).partition("\n\n")
    sentence = first.removeprefix(f"`{name}`: ")
    return sentence[0].upper() + sentence[1:]


def _example(words: str, parameters: tuple[Parameter, ...]) -> str:
    needed = [each for each in parameters if each.default is None]
    options = (f"--{each.name} {shlex.quote(_sample(each))}" for each in needed)
    return example(" ".join([words, *options]))


def _sample(parameter: Parameter) -> str:
    """The example value in the parameter's text, else a placeholder."""
    like = re.search(r'like "(.*?)"', parameter.accepted)
    return like[1] if like else parameter.name.upper()
