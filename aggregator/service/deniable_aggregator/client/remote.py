"""A client of a service that runs elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.client.errors import COMMAND_CURES, UnreachableError
from deniable_aggregator.client.service_client import ServiceClient

if TYPE_CHECKING:
    from collections.abc import Mapping

TIMEOUT_SECONDS = 60.0


def remote(
    url: str,
    token: str | None,
    *,
    trust_env: bool = True,
    timeout_seconds: float = TIMEOUT_SECONDS,
    cures: Mapping[str, str] = COMMAND_CURES,
) -> ServiceClient:
    """Speak HTTP to a service; `trust_env` lets proxy variables of the environment apply.

    Nothing is sent yet. Raises UnreachableError if `url` is no address.
    """
    import httpx

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    address = url.rstrip("/")
    try:
        http = httpx.Client(
            base_url=address, headers=headers, timeout=timeout_seconds, trust_env=trust_env
        )
    except httpx.InvalidURL as error:
        raise UnreachableError(f"url must be http(s)://host[:port], got {url!r}") from error
    return ServiceClient(http, address=address, cures=cures)
