"""A data directory with the questions, people and days that the how-to pages name."""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_shared.randomness.coins import Coins
from support.processes.deniable_command import Deniable

__all__ = ["Guided", "command_lines", "needs_more", "with_recent_days"]

DAY_SECONDS = 86_400
DAYS, PEOPLE = 14, 40
COMMON = """\
purpose = "What do people use, so that we improve the right thing?"
owner = "privacy@acme.org"
epsilon = "2"
min_batch = 1
valid_from = 2026-01-01
expires = 2099-01-01
"""
BITS = '[domain]\ntype = "bits"\nlabels = ["dark_mode", "beta"]\n'
FLEET = """\
[domain]
type = "record"
[domain.attributes]
os = ["mac", "linux"]
browser = ["firefox", "chrome"]
beta = ["no", "yes"]
"""
QUESTIONS = {
    "settings": COMMON + BITS,
    "survey": COMMON + 'requires = ["voucher/1"]\n' + BITS,
    "fleet": COMMON + FLEET,
    "minutes": COMMON + '[domain]\ntype = "number"\nlow = 0\nhigh = 60\nstep = 5\n',
}
ANSWERS: Mapping[str, object] = {
    "settings": {"dark_mode": True, "beta": False},
    "fleet": {"os": "mac", "browser": "firefox", "beta": "no"},
    "minutes": 25,
    "crashes": {"version": "1.4", "crashed": "no"},
}
ELSEWHERE = re.compile(
    r"postgresql:|s3:|spark|--url|--public-url|--spool|deniable serve|deniable relay|deniable demo"
    r"|theme|ledger reconcile"
)
"""What needs another machine, a database server, or a database that was lost."""

IRREVERSIBLE = ("rotate --now", "users remove", "vouchers replace")
PASSWORD = "correct horse battery"


def needs_more(line: str) -> bool:
    """Whether this installation alone cannot run the line."""
    return not line.startswith(("deniable ", "sed ")) or ELSEWHERE.search(line) is not None


def command_lines(page: Path) -> Iterator[str]:
    """Every line of the page's shell blocks, without comments."""
    for block in re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.S | re.M):
        yield from (shlex.join(shlex.split(line, comments=True)) for line in block.splitlines())


class Guided:
    """An operator who tries the pages, one after the other."""

    def __init__(self, folder: Path, chdir: Callable[[Path], None]) -> None:
        self.deniable = Deniable(folder)
        self.deniable.done("init")
        chdir(folder)  # pages write files where the reader is
        (folder / "password").write_text(PASSWORD)
        for name, toml in QUESTIONS.items():
            self._apply(self.deniable.write(f"{name}.toml", f'name = "{name}"\n{toml}'))
        for name in ANSWERS.keys() & QUESTIONS.keys():
            self._fill(name)

    def run(self, line: str) -> None:
        """One line, and what a person does with its file. Raises AssertionError if it fails."""
        if line.startswith("sed "):
            subprocess.run(shlex.split(line), check=True)
            return
        words, _, written = self._here(line).partition(" '>' ")
        said = self.deniable.done(*shlex.split(words)[1:], *_typed(line))
        if written:
            Path(written).write_text(said)
        if written == "crashes.toml":
            Path(written).write_text(re.sub(r"valid_from = \S+", "valid_from = 2026-01-01", said))
            self._apply(Path(written))
            self._fill("crashes")

    def _here(self, line: str) -> str:
        """The line with days that are over, and with an id and a folder that exist."""
        line = with_recent_days(line)
        if "3f9a01c2b4de" in line:
            [*_, token] = self.deniable.json("access", "tokens", "list")["tokens"]
            line = line.replace("3f9a01c2b4de", token["id"])
        if "SIZE:HEAD" in line:
            entries = self.deniable.json("access", "audit")["entries"]
            line = line.replace("SIZE:HEAD", f"{len(entries)}:{entries[-1]['head']}")
        here = str(self.deniable.folder)
        return line.replace("/var/backups", here).replace("/var/lib", here)

    def _apply(self, path: Path) -> None:
        self.deniable.done("collections", "apply", path, "--key", self.deniable.key)

    def _fill(self, name: str) -> None:
        """Some reports in each of the last days."""
        service = Service.open(Settings(data=self.deniable.data))
        collection, coins = service.registry.get(name), Coins.system()
        value = collection.manifest.domain.encode(ANSWERS[name])
        today = int(time.time()) // DAY_SECONDS
        for epoch in range(today - DAYS + 1, today + 1):
            cell = TallyKey(collection.id, epoch, collection.manifest.version)
            rows = [
                AcceptedReport(cell, coins.bytes(16), collection.mechanism.randomize(value, coins))
                for _ in range(PEOPLE)
            ]
            service.store.commit(rows, lambda _, seen: collection.estimator.tally(seen))
        service.close()


def _typed(line: str) -> list[str]:
    """The options for what a person at a terminal would type."""
    if any(each in line for each in IRREVERSIBLE):
        return ["--yes"]
    if line.startswith("deniable access users add"):
        return ["--password-file", "password"]
    return ["--passphrase-file", "password"] * ("whole.zip" in line)


def with_recent_days(text: str) -> str:
    """The text with the pages' January moved so that its 21st is today."""
    today = datetime.fromtimestamp(time.time(), UTC).date()
    return re.sub(
        r"2027-01-(\d\d)", lambda match: str(today - timedelta(days=21 - int(match[1]))), text
    )
