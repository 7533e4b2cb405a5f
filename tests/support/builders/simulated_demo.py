"""A demo whose past is prepared, in a directory, with no process of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from flask import Flask

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.demo.history import PreparedDemo, prepare_demo
from deniable_aggregator.operations.demo.study import NoProgress, Study
from deniable_aggregator.operations.service import Service
from deniable_aggregator.web.app import create_app

__all__ = ["PastDemo", "past_demo"]


@dataclass(frozen=True)
class PastDemo:
    """The service of a demo."""

    service: Service
    study: Study
    prepared: PreparedDemo
    settings: Settings

    @property
    def app(self) -> Flask:
        """Its application."""
        return create_app(self.service)


@contextmanager
def past_demo(folder: Path, study: Study, *, now: float | None = None) -> Iterator[PastDemo]:
    """Prepare it as of `now`; its service is open until the block ends."""
    moment = time.time() if now is None else now
    settings = Settings(data=folder / "data")
    prepared = prepare_demo(settings, study, now=moment, watcher=NoProgress())
    service = Service.open(settings, clock=lambda: moment)
    try:
        yield PastDemo(service, study, prepared, settings)
    finally:
        service.close()
