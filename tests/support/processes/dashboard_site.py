"""A server with a collection of every kind, for tests of pages.

Tallies come from the generator of simulations, in the law of the mechanisms: nothing is randomized
person by person, and no coin is worth anything.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import numpy as np

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.base.roles import PEOPLE
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.collections import notes
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.documents.alerts import NewAlert
from deniable_aggregator.documents.collections import NewNote
from deniable_aggregator.keys import initialise, read_seed
from deniable_aggregator.operations import alerts
from deniable_aggregator.operations.process import running_server
from deniable_aggregator.operations.service import Service
from deniable_aggregator.releases.request import ReleaseRequest
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_aggregator.web.dashboard.pages import pages
from deniable_estimators.simulation import simulated_tally
from deniable_shared.manifest.epochs import epoch_at
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.randomness.coins import Coins
from deniable_shared.wire import dsse
from support.builders.made_once import copied
from support.processes.deniable_command import Deniable, wait_until

__all__ = ["DAYS", "HOSTILE", "Filler", "Site", "filled", "served", "theme"]

DAY = 86_400
DAYS = 14
"""Epochs that the collections of a site have, up to today's."""

HOSTILE = "<img src=x onerror=alert(1)>\"'{{ 7 * 7 }}"

LOOKS = {
    "collection": (
        *("settings", "browsers", "minutes", "devices", "drinks", "quiet", "sealed", "hostile"),
    ),
    "compare": ("settings", "minutes", "devices", "drinks", "quiet", "sealed", "hostile"),
    "releases": ("settings", "quiet", "hostile", "minutes", "devices", "drinks"),
    "share": ("settings", "sealed", "hostile"),
    "public": (
        *("settings", "minutes", "devices", "drinks", "hostile", "quiet", "sealed", "published"),
    ),
}
"""Page → the collections of which it looks different; all where it is not here."""

MORE_VIEWS = {
    "audit": ["?verify=yes", "?act=sign-in&who=Ada", "?who=no+such+person"],
    "collection": ["?view=table"],
    "compare": ["?view=table", "?family=each&confidence=0.8"],
    "health": ["?live=off"],
    "ledger": ["?collection=settings", "?collection=quiet"],
    "log": ["?verify=true"],
    "overview": ["?q=nothing+like+that", "?state=all&sort=reports"],
    "releases": [
        "?cost=true&epsilon=0.1",
        "?cost=true&epsilon=3",
        "?cost=true&epsilon=x",
        "?cost=true&question=top&epsilon=0.1",
        "?mechanism=mwem",
    ],
    "set_up": ["?name=lunch&labels=soup%0Asalad&repeat=memoized", "?labels=soup&epsilon=50"],
}
"""Page → what more it is looked at with."""

HEAD = """\
name = "{name}"
purpose = {purpose}
owner = "privacy@example.org"
epsilon = "{epsilon}"
valid_from = {valid_from}
expires = {expires}
min_batch = {min_batch}
public = true
{more}
[domain]
"""


@dataclass
class Filler:
    """A service over a new data directory, to register collections in and to fill."""

    service: Service
    operator_seed: bytes

    def asked(
        self,
        name: str,
        domain: str,
        *,
        purpose: str = "Which settings do people turn on?",
        epsilon: str = "1",
        min_batch: int = 20,
        more: str = "",
    ) -> Collection:
        """Register a collection whose domain is given as TOML."""
        today = datetime.now(UTC).date()
        text = HEAD.format(
            name=name,
            purpose="'''" + purpose + "'''",
            epsilon=epsilon,
            valid_from=today - timedelta(days=400),
            expires=today + timedelta(days=200),
            min_batch=min_batch,
            more=more,
        )
        manifest = manifest_from_toml(text + domain, ingest=("http://127.0.0.1:8000",))
        envelope = dsse.sign(manifest.body, payload_type=MANIFEST_TYPE, seed=self.operator_seed)
        self.service.registry.apply(envelope, audit=None)
        return self.service.registry.get(manifest.collection)

    def fill(
        self, collection: Collection, values: Sequence[object], people: Sequence[Sequence[int]]
    ) -> None:
        """people[e][i] with values[i] in the e-th epoch; the last one is today's.

        Epochs with the same people have the same tally.
        """
        encoded = np.array([collection.manifest.domain.encode(value) for value in values])
        today = epoch_at(time.time(), collection.manifest.epoch_seconds)
        tallies = {
            counts: simulated_tally(collection.mechanism, encoded, np.array(counts))
            for counts in set(map(tuple, people))
        }
        for age, counts in enumerate(reversed(people)):
            self.add(collection, today - age, sum(counts), tallies[tuple(counts)])
            if age:
                self.service.store.close_epoch(collection.id, today - age, time.time(), audit=None)

    def release(self, name: str, mechanism: str, arguments: dict[str, object]) -> str:
        """Make a release from every closed epoch; its id."""
        found = self.service.registry.get(name)
        return self.service.releases.release(
            found, ReleaseRequest(mechanism, arguments), audit=None
        ).row.release

    def add(self, collection: Collection, epoch: int, n: int, tally: object) -> None:
        """n reports with this tally, under ids of their own."""
        cell = TallyKey(collection.id, epoch, collection.manifest.version)
        ids = Coins.system().bytes(16 * n)
        arrivals = [
            AcceptedReport(cell, ids[start : start + 16], b"\0") for start in range(0, 16 * n, 16)
        ]
        self.service.store.commit(arrivals, lambda _, rows: tally)  # type: ignore[arg-type,return-value]  # the tally is known already


@dataclass(frozen=True)
class Site:
    """Where a server is, what it has, and how one gets in."""

    address: str
    token: str
    """A viewer's bearer token for the API."""
    sessions: Mapping[str, str]
    """Role → the cookie of a session for pages."""
    link: str
    """A one-time link: its secret."""
    collections: Mapping[str, str]
    """Name → id."""
    releases: Mapping[str, str]
    """Name of a collection → id of a release of it."""

    def views(self) -> dict[str, list[str]]:
        """Page → addresses to look at: one for each collection where the page is about one."""
        found = {}
        for name, page in pages().items():
            parts = re.findall(r"<(?:\w+:)?(\w+)>", page.path)
            assert set(parts) <= {"collection", "release_id"}, (
                f"{name}: what may {parts} stand for?"
            )
            of_all = self.releases if "release_id" in parts else self.collections if parts else [""]
            kept = LOOKS.get(name, of_all)
            found[name] = [
                page.path.replace("<collection>", self.collections.get(of, "")).replace(
                    "<release_id>", self.releases.get(of, "")
                )
                for of in kept
            ]
            found[name] += [found[name][0] + query for query in MORE_VIEWS.get(name, ())]
        return found

    def get(self, path: str) -> httpx.Response:
        """What the API answers a viewer."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.get(self.address + path, headers=headers, timeout=120, trust_env=False)


@contextmanager
def filled(folder: Path) -> Iterator[Filler]:
    """A new data directory, with nothing in it yet."""
    settings, key = Settings(data=folder / "data"), folder / "operator.key"
    initialise(settings, operator_key=key, now=time.time())
    service = Service.open(settings)
    try:
        yield Filler(service, read_seed(key))
    finally:
        service.close()


def _made(folder: Path) -> Mapping[str, object]:
    """A data directory with a collection of every kind: all of its Site but the address."""
    with filled(folder) as filler:
        made = {found.name: found.id for found in one_of_each(filler)}
        _note(filler.service, made["settings"], "released 2.0", days=4)
        _share(filler.service, made["settings"])
        token = filler.service.tokens.create("viewer", "a viewer", audit=None)[1]
        sessions = {role: _session(filler.service, role) for role in PEOPLE}
        link = filler.service.sessions.make_link("Grace", "viewer", audit=None)
        releases = {name: filler.release(name, kind, given) for name, kind, given in RELEASES}
    fields = {"token": token, "sessions": sessions, "link": link}
    return fields | {"collections": made, "releases": releases}


@contextmanager
def served(template: Path, folder: Path) -> Iterator[Site]:
    """A real server in `folder` over a copy of what the first process makes in `template`."""
    site, deniable = copied(_made, template, folder), Deniable(folder)
    with deniable.process("serve", "--port", "0"):
        wait_until("server.json", lambda: running_server.find(deniable.data) is not None)
        live = running_server.read(deniable.data)
        assert live is not None
        yield Site(live.address, **site)


RELEASES: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("settings", "histogram", {"epsilon": "0.1"}),
    ("browsers", "top-k", {"epsilon": "0.1", "k": "3"}),
    ("hostile", "exponential", {"epsilon": "0.1", "score": "mode"}),
    ("published", "histogram", {"epsilon": "0.5"}),
    ("theme", "queries", {"epsilon": "2", "questions": "10"}),
    ("minutes", "mean", {"epsilon": "0.1"}),
    ("devices", "table", {"epsilon": "0.1", "attributes": "os, screen"}),
    ("drinks", "texts", {"epsilon": "0.1", "texts": "tea, coffee, milk"}),
)
"""One of each look: estimates with intervals, labels in order, a single answer, a session; a
number, a record, texts."""


def _share(service: Service, collection: str) -> None:
    """A read-only link, and an alert that never finds a period to look at."""
    scope, ends = [collection], time.time() + 30 * DAY
    service.tokens.create("viewer", "Board", expires=ends, collections=scope, audit=None)
    entry = AuditEntry.of("alert-made", actor="Ada", at=time.time())
    new = NewAlert(url="https://hook.example.org/" + "long-path/" * 12)
    found = service.registry.get(collection)
    alerts.make_alert(service.store, found, new, author="Ada", audit=entry)


def _note(service: Service, collection: str, text: str, *, days: int) -> None:
    at = int(time.time()) - days * DAY
    entry = AuditEntry.of("note-added", actor="Ada", at=at)
    day = datetime.fromtimestamp(at, UTC).date().isoformat()
    new = NewNote(day=day, text=text)
    notes.add_note(service.store, collection, new, author="Ada", audit=entry)


def _session(service: Service, role: str) -> str:
    secret = service.sessions.begin("Ada", role, None, via="link")
    assert secret is not None
    return secret


def one_of_each(filler: Filler) -> Iterator[Collection]:
    yield _settings(filler)
    yield _browsers(filler)
    yield _minutes(filler)
    yield _devices(filler)
    yield _drinks(filler)
    yield filler.asked(
        "quiet", 'type = "choice"\nlabels = ["yes", "no"]\n', purpose="Has anybody answered?"
    )
    yield filler.asked(
        "sealed",
        'type = "choice"\nlabels = ["yes", "no"]\n',
        purpose="Known by releases only",
        more='read = "releases"',
    )
    yield _published(filler)
    yield _hostile(filler)
    yield theme(filler)


def theme(filler: Filler) -> Collection:
    """One closed epoch with enough reports, and enough budget, for a session of questions."""
    labels = ["light", "dark", "auto"]
    found = filler.asked(
        "theme",
        f'type = "choice"\nlabels = {labels}\n',
        purpose="Which theme do people use?",
        epsilon="4",
        more='central = { per_epoch = "2", per_installation = "4", delta = "0" }',
    )
    filler.fill(found, labels, [[1000, 2000, 1000], [50, 100, 50]])
    return found


def _published(filler: Filler) -> Collection:
    """Only what is released of it may be read, by anyone."""
    found = filler.asked(
        "published",
        'type = "choice"\nlabels = ["bus", "train", "bike"]\n',
        purpose="How do people travel?",
        more='read = "releases"',
    )
    filler.fill(found, ["bus", "train", "bike"], [[300, 400, 200]] * 3)
    return found


def _hostile(filler: Filler) -> Collection:
    found = filler.asked(
        "hostile", f"type = 'choice'\nlabels = ['''{HOSTILE}''', 'b']\n", purpose=HOSTILE
    )
    filler.fill(found, [HOSTILE, "b"], [[90, 30]] * 3)
    return found


def _settings(filler: Filler) -> Collection:
    labels = ("dark_mode", "beta", "notifications", "compact")
    found = filler.asked("settings", f'type = "bits"\nlabels = {list(labels)}\n')
    values = [dict(zip(labels, row, strict=True)) for row in ((1, 0, 1, 0), (0, 1, 1, 0), (0,) * 4)]
    values = [{label: bool(bit) for label, bit in value.items()} for value in values]
    filler.fill(found, values, [[200 + 12 * day, 80, 260 - 9 * day] for day in range(DAYS)])
    return found


def _browsers(filler: Filler) -> Collection:
    labels = [f"browser {number:02}" for number in range(1, 41)]
    found = filler.asked(
        "browsers",
        f'type = "choice"\nlabels = {labels}\n',
        purpose="Which browser do people use?",
        epsilon="2",
    )
    counts = [900 // (rank + 1) for rank in range(40)]
    filler.fill(found, labels, [counts] * 4)
    return found


def _minutes(filler: Filler) -> Collection:
    found = filler.asked(
        "minutes",
        'type = "number"\nlow = "0"\nhigh = "60"\nstep = "1"\n',
        purpose="How many minutes does a session last?",
        epsilon="2",
        more='mechanism = "square-wave/1"',
    )
    values = [str(minute) for minute in range(61)]
    counts = [max(1, int(60 * np.exp(-(((minute - 18) / 9) ** 2)))) for minute in range(61)]
    filler.fill(found, values, [counts] * 5)
    return found


def _drinks(filler: Filler) -> Collection:
    found = filler.asked(
        "drinks", 'type = "text"\nmax_bytes = 6\n', purpose="What do people drink?", epsilon="6"
    )
    manifest, words = found.manifest, ("tea", "coffee")
    mechanism, coins = manifest.mechanism(), Coins.system()
    encoded = [manifest.domain.encode(word) for word in words]
    payloads = b"".join(mechanism.randomize(encoded[turn % 2], coins) for turn in range(1_500))
    rows = np.frombuffer(payloads, np.uint8).reshape(1_500, -1)
    today = epoch_at(time.time(), manifest.epoch_seconds)
    for epoch in (today - 1, today):
        filler.add(found, epoch, 1_500, found.estimator.tally(rows))
    filler.service.store.close_epoch(found.id, today - 1, time.time(), audit=None)
    return found


def _devices(filler: Filler) -> Collection:
    domain = """type = "record"
[[domain.attributes]]
name = "os"
labels = ["linux", "mac", "windows"]
[[domain.attributes]]
name = "screen"
labels = ["small", "large"]
"""
    found = filler.asked("devices", domain, purpose="Which devices are there?", epsilon="2")
    systems, screens = ("linux", "mac", "windows"), ("small", "large")
    values = [{"os": os, "screen": screen} for os in systems for screen in screens]
    filler.fill(found, values, [[120, 60, 200, 220, 130, 310]] * 3)
    return found
