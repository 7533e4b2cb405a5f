"""The collection of the page on releases: 8,000 people in two epochs."""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_shared.randomness.coins import Coins
from support.processes.deniable_command import Deniable

PEOPLE = {0: 1200, 1: 2400, 2: 400}
"""In each epoch: light, dark, auto."""

EXAMPLE = re.compile(r"^```sh\n(deniable .*?)^```\n+```text\n(.*?)^```", re.S | re.M)


def prepared(folder: Path, toml: str) -> Deniable:
    """The page's own TOML, begun so lately that two of its epochs are over."""
    today = datetime.fromtimestamp(time.time(), UTC).date()
    dated = re.sub(r"valid_from = \S+", f"valid_from = {today - timedelta(days=6)}", toml)
    dated = re.sub(r"expires = \S+", f"expires = {today + timedelta(days=90)}", dated)
    deniable = Deniable(folder)
    deniable.done("init")
    path = deniable.write("theme.toml", dated)
    deniable.done("collections", "apply", path, "--key", deniable.key)
    with_reports(deniable, (today - date(1970, 1, 1)).days - 6)
    return deniable


def with_reports(deniable: Deniable, first: int) -> None:
    service = Service.open(Settings(data=deniable.data))
    collection, coins = service.registry.get("theme"), Coins.system()
    for epoch in (first, first + 1):
        cell = TallyKey(collection.id, epoch, collection.manifest.version)
        rows = [
            AcceptedReport(cell, coins.bytes(16), collection.mechanism.randomize(value, coins))
            for value, people in PEOPLE.items()
            for _ in range(people)
        ]
        service.store.commit(rows, lambda _, seen: collection.estimator.tally(seen))
    service.close()


def worked(page: str) -> tuple[str, list[tuple[str, str]]]:
    """The page's TOML, and its commands with the output below them."""
    match = re.search(r"^```toml\n(.*?)^```", page, re.S | re.M)
    assert match is not None
    return match[1], EXAMPLE.findall(page)


def words(output: str) -> list[str]:
    """What is said, without numbers, bars and the ids of releases."""
    stable_text = re.sub(r"\b[0-9a-f]{16}\b|^theme-\w+", " ", output, flags=re.M)
    return re.findall(r"[^\W\d_]+", stable_text)
