"""Connects a command to the service: over HTTP if one runs, else in this process.

`--url` or DENIABLE_URL comes first, with the token in DENIABLE_TOKEN. The second choice is the
running server that server.json in the data directory names. If none runs, the command locks the
directory and calls the application itself, so that there is never a second writer.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from deniable_aggregator.client.remote import TIMEOUT_SECONDS, remote
from deniable_aggregator.client.service_client import ServiceClient
from deniable_aggregator.operations.process import running_server

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.operations.service import Service

IN_PROCESS = "http://deniable.localhost"


def connect(
    settings: Settings,
    url: str | None,
    environ: Mapping[str, str] = os.environ,
    *,
    migrate: bool = False,
) -> ServiceClient:
    """The client of a command, in the order above; `local` explains `migrate`."""
    return running(settings, url, environ) or local(settings, migrate=migrate)


def running(
    settings: Settings,
    url: str | None,
    environ: Mapping[str, str] = os.environ,
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> ServiceClient | None:
    """A client of the service at `url` or of the one in the directory; None if none runs."""
    if url:
        return remote(url, environ.get("DENIABLE_TOKEN"), timeout_seconds=timeout_seconds)
    live = running_server.find(settings.data)
    if live is None:
        return None
    return remote(live.address, live.token, trust_env=False, timeout_seconds=timeout_seconds)


def local(settings: Settings, *, migrate: bool = False) -> ServiceClient:
    """Open the data directory in this process and call the application without a socket.

    Without `migrate` the schema stays. Raises StoreError if the schema differs or is missing.
    """
    from deniable_aggregator.operations.service import Service

    service = Service.open(settings, migrate=migrate)
    try:
        return _in_process(service)
    except BaseException:
        service.close()
        raise


def _in_process(service: Service) -> ServiceClient:
    import httpx

    from deniable_aggregator.operations.process.local_token import admit
    from deniable_aggregator.web.app import create_app

    http = httpx.Client(
        base_url=IN_PROCESS,
        headers={"Authorization": f"Bearer {admit(service)}"},
        transport=httpx.WSGITransport(app=create_app(service)),
    )
    return ServiceClient(http, address=str(service.settings.data), close=service.close)
