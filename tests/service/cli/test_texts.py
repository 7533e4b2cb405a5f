"""Texts from the command line and from an app: recorded, counted, asked for."""

from __future__ import annotations

import time

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_client import Ceiling, Client
from deniable_client.testing import RecordingTransport
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.randomness.coins import Coins
from deniable_shared.wire import dsse
from support.processes.deniable_command import Deniable

SEED = bytes(range(32))
TODAY = int(time.time()) // 86_400


@pytest.fixture(scope="module")
def deniable(tmp_path_factory: pytest.TempPathFactory) -> Deniable:
    """A collection that `collections new` wrote, with reports of 200 people."""
    command = Deniable(tmp_path_factory.mktemp("texts"))
    command.prepare()
    purpose = "Which drink do people order?"
    kind = ("--type", "text", "--max-bytes", "6", "--purpose", purpose)
    text = command.done("collections", "new", "words", *kind)
    text = text.replace("# search_step = 1 ", "search_step = 0 ")
    path = command.write("words.toml", text)
    command.done("collections", "apply", path, "--key", command.key)
    service = Service.open(Settings(data=command.data))
    words = service.registry.get("words")
    cell = TallyKey(words.id, TODAY, words.manifest.version)
    mechanism = words.mechanism
    arrivals = [
        AcceptedReport(cell, Coins.system().bytes(16), mechanism.randomize(b"tea", Coins.system()))
        for _ in range(200)
    ]
    service.store.commit(arrivals, lambda _, rows: words.estimator.tally(rows))
    service.close()
    return command


@pytest.mark.slow
def test_given_texts_are_told_in_their_order(deniable: Deniable) -> None:
    asked = ("--candidate", "tea", "--candidate", "a,b&c")
    document = deniable.json("estimates", "words", *asked)
    assert [row["label"] for row in document["estimates"]] == ["tea", "a,b&c"]
    assert [row["reports"] for row in document["estimates"]] == [200, 200]
    assert "tea" in deniable.done("estimates", "words", *asked)


@pytest.mark.slow
def test_without_a_search_nothing_is_found_and_that_is_said(deniable: Deniable) -> None:
    assert deniable.json("estimates", "words")["estimates"] == []
    shown = " ".join(deniable.done("estimates", "words").split())
    assert "no text is clearly above zero yet" in shown


@pytest.mark.slow
def test_a_text_that_is_no_answer_is_refused_in_one_line(deniable: Deniable) -> None:
    said = deniable.refused("estimates", "words", "--candidate", "too long")
    assert "value must be 1 to 6 bytes" in said


def test_a_length_belongs_to_texts_and_they_need_one(deniable: Deniable) -> None:
    new = ("collections", "new", "words", "--type")
    assert "needs --max-bytes" in deniable(*new, "text").stderr
    assert (
        "--max-bytes belongs to --type text"
        in deniable(*new, "choice", "--label", "a", "--label", "b", "--max-bytes", "9").stderr
    )


def test_an_app_records_any_text_and_no_other_value(deniable: Deniable) -> None:
    toml = (deniable.folder / "words.toml").read_text()
    manifest = manifest_from_toml(toml, ingest=["https://telemetry.example.org"])
    client = Client(
        "https://telemetry.example.org",
        trust=dsse.public_key(SEED),
        manifests=[dsse.sign(manifest.body, payload_type=MANIFEST_TYPE, seed=SEED)],
        state=":memory:",
        ceiling=Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=9),
        transport=RecordingTransport(),
        background=False,
    )
    client.consent("granted")
    assert str(client.record("words", "a\u202eb")) == "invalid-value"
    assert str(client.record("words", "too long")) == "invalid-value"
    assert str(client.record("words", "café")) == "queued"
    assert "a text of at most 6 bytes" in str(client.explain())
    client.close()
