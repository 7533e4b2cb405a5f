"""Turns costs, requests, epochs and guarantees of releases into words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from deniable_shared.manifest.epochs import epoch_start

if TYPE_CHECKING:
    from deniable_aggregator.documents.releases import CostDocument, PlannedDocument, ReleaseSummary


def cost_words(cost: CostDocument) -> str:
    """ε, ρ and δ as they were written; without those that are null or zero."""
    written = [f"ε = {cost.epsilon}"] if cost.epsilon is not None else []
    written += [
        f"{symbol} = {value}"
        for symbol, value in (("ρ", cost.rho), ("δ", cost.delta))
        if value not in (None, "0")
    ]
    return ", ".join(written) or "nothing"


def request_text(document: PlannedDocument | ReleaseSummary) -> str:
    """A mechanism and the parameters of the request."""
    parameters = [f"{name} = {_value(value)}" for name, value in document.parameters.items()]
    return f"{document.mechanism}: {', '.join(parameters)}"


def epochs_words(epochs: Iterable[int]) -> str:
    """Runs of epochs, written by their ends."""
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in epoch_runs(epochs))


def epoch_runs(epochs: Iterable[int]) -> list[tuple[int, int]]:
    """First and last epoch of each run of consecutive epochs."""
    runs: list[tuple[int, int]] = []
    for epoch in epochs:
        if runs and runs[-1][1] == epoch - 1:
            runs[-1] = (runs[-1][0], epoch)
        else:
            runs.append((epoch, epoch))
    return runs


def days_of(epochs: Iterable[int], epoch_seconds: int) -> str:
    """Runs of epochs by the days, or times, on which their ends begin."""
    return ", ".join(
        " to ".join(when(epoch_start(end, epoch_seconds)) for end in dict.fromkeys(run))
        for run in epoch_runs(epochs)
    )


def when(second: float) -> str:
    """2027-01-15, or with the time where it is no midnight."""
    moment = datetime.fromtimestamp(second, UTC)
    return f"{moment:%Y-%m-%d}" if second % 86_400 == 0 else f"{moment:%Y-%m-%d %H:%M}"


def four_digits(number: float) -> str:
    """769,800 or 0.01183: rounded to four significant digits, without an exponent."""
    return f"{Decimal(f'{number:.4g}'):,f}"


def moment(seconds: int) -> str:
    """Unix seconds as a date and time in UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def promise_words(document: PlannedDocument) -> Iterator[str]:
    """The guarantees, one line each."""
    promise = document.promise
    yield f"One report: {cost_words(promise.report)}, against {promise.against}."
    if promise.installation is None:
        yield (
            f"One installation has up to {promise.reports} reports in it: "
            "no guarantee for all of them."
        )
    elif promise.reports != 1:
        cost = cost_words(promise.installation)
        yield (
            f"One installation has up to {promise.reports} reports in it: {cost} for all of them."
        )
    if promise.true_values is None:
        yield (
            f"True answers: local ε = {promise.local}, against everyone. Estimates can be read "
            "too, so a release guarantees no more."
        )
    else:
        yield (
            f"True answers: {cost_words(promise.true_values)}, against {promise.against}; local "
            f"ε = {promise.local} against everyone."
        )


def typical_words(document: PlannedDocument) -> Iterator[str]:
    """The usual errors, one line each; none if the document has none."""
    for error in document.typical_errors or ():
        yield (
            f"Typical error, for simulated people: {four_digits(error.median)} or less in half "
            f"of {error.runs} runs, {four_digits(error.p95)} or less in 95 of 100 "
            f"({error.quantity}). The people: {error.population}. "
            "No guarantee: your people may be distributed otherwise."
        )


def _value(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return str(value)
