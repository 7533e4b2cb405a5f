"""Turns a collection's TOML into the next manifest of the service, and signs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.client.errors import ServiceError
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_shared.errors import ManifestError
from deniable_shared.manifest.ingest_origins import is_loopback
from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.manifest.rules import check_takes_name
from deniable_shared.wire import dsse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.client.service_client import ServiceClient


def device_origin(settings: Settings, address: str) -> str:
    """The address for devices if the TOML names none.

    `address`: where the live server answers. On this machine it may use another port than
    that of the settings.
    """
    own = settings.public_url == settings.own_address
    return address if own and is_loopback(address) else settings.public_url


def registered_manifest(client: ServiceClient, name: str, trust: str) -> Manifest | None:
    """The newest manifest of a name or id, or None; `trust` must have signed it."""
    try:
        envelope = client.manifest(name)
    except ServiceError as error:
        if error.slug == "unknown-collection":
            return None
        raise
    return parse_manifest(dsse.verify(envelope, payload_type=MANIFEST_TYPE, trusted=[trust]))


def next_manifest(
    text: str, previous: Manifest | None, *, ingest: Sequence[str], replace: bool
) -> Manifest:
    """The TOML after `previous`: the same manifest, the next version, or (`replace`) another id.

    `replace` also moves the same collection to `ingest` if the TOML names no address.
    """
    if previous is not None and replace:
        fresh = manifest_from_toml(text, ingest=ingest)
        if fresh.collection != previous.collection:
            check_takes_name(previous, fresh)
            return fresh
    try:
        return manifest_from_toml(text, ingest=ingest, previous=previous, move=replace)
    except ManifestError as error:
        if previous is None or _same_collection(text, ingest, previous):
            raise
        raise ManifestError(f"{error}, or use --replace to move the name there") from error


def _same_collection(text: str, ingest: Sequence[str], previous: Manifest) -> bool:
    try:
        return manifest_from_toml(text, ingest=ingest).collection == previous.collection
    except ManifestError:
        return True


def sign(manifest: Manifest, seed: bytes) -> bytes:
    """The signed manifest, as a DSSE envelope."""
    return dsse.sign(manifest.body, payload_type=MANIFEST_TYPE, seed=seed)
