"""Vouchers: fetched from the app's own backend when a report is about to leave, never before.

The app gives `vouchers=`, a function of the collection's id and the report's epoch. What it answers
goes into the sealed plaintext and is kept nowhere; a report without an answer waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deniable_client.errors import RefusedError
from deniable_shared.errors import DecodeError
from deniable_shared.wire.extensions import EXTENSIONS
from deniable_shared.wire.report import Extension

__all__ = ["Vouchers", "extensions_for", "require_able"]

Vouchers = Callable[[str, int], "str | None"]
"""(collection id, epoch) → the voucher that the backend issued for it, or None for none yet."""


def require_able(required: Sequence[str], collection: str, vouchers: Vouchers | None) -> None:
    """RefusedError for a collection whose reports this app could never send."""
    if required and vouchers is None:
        raise RefusedError(
            f"{collection} requires {', '.join(required)}: give Client vouchers=, a function that "
            "asks your backend for the voucher of a collection and an epoch"
        )


def extensions_for(
    required: Sequence[str], collection: str, epoch: int, vouchers: Vouchers | None
) -> tuple[Extension, ...]:
    """What the plaintext carries; RefusedError, to try again later, where there is no voucher."""
    if not required:
        return ()
    require_able(required, collection, vouchers)
    return (Extension(EXTENSIONS["voucher/1"].type, _voucher(vouchers, collection, epoch)),)


def _voucher(vouchers: Vouchers | None, collection: str, epoch: int) -> bytes:
    from deniable_shared.wire.voucher import decode_voucher  # only who needs one loads it

    try:
        given = None if vouchers is None else vouchers(collection, epoch)
    except Exception as error:  # the app's own function may raise anything
        raise RefusedError(f"vouchers failed with {type(error).__name__}") from error
    if given is None:
        raise RefusedError("there is no voucher yet")
    if not isinstance(given, str):
        raise RefusedError(f"vouchers must give a str or None, got {type(given).__name__}")
    try:
        return decode_voucher(given)
    except DecodeError as error:
        raise RefusedError(str(error)) from error
