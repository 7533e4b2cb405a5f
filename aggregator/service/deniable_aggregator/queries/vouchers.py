"""Vouchers of a collection and the keys that issue them. Neither is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.documents.access import VoucherDocument, VoucherKeyDocument
from deniable_gateway.problem import Problem, refuse
from deniable_shared.errors import ParameterError
from deniable_shared.wire.voucher import MAX_PERSON_BYTES, VOUCHER, format_key, issue

if TYPE_CHECKING:
    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.keys.vouchers import VoucherKeys


def require_vouchers(collection: Collection) -> None:
    """Raises Problem("conflict") if the collection needs no vouchers."""
    if VOUCHER.id not in collection.manifest.requires:
        raise Problem(
            "conflict",
            f"{collection.id} does not use vouchers. To use them, register a new collection with "
            f'requires = ["{VOUCHER.id}"]',
        )


def voucher_key(keys: VoucherKeys, collection: Collection, epoch: int) -> VoucherKeyDocument:
    """The key of an epoch, and the epochs that it is valid for."""
    spell = keys.period(collection.id, epoch)
    key = format_key(keys.of(collection.id, epoch))
    return VoucherKeyDocument(collection=collection.id, key=key, first=spell.first, next=spell.next)


def voucher(keys: VoucherKeys, collection: Collection, epoch: int, person: str) -> VoucherDocument:
    """The voucher of one person for an epoch, the same each time."""
    key = format_key(keys.of(collection.id, epoch))
    try:
        issued = issue(key, collection=collection.id, epoch=epoch, person=person)
    except ParameterError as error:
        accepted = f"1 to {MAX_PERSON_BYTES} bytes of UTF-8"
        raise refuse("person", accepted=accepted, given=person) from error
    return VoucherDocument(collection=collection.id, epoch=epoch, voucher=issued)
