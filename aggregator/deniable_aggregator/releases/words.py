"""Costs, requests, epochs and promises of releases in words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

__all__ = [
    "asked_words",
    "cost_words",
    "epoch_runs",
    "epochs_words",
    "moment",
    "promise_words",
    "typical_words",
]

Document = dict[str, object]


def cost_words(cost: object) -> str:
    """ε, ρ and δ as they were written; what is null or zero beside others is left out."""
    known = members(cost)
    said = [
        f"{symbol} = {known[name]}"
        for symbol, name in (("ε", "epsilon"), ("ρ", "rho"), ("δ", "delta"))
        if known.get(name) is not None and (name == "epsilon" or known[name] != "0")
    ]
    return ", ".join(said) or "nothing"


def asked_words(document: Document) -> str:
    """A mechanism and what it was asked with."""
    named = [f"{name} = {_value(value)}" for name, value in members(document["parameters"]).items()]
    return f"{document['mechanism']}: {', '.join(named)}"


def epochs_words(epochs: object) -> str:
    """Runs of epochs by their ends."""
    numbers = [int(str(epoch)) for epoch in epochs] if isinstance(epochs, list) else []
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in epoch_runs(numbers))


def epoch_runs(epochs: Iterable[int]) -> list[tuple[int, int]]:
    """First and last of each run of epochs that follow each other."""
    runs: list[tuple[int, int]] = []
    for epoch in epochs:
        if runs and runs[-1][1] == epoch - 1:
            runs[-1] = (runs[-1][0], epoch)
        else:
            runs.append((epoch, epoch))
    return runs


def moment(seconds: object) -> str:
    """A time as people read it."""
    if not isinstance(seconds, int):
        return ""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def promise_words(document: Document) -> Iterator[str]:
    """What is promised to whom, a line each."""
    promise = members(document["promise"])
    against = promise["against"]
    yield f"One report: {cost_words(promise['report'])}, against {against}."
    reports = promise["reports"]
    if promise["installation"] is None:
        yield f"One installation has up to {reports} reports in it: no promise for all of them."
    elif reports != 1:
        cost = cost_words(promise["installation"])
        yield f"One installation has up to {reports} reports in it: {cost} for all of them."
    if promise["true_values"] is None:
        yield (
            f"True answers: local ε = {promise['local']}, against everybody. Estimates can be read "
            "too, so a release promises no more."
        )
    else:
        yield (
            f"True answers: {cost_words(promise['true_values'])}, against {against}; local "
            f"ε = {promise['local']} against everybody."
        )


def typical_words(document: Document) -> Iterator[str]:
    """The usual error, a line each; none of a document without one."""
    found = document.get("typical_errors")
    for error in found if isinstance(found, list) else ():
        yield (
            f"Typical error, simulated for made-up people: {error['median']:,.4g} or less in half "
            f"of {error['runs']} runs, {error['p95']:,.4g} or less in 95 of 100 "
            f"({error['quantity']}). The people: {error['population']}. "
            "No guarantee: your people may be distributed otherwise."
        )


def members(value: object) -> Document:
    """The members of a JSON object; none of anything else."""
    return {str(name): each for name, each in value.items()} if isinstance(value, dict) else {}


def _value(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return str(value)
