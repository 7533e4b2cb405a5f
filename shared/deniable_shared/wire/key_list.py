"""The keys that reports are sealed to: a list signed by an online key that the operator delegates.

operator key (offline, in the app's `trust`) → delegation → online key → key list

`key_succession` says how one list may follow another.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from deniable_shared.errors import DecodeError, SignatureError
from deniable_shared.wire import dsse
from deniable_shared.wire.canonical import canonical_json, quote, strict_json
from deniable_shared.wire.envelope import KEY_BYTES, suites

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KEYS_TYPE = "application/vnd.deniable.keys.v1+json"
DELEGATION_TYPE = "application/vnd.deniable.delegation.v1+json"
STATES = ("pending", "active", "expired")

_KEYS_SPEC = "deniable/keys/1"
_DELEGATION_SPEC = "deniable/delegation/1"
_HEAD = re.compile(r"[0-9a-f]{64}")
_DELEGATION = frozenset({"delegation"})
_MAX_KEYS = 256
_MAX_KEY_BYTES = 4096
_MAX_INTEGER = (1 << 53) - 1


@dataclass(frozen=True, slots=True)
class PublicKey:
    """One HPKE key: pending (every replica can open before any advertises) → active → expired."""

    id: int
    suite: int
    public_key: bytes
    state: str

    def __post_init__(self) -> None:
        _check_integer("keys[].id", self.id, 0, 255)
        _check_integer("keys[].suite", self.suite, 1, 255)
        if self.state not in STATES:
            raise DecodeError(f"keys[].state must be one of {STATES}, got {quote(self.state)}")
        wanted = KEY_BYTES.get(self.suite)
        if not 1 <= len(self.public_key) <= _MAX_KEY_BYTES or len(self.public_key) != (
            wanted or len(self.public_key)
        ):
            accepted = wanted or f"1…{_MAX_KEY_BYTES}"
            raise DecodeError(
                f"keys[].public_key must be {accepted} bytes, got {len(self.public_key)}"
            )


@dataclass(frozen=True, slots=True)
class KeyList:
    """The keys and the head of the operator's log at one moment. Times are unix seconds, UTC.

    `delegated_until` is when the delegation of the signing online key ends. It is set on a verified
    list and is not part of the encoded list.
    """

    version: int
    issued: int
    expires: int
    log_size: int
    log_head: str
    keys: tuple[PublicKey, ...]
    delegated_until: int | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _check_integer("version", self.version, 1, _MAX_INTEGER)
        _check_validity(self.issued, self.expires)
        _check_integer("log.size", self.log_size, 0, _MAX_INTEGER)
        if not _HEAD.fullmatch(self.log_head):
            raise DecodeError(f"log.head must be 64 hex digits, got {quote(self.log_head)}")
        if not 1 <= len(self.keys) <= _MAX_KEYS:
            raise DecodeError(f"keys must be a list of 1…{_MAX_KEYS}, got {len(self.keys)}")
        if len({key.id for key in self.keys}) != len(self.keys):
            raise DecodeError("keys must have different ids")

    @property
    def active(self) -> PublicKey:
        """Return the key to seal to: the active key of the strongest suite that works here.

        Of several keys it is the one with the highest id. Raises DecodeError if there is none.
        """
        here = suites()
        usable_keys = [key for key in self.keys if key.state == "active" and key.suite in here]
        if not usable_keys:
            raise DecodeError(f"keys has no active key of the suites {list(here)}")
        return max(usable_keys, key=lambda key: (key.suite, key.id))

    def usable(self, now: float) -> bool:
        """Whether a report may be sealed under it: in time, delegated, with an active key."""
        ends = self.expires if self.delegated_until is None else self.delegated_until
        here = suites()
        return now < min(self.expires, ends) and any(
            key.state == "active" and key.suite in here for key in self.keys
        )

    def encode(self) -> bytes:
        """Return the canonical JSON body."""
        return canonical_json(
            {
                "spec": _KEYS_SPEC,
                "version": self.version,
                "issued": self.issued,
                "expires": self.expires,
                "log": {"size": self.log_size, "head": self.log_head},
                "keys": [_key_to_json(key) for key in self.keys],
            }
        )


def delegate(*, operator_seed: bytes, online_key: str, issued: int, expires: int) -> bytes:
    """Sign that `online_key` may sign key lists until `expires` (unix seconds)."""
    dsse.key_bytes(online_key)
    _check_validity(issued, expires)
    body = {
        "spec": _DELEGATION_SPEC,
        "online_key": online_key,
        "issued": issued,
        "expires": expires,
    }
    return dsse.sign(canonical_json(body), payload_type=DELEGATION_TYPE, seed=operator_seed)


def sign_key_list(key_list: KeyList, *, online_seed: bytes, delegation: bytes) -> bytes:
    """Return the envelope for `GET /v1/keys`. Its signature carries the delegation."""
    return dsse.sign(
        key_list.encode(),
        payload_type=KEYS_TYPE,
        seed=online_seed,
        extra={"delegation": strict_json(delegation)},
    )


def verify_key_list(envelope: bytes, *, trusted: Sequence[str], now: float) -> KeyList:
    """Return the list, if a trusted operator key delegates its signing key and nothing has expired.

    Raises SignatureError, naming the broken link, and DecodeError if the bytes are no key list. The
    caller must also check that it follows the previous list: `check_successor_keys`.
    """
    decoded = dsse.decode(envelope, payload_type=KEYS_TYPE, extra=_DELEGATION)
    if len(decoded.signatures) != 1:
        raise DecodeError(f"a key list has one signature, got {len(decoded.signatures)}")
    delegation = decoded.signatures[0].extra["delegation"]
    online_key, delegated_until = _delegated(delegation, trusted, now)
    dsse.check(decoded, trusted=[online_key])
    key_list = _parse(decoded.payload)
    if now >= key_list.expires:
        raise SignatureError(f"the key list expired at {key_list.expires}, now is {int(now)}")
    return replace(key_list, delegated_until=delegated_until)


def _delegated(document: object, trusted: Sequence[str], now: float) -> tuple[str, int]:
    delegation = dsse.decode_document(document, payload_type=DELEGATION_TYPE)
    dsse.check(delegation, trusted=trusted)
    names = {"spec", "online_key", "issued", "expires"}
    body = _object(strict_json(delegation.payload), names, "delegation")
    _check_spec(body, _DELEGATION_SPEC)
    issued, expires = _integer(body, "issued"), _integer(body, "expires")
    _check_validity(issued, expires)
    if now >= expires:
        raise SignatureError(f"the delegation expired at {expires}, now is {int(now)}")
    dsse.key_bytes(body["online_key"])
    return str(body["online_key"]), expires


def _parse(payload: bytes) -> KeyList:
    names = {"spec", "version", "issued", "expires", "log", "keys"}
    body = _object(strict_json(payload), names, "key list")
    _check_spec(body, _KEYS_SPEC)
    log = _object(body["log"], {"size", "head"}, "log")
    keys = body["keys"]
    if not isinstance(keys, list):
        raise DecodeError(f"keys must be a list, got {quote(keys)}")
    return KeyList(
        version=_integer(body, "version"),
        issued=_integer(body, "issued"),
        expires=_integer(body, "expires"),
        log_size=_integer(log, "size"),
        log_head=_text(log, "head"),
        keys=tuple(_key_from_json(key) for key in keys),
    )


def _key_to_json(key: PublicKey) -> dict[str, object]:
    raw = base64.urlsafe_b64encode(key.public_key).decode().rstrip("=")
    return {"id": key.id, "suite": key.suite, "public_key": raw, "state": key.state}


def _key_from_json(document: object) -> PublicKey:
    key = _object(document, {"id", "suite", "public_key", "state"}, "key")
    text = _text(key, "public_key")
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError as error:
        raise DecodeError(f"keys[].public_key must be base64url, got {quote(text)}") from error
    if base64.urlsafe_b64encode(raw).decode().rstrip("=") != text:
        raise DecodeError(f"keys[].public_key must be base64url, got {quote(text)}")
    return PublicKey(_integer(key, "id"), _integer(key, "suite"), raw, _text(key, "state"))


def _object(document: object, names: set[str], what: str) -> Mapping[str, object]:
    if not isinstance(document, dict) or document.keys() != names:
        given = sorted(document) if isinstance(document, dict) else document
        raise DecodeError(f"the fields of the {what} must be {sorted(names)}, got {quote(given)}")
    return document


def _integer(document: Mapping[str, object], name: str) -> int:
    value = document[name]
    if type(value) is not int:
        raise DecodeError(f"{name} must be an integer, got {quote(value)}")
    return value


def _text(document: Mapping[str, object], name: str) -> str:
    value = document[name]
    if not isinstance(value, str):
        raise DecodeError(f"{name} must be a string, got {quote(value)}")
    return value


def _check_spec(document: Mapping[str, object], spec: str) -> None:
    if document["spec"] != spec:
        raise DecodeError(f'spec must be "{spec}", got {quote(document["spec"])}')


def _check_validity(issued: int, expires: int) -> None:
    _check_integer("issued", issued, 0, _MAX_INTEGER)
    _check_integer("expires", expires, 0, _MAX_INTEGER)
    if expires <= issued:
        raise DecodeError(f"expires must be later than issued = {issued}, got {expires}")


def _check_integer(what: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise DecodeError(f"{what} must be {low}…{high}, got {value}")
