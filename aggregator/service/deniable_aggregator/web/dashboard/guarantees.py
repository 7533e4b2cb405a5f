"""What a collection promises its people, and what fake reports can do, in plain sentences."""

from __future__ import annotations

from math import ceil, exp, floor, log10
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from deniable_aggregator.collections.authoring.recommendation import (
    describe_ratio,
    ratio_to_optimum,
)
from deniable_aggregator.queries.guarantees import relay_anonymity
from deniable_aggregator.web.dashboard.estimate_tables import plain_label
from deniable_aggregator.web.dashboard.formatting import amount, plural, share
from deniable_shared.analysis.posterior import max_posterior_percent
from deniable_shared.manifest.epochs import period_name
from deniable_shared.randomness.dyadic import format_epsilon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.estimates import EstimatesDocument, LabelEstimate
    from deniable_shared.manifest.model import Manifest

_LARGE = 1e6
_BILLION = 1e9
_HARDLY = 0.0005


def report_guarantees(manifest: Manifest) -> Iterator[str]:
    """What one report says of its sender, and what all reports together say."""
    report = manifest.epsilon_report
    if manifest.identified:
        yield (
            "Identified: the party that issues the vouchers of this question can see who sent "
            "which report. Reports are not anonymous. Only the noise protects an answer."
        )
    if manifest.public:
        yield "The results of this question are public: anyone may read them without signing in."
    if manifest.web_origins:
        yield (
            f"Pages of {', '.join(manifest.web_origins)} may ask this question. Anyone who serves "
            "their script can read an answer before it is randomized, and a browser that deletes "
            "its storage counts as a new person."
        )
    yield (
        f"Any report is at most {_times(float(report))} as likely under one answer as under any "
        f"other (ε = {format_epsilon(manifest.epsilon_report)} for the whole report)."
    )
    yield (
        "Someone who was undecided (50\u202f%) about a person's answer can be at most "
        f"{_sure(report)} sure after reading that person's report."
    )
    if manifest.epsilon_permanent is not None:
        kept, period = manifest.epsilon_permanent, period_name(manifest.epoch_seconds)
        yield (
            f"For all reports of {plural(manifest.hold_epochs, period)} with one permanent answer "
            f"together: at most {_times(float(kept))}, {_sure(kept)} sure "
            f"(ε = {format_epsilon(manifest.epsilon_permanent)})."
        )
    if manifest.repeat != "once":
        lifetime = float(manifest.epsilon_lifetime)
        yield (
            f"For everything a device ever answers here: at most {_times(lifetime)} "
            f"(ε = {format_epsilon(manifest.epsilon_lifetime)}). "
            f"It {manifest.schedule.words(period_name(manifest.epoch_seconds))}."
        )


def relay_guarantees(collection: Collection, batch: int) -> Iterator[str]:
    """What a relay that passes on so many reports together adds; nothing where there is none."""
    shuffled = relay_anonymity(collection, batch, UNSET)
    if isinstance(shuffled, UnsetType):
        return
    yield (
        f"A relay mixes at least {amount(shuffled.batch, 0)} reports before it forwards them. "
        f"Against anyone who sees the mixed reports but not the senders, one report then has "
        f"ε = {shuffled.epsilon:.3g} at δ = {shuffled.delta:g}, and all reports of one person "
        f"together have ε = {shuffled.epsilon_all:.3g} at δ = {shuffled.delta_all:g}. This assumes "
        f"an honest relay and at most {share(shuffled.liars)} fake reports in a batch."
    )


def fabrication_limits(
    collection: Collection, document: EstimatesDocument, row: LabelEstimate | None
) -> Iterator[str]:
    """What fake reports could do to these estimates; `row` is the example."""
    influence = document.trust.influence
    if influence is not None:
        shares = collection.estimator.estimand != "mean"
        most = f"{_up(100 * influence)} percentage points" if shares else _up(influence)
        yield f"One device can move an estimate by at most {most}."
    if (
        row is not None
        and row.frequency is not None
        and collection.manifest.domain.type != "number"
    ):
        yield _limit_of(plain_label(collection.manifest.domain, row.label), row, document.n)
    yield (
        "Intervals cover chance: who took part, and the noise that every device adds. "
        "They do not cover fake reports."
    )


def _limit_of(label: str, row: LabelEstimate, n: int) -> str:
    needed = row.reports_to_leave_interval
    if needed is None:
        return f"No number of fake reports pushes “{label}” out of its interval."
    of_all = f" – {share(needed / n)} of all reports" if n else ""
    fakes = plural(needed, "fake report")
    return f"{fakes} would push “{label}” out of its interval{of_all}."


def excess_error(collection: Collection) -> tuple[str, str] | None:
    """How far the mechanism is above the least error that any could have: short, and in words."""
    ratio = ratio_to_optimum(collection.mechanism)
    if ratio is None:
        return None
    above = float(ratio) - 1
    return ("optimal" if above < _HARDLY else f"+{share(above)}"), describe_ratio(ratio)


def _times(epsilon: float) -> str:
    """e^ε, never rounded down: it is a bound."""
    odds = exp(min(epsilon, 700.0))
    if odds >= _LARGE:
        return f"{_large(odds)} times"
    step = 10.0 ** (floor(log10(odds)) - 2)
    return f"{amount(ceil(odds / step) * step, 0 if odds >= 100 else 2)} times"


def _large(odds: float) -> str:
    """To two figures, rounded up: 9.4 million, 490 million, 4.9 × 10⁸⁶ from a billion on."""
    power = floor(log10(odds)) - 1
    figures = ceil(odds / 10.0**power)
    if odds < _BILLION:
        return f"{figures * 10.0 ** (power - 6):,.3g} million"
    exponent = str(power + 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{figures / 10:.1f} × 10{exponent}"


def _sure(epsilon: Fraction) -> str:
    return f"{max_posterior_percent(epsilon)}\u202f%"


def _up(value: float) -> str:
    """To three figures, never rounded down."""
    if value <= 0:
        return "0"
    step = 10.0 ** (floor(log10(value)) - 2)
    return f"{ceil(value / step - 1e-9) * step:.3g}"
