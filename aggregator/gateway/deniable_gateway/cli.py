"""The command `deniable-gateway`: a relay, the counts of its reports, and a keyless intake."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser, Namespace
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from deniable_gateway.relay.options import RelayOptions
from deniable_gateway.relay.queue import NAME, read_counts
from deniable_gateway.serving import Listening, replace_process, require_free
from deniable_gateway.spool.address import open_spool
from deniable_gateway.spool.block_files import FORMATS, require_format
from deniable_gateway.spool.options import IntakeOptions
from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T", RelayOptions, IntakeOptions, Listening)

RELAY = "deniable_gateway.relay.asgi:app"
INTAKE = "deniable_gateway.spool.intake:app"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns 1 after an error, with one sentence on standard error."""
    given = _parser().parse_args(arguments)
    try:
        given.run(given)
    except (DeniableError, OSError) as error:
        _say(f"Error: {error}")
        return 1
    return 0


def run_relay(options: RelayOptions, listening: Listening) -> NoReturn:
    """Replace this process by a server that relays."""
    require_free(listening.host, listening.port)
    options.directory.mkdir(mode=0o700, exist_ok=True)
    if options.to.startswith("http://"):
        _say("Warning: plain HTTP does not protect the token on its way to the aggregator.")
    _say(f"Relaying to {options.to} at http://{listening.host}:{listening.port} (Ctrl-C stops)")
    replace_process(
        listening, factory=RELAY, options=options.environ(), directory=options.directory
    )


def run_intake(options: IntakeOptions, listening: Listening) -> NoReturn:
    """Replace this process by a server that writes uploads into the spool."""
    options.require_no_key()
    spool = open_spool(options.spool)
    require_format(options.block_format)
    require_free(listening.host, listening.port)
    _say(
        f"Taking reports for {spool.where} at http://{listening.host}:{listening.port} "
        "(Ctrl-C stops)"
    )
    replace_process(listening, factory=INTAKE, options=options.environ(), directory="/")


def _relay(given: Namespace) -> None:
    given.token_file = str(Path(given.token_file).absolute())
    given.data = str(Path(given.data).absolute())
    run_relay(_options(RelayOptions, given), _options(Listening, given))


def _status(given: Namespace) -> None:
    counts = read_counts(Path(given.data) / NAME)
    if given.json:
        print(json.dumps(counts))
        return
    for outcome, n in counts.items():
        print(f"{n:>12,}  {outcome}")


def _intake(given: Namespace) -> None:
    if "://" not in given.spool:
        given.spool = str(Path(given.spool).absolute())
    run_intake(_options(IntakeOptions, given), _options(Listening, given))


def _options(kind: type[T], given: Namespace) -> T:
    """Return the dataclass, filled from the arguments with the same names."""
    names = {field.name for field in fields(kind)}
    return kind(**{name: value for name, value in vars(given).items() if name in names})


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="deniable-gateway", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_relay(
        _command(commands, "relay", _relay, "Pass reports on for an aggregator, in batches.")
    )
    status = _command(commands, "status", _status, "Show what happened to a relay's reports.")
    status.add_argument(
        "--data", default="relay", metavar="DIRECTORY", help="the relay's directory"
    )
    status.add_argument("--json", action="store_true", help="print JSON")
    _add_intake(
        _command(commands, "intake", _intake, "Write uploads into a spool, without any key.")
    )
    return parser


def _command(
    commands: Any, name: str, run: Callable[[Namespace], None], help_text: str
) -> ArgumentParser:
    command: ArgumentParser = commands.add_parser(
        name,
        help=help_text,
        description=help_text,
        allow_abbrev=False,
        formatter_class=ArgumentDefaultsHelpFormatter,
    )
    command.set_defaults(run=run)
    return command


def _add_relay(relay: ArgumentParser) -> None:
    relay.add_argument("--to", required=True, metavar="URL", help="address of the aggregator")
    relay.add_argument(
        "--token-file", required=True, metavar="FILE", help="file with a token of the role relay"
    )
    relay.add_argument(
        "--batch", required=True, type=int, metavar="B", help="least number of reports of a batch"
    )
    relay.add_argument("--data", default="relay", metavar="DIRECTORY", help="the relay's directory")
    _add_listening(relay, port=8100)
    _add_limits(relay, name="reports_per_minute", default=600)


def _add_intake(intake: ArgumentParser) -> None:
    intake.add_argument("--spool", required=True, metavar="PLACE", help="directory or address")
    intake.add_argument(
        "--spool-format", dest="block_format", choices=FORMATS, default="block", help="of blocks"
    )
    intake.add_argument(
        "--wait-ms",
        type=int,
        default=1_000,
        metavar="MS",
        help="how long to gather reports for one object",
    )
    intake.add_argument(
        "--data", default="data", metavar="DIRECTORY", help="its keys must not be readable"
    )
    intake.add_argument("--workers", type=int, default=1, help="number of serving processes")
    intake.add_argument(
        "--reports-per-minute-per-collection",
        type=int,
        default=0,
        metavar="N",
        help="limit for one collection; 0: no limit",
    )
    _add_listening(intake, port=8000)
    _add_limits(intake, name="reports_per_minute_per_prefix", default=300_000)


def _add_listening(command: ArgumentParser, *, port: int) -> None:
    command.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="listens there")
    command.add_argument("--port", type=int, default=port, help="listens there")
    command.add_argument("--access-log", action="store_true", help="log requests, no addresses")


def _add_limits(command: ArgumentParser, *, name: str, default: int) -> None:
    command.add_argument(
        "--reports-per-minute",
        type=int,
        dest=name,
        default=default,
        metavar="N",
        help="limit for one network (/24, /48)",
    )
    command.add_argument(
        "--trusted-proxy", action="store_true", help="a proxy limits networks, not this process"
    )


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
