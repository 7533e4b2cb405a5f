"""Vouchers: fetched from the app's backend just before a report is sent.

The app gives `vouchers=`, a function of the collection's id and the report's epoch. The voucher is
put into the sealed plaintext and is not stored. A report without a voucher waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deniable_client.errors import RefusedError
from deniable_shared.errors import DecodeError
from deniable_shared.wire.extensions import EXTENSIONS
from deniable_shared.wire.report import Extension

__all__ = ["Vouchers", "extensions_for", "require_able"]

Vouchers = Callable[[str, int], "str | None"]
"""(collection id, epoch) → the voucher of the app's backend, or None if there is none yet."""


def require_able(required: Sequence[str], collection: str, vouchers: Vouchers | None) -> None:
    """Raises RefusedError if this app could never send the collection's reports."""
    if required and vouchers is None:
        raise RefusedError(
            f"{collection} requires {', '.join(required)}: give Client vouchers=, a function that "
            "asks your backend for the voucher of a collection and an epoch"
        )


def extensions_for(
    required: Sequence[str], collection: str, epoch: int, vouchers: Vouchers | None
) -> tuple[Extension, ...]:
    """Return the extensions of the plaintext.

    Raises RefusedError if there is no voucher now; the report is tried again later.
    """
    if not required:
        return ()
    require_able(required, collection, vouchers)
    return (Extension(EXTENSIONS["voucher/1"].type, _voucher(vouchers, collection, epoch)),)


def _voucher(vouchers: Vouchers | None, collection: str, epoch: int) -> bytes:
    from deniable_shared.wire.voucher import decode_voucher  # loaded only if it is needed

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
