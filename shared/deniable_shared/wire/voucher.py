"""voucher/1: lets each person send one report an epoch, as issued by the operator's backend.

    voucher = serial ‖ tag                      32 bytes; as text 43 characters of base64url
    serial  = HMAC-SHA-256(key, lp("deniable/1 voucher serial") ‖ lp(collection) ‖ lp(epoch) ‖
                           lp(person))[:16]
    tag     = HMAC-SHA-256(key, lp("deniable/1 voucher tag") ‖ lp(collection) ‖ lp(epoch) ‖
                           lp(serial))[:16]

The backend needs this module and the collection's key (`deniable keys vouchers show`), and stores
nothing: a second request of a person gets the same voucher. The aggregator accepts each serial
once. The holder of the key knows each serial's person: reports with vouchers are not anonymous.
"""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from hmac import compare_digest
from hmac import digest as hmac

from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.wire.codec import lp
from deniable_shared.wire.extensions import EXTENSIONS

VOUCHER = EXTENSIONS["voucher/1"]
MAX_PERSON_BYTES = 256

_KEY_PREFIX = "vk_"
_SERIAL_BYTES = 16
_TAG_BYTES = 16
_EPOCHS = 1 << 32
_TEXT = re.compile(r"[A-Za-z0-9_-]{43}")
_SERIAL = b"deniable/1 voucher serial"
_TAG = b"deniable/1 voucher tag"


def issue(key: str, *, collection: str, epoch: int, person: str) -> str:
    """Return the voucher of one person for one epoch of the collection with this id, as text.

    `key` is what `deniable keys vouchers show` printed. `person` is the backend's own id of a
    person it knows: 1 to 256 bytes of UTF-8, always the same for one person. Raises ParameterError
    if an argument is out of range.
    """
    secret, name = parse_key(key), person.encode()
    if not 1 <= len(name) <= MAX_PERSON_BYTES:
        raise ParameterError(
            f"person must be 1…{MAX_PERSON_BYTES} bytes of UTF-8, got {len(name)}: give an id"
        )
    if type(epoch) is not int or not 0 <= epoch < _EPOCHS:
        raise ParameterError(f"epoch must be an integer in 0…{_EPOCHS - 1}, got {epoch!r:.80}")
    serial = _mac(secret, _SERIAL, collection, epoch, name)[:_SERIAL_BYTES]
    return _text(serial + _tag(secret, collection, epoch, serial))


def serial_of(key: bytes, data: bytes, *, collection: str, epoch: int) -> bytes | None:
    """Return the serial of a voucher's 32 bytes; None unless the key made it for this epoch."""
    serial, tag = data[:_SERIAL_BYTES], data[_SERIAL_BYTES:]
    if len(data) != VOUCHER.data_bytes:
        return None
    return serial if compare_digest(tag, _tag(key, collection, epoch, serial)) else None


def decode_voucher(text: str) -> bytes:
    """Return the 32 bytes of a voucher's text. Raises DecodeError for anything else."""
    return _bytes_of("a voucher", text)


def format_key(key: bytes) -> str:
    """Return a key as text, as the backend stores it."""
    return _KEY_PREFIX + _text(key)


def parse_key(text: str) -> bytes:
    """Return the key in `text`. Raises ParameterError, which never repeats what was given."""
    if not text.startswith(_KEY_PREFIX):
        raise ParameterError('key must begin with "vk_": `deniable keys vouchers show` prints it')
    try:
        return _bytes_of("key", text[len(_KEY_PREFIX) :])
    except DecodeError as error:
        raise ParameterError(f"{error}: `deniable keys vouchers show` prints it") from None


def _tag(key: bytes, collection: str, epoch: int, serial: bytes) -> bytes:
    return _mac(key, _TAG, collection, epoch, serial)[:_TAG_BYTES]


def _mac(key: bytes, label: bytes, collection: str, epoch: int, last: bytes) -> bytes:
    parts = (label, collection.encode(), epoch.to_bytes(4, "big"), last)
    return hmac(key, b"".join(map(lp, parts)), sha256)


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes_of(what: str, text: str) -> bytes:
    """Return the 32 bytes of their only spelling."""
    refused = DecodeError(f"{what} must be 43 characters of base64url that spell 32 bytes")
    if not _TEXT.fullmatch(text):
        raise refused
    try:
        data = urlsafe_b64decode(text + "=")
    except binascii.Error:
        raise refused from None
    if _text(data) != text:
        raise refused
    return data
