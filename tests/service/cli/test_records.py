"""`deniable estimates --marginal`: tables of a record, and whether attributes go together."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_shared.randomness.coins import Coins
from support.processes.deniable_command import Deniable

pytestmark = pytest.mark.slow

TODAY = int(time.time()) // 86_400
TOML = """
name = "fleet"
purpose = "Which systems and browsers go together?"
owner = "privacy@example.com"
epsilon = "4"
expires = {expires}
min_batch = 3
[domain]
type = "record"
[[domain.attributes]]
name = "os"
labels = ["linux", "mac", "windows"]
[[domain.attributes]]
name = "browser"
labels = ["firefox", "chrome", "safari", "other"]
[[domain.attributes]]
name = "memory"
labels = ["4", "8", "16", "32", "64", "more"]
[[domain.attributes]]
name = "screen"
labels = ["small", "middle", "large", "two", "three"]
"""
MAC = {"os": "mac", "browser": "safari", "memory": "16", "screen": "two"}
LINUX = {"os": "linux", "browser": "firefox", "memory": "8", "screen": "two"}


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    command = Deniable(tmp_path)
    command.prepare()
    expires = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 90 * 86_400))
    path = command.write("fleet.toml", TOML.format(expires=expires))
    command.done("collections", "apply", path, "--key", command.key)
    return command


def count(deniable: Deniable, people: int) -> None:
    """Reports of as many people with each of two combinations."""
    service = Service.open(Settings(data=deniable.data))
    collection = service.registry.get("fleet")
    cell = TallyKey(collection.id, TODAY, collection.manifest.version)
    mechanism, encode = collection.mechanism, collection.manifest.domain.encode
    arrivals = [
        AcceptedReport(
            cell, Coins.system().bytes(16), mechanism.randomize(encode(value), Coins.system())
        )
        for value in [MAC, LINUX] * people
    ]
    service.store.commit(arrivals, lambda _, rows: collection.estimator.tally(rows))
    service.close()


def shown(deniable: Deniable, *arguments: str) -> str:
    return " ".join(deniable.done("estimates", "fleet", *arguments).split())


def test_a_table_and_its_test_are_shown(deniable: Deniable) -> None:
    """n = 6,000, ε = 4, half of the people on either of two cells: W is over a hundred."""
    count(deniable, 3000)
    text = shown(deniable, "--marginal", "os,browser")
    assert "fleet" in text
    assert "pairs/1" in text
    assert "os=mac" in text
    assert "If os and browser were independent" in text
    assert "6 degrees of freedom" in text


def test_a_table_of_too_few_reports_says_that_the_test_is_not_known(deniable: Deniable) -> None:
    count(deniable, 20)
    text = shown(deniable, "--marginal", "os,browser")
    assert "Whether os and browser are related is not known: too few reports" in text


def test_several_tables_and_their_tests_are_in_one_document(deniable: Deniable) -> None:
    count(deniable, 20)
    document = deniable.json("estimates", "fleet", "--marginal", "os,screen", "--marginal", "os")
    labels = [row["label"] for row in document["estimates"]]
    assert (len(labels), labels[0], labels[-1]) == (18, "os=linux, screen=small", "os=windows")
    assert [test["attributes"] for test in document["associations"]] == [["os", "screen"]]


def test_a_name_that_is_none_is_refused_with_those_there_are(deniable: Deniable) -> None:
    count(deniable, 20)
    said = deniable.refused("estimates", "fleet", "--marginal", "os,colour")
    assert "among os, browser, memory, screen, got 'colour'" in said
