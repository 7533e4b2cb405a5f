"""How a command reaches the service: over HTTP if one runs, else in this process; one way.

`--url` or DENIABLE_URL wins, with the token in DENIABLE_TOKEN; then the live server that the data
directory's server.json names; else the command takes the directory's lock and calls the application
itself, so that there is never a second writer.
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
    """The client a command uses; see the module for the order and `local` for `migrate`."""
    return running(settings, url, environ) or local(settings, migrate=migrate)


def running(
    settings: Settings,
    url: str | None,
    environ: Mapping[str, str] = os.environ,
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> ServiceClient | None:
    """A client of the service at `url`, else of the one that runs in the directory, else None."""
    if url:
        return remote(url, environ.get("DENIABLE_TOKEN"), timeout_seconds=timeout_seconds)
    live = running_server.find(settings.data)
    if live is None:
        return None
    return remote(live.address, live.token, trust_env=False, timeout_seconds=timeout_seconds)


def local(settings: Settings, *, migrate: bool = False) -> ServiceClient:
    """Open the data directory in this process and call the application without a socket.

    Without `migrate` the database stays as it is; StoreError where it has another schema or none.
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
