"""A service with its application, a clock that a test sets, and a token of each role."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from deniable_aggregator.base.roles import ROLES
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.base.spans import NO_TRACER, Tracer
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.keys import read_seed
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_aggregator.web.app import create_app
from deniable_shared.manifest.epochs import Clock
from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.randomness.coins import Coins
from deniable_shared.wire import dsse
from deniable_shared.wire.envelope import seal
from deniable_shared.wire.key_list import verify_key_list
from deniable_shared.wire.report import (
    MEDIA_TYPE,
    Extension,
    Plaintext,
    Report,
    ReportHeader,
    encode_upload,
    seal_info,
)
from support.builders.data_directory import (
    DAY,
    NOON,
    TODAY,
    Moment,
    prepared,
    prepared_at,
    prepared_on_postgres,
)
from support.doubles.asgi_as_wsgi import with_front
from support.doubles.browser import Browser
from support.processes import postgres_server

__all__ = [
    "DAY",
    "DSSE",
    "INGEST",
    "NOON",
    "TODAY",
    "TOML",
    "Moment",
    "World",
    "authored",
    "opened",
    "prepared",
]

INGEST = ("http://127.0.0.1:8000",)
DSSE = "application/vnd.dsse.envelope+json"

TOML = """\
name = "{name}"
purpose = "Which settings do people turn on?"
owner = "privacy@example.org"
epsilon = "2"
valid_from = {valid_from}
expires = {expires}
read = "{read}"
min_batch = {min_batch}
epoch = "{epoch}"
[domain]
type = "{type}"
labels = [{labels}]
"""


def authored(
    name: str = "settings",
    *,
    type: str = "bits",
    labels: Sequence[str] = ("dark_mode", "beta"),
    read: str = "live",
    min_batch: int = 3,
    epoch: str = "1d",
    valid_from: str = "2027-01-01",
    expires: str = "2027-06-01",
    more: str = "",
    previous: Manifest | None = None,
) -> Manifest:
    """A manifest, or the next version of `previous`; `more` are further lines of its TOML."""
    if type == "bits" and "mechanism" not in more:
        more += 'mechanism = "rr/1"\n'
    text = more + TOML.format(
        name=name,
        read=read,
        min_batch=min_batch,
        epoch=epoch,
        valid_from=valid_from,
        expires=expires,
        type=type,
        labels=", ".join(f'"{label}"' for label in labels),
    )
    return manifest_from_toml(text, ingest=INGEST, previous=previous)


@dataclass
class World:
    """One service, its application, and one token of each role."""

    running: Service
    clock: Moment
    operator_seed: bytes
    tokens: dict[str, str] = field(default_factory=dict)
    people: dict[str | None, Browser] = field(default_factory=dict)

    @cached_property
    def app(self) -> Flask:
        """Made for the first request: many tests send none."""
        return with_front(create_app(self.running))

    @property
    def client(self) -> FlaskClient:
        """A client that carries no cookie from one request to the next."""
        return self.app.test_client(use_cookies=False)

    def authorization(self, role: str | None) -> dict[str, str]:
        """The header of a role: viewer, analyst, admin, relay, revoked, expired or none."""
        return {} if role is None else {"Authorization": f"Bearer {self.tokens[role]}"}

    def limit(self, role: str, *collections: str) -> str:
        """Make a token of that role for only these collections; return its name in `tokens`."""
        name = f"{role} of {' '.join(collections)}"
        _, self.tokens[name] = self.running.tokens.create(
            role, name, collections=collections, audit=None
        )
        return name

    def get(self, path: str, role: str | None = "viewer", **headers: str) -> TestResponse:
        headers = self.authorization(role) | headers
        return self.client.get(path, headers=headers, buffered=True)

    def page(self, path: str, role: str | None = "viewer", **headers: str) -> TestResponse:
        """What a signed-in person sees, or a stranger (None)."""
        if role not in self.people:
            app = self.app
            self.people[role] = (
                Browser.at(app) if role is None else Browser.signed_in(app, self.running, role)
            )
        return self.people[role].client.get(path, headers=headers, buffered=True)

    def send(
        self, method: str, path: str, role: str | None = "admin", **arguments: object
    ) -> TestResponse:
        headers = self.authorization(role)
        return self.client.open(path, method=method, headers=headers, **arguments)  # type: ignore[arg-type]  # one dict has values of many types

    def signed(self, manifest: Manifest) -> bytes:
        return dsse.sign(manifest.body, payload_type=MANIFEST_TYPE, seed=self.operator_seed)

    def register(self, manifest: Manifest) -> Collection:
        self.running.register(self.signed(manifest), audit=None)
        return self.running.registry.get(manifest.collection)

    def count(
        self, collection: Collection, values: Sequence[object], *, epoch: int = TODAY
    ) -> None:
        """Randomize the values and count them, without HTTP."""
        domain, mechanism = collection.manifest.domain, collection.manifest.mechanism()
        payloads = [mechanism.randomize(domain.encode(value), Coins.system()) for value in values]
        self.count_payloads(collection, payloads, epoch=epoch)

    def count_payloads(
        self, collection: Collection, payloads: Sequence[bytes], *, epoch: int = TODAY
    ) -> None:
        """Count these very payloads: no estimate of them is chance."""
        cell = TallyKey(collection.id, epoch, collection.manifest.version)
        arrivals = [AcceptedReport(cell, Coins.system().bytes(16), payload) for payload in payloads]
        self.running.store.commit(arrivals, lambda _, rows: collection.estimator.tally(rows))

    def report(
        self,
        collection: Collection,
        value: object,
        *,
        epoch: int = TODAY,
        extensions: tuple[Extension, ...] = (),
    ) -> Report:
        """A sealed report, as a device makes it."""
        manifest = collection.manifest
        coins = Coins.system()
        payload = manifest.mechanism().randomize(manifest.domain.encode(value), coins)
        keys = verify_key_list(
            self.running.keys.key_list(), trusted=[self.running.keys.trust], now=self.clock()
        )
        header = ReportHeader(coins.bytes(16), epoch, manifest.version, keys.active.id)
        sealed = seal(
            Plaintext(payload, extensions).encode(collection.plaintext_size),
            public_key=keys.active.public_key,
            info=seal_info(manifest.collection, manifest.digest, header),
        )
        return Report(header, sealed)

    def upload(
        self, collection: Collection, *reports: Report, role: str | None = None
    ) -> TestResponse:
        return self.send(
            "POST",
            f"/v1/collections/{collection.id}/reports",
            role,
            data=encode_upload(reports),
            content_type=MEDIA_TYPE,
        )

    def digest(self) -> list[str]:
        """Return every row of the database, without the counters of rejected reports."""
        import sqlite3

        self.running.store.flush()
        with sqlite3.connect(self.running.settings.database) as db:
            lines = list(db.iterdump())
        db.close()
        return [line for line in lines if 'INSERT INTO "rejections"' not in line]


@contextmanager
def opened(
    folder: Path,
    now: float = NOON,
    *,
    kind: str = "sqlite",
    tracer: Tracer = NO_TRACER,
    boot_clock: Clock | None = None,
    **settings: Any,
) -> Iterator[World]:
    """A new world in an empty folder; at another moment than NOON it is prepared again."""
    with _prepared(folder, now, kind, settings.get("store", "")) as made:
        yield from _opened(folder, replace(made, **settings), now, tracer, boot_clock)


@contextmanager
def _prepared(folder: Path, now: float, kind: str, store: str) -> Iterator[Settings]:
    if store:
        yield prepared_at(folder, now, store)
        return
    if kind == "sqlite":
        yield prepared(folder) if now == NOON else prepared_at(folder, now)
        return
    made = (
        prepared_on_postgres(folder)
        if now == NOON
        else prepared_at(folder, now, postgres_server.empty())
    )
    try:
        yield made
    finally:
        postgres_server.drop(made.store)


def _opened(
    folder: Path,
    settings: Settings,
    now: float,
    tracer: Tracer,
    boot_clock: Clock | None,
) -> Iterator[World]:
    clock = Moment(now)
    service = Service.open(settings, clock=clock, boot_clock=boot_clock, tracer=tracer)
    try:
        yield World(
            service,
            clock,
            read_seed(folder / "operator.key"),
            _tokens(service, clock),
        )
    finally:
        service.close()


def _tokens(service: Service, clock: Moment) -> dict[str, str]:
    made = {role: service.tokens.create(role, role, audit=None) for role in ROLES}
    revoked_id, revoked = service.tokens.create("admin", "revoked", audit=None)
    service.tokens.revoke(revoked_id, audit=None)
    _, expired = service.tokens.create("admin", "expired", expires=clock.now + 1, audit=None)
    clock.now += 2
    return {role: secret for role, (_, secret) in made.items()} | {
        "revoked": revoked,
        "expired": expired,
    }
