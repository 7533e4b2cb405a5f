"""The runbook's commands, executed in its order on an installation of their own."""

from __future__ import annotations

import base64
import json
import re
import shlex
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.doctor import addresses
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_shared.manifest.epochs import epoch_at
from deniable_shared.randomness.coins import Coins
from support.processes import postgres_server
from support.processes.deniable_command import Deniable
from support.processes.installed_programs import accepted

RUNBOOK = Path(__file__).parents[2] / "deploy" / "RUNBOOK.md"
SERVED = ("doctor --url http://127.0.0.1:8000", "doctor --url https://stats.example.net")
MOVED = "https://stats.example.net"
STORE = "postgresql://deniable@db.example.org/deniable"
TOKEN = "3f9a01c2b4de"
ASKED_ABOUT = ("collections epochs close", "keys rotate --now")
"""What a person at a terminal says yes to."""


def lines() -> list[str]:
    """The lines of its shell blocks, but for the variable that the test sets itself."""
    blocks = re.findall(r"^```sh\n(.*?)^```", RUNBOOK.read_text(), re.S | re.M)
    every = [line for block in blocks for line in block.splitlines()]
    return [line for line in every if not line.startswith("export DENIABLE_DATA=")]


@dataclass
class Installation:
    """What the page's paths, addresses and names stand for here."""

    folder: Path
    done: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.deniable = Deniable(self.folder)
        self.backups = self.folder / "backups"
        self.backups.mkdir()

    def run(self, line: str) -> None:
        """One line, and what a person does with it."""
        words, _, written = line.removeprefix("deniable ").partition(" > ")
        said = self.said(line, words)
        if written.endswith(".toml"):
            self.deniable.write(written, said.replace("min_batch = 100", "min_batch = 1"))
        if written.endswith(".manifest"):
            body = json.loads(base64.b64decode(json.loads(said)["payload"]))
            assert (body["version"], body["ingest"]) == (2, [MOVED])
        if words.startswith("collections apply") and "--dry-run" not in words:
            self.count_a_report()
        if words.startswith("store backup /"):
            [made] = self.backups.iterdir()
            made.rename(self.backups / "latest.zip")
        self.done.append(line)

    def said(self, line: str, words: str) -> str:
        """What the line prints; a variable that it exports is set for all later ones."""
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            self.deniable.environ[name] = value
            return ""
        if not line.startswith("deniable "):
            return accepted("bash", "-c", self.here(line))
        if " | " in line:
            done = self.deniable.shell(self.here(line))
            assert done.returncode == 0, done.stderr
            return done.stdout
        if words not in SERVED:
            return self.deniable.done(
                *shlex.split(self.here(words)), *["--yes"] * words.startswith(ASKED_ABOUT)
            )
        with self.serving() as address:
            return self.deniable.done("doctor", "--url", address)

    def here(self, words: str) -> str:
        words = words.replace("/var/lib/deniable", str(self.folder)).replace(
            "/var/backups/deniable", str(self.backups)
        )
        if TOKEN in words:
            words = words.replace(
                TOKEN, self.deniable.json("access", "tokens", "list")["tokens"][0]["id"]
            )
        if STORE in words:
            words = words.replace(STORE, postgres_server.empty())
        return words.replace("settings.toml", str(self.folder / "settings.toml"))

    def serving(self) -> ServedOnce:
        return ServedOnce(self.deniable)

    def count_a_report(self) -> None:
        service = Service.open(Settings(data=self.deniable.data), clock=time.time)
        collection = service.registry.get("settings")
        manifest = collection.manifest
        epoch = epoch_at(time.time(), manifest.epoch_seconds)
        value = manifest.domain.encode({"dark_mode": True})
        payload = manifest.mechanism().randomize(value, Coins.system())
        arrival = AcceptedReport(TallyKey(collection.id, epoch, 1), bytes(16), payload)
        service.store.commit([arrival], lambda _, rows: collection.estimator.tally(rows))
        service.close()


class ServedOnce(ExitStack):
    """A server process for the length of a block."""

    def __init__(self, deniable: Deniable) -> None:
        super().__init__()
        self.deniable = deniable

    def __enter__(self) -> str:  # type: ignore[override]  # it gives text, not itself
        process = self.enter_context(self.deniable.process("serve", "--port", "0"))
        assert process.stdout is not None
        actual = re.search(r"http://[\d.]+:\d+", process.stdout.readline())
        assert actual
        return actual[0]


def restoring() -> str:
    """The lines that carry files from the old directory into the one to fill."""
    return "\n".join(line for line in lines() if line.startswith(("install -d", "cp ", "test ")))


@pytest.mark.parametrize("has_settings", [True, False])
def test_a_restore_carries_the_settings_if_there_are_any(
    tmp_path: Path, has_settings: bool
) -> None:
    old = tmp_path / "data"
    (old / "keys").mkdir(parents=True)
    files = {"trust", "heads.json"} | ({"deniable.toml"} if has_settings else set())
    for name in files:
        (old / name).write_text(name)
    accepted("bash", "-ec", restoring().replace("/var/lib/deniable", str(tmp_path)))
    assert {path.name for path in (tmp_path / "new").iterdir()} == files | {"keys"}


@pytest.mark.exhaustive
@pytest.mark.processes
def test_every_command_of_the_runbook_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation = Installation(tmp_path)
    monkeypatch.setattr(addresses, "ask", lambda origin: None)  # nothing leaves this machine
    for line in lines():
        installation.run(line)
    assert len(installation.done) > 20
    done = {" ".join(line.split()[1:3]) for line in installation.done}
    assert done >= {"store restore", "store migrate", "store backup"}
    assert any("| deniable store restore --database" in line for line in installation.done)
