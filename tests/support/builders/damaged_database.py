"""A database file with flipped bits, and the replies of every page and address afterwards."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from deniable_aggregator.base.errors import AggregatorError
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store.protocols import Store
from deniable_aggregator.web.app import create_app
from support.builders.api_world import NOON, TODAY, Moment, World, authored, opened
from support.builders.ledgers import charge_row, result_row

__all__ = ["Found", "Original", "flipped", "found_in", "original"]

LABELS = 2_000
_BUDGET = 'central = { per_epoch = "1", per_installation = "1", delta = "0.00001" }\n'


@dataclass(frozen=True, slots=True)
class Original:
    """A data directory at rest, a token of an analyst, and the reply of every address."""

    settings: Settings
    token: str
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The result for a database: why it was not opened, or a reply for each address.

    A reply is (status, body); for a view, its rows.
    """

    refusal: str
    answers: dict[str, tuple[int, str]]


def original(folder: Path) -> Original:
    """Three collections with counts in several epochs, closed and open, and a ledger."""
    with opened(folder) as world:
        _fill(world)
        token = world.tokens["analyst"]
        ids = [actual.id for actual in world.running.registry.all()]
        settings = world.running.settings
    paths = [path for id in ids for path in _paths(id)]
    return Original(settings, token, tuple(paths))


def _fill(world: World) -> None:
    wide = tuple(str(number) for number in range(LABELS))
    manifests = (
        authored("wide", labels=wide, read="closed"),
        authored("choice", type="choice", labels=wide[:900], more='mechanism = "grr/1"\n'),
        authored("settings", more=_BUDGET),
    )
    for manifest in manifests:
        actual = world.register(manifest)
        values: list[object] = [{"dark_mode": True, "beta": False}] * 6
        if manifest.name == "wide":
            values = [dict.fromkeys(wide, False)] * 4
        elif manifest.name == "choice":
            values = ["7"] * 8
        for epoch in range(TODAY - 7, TODAY + 1):
            world.count(actual, values, epoch=epoch)
    for number in (1, 2):
        row = replace(charge_row(number), collection=actual.id)
        world.running.store.charge(row, lambda _: None, audit=None)
        world.running.store.store_result(result_row(number))
    world.running.tick()


def _paths(id: str) -> Iterator[str]:
    yield f"/v1/collections/{id}/epochs"
    yield f"/v1/collections/{id}/estimates"
    yield f"/v1/collections/{id}/estimates?group_by=epoch"


def flipped(made: Original, folder: Path, seed: int) -> Settings:
    """A copy with one to eight wrong bits."""
    shutil.copytree(made.settings.data, folder)
    settings = replace(made.settings, data=folder, store="")
    coins = random.Random(seed)
    data = bytearray(settings.database.read_bytes())
    for _ in range(coins.randint(1, 8)):
        data[coins.randrange(len(data))] ^= 1 << coins.randrange(8)
    settings.database.write_bytes(data)
    return settings


def found_in(settings: Settings, made: Original) -> Found:
    """Open it like a service, do one round of maintenance, and request every address."""
    try:
        service = Service.open(settings, clock=Moment(NOON))
    except AggregatorError as error:
        return Found(str(error), {})
    try:
        client = create_app(service).test_client(use_cookies=False)
        headers = {"Authorization": f"Bearer {made.token}"}
        answers = {}
        for path in made.addresses:
            answer = client.get(path, headers=headers)
            answers[path] = (answer.status_code, answer.get_data(as_text=True))
        answers["ledger"] = _entries(service.store)
    finally:
        service.close()
    answers["v_ingest"] = _view(settings)
    return Found("", answers)


def _entries(store: Store) -> tuple[int, str]:
    try:
        charges = store.ledger()
        return 200, repr([(row, store.result(row.release)) for row in charges])
    except AggregatorError as error:
        return 500, str(error)


def _view(settings: Settings) -> tuple[int, str]:
    with closing(sqlite3.connect(settings.database)) as db:
        try:
            rows = db.execute("select * from v_ingest order by collection, epoch").fetchall()
        except sqlite3.Error as error:
            return 500, str(error)
    return 200, repr(rows)
