"""Devices and several workers over one PostgreSQL database.

A worker is a service with its own connections and memory, like a process. The kill storm shows that
real processes do not differ.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store.postgres.store import PostgresStore
from deniable_aggregator.store.protocols import Store
from deniable_aggregator.web.app import create_app
from deniable_client import Reply
from deniable_client.transport import HttpTransport
from support.builders.data_directory import prepared_on_postgres
from support.builders.devices_and_service import Spine
from support.builders.exactly_once_machine import ExactlyOnce
from support.doubles.asgi_as_wsgi import with_front
from support.doubles.dying_connections import killable_postgres
from support.processes import postgres_server

__all__ = ["SharedExactlyOnce", "SharedSpine"]

WORKERS = 3


@dataclass
class SharedSpine(Spine):
    """`service` is the worker whose turn it is; each request goes to the next one."""

    waiting: deque[Service] = field(default_factory=deque)

    def prepare(self) -> Settings:
        return prepared_on_postgres(self.folder)

    def open_store(self) -> Store:
        return PostgresStore(self.settings.store, factory=killable_postgres(self.fuse))

    def start(self) -> None:
        super().start()
        while len(self.waiting) < WORKERS - 1:
            store = self.open_store()
            self.waiting.append(Service.open(self.settings, clock=self.clock, store=store))

    def reach(
        self, method: str, url: str, *, body: bytes | None, content_type: str | None
    ) -> Reply:
        self.pass_on()
        return super().reach(method, url, body=body, content_type=content_type)

    def tick(self) -> None:
        """Every worker does its maintenance, each in turn."""
        for _ in range(WORKERS):
            self.pass_on()
            super().tick()

    def pass_on(self) -> None:
        """Go to the next worker; a dead one is not replaced here."""
        if self.service is not None:
            self.waiting.append(self.service)
        if self.waiting:
            self.service = self.waiting.popleft()
            self.app = with_front(create_app(self.service))
            self.http = HttpTransport(httpx.WSGITransport(app=self.app.wsgi_app))

    def end(self) -> None:
        self.stop()
        while self.waiting:
            self.waiting.popleft().close()
        postgres_server.drop(self.settings.store)


class SharedExactlyOnce(ExactlyOnce):
    """The machine over it."""

    def begin(self, folder: Path) -> Spine:
        return SharedSpine(folder, 2)
