"""The two clients live through the same random histories, and keep and send the same."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable_client import Client, TransportError
from deniable_client._state import keychain
from deniable_client.budget import Budget, millionths
from deniable_client.testing import FakeClock
from support.builders.client_world import DAY, URL, Aggregator, Device, Operator, Received
from support.builders.manifest_text import manifest_of
from support.processes.web_client import node
from support.tiers import grid

START = datetime(2026, 12, 13, 6, tzinfo=UTC).timestamp()
HISTORIES = 134
"""For each seed."""
ACTS = 24
HEAD = """
owner = "privacy@example.org"
purpose = "Which do people use?"
valid_from = 2026-12-01
expires = 2027-02-01
"""
BITS = '[domain]\ntype = "bits"\nlabels = ["dark_mode", "beta"]'
CHOICE = '[domain]\ntype = "choice"\nlabels = ["bus", "train", "bike"]'
NUMBER = '[domain]\ntype = "number"\nlow = "0"\nhigh = "9"\nstep = "1"'
QUESTIONS = [
    f'name = "once"\nepsilon = "1"\n{HEAD}{BITS}',
    f'name = "sampled"\nepsilon = "1"\nsampling = "0.5"\nrepeat = "fresh"\n{HEAD}{CHOICE}',
    f'name = "fresh"\nepsilon = "0.5"\nepsilon_lifetime = "2"\nrepeat = "fresh"\n{HEAD}{CHOICE}',
    f'name = "held"\nepsilon = "0.5"\nepsilon_permanent = "1"\nepsilon_lifetime = "2"\n'
    f'repeat = "memoized"\nhold_epochs = 3\nledger_group = "group"\n{HEAD}{BITS}',
    f'name = "shared"\nepsilon = "1"\nledger_group = "group"\nmechanism = "duchi/1"\n'
    f"{HEAD}{NUMBER}",
    f'name = "dear"\nepsilon = "3"\n{HEAD}{CHOICE}',
]
MANIFESTS = [manifest_of(text, ingest=[URL]) for text in QUESTIONS]
VALUES: dict[str, list[object]] = {
    "bits": [
        {"dark_mode": True, "beta": False},
        {"dark_mode": False, "beta": True},
        {"beta": True},
    ],
    "choice": ["bus", "train", "bike", "boat"],
    "number": [0, 7.4, 12, "x"],
}
WAITS = [60.0, 7_200.0, float(DAY), float(DAY), 4.0 * DAY, -3_600.0, -2.0 * DAY]
KINDS = {"record": 12, "wait": 7, "flush": 4, "reopen": 1, "consent": 1}
"""What happens, and how often."""
Act = tuple[Any, ...]


def acts(dice: random.Random) -> list[Act]:
    """What happens to one device; most people agree at once."""
    begin: list[Act] = [("consent", "granted")] if dice.random() < 0.8 else []
    return begin + [act(dice) for _ in range(ACTS)]


def act(dice: random.Random) -> Act:
    (kind,) = dice.choices(list(KINDS), weights=list(KINDS.values()))
    if kind == "record":
        asked = dice.choice(MANIFESTS)
        value = dice.choice(VALUES[asked.domain.type])
        return kind, dice.choice([asked.name, asked.collection]), value
    if kind == "wait":
        return kind, dice.choice(WAITS)
    if kind == "flush":
        return kind, dice.random() < 0.7
    return (kind, dice.choice(["granted", "granted", "denied"])) if kind == "consent" else (kind,)


def lived(
    folder: Path, key: bytes, history: list[Act], patch: pytest.MonkeyPatch
) -> tuple[list[object], list[str]]:
    """What the Python client says and keeps after each act, and the reports that were sent."""
    patch.setattr(keychain, "new_key", lambda: key)
    aggregator = Aggregator(Operator(), FakeClock(START))
    device = Device(folder / "state", aggregator, MANIFESTS)
    client = device.open()
    said: list[object] = []
    accepted: list[Received] = []
    for each in history:
        if each == ("reopen",):
            client.close()
            client = device.open()
        before = len(aggregator.received)
        answer = do(client, aggregator, *each)
        accepted += aggregator.received[before:] if each == ("flush", True) else []
        said.append([answer, str(client.consent()), kept(client)])
    device.close()
    sent = {
        f"{each.report.header.report_id.hex()} {each.report.header.epoch} {each.payload.hex()}"
        for each in accepted
    }
    return said, sorted(sent)


def do(client: Client, aggregator: Aggregator, kind: str, *given: Any) -> str:
    """The outcome of a record; nothing of other acts."""
    if kind == "record":
        return str(client.record(*given))
    if kind == "wait":
        aggregator.clock.advance(*given)
    if kind == "consent":
        client.consent(*given)
    if kind == "flush":
        is_online = given[0]
        aggregator.script.extend([] if is_online else [TransportError("offline")] * 99)
        client.flush(early=True)
        aggregator.script.clear()
    return ""


def kept(client: Client) -> object:
    """ε spent and left in millionths, and every row of the queue."""
    explanation = client.explain()
    budget = explanation.budget
    rows = [
        [each.collection, each.epoch, each.state, (each.payload or b"").hex(), each.requests]
        for each in explanation.reports
    ]
    names = [[name, *amounts(each)] for name, each in budget.collections.items()]
    return [*amounts(budget), sorted(names), sorted(rows)]


def amounts(budget: Budget) -> list[int]:
    return [millionths(Fraction(str(each))) for each in (budget.spent, budget.left)]


@pytest.mark.processes
@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", grid([24, 25, 26], by_default=[], long=[25, 26]))
def test_both_clients_live_through_the_same_histories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """One key, one history: the same outcomes, ledger, queue and accepted reports."""
    dice = random.Random(seed)
    histories = [(dice.randbytes(32), acts(dice)) for _ in range(HISTORIES)]
    told = {
        "start": START,
        "manifests": [each.body.decode() for each in MANIFESTS],
        "histories": [{"key": key.hex(), "acts": history} for key, history in histories],
    }
    lines = node("histories.js", json.dumps(told)).splitlines()
    for turn, ((key, history), line) in enumerate(zip(histories, lines, strict=True)):
        folder = tmp_path / str(turn)
        folder.mkdir()
        of_page, page_sent = json.loads(line)
        of_app, app_sent = lived(folder, key, history, monkeypatch)
        for act, page, app in zip(history, of_page, of_app, strict=True):
            assert page == app, (turn, act, history)
        assert page_sent == app_sent
