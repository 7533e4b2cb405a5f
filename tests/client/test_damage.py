"""A damaged state file: either nothing changes, or nothing is recorded and nothing is sent.

Every variant is opened by the app as at any start. What comes of it must be what comes of the file
before the damage, to the byte, or a refusal: never an exception, another payload, a second draw or
a larger budget.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from deniable_client import Ceiling, Client, ConfigurationError, Outcome, StorageError
from deniable_client._state import checksum
from support.builders.client_world import DAY, OTHER, SETTINGS, Device, MakeDevice, manifest
from support.builders.damaged_files import flipped
from support.tiers import grid

REPEATS = {
    "settings": manifest(),
    "fresh": manifest("fresh", repeat='"fresh"', epsilon_lifetime='"2"'),
    "memoized": manifest(
        "memoized", repeat='"memoized"', epsilon_permanent='"2"', epsilon_lifetime='"4"'
    ),
    "waiting": manifest("waiting"),
    "unasked": manifest("unasked"),
}
CEILING = Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=7)
REFUSED = (Outcome.DISABLED, Outcome.STORAGE_BUSY)


@dataclass(frozen=True)
class Aftermath:
    """What an app gets to see in one start, and what leaves the device."""

    outcomes: tuple[Outcome, ...]
    spent: Fraction | None
    sent: frozenset[tuple[str, bytes, bytes]]

    @property
    def is_refusal(self) -> bool:
        return not self.sent and all(outcome in REFUSED for outcome in self.outcomes)


@pytest.fixture
def device(make_device: MakeDevice) -> Device:
    """A device that has answered, sent, and has something waiting."""
    device: Device = make_device(*REPEATS.values())
    with device.granted(ceiling=CEILING) as client:
        for name in ("settings", "fresh", "memoized"):
            assert client.record(name, SETTINGS) is Outcome.QUEUED
        assert client.flush(early=True).accepted == 3
        device.clock.advance(DAY)
        for name in ("fresh", "waiting"):
            assert client.record(name, SETTINGS) is Outcome.QUEUED
    return device


def start(device: Device, content: bytes) -> Aftermath:
    """Write the file, start the app, record everything again with another value, send, end."""
    for old in Path(device.path).parent.glob("state.db*"):
        old.unlink()
    Path(device.path).write_bytes(content)
    device.aggregator.received.clear()
    with device.open(ceiling=CEILING) as client:
        outcomes = tuple(client.record(name, OTHER) for name in REPEATS if name != "unasked")
        client.flush(early=True)
        client.upload_due()
        spent = _spent(client)
    received = device.aggregator.received
    sent = ((each.collection, each.report.header.report_id, each.payload) for each in received)
    return Aftermath(outcomes, spent, frozenset(sent))


def _spent(client: Client) -> Fraction | None:
    with suppress(StorageError):
        return client.budget().spent.exact
    return None


def wrong(
    device: Device, count: int, *, first: int = 0
) -> Iterator[tuple[int, Aftermath | Exception]]:
    """The variants in which something else came of it, or that raised in the app."""
    content = Path(device.path).read_bytes()
    right = start(device, content)
    assert right.sent
    assert right.outcomes.count(Outcome.ALREADY_ANSWERED) >= 2
    for seed, copy in flipped(content, count, first=first):
        try:
            aftermath = start(device, copy)
        except Exception as error:
            yield seed, error
            continue
        if aftermath != right and not aftermath.is_refusal:
            yield seed, aftermath


def statements(*every: str) -> list[Any]:
    """One change and one deletion of each table by default."""
    firsts = {each.partition(" SET ")[0]: each for each in reversed(every)}
    return grid(every, by_default=[*firsts.values()])


@pytest.mark.slow
@pytest.mark.parametrize("first", grid(range(0, 250, 25), by_default=[0]))
def test_flipped_bits_change_nothing_or_stop_everything(device: Device, first: int) -> None:
    assert list(wrong(device, 25, first=first)) == []


@pytest.mark.long
@pytest.mark.parametrize("first", range(250, 2_000, 125))
def test_two_thousand_files_with_flipped_bits(device: Device, first: int) -> None:
    assert list(wrong(device, 125, first=first)) == []


def test_without_the_check_flipped_bits_do_harm(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checksum, "check", lambda db: None)
    assert any(isinstance(aftermath, Aftermath) for _, aftermath in wrong(device, 2_000))


def damage(device: Device, statement: str) -> None:
    """Change rows behind the triggers' back, as a disk does."""
    with closing(sqlite3.connect(device.path)) as db, db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        texts = dict(triggers.fetchall())
        for name in texts:
            db.execute(f"DROP TRIGGER {name}")
        assert db.execute(statement).rowcount
        for sql in texts.values():
            db.execute(sql)


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    statements(
        "UPDATE name SET spent = spent - 1 WHERE spent > 0",
        "DELETE FROM name",
        "UPDATE course SET hold = NULL WHERE hold IS NOT NULL",
        "UPDATE course SET key = zeroblob(32)",
        "DELETE FROM course",
        "DELETE FROM outbox",
        "UPDATE outbox SET epoch = epoch - 1",
        "UPDATE outbox SET payload = zeroblob(2) WHERE payload IS NOT NULL",
        "UPDATE installation SET consent = 'granded'",
        "UPDATE installation SET forked = 'x'",
        "UPDATE checksum SET total = total + 1",
        "DELETE FROM checksum",
    ),
)
def test_damage_to_ledger_keys_answers_or_queue_stops_everything(
    device: Device, statement: str
) -> None:
    damage(device, statement)
    aftermath = start(device, Path(device.path).read_bytes())
    assert aftermath.is_refusal
    client = device.open()
    assert any("damaged" in str(problem) for problem in client.flush().problems)
    with pytest.raises(StorageError, match="Restore the file from a backup"):
        client.consent("granted")


@pytest.mark.parametrize(
    "statement",
    statements(
        "UPDATE manifest SET body = zeroblob(9)",
        "UPDATE manifest SET body = CAST(x'ff' AS TEXT)",
        "UPDATE manifest SET digest = zeroblob(32)",
        "UPDATE manifest SET version = 1000",
        "DELETE FROM manifest",
        "UPDATE verified SET envelope = randomblob(32)",
        "UPDATE verified SET version = 1000",
    ),
)
def test_a_damaged_manifest_is_taken_from_the_app_again(device: Device, statement: str) -> None:
    content = Path(device.path).read_bytes()
    right = start(device, content)
    Path(device.path).write_bytes(content)
    damage(device, statement)
    assert start(device, Path(device.path).read_bytes()) == right


def test_a_damaged_copy_is_no_second_body_of_the_operator(device: Device) -> None:
    damage(device, "UPDATE manifest SET body = zeroblob(9)")
    client = device.open()
    assert client.record("unasked", SETTINGS) is Outcome.QUEUED
    assert client.flush(early=True).problems == ()


def test_an_old_version_of_the_file_is_checked_before_it_is_migrated(device: Device) -> None:
    with closing(sqlite3.connect(device.path)) as db:
        db.execute("PRAGMA user_version = 2")
    assert start(device, Path(device.path).read_bytes()).is_refusal


def test_version_zero_of_our_own_file_is_damage_not_another_program_s(device: Device) -> None:
    with closing(sqlite3.connect(device.path)) as db:
        db.execute("PRAGMA user_version = 0")
    assert start(device, Path(device.path).read_bytes()).is_refusal


def test_a_damaged_manifest_of_the_app_itself_is_the_developer_s(device: Device) -> None:
    with pytest.raises(ConfigurationError, match="manifest given as bytes"):
        Client(
            "https://telemetry.example.org",
            trust=device.aggregator.operator.trust,
            manifests=[device.aggregator.operator.sign(REPEATS["settings"])[:-9]],
            state=device.path,
            ceiling=CEILING,
            strict=True,
        )


def test_a_copy_that_only_a_later_program_can_read_is_kept(device: Device) -> None:
    body = b"{}"
    client = device.open(ceiling=CEILING)
    with client._state.transaction() as db:
        later = "INSERT INTO manifest SELECT 'later', 1, 'later', trust, ?, ? FROM manifest LIMIT 1"
        db.execute(later, (sha256(body).digest(), body))
    client = device.open(ceiling=CEILING)
    assert client.record("unasked", SETTINGS) is Outcome.QUEUED
    with client._state.reading() as db:
        kept = [row[0] for row in db.execute("SELECT body FROM manifest WHERE name = 'later'")]
    assert kept == [body]


def test_a_report_whose_manifest_is_gone_waits_until_it_is_fetched(device: Device) -> None:
    damage(device, "DELETE FROM manifest")
    device.shipped = ()
    client = device.open(ceiling=CEILING)
    result = client.flush(early=True)
    assert (result.sent, result.waiting) == (0, 2)
    client.refresh(names=["fresh", "waiting"])
    assert client.flush(early=True).accepted == 2


def test_a_name_that_is_no_text_stops_everything(device: Device) -> None:
    with closing(sqlite3.connect(device.path)) as db, db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute(
            "UPDATE sqlite_master SET name = CAST(x'ff' AS TEXT), sql = 'nonsense'"
            " WHERE type = 'table' AND name = 'manifest'"
        )
    assert start(device, Path(device.path).read_bytes()).is_refusal
