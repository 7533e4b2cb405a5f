"""State that an older program left in `tests/fixtures`, and what can be read from it.

`keep_state` makes such a folder. Everything here goes through the wire, the pages, the store's
files and the client's public names, so that it runs on the program that made the state, too.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import httpx
from flask import Flask

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.service import Service
from deniable_aggregator.web.app import create_app
from deniable_client import Ceiling, Client
from deniable_client.transport import HttpTransport
from support.builders import spools
from support.builders.data_directory import Moment
from support.processes import postgres_server

__all__ = [
    "FOLDER",
    "PASSPHRASE",
    "Kept",
    "answers",
    "client",
    "copied",
    "opened",
    "pages",
    "restored_database",
    "standing",
]

FOLDER = Path(__file__).parents[2] / "fixtures" / "kept_state"
PASSPHRASE = "correct horse battery"
ORIGIN = "http://127.0.0.1:8000"

_QUESTIONS = (
    *("manifest", "epochs", "estimates", "series", "releases"),
    "estimates?group_by=epoch",
    "comparison?from=20832&to=20832&before_from=20831&before_to=20831",
)
_LISTS = (
    *("collections", "collections?archived=true", "ledger", "log", "audit", "keys", "tokens"),
    *("users", "sessions"),
)
_PAGES = (
    *("/", "/access", "/audit", "/health", "/keys", "/ledger", "/log", "/set-up"),
    *("/collections/{}", "/collections/{}/compare", "/collections/{}/releases"),
)
_LONG = re.compile(r"-?\d+\.\d{9,}(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Kept:
    """What was recorded when the state was made: see `kept_state_maker`."""

    now: float
    trust: str
    token: str
    sessions: dict[str, str]
    """Kind of database → the cookie of an admin's session."""
    collections: Mapping[str, str]
    releases: Mapping[str, str]
    answers: Mapping[str, Mapping[str, str]]
    """Kind of database → path → answer; of PostgreSQL only those that differ from SQLite's."""
    client: Mapping[str, Any]
    spool: list[Any]

    @classmethod
    def read(cls, folder: Path = FOLDER) -> Kept:
        return cls(**json.loads((folder / "expected.json").read_text()))


def copied(target: Path, *, folder: Path = FOLDER) -> Path:
    """A writable copy of the whole folder; files are private to the owner, as they were."""
    shutil.copytree(folder, target)
    for path in [target, *target.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    return target


def restored_database(folder: Path) -> str:
    """The address of a new PostgreSQL database with what `database.sql` holds."""
    address = postgres_server.empty()
    postgres_server.execute(address, (folder / "postgres" / "database.sql").read_text())
    return address


@contextmanager
def opened(settings: Settings, now: float) -> Iterator[tuple[Service, Flask]]:
    """A service over it, at that moment."""
    service = Service.open(settings, clock=Moment(now))
    try:
        yield service, create_app(service)
    finally:
        service.close()


def answers(app: Flask, kept: Kept) -> dict[str, str]:
    """Path → what the API answers an admin."""
    paths = [f"/v1/{name}" for name in _LISTS]
    for id in kept.collections.values():
        paths += [f"/v1/collections/{id}/{name}" for name in _QUESTIONS]
    for release, id in kept.releases.items():
        paths.append(f"/v1/collections/{id}/releases/{release}")
    header = {"Authorization": f"Bearer {kept.token}"}
    browser = app.test_client(use_cookies=False)
    texts = {path: _shortened(browser.get(path, headers=header).text) for path in paths}
    return texts | {"/v1/audit": _before_migration(texts["/v1/audit"])}


def _before_migration(audit: str) -> str:
    """The audit log without the entry that upgrading the schema appended."""
    document = json.loads(audit)
    entries = document["entries"]
    if entries[-1]["act"] != "schema-migrated":
        return audit
    entries.pop()
    document |= {"size": len(entries), "head": entries[-1]["head"]}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def pages(app: Flask, kept: Kept, kind: str) -> dict[str, int]:
    """Page → status, for the person who was signed in."""
    browser = app.test_client()
    browser.set_cookie("deniable-session", kept.sessions[kind])
    paths = {page.format(id) for page in _PAGES for id in kept.collections.values()}
    paths |= {f"/collections/{id}/releases/{name}" for name, id in kept.releases.items()}
    return {path: browser.get(path).status_code for path in sorted(paths)}


@contextmanager
def client(app: Flask, kept: Kept, state: Path, *, later: float = 0.0) -> Iterator[Client]:
    """The app on a device, so many seconds later, in front of that service."""
    transport = HttpTransport(httpx.WSGITransport(app=app.wsgi_app))
    with Client(
        ORIGIN,
        trust=kept.trust,
        state=state,
        ceiling=Ceiling(2, 4, 16),
        transport=transport,
        clock=Moment(kept.now + later),
        background=False,
    ) as made:
        yield made


def standing(client: Client) -> dict[str, Any]:
    """Consent, budget, and what waits or was sent, as the app may show them."""
    budget, explained = client.budget(), client.explain()
    return {
        "consent": str(client.consent()),
        "spent": str(budget.spent.exact),
        "left": str(budget.left.exact),
        "names": {
            name: [str(part.exact) for part in (each.lifetime, each.spent, each.left)]
            for name, each in budget.collections.items()
        },
        "reports": sorted(
            [*map(_spelled, astuple(each)[:-1])]  # but for the sentence
            for each in explained.reports
        ),
        "log": [] if explained.log is None else list(astuple(explained.log)),
    }


def device_story(app: Flask, kept: Kept, state: Path) -> dict[str, Any]:
    """The contents of a state file, and the results of its next answers and uploads a day later."""
    with client(app, kept, state) as device:
        before = standing(device)
    with client(app, kept, state, later=86_400.0) as device:
        outcomes = [
            str(device.record("settings", {"dark_mode": False, "beta": True})),
            str(device.record("browser", "linux")),
            str(device.record("theme", "windows")),
        ]
        after = standing(device)
        flushed = device.flush(60.0, early=True)
    return {
        "before": before,
        "outcomes": outcomes,
        "after": after,
        "flushed": [flushed.accepted, flushed.waiting],
    }


def drained(service: Service, kept: Kept, spool: Path) -> list[Any]:
    """The sums after draining the spool, as epoch, version, cohort, reports, tally."""
    spools.tally(service, spool, spools.here)
    actual = spools.cells(service, kept.collections["settings"])
    return [[*key, n, tally] for key, (n, tally) in sorted(actual.items())]


def _spelled(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def _shortened(text: str) -> str:
    """Keep nine digits, which are the same on every machine; the last of seventeen are not."""
    return _LONG.sub(lambda found: f"{float(found[0]):.9g}", text)
