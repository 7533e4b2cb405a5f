"""Collections: list, read their manifests, register, close, archive and delete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response
from msgspec import UnsetType

from deniable_aggregator.documents.collections import (
    AppliedDocument,
    ApplyArguments,
    ArchivedDocument,
    ClosedDocument,
    CollectionsDocument,
    ListArguments,
    ManifestArguments,
)
from deniable_aggregator.queries import collections as queries
from deniable_aggregator.web.api.operations import operation, require_collection
from deniable_aggregator.web.application import DSSE, JSON, answer, service
from deniable_gateway.problem import refuse
from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.wire import dsse

if TYPE_CHECKING:
    from deniable_aggregator.access.audit import AuditEntry

blueprint = Blueprint("collections", __name__)

MAX_MANIFEST_BYTES = 1 << 20
"""Bytes of the longest signed manifest that `dsse.verify` reads: 65,536 labels of 10 bytes fit."""


@blueprint.get("/v1/collections")
@operation(tag="public", query=ListArguments, answers={200: {JSON: (CollectionsDocument,)}})
def collections(query: ListArguments) -> Response:
    """Every collection, from its newest manifest.

    Archived ones are listed only with `archived=true`.
    """
    return answer(queries.collections(service().registry.listed(archived=query.archived)))


@blueprint.get("/v1/collections/<collection>/manifest")
@operation(
    tag="public",
    query=ManifestArguments,
    answers={200: {DSSE: ()}},
    problems=("unknown-collection", "unavailable"),
)
def manifest(collection: str, query: ManifestArguments) -> Response:
    """The signed manifest, byte for byte as the operator signed it.

    It is the newest one unless `version` names another.
    """
    service().database.require()
    version = None if isinstance(query.version, UnsetType) else query.version
    return Response(service().registry.envelope(collection, version), content_type=DSSE)


@blueprint.put("/v1/collections/<collection>")
@operation(
    act="manifest-applied",
    tag="admin",
    role="admin",
    query=ApplyArguments,
    body=DSSE,
    max_body=MAX_MANIFEST_BYTES,
    answers={200: {JSON: (AppliedDocument,)}, 201: {JSON: (AppliedDocument,)}},
    problems=("manifest-refused", "conflict", "not-found", "unavailable"),
)
def apply_manifest(
    collection: str, query: ApplyArguments, body: bytes, audit: AuditEntry
) -> Response:
    """Register a manifest signed with the operator's key. Registering it again changes nothing.

    The address has the manifest's collection id or name. A name that belongs to another collection
    moves only with `replace=true`. The body is at most 1 MiB.
    """
    signed = _signed_for(collection, body)
    audit = audit.with_details(collection=signed.collection, version=signed.version)
    applied = service().register(body, replace=query.replace, audit=audit)
    return answer(
        AppliedDocument(
            collection=applied.manifest.collection,
            name=applied.manifest.name,
            version=applied.manifest.version,
            created=applied.created,
        ),
        201 if applied.created else 200,
    )


@blueprint.post("/v1/collections/<collection>/close")
@operation(
    act="collection-closed",
    tag="admin",
    role="admin",
    answers={200: {JSON: (ClosedDocument,)}},
    problems=("unknown-collection", "unavailable"),
)
def close_collection(collection: str, audit: AuditEntry) -> Response:
    """Stop a collection permanently: it accepts no more reports. Its estimates stay readable."""
    target = service().registry.get(collection)
    service().require_clock()
    service().registry.close(target.id, audit=audit)
    return answer(ClosedDocument(collection=target.id))


@blueprint.post("/v1/collections/<collection>/archive")
@operation(
    act="collection-archived",
    tag="admin",
    role="admin",
    answers={200: {JSON: (ArchivedDocument,)}},
    problems=("unknown-collection", "unavailable"),
)
def archive_collection(collection: str, audit: AuditEntry) -> Response:
    """Hide a collection from every list. Uploads, estimates and its own address do not change."""
    return _set_archived(collection, audit, archived=True)


@blueprint.post("/v1/collections/<collection>/unarchive")
@operation(
    act="collection-unarchived",
    tag="admin",
    role="admin",
    answers={200: {JSON: (ArchivedDocument,)}},
    problems=("unknown-collection", "unavailable"),
)
def unarchive_collection(collection: str, audit: AuditEntry) -> Response:
    """Put an archived collection on the lists again."""
    return _set_archived(collection, audit, archived=False)


def _set_archived(collection: str, audit: AuditEntry, *, archived: bool) -> Response:
    target = service().registry.get(collection)
    audit = audit.with_details(collection=target.id)
    service().registry.archive(target.id, archived=archived, audit=audit)
    return answer(ArchivedDocument(collection=target.id, archived=archived))


@blueprint.delete("/v1/collections/<collection>")
@operation(
    act="collection-deleted",
    tag="admin",
    role="admin",
    answers={204: {}},
    problems=("unknown-collection", "conflict", "unavailable"),
)
def delete_collection(collection: str, audit: AuditEntry) -> Response:
    """Delete a collection before its first epoch begins. Its entry in the log stays."""
    target = service().registry.get(collection)
    service().delete(target.id, audit=audit.with_details(collection=target.id))
    return Response(status=204)


def _signed_for(address: str, envelope: bytes) -> Manifest:
    """The manifest, if it belongs to this address and the caller may change its collection."""
    body = dsse.verify(envelope, payload_type=MANIFEST_TYPE, trusted=[service().keys.trust])
    signed = parse_manifest(body)
    if address not in (signed.collection, signed.name):
        accepted = f"the manifest's own id or name, {signed.collection} or {signed.name}"
        raise refuse("collection", accepted=accepted, given=address)
    require_collection(signed.collection)
    return signed
