"""Checks that the addresses for devices lead to this service.

It recognizes the service by the online key that signed its key list, from its data directory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.collections.authoring.lint_findings import Finding
from deniable_aggregator.operations.doctor import Check
from deniable_shared.errors import DeniableError
from deniable_shared.manifest.ingest_origins import is_loopback
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.wire import dsse
from deniable_shared.wire.canonical import strict_json
from deniable_shared.wire.key_list import KEYS_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deniable_aggregator.client.service_client import ServiceClient

TIMEOUT_SECONDS = 10.0
MAX_BYTES = 1 << 20
SILENT = "does not answer with a key list"
OTHERS = "answers with another service's keys"
CURE = (
    "no device can report there. Make it lead to this service, or set public_url to an address "
    "that does and move the collection: deniable collections apply FILE --replace"
)


def ask(origin: str) -> bytes | None:
    """The body of `origin`/v1/keys if it answers 200, else None."""
    import httpx

    client = httpx.Client(timeout=TIMEOUT_SECONDS, trust_env=not is_loopback(origin))
    try:
        with client, client.stream("GET", f"{origin}/v1/keys") as answer:
            return _first_bytes(answer.iter_bytes()) if answer.status_code == 200 else None
    except (httpx.HTTPError, httpx.InvalidURL):
        return None


def findings(origins: Iterable[str], client: ServiceClient) -> list[Finding]:
    """A warning for each origin that does not lead to the service of the client."""
    wrong = _wrong(origins, client).items()
    return [Finding("warning", "ingest", f"{origin} {said}: {CURE}") for origin, said in wrong]


def checks(origins: Iterable[str], client: ServiceClient, *, running: bool) -> Iterator[Check]:
    """The findings as checks for `doctor`; if no service runs, no origin has to answer."""
    unique_origins = sorted(set(origins))
    wrong = _wrong(unique_origins, client)
    for origin in unique_origins:
        said = wrong.get(origin)
        if said == OTHERS:
            yield Check("fail", "address", f"{origin} {said}: {CURE}")
        elif said and running:
            yield Check("warn", "address", f"{origin} {said}: {CURE}")
        elif not said:
            yield Check("ok", "address", f"{origin} leads here")


def ingest_origins(client: ServiceClient, collections: Iterable[str]) -> set[str]:
    """The origins that the newest manifests of these collections name."""
    origins: set[str] = set()
    for collection in collections:
        envelope = client.manifest(collection)
        document = strict_json(dsse.unverified_payload(envelope, payload_type=MANIFEST_TYPE))
        named = document["ingest"] if isinstance(document, dict) else []
        origins.update(map(str, named if isinstance(named, list) else []))
    return origins


def _wrong(origins: Iterable[str], client: ServiceClient) -> dict[str, str]:
    """Origin → the fault of its answer."""
    own = _signer(client.keys())
    signers = {origin: _signer(ask(origin)) for origin in origins}
    return {
        origin: OTHERS if signer else SILENT for origin, signer in signers.items() if signer != own
    }


def _signer(envelope: bytes | None) -> str | None:
    """The online key that signed a key list; None for other bytes."""
    if envelope is None:
        return None
    try:
        signed = dsse.decode(envelope, payload_type=KEYS_TYPE, extra=frozenset({"delegation"}))
    except DeniableError:
        return None
    return signed.signatures[0].keyid


def _first_bytes(chunks: Iterable[bytes]) -> bytes:
    data = b""
    for chunk in chunks:
        data += chunk
        if len(data) > MAX_BYTES:
            break
    return data
