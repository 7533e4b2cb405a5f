"""Vouchers: the key with which a backend issues them, and issuing one here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response
from msgspec import UnsetType

from deniable_aggregator.documents.access import (
    NewVoucher,
    VoucherDocument,
    VoucherKeyArguments,
    VoucherKeyDocument,
)
from deniable_aggregator.keys.vouchers import next_first
from deniable_aggregator.queries import vouchers as queries
from deniable_aggregator.web.api.operations import operation
from deniable_aggregator.web.application import JSON, answer, service
from deniable_shared.manifest.epochs import epoch_at

if TYPE_CHECKING:
    from deniable_aggregator.access.audit import AuditEntry
    from deniable_aggregator.collections.registry import Collection

blueprint = Blueprint("vouchers", __name__)


@blueprint.post("/v1/collections/<collection>/voucher-key")
@operation(
    act="voucher-key-shown",
    tag="admin",
    role="admin",
    query=VoucherKeyArguments,
    answers={200: {JSON: (VoucherKeyDocument,)}},
    problems=("unknown-collection", "conflict"),
)
def voucher_key(collection: str, query: VoucherKeyArguments, audit: AuditEntry) -> Response:
    """The key with which the operator's own backend issues vouchers for one collection.

    It is always the same for one epoch. Anyone who has it can issue any number of vouchers, and
    can see whose report carried which.
    """
    target = _collection_with_vouchers(collection)
    epoch = _current_epoch(target) if isinstance(query.epoch, UnsetType) else query.epoch
    service().store.record_act(audit)
    return answer(queries.voucher_key(service().voucher_keys, target, epoch))


@blueprint.post("/v1/collections/<collection>/voucher-key/replace")
@operation(
    act="voucher-key-replaced",
    tag="admin",
    role="admin",
    answers={200: {JSON: (VoucherKeyDocument,)}},
    problems=("unknown-collection", "conflict", "unavailable"),
)
def replace_voucher_key(collection: str, audit: AuditEntry) -> Response:
    """Make a new key, for epochs in which no one can have reported yet.

    Until its first epoch begins, the same request returns the same key. Earlier epochs keep their
    key, so that each person counts once in each. If the old key leaked, close them early.
    """
    target = _collection_with_vouchers(collection)
    first = next_first(service().now(), target.manifest.epoch_seconds)
    first = service().voucher_keys.replace(target.id, first)
    service().store.record_act(audit.with_details(first=first))
    return answer(queries.voucher_key(service().voucher_keys, target, first))


@blueprint.post("/v1/collections/<collection>/vouchers")
@operation(
    tag="admin",
    role="admin",
    body=NewVoucher,
    answers={200: {JSON: (VoucherDocument,)}},
    problems=("unknown-collection", "conflict"),
)
def issue_voucher(collection: str, body: NewVoucher) -> Response:
    """The voucher of one person for one epoch, by default the present one.

    Nothing is stored: the same person gets the same voucher again, and it counts one report.
    """
    target = _collection_with_vouchers(collection)
    epoch = _current_epoch(target) if isinstance(body.epoch, UnsetType) else body.epoch
    return answer(queries.voucher(service().voucher_keys, target, epoch, body.person))


def _collection_with_vouchers(collection: str) -> Collection:
    target = service().registry.get(collection)
    queries.require_vouchers(target)
    return target


def _current_epoch(target: Collection) -> int:
    return epoch_at(service().clock(), target.manifest.epoch_seconds)
