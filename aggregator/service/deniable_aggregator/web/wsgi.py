"""WSGI entry point: one process, one service. Starts the maintenance thread.

    gunicorn --threads 32 "deniable_aggregator.web.wsgi:app()"

`deniable serve` uses `web.asgi` instead. Put a proxy that buffers whole bodies in front of a WSGI
server: without one, a few connections that send nothing block all its threads.

Importing this module opens nothing; calling `app` does. For servers that need an object instead of
a factory, the object is `application`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from deniable_gateway.background_threads import PeriodicThread, default_sigterm, start_threads

if TYPE_CHECKING:
    from flask import Flask

    from deniable_aggregator.operations.service import Service


@cache
def app() -> Flask:
    """The one application of this process, from the environment (DENIABLE_DATA, …)."""
    with default_sigterm():
        return _open()


def _open() -> Flask:
    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.operations.process.wait_for_database import open_when_available
    from deniable_aggregator.operations.service import Service
    from deniable_aggregator.operations.tracing.exporters import tracer_from_environment

    settings, tracer = Settings.load(), tracer_from_environment()
    return with_maintenance(open_when_available(lambda: Service.open(settings, tracer=tracer)))


def with_maintenance(service: Service) -> Flask:
    """The application of a service, with a maintenance thread until this process ends."""
    from deniable_aggregator.web.app import create_app

    application = create_app(service)

    def finish() -> None:
        service.close()
        service.tracer.close()

    start_threads(PeriodicThread(service.tick), finish=finish)
    return application


def __getattr__(name: str) -> Flask:
    if name == "application":
        return app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
