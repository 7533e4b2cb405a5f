"""Dead Simple Signing Envelope over Ed25519. The bytes are verified before they are parsed.

    signed = "DSSEv1" SP len(type) SP type SP len(body) SP body
    {"payload": base64, "payloadType": type, "signatures": [{"keyid": "ed25519:…", "sig": base64}]}

A key is written "ed25519:" and 43 base64url characters, and is its own key id.
Source: the DSSE protocol, version 1.0.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deniable_shared.errors import DecodeError, SignatureError
from deniable_shared.wire.canonical import canonical_json, quote, strict_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MEDIA_TYPE = "application/vnd.dsse.envelope+json"

_KEY = re.compile(r"ed25519:([A-Za-z0-9_-]{43})")
_MAX_SIGNATURES = 8
_FIELDS = frozenset({"payload", "payloadType", "signatures"})
_SIGNATURE_FIELDS = frozenset({"keyid", "sig"})


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature as it was sent. `extra` holds further members of its payload type."""

    keyid: str
    sig: bytes
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Envelope:
    """A well-formed envelope. Its signatures are not verified yet."""

    payload_type: str
    payload: bytes
    signatures: tuple[Signature, ...]


def generate_key() -> bytes:
    """Return a new 32-byte private seed."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate().private_bytes_raw()


def public_key(seed: bytes) -> str:
    """Return the public key of a private seed, as text."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    raw = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    return "ed25519:" + base64.urlsafe_b64encode(raw).decode().rstrip("=")


def key_bytes(key: object) -> bytes:
    """Return the 32 raw bytes of a public key.

    Raises DecodeError if it is not spelled correctly.
    """
    match = _KEY.fullmatch(key) if isinstance(key, str) else None
    if not match:
        raise DecodeError(f"a key must be ed25519: and 43 base64url characters, got {quote(key)}")
    raw = base64.urlsafe_b64decode(match[1] + "=")
    if base64.urlsafe_b64encode(raw)[:43].decode() != match[1]:
        raise DecodeError(
            "a key must be ed25519: and 43 base64url characters, of which the last is one of "
            f"AEIMQUYcgkosw048, got {quote(key)}: copy it again"
        )
    return raw


def sign(
    body: bytes, *, payload_type: str, seed: bytes, extra: Mapping[str, object] | None = None
) -> bytes:
    """Return the signed envelope. `extra` members are put next to the signature, unsigned."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    sig = Ed25519PrivateKey.from_private_bytes(seed).sign(_signed_bytes(payload_type, body))
    signature = {"keyid": public_key(seed), "sig": _base64(sig)} | dict(extra or {})
    return canonical_json(
        {"payload": _base64(body), "payloadType": payload_type, "signatures": [signature]}
    )


def verify(envelope: bytes, *, payload_type: str, trusted: Sequence[str]) -> bytes:
    """Return the payload of an envelope that a trusted key signed.

    Raises DecodeError if it is no envelope of this type (at most 1 MiB, no unknown or duplicate
    field), and SignatureError if no trusted key signed it or a signature of one is wrong.
    """
    decoded = decode(envelope, payload_type=payload_type)
    check(decoded, trusted=trusted)
    return decoded.payload


def check(envelope: Envelope, *, trusted: Sequence[str]) -> None:
    """Raises SignatureError if no trusted key signed, or a signature of a trusted key is wrong."""
    keys = {key: key_bytes(key) for key in ((trusted,) if isinstance(trusted, str) else trusted)}
    ours = [signature for signature in envelope.signatures if signature.keyid in keys]
    if not ours:
        signers = ", ".join(signature.keyid for signature in envelope.signatures)
        raise SignatureError(
            f"no trusted key signed this, only {quote(signers)[1:-1]}; trusted: {', '.join(keys)}"
        )
    for signature in ours:
        _check_signature(envelope, signature, keys[signature.keyid])


def unverified_payload(envelope: bytes, *, payload_type: str) -> bytes:
    """Return the payload without a check, for bytes whose digest was verified before."""
    return decode(envelope, payload_type=payload_type).payload


def decode(envelope: bytes, *, payload_type: str, extra: frozenset[str] = frozenset()) -> Envelope:
    """Return the envelope. `extra` names the additional members of its signatures.

    Raises DecodeError if it is no envelope of this payload type.
    """
    return decode_document(strict_json(envelope), payload_type=payload_type, extra=extra)


def decode_document(
    document: object, *, payload_type: str, extra: frozenset[str] = frozenset()
) -> Envelope:
    """Decode an envelope that is part of a larger JSON document; see `decode`."""
    members = _members(document, _FIELDS, "envelope")
    if members["payloadType"] != payload_type:
        raise DecodeError(
            f'payloadType must be "{payload_type}", got {quote(members["payloadType"])}'
        )
    signatures = members["signatures"]
    if not isinstance(signatures, list) or not 1 <= len(signatures) <= _MAX_SIGNATURES:
        raise DecodeError(f"signatures must be a list of 1…{_MAX_SIGNATURES}")
    return Envelope(
        payload_type=payload_type,
        payload=_unbase64(members["payload"], "payload"),
        signatures=tuple(_signature(each, extra) for each in signatures),
    )


def _signature(document: object, extra: frozenset[str]) -> Signature:
    members = _members(document, _SIGNATURE_FIELDS | extra, "signature")
    keyid = members["keyid"]
    key_bytes(keyid)
    sig = _unbase64(members["sig"], "sig")
    return Signature(str(keyid), sig, {name: members[name] for name in extra})


def _members(document: object, names: frozenset[str], what: str) -> dict[str, object]:
    if not isinstance(document, dict) or document.keys() != names:
        given = sorted(document) if isinstance(document, dict) else document
        raise DecodeError(f"the fields of the {what} must be {sorted(names)}, got {quote(given)}")
    return document


def _check_signature(envelope: Envelope, signature: Signature, raw: bytes) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    message = _signed_bytes(envelope.payload_type, envelope.payload)
    try:
        Ed25519PublicKey.from_public_bytes(raw).verify(signature.sig, message)
    except (InvalidSignature, ValueError) as error:
        raise SignatureError(f"the signature by {signature.keyid} is wrong") from error


def _signed_bytes(payload_type: str, body: bytes) -> bytes:
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(body), body)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _unbase64(text: object, what: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError as error:
        raise DecodeError(f"{what} must be base64, got {quote(text)}") from error
    if not isinstance(text, str) or _base64(data) != text:
        raise DecodeError(f"{what} must be base64 with padding, got {quote(text)}")
    return data
