"""Makes the one file that `deniable collections export --app` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.cli.command_groups import CommandFailed
from deniable_shared.errors import DeniableError
from deniable_shared.manifest.app_file import AppFile
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.wire import dsse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.client.service_client import ServiceClient


def app_file(client: ServiceClient, names: Sequence[str], trust: str) -> AppFile:
    """The app file of these collections, or of all that accept reports."""
    wanted = list(dict.fromkeys(names)) or _open_collections(client)
    envelopes = [client.manifest(name) for name in wanted]
    origins: dict[str, None] = {}
    for name, envelope in zip(wanted, envelopes, strict=True):
        origins |= dict.fromkeys(_origins(name, envelope, trust))
    return AppFile(tuple(origins), (trust,), tuple(envelopes))


def _open_collections(client: ServiceClient) -> list[str]:
    rows = client.collections().document.collections
    ids = [row.collection for row in rows if row.state != "closed"]
    if not ids:
        raise CommandFailed(
            "no collection accepts reports: register one with `deniable collections apply FILE`"
        )
    return ids


def _origins(name: str, envelope: bytes, trust: str) -> Sequence[str]:
    """Addresses of the collection, from the signed manifest: the service is not trusted."""
    try:
        body = dsse.verify(envelope, payload_type=MANIFEST_TYPE, trusted=[trust])
        return parse_manifest(body).ingest
    except DeniableError as error:
        raise CommandFailed(f"{name}: {error}") from error
