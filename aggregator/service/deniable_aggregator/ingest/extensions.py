"""Checks extensions of a report's plaintext; a valid one gives a serial to redeem.

Each serial counts once: the commit that inserts a report's id redeems it. A new kind of extension
is one more Verifier. Tokens of Privacy Pass, for example, have a nonce as serial, and a verifier
would check a blind signature under a public key; no other module would change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from deniable_shared.wire.extensions import EXTENSIONS
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.voucher import serial_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deniable_shared.wire.report import Extension


class Verifier(Protocol):
    """Checks one kind of extension. `missing` and `invalid` are the codes of its refusals."""

    missing: ReportError
    invalid: ReportError

    def serial(self, data: bytes, *, collection: str, epoch: int) -> bytes | None:
        """The serial to redeem once in this epoch and collection; None if `data` is invalid."""
        ...


class VoucherVerifier:
    """voucher/1: a code under the key of collection and epoch, which the backend also has."""

    missing = ReportError.VOUCHER_REQUIRED
    invalid = ReportError.VOUCHER_INVALID

    def __init__(self, key_of: Callable[[str, int], bytes]) -> None:
        self._key_of = key_of

    def serial(self, data: bytes, *, collection: str, epoch: int) -> bytes | None:
        return serial_of(self._key_of(collection, epoch), data, collection=collection, epoch=epoch)


def checked_serial(
    given: Sequence[Extension],
    required: Sequence[str],
    verifiers: Mapping[str, Verifier],
    *,
    collection: str,
    epoch: int,
) -> bytes | ReportError | None:
    """The serial to redeem, None if no extension is required, or the reason of the refusal.

    A report has exactly the required extensions. At most one of them has a serial so far.
    """
    data = {extension.type: extension.data for extension in given}
    if data.keys() - {EXTENSIONS[extension_id].type for extension_id in required}:
        return ReportError.UNKNOWN_EXTENSION
    serial: bytes | None = None
    for extension_id in required:
        verifier, extension_data = verifiers[extension_id], data.get(EXTENSIONS[extension_id].type)
        if extension_data is None:
            return verifier.missing
        serial = verifier.serial(extension_data, collection=collection, epoch=epoch)
        if serial is None:
            return verifier.invalid
    return serial
