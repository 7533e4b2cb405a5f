"""What the operator signs: envelopes, manifests, key lists (PROTOCOL.md, sections 2 and 3)."""

from __future__ import annotations

import json
from base64 import b64decode, urlsafe_b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from hashlib import sha256
from typing import Any

from reference_client.curves import verifies

MANIFEST = "application/vnd.deniable.manifest.v1+json"
DELEGATION = "application/vnd.deniable.delegation.v1+json"
KEYS = "application/vnd.deniable.keys.v1+json"
CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
NEVER_CHANGES = {
    "": (
        *("spec", "name", "valid_from", "domain", "ledger_group", "repeat", "hold_epochs"),
        *(
            "epoch_seconds",
            "grace_seconds",
            "presence",
            "default",
            "sampling",
            "linkable",
            "requires",
            "cohorts",
        ),
    ),
    "mechanism": ("id", "parameters", "threshold", "permanent_threshold", "renewal_threshold"),
    "epsilon": ("report", "permanent"),
}
Json = Mapping[str, Any]


class RefusedError(Exception):
    """The document is not one to act upon."""


def canonical(document: object) -> bytes:
    """Keys sorted by code point, no spaces, UTF-8 unescaped."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def read(body: bytes) -> Any:
    """JSON in its one spelling."""
    document = json.loads(body)
    if canonical(document) != body:
        raise RefusedError("another spelling of the same JSON")
    return document


def opened(envelope: Json, kind: str, trust: str) -> bytes:
    """The body that a key signed, verified before anybody parses it."""
    body = b64decode(envelope["payload"], validate=True)
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(body), body)
    right = (
        verifies(public_key(trust), signed, b64decode(each["sig"], validate=True))
        for each in envelope["signatures"]
        if each["keyid"] == trust
    )
    if envelope["payloadType"] != kind or not next(right, False):
        raise RefusedError("not signed by a trusted key")
    return body


def public_key(trust: str) -> bytes:
    """The 32 bytes of "ed25519:" and 43 characters."""
    return urlsafe_b64decode(trust.removeprefix("ed25519:") + "=")


def keys(envelope: Json, trust: str) -> list[Json]:
    """The keys of a list: the operator signs a delegation, the online key the list."""
    delegation = read(opened(envelope["signatures"][0]["delegation"], DELEGATION, trust))
    listed: list[Json] = read(opened(envelope, KEYS, delegation["online_key"]))["keys"]
    return listed


@dataclass(frozen=True)
class Manifest:
    """A manifest, its integers computed again."""

    body: bytes

    def __post_init__(self) -> None:
        said = self.document["mechanism"]
        computed = self.integers()
        if any(said[name] != f"0x{value:016x}" for name, value in computed.items()):
            raise RefusedError("the integers do not follow from epsilon")
        if self.collection != self.document["collection"]:
            raise RefusedError("the id does not follow from the definition")

    @property
    def document(self) -> Json:
        parsed: Json = read(self.body)
        return parsed

    @property
    def digest(self) -> bytes:
        return sha256(self.body).digest()

    @property
    def identity(self) -> bytes:
        """SHA-256 of path → value of all that never changes."""
        values = {
            f"{group}.{name}".lstrip("."): members[name]
            for group, names in NEVER_CHANGES.items()
            for members in [self.document[group] if group else self.document]
            for name in names
            if name in members
        }
        return sha256(canonical(values)).digest()

    @property
    def collection(self) -> str:
        """Name, hyphen and the identity's first 30 bits."""
        bits = int.from_bytes(self.identity[:4], "big") >> 2
        characters = (CROCKFORD[bits >> shift & 31] for shift in range(25, -1, -5))
        return f"{self.document['name']}-{''.join(characters)}"

    def integers(self) -> dict[str, int]:
        """T, or T of the permanent answer and A."""
        epsilon, size = self.document["epsilon"], self._symbol_size()
        report = Fraction(epsilon["report"]) / self._shares()
        if "permanent" not in epsilon:
            return {"threshold": threshold(report, size)}
        permanent = threshold(Fraction(epsilon["permanent"]) / self._shares(), size)
        kept = renewal(permanent, report, size)
        return {"permanent_threshold": permanent, "renewal_threshold": kept}

    def _symbol_size(self) -> int:
        labels: Sequence[str] = self.document["domain"]["labels"]
        return len(labels) if self.document["mechanism"]["id"] == "grr/1" else 2

    def _shares(self) -> int:
        mechanism, domain = self.document["mechanism"], self.document["domain"]
        if mechanism["id"] == "grr/1":
            return 1
        size = len(domain["labels"])
        most = {"one-hot": 1, "at-most": domain.get("at_most", 0)}
        differ = min(size, 2 * most.get(domain.get("constraint", ""), size))
        result: int = mechanism["parameters"].get("sampled", differ)
        return result if result < differ else differ


def _exponential(epsilon: Fraction) -> Decimal:
    return (Decimal(epsilon.numerator) / epsilon.denominator).exp()


def threshold(epsilon: Fraction, size: int) -> int:
    """T = ⌊2^64·E/(E + K − 1)⌋, E = e^ε, for one favoured message of K."""
    with localcontext(prec=80):
        favoured = _exponential(epsilon)
        return int(2**64 * favoured / (favoured + size - 1))


def renewal(permanent: int, epsilon: Fraction, size: int) -> int:
    """A = ⌊2^64·(E − 1)/(E − 1 + K)/(P − Q)⌋."""
    with localcontext(prec=80):
        chance = Decimal(permanent) / 2**64
        gap = chance - (1 - chance) / (size - 1)
        excess = _exponential(epsilon) - 1
        return int(2**64 * excess / (excess + size) / gap)
