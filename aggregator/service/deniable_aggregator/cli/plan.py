"""`deniable plan`: estimates the error and cost of a question before you ask it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.command_groups import CommandFailed
from deniable_aggregator.cli.options import checked_epsilon, example, json_option
from deniable_aggregator.cli.output import console, emit, escape_markup, table
from deniable_aggregator.cli.plan_grid import print_grid

if TYPE_CHECKING:
    from deniable_aggregator.collections.planning import Plan

REPEATS = ("once", "fresh", "memoized")
OPEN_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


def _epsilon(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    return value if value is None else checked_epsilon(context, parameter, value)


def _attributes(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    if value is None:
        return None
    parts = value.split(",")
    if not all(part.isascii() and part.isdigit() and len(part) <= 5 for part in parts):
        raise click.BadParameter(f"must be numbers of labels like 3,4,2, got {value!r:.40}")
    return tuple(map(int, parts))


@click.command(
    epilog=example(
        "deniable plan --domain 1000 --epsilon 1 --users 100000",
        "deniable plan --domain 12 --epsilon 0.5 --users 20000 --half-width 0.02 --json",
        "deniable plan --type bits --domain 8 --epsilon 1 --users 5000 --repeat memoized",
        "deniable plan --domain 16 --epsilon 4 --users 100000 --batch 2000 --liars 0.2",
        "deniable plan --type bits --domain 3 --epsilon 1 --users 5000 --identified",
        "deniable plan --type number --domain 101 --asks mean --epsilon 1 --users 10000",
        "deniable plan --type record --attributes 3,4,2 --epsilon 1 --users 100000",
        "deniable plan --explore --plot mechanisms.svg",
        "deniable plan --explore --type number --asks ranges",
    )
)
@click.option(
    "--domain", type=click.IntRange(min=1), metavar="SIZE", help="How many labels, bits or steps."
)
@click.option("--epsilon", callback=_epsilon, metavar="E", help="ε of one whole report.")
@click.option("--users", type=click.IntRange(min=1), metavar="N", help="How many people answer.")
@click.option(
    "--type",
    "kind",
    type=click.Choice(["bits", "choice", "number", "record", "text"]),
    default="choice",
    show_default=True,
    help="bits: yes or no to each; choice: one of the labels; number: one of its steps; record: "
    "a label of each attribute; text: up to that many bytes.",
)
@click.option(
    "--attributes",
    callback=_attributes,
    metavar="R,R,…",
    help="For a record: how many labels each attribute has, instead of --domain.",
)
@click.option(
    "--asks",
    type=click.Choice(["labels", "mean", "ranges"]),
    default="labels",
    show_default=True,
    help="For a number: the frequency of each value, the mean alone, or ranges and quantiles.",
)
@click.option(
    "--half-width",
    type=OPEN_SHARE,
    default=0.01,
    show_default=True,
    help="The half-width of the interval that you want, as a share of 1.",
)
@click.option("--confidence", type=OPEN_SHARE, default=0.95, show_default=True)
@click.option(
    "--repeat",
    type=click.Choice(REPEATS),
    default="once",
    show_default=True,
    help="How devices repeat an answer; the plan shows the costs of all three ways.",
)
@click.option(
    "--epochs",
    type=click.IntRange(min=1),
    default=30,
    show_default=True,
    help="How many epochs the question is asked in, if it is asked again.",
)
@click.option("--linkable", is_flag=True, help="Reports of one device may be recognised as such.")
@click.option(
    "--identified",
    is_flag=True,
    help='Reports identify their person, as with requires = ["voucher/1"].',
)
@click.option("--mechanism", metavar="ID", help="Use this mechanism instead of the best one.")
@click.option(
    "--batch",
    type=click.IntRange(2),
    metavar="B",
    help="The least number of reports that a relay passes on together.",
)
@click.option(
    "--liars",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.5,
    show_default=True,
    help="With --batch: the share of a batch that is fake.",
)
@click.option(
    "--explore",
    is_flag=True,
    help="Show the best mechanism for many sizes and ε; may be combined with --type, --asks, "
    "--repeat and --linkable.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --explore: write the grid as an SVG file.",
)
@json_option
def plan(  # noqa: PLR0913  (click passes each option by name)
    domain: int | None,
    attributes: tuple[int, ...] | None,
    epsilon: str | None,
    users: int | None,
    kind: str,
    explore: bool,
    plot: Path | None,
    as_json: bool,
    **options: object,
) -> None:
    """Estimate the error and cost of a question before you ask it.

    Shows the best mechanism and why, its bytes, the error for your number of users, and the users
    or the ε that a smaller error needs. Also shows the least answer that is detected, the effect
    of fake reports, the cost of asking again, and the ε that remains if reports are shuffled. All
    by formula: it needs no data directory and draws nothing at random.
    """
    if explore:
        what = {name: options[name] for name in ("asks", "repeat", "linkable")}
        print_grid(kind, what, plot, as_json=as_json)
        return
    if plot is not None:
        raise click.UsageError("--plot needs --explore")
    if (attributes is None) == (kind == "record"):
        raise click.UsageError("use --attributes with --type record, and --domain with other types")
    size = domain if attributes is None else attributes
    if size is None or epsilon is None or users is None:
        raise click.UsageError("--domain, --epsilon and --users are needed, or --explore")
    result = _make_plan(size, epsilon, users, kind, options)
    if as_json:
        emit(result.to_json())
    else:
        _show(result)


def _make_plan(
    size: int | tuple[int, ...], epsilon: str, users: int, kind: str, options: dict[str, object]
) -> Plan:
    from deniable_aggregator.collections import planning
    from deniable_aggregator.collections.planning.sweep import record_of
    from deniable_shared.errors import ManifestError, ParameterError

    try:
        domain = size if isinstance(size, int) else record_of(size)
        return planning.plan(domain, epsilon, users, domain_type=kind, **options)  # type: ignore[arg-type]  # one dict has values of many types
    except (ManifestError, ParameterError) as error:
        raise CommandFailed(str(error)) from error


def _show(plan: Plan) -> None:
    from deniable_shared.manifest.rules import MAX_LINKAGE

    screen = console()
    title = f"{plan.type} of {plan.domain:,}, ε = {plan.epsilon}, {plan.users:,} users"
    summary = table(["", "what"], title=escape_markup(title))
    summary.show_header = False
    for name, value in _rows(plan):
        summary.add_row(escape_markup(name), escape_markup(value))
    screen.print(summary)
    numbers = ["ε of a device", "± 1 se, an epoch", f"all {plan.epochs}", "linked"]
    repeats = table(
        ["repeat", "mechanism", *numbers],
        title=f"Asked in {plan.epochs} epochs, answered by all users in each",
        numbers=frozenset(numbers),
    )
    for way in plan.repeats:
        repeats.add_row(
            way.repeat,
            way.mechanism,
            f"{way.epsilon_lifetime:g}",
            _percent(way.std_error),
            _percent(way.std_error_all),
            f"{way.linkage:.2f} bits",
        )
    screen.print(repeats)
    for way in plan.repeats:
        if way.linkage > MAX_LINKAGE:
            screen.print(
                f"{way.repeat}: two reports of one hold share {way.linkage:.2f} bits. They are an "
                "identifier of the device, so the collection needs linkable = true.",
                markup=False,
                highlight=False,
            )


def _rows(plan: Plan) -> list[tuple[str, str]]:
    pinned = "".join(f", {name} {value:,}" for name, value in plan.parameters.items())
    wanted, sure = _percent(plan.half_width_wanted), f"{plan.confidence:.4g}"
    needed = "no ε up to 20" if plan.epsilon_needed is None else f"ε = {plan.epsilon_needed}"
    least = plan.smallest_detectable
    seen = "nothing, not even an answer of all" if least is None else f"{_percent(least)} or more"
    return [
        ("mechanism", f"{plan.mechanism}{pinned}"),
        ("why", plan.reason),
        *([("above least", f"not known: {plan.ratio_unknown}")] if plan.ratio_unknown else []),
        ("error", f"{_percent(plan.std_error)} standard error of {plan.about}"),
        ("interval", f"± {_percent(plan.half_width)} at confidence {sure}"),
        (
            f"for ± {wanted}",
            f"{plan.users_needed:,} users at this ε, or {needed} for this many users",
        ),
        ("shows up", f"{seen}, {_detection_scope(plan)}, {plan.power:.0%} of the time"),
        ("fake reports", _influence_text(plan)),
        ("shuffled", _shuffle_text(plan)),
        *_relay_rows(plan),
    ]


def _shuffle_text(plan: Plan) -> str:
    if plan.identified:
        return (
            f"ε = {plan.shuffle_epsilon:g}, all of it: every report identifies its person, so "
            "only ε protects an answer"
        )
    return (
        f"ε = {plan.shuffle_epsilon:.4g} at δ = {float(plan.shuffle_delta):g}, if all people are "
        "honest and no one knows who sent which report"
    )


def _relay_rows(plan: Plan) -> list[tuple[str, str]]:
    if plan.relay is None:
        return []
    way = plan.relay
    life = f"ε = {way.epsilon_all:.4g}" + (f" at δ = {way.delta_all:g}" if way.delta_all else "")
    return [
        (
            "through a relay",
            f"ε = {way.epsilon:.4g} at δ = {way.delta:g} a report, in batches of {way.batch:,} of "
            f"which {way.liars:.3g} is fake; all of a person's reports: {life}",
        )
    ]


def _detection_scope(plan: Plan) -> str:
    if plan.asks == "mean":
        return "from a given value"
    return "of one range" if plan.asks == "ranges" else "among all at once"


def _influence_text(plan: Plan) -> str:
    if plan.influence is None or plan.influence_of_one_percent is None:
        return "their effect differs from range to range: see the evidence of an estimate"
    return (
        f"one moves a share by {_percent(plan.influence)}, 1% of all reports widen an interval "
        f"by {_percent(plan.influence_of_one_percent)}"
    )


def _percent(share: float) -> str:
    """A share as a percentage with three digits."""
    return f"{share * 100:.3g}%"
