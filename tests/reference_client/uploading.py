"""From a value to the body of a request (PROTOCOL.md, sections 4 and 5)."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import shake_256
from typing import Any

from reference_client.documents import Manifest
from reference_client.sealing import hkdf_expand, seal
from reference_client.tossing import (
    Stream,
    grr,
    grr_renewed,
    integer,
    lp,
    packed,
    rr,
    rr_renewed,
    rr_sampled,
    sampled_payload,
)


def stepped(key: bytes) -> bytes:
    """The next key of a chain; the one before is forgotten."""
    return hkdf_expand(key, b"next", 32)


def uint32(number: int) -> bytes:
    return number.to_bytes(4, "big")


@dataclass(frozen=True)
class Question:
    """One collection as a device sees it."""

    manifest: Manifest

    @property
    def labels(self) -> Sequence[str]:
        labels: Sequence[str] = self.manifest.document["domain"]["labels"]
        return labels

    def encoded(self, value: Any) -> tuple[Any, bytes]:
        """The answer as bits or an index, and the bytes that key its coins."""
        if isinstance(value, str):
            index = self.labels.index(value)
            return index, integer(index, len(self.labels) - 1)
        bits = [int(value[label]) for label in self.labels]
        return bits, packed(bits)

    def answer(self, value: Any, key: bytes, hold: int) -> tuple[Any, bytes]:
        """The randomized answer of a hold, and its bytes: of `once` and `fresh` the payload."""
        document, integers = self.manifest.document, self.manifest.integers()
        threshold = integers.get("threshold", integers.get("permanent_threshold", 0))
        inner, keyed = self.encoded(value)
        place = (self.manifest.identity, uint32(hold))
        coins = Stream(lp(key, b"deniable/1 coins", b"\x01", *place, keyed))
        if document["mechanism"]["id"] == "grr/1":
            result = grr(inner, len(self.labels), threshold, coins)
            return result, integer(result, len(self.labels) - 1)
        if document["mechanism"]["id"] == "rr/1":
            bits = rr(inner, threshold, coins)
            return bits, packed(bits)
        count = document["mechanism"]["parameters"]["sampled"]
        public = Stream(lp(key, b"deniable/1 public", *place))
        pairs = rr_sampled(inner, count, threshold, coins, public)
        return pairs, sampled_payload(pairs, len(inner))

    def renewed(self, answer: Any, permanent: bytes, key: bytes, epoch: int) -> bytes:
        """The payload of one epoch of a memoized collection."""
        place = (self.manifest.identity, uint32(epoch))
        coins = Stream(lp(key, b"deniable/1 coins", b"\x02", *place, permanent))
        keep, size = self.manifest.integers()["renewal_threshold"], len(self.labels)
        mechanism = self.manifest.document["mechanism"]["id"]
        if mechanism == "grr/1":
            return integer(grr_renewed(answer, size, keep, coins), size - 1)
        if mechanism == "rr/1":
            return packed(rr_renewed(answer, keep, coins))
        places, bits = zip(*answer, strict=True)
        result = list(zip(places, rr_renewed(bits, keep, coins), strict=True))
        return sampled_payload(result, size)


def report_id(key: bytes, collection: str, epoch: int) -> bytes:
    """16 secret bytes."""
    seed = lp(key, b"deniable/1 rid", collection.encode(), uint32(epoch))
    return shake_256(seed).digest(16)


def header(identifier: bytes, epoch: int, version: int, key_id: int) -> bytes:
    """A report's header, which has no extensions."""
    return identifier + uint32(epoch) + version.to_bytes(2, "big") + bytes((key_id, 0, 0))


def voucher(key: bytes, collection: str, epoch: int, person: bytes) -> bytes:
    """What the operator's backend issues."""
    place = (collection.encode(), uint32(epoch))
    named = lp(b"deniable/1 voucher serial", *place, person)
    serial = hmac.digest(key, named, "sha256")[:16]
    tag = hmac.digest(key, lp(b"deniable/1 voucher tag", *place, serial), "sha256")[:16]
    return serial + tag


def extension(kind: int, data: bytes) -> bytes:
    """A type, a length, data."""
    return kind.to_bytes(2, "big") + lp(data)


def plaintext(payload: bytes, extensions: bytes = b"") -> bytes:
    """Padded with zeros to the least 64·2^k bytes."""
    size = 64
    while size < len(payload) + 6 + len(extensions):
        size *= 2
    return (lp(payload) + lp(extensions)).ljust(size, b"\0")


def place(addresses: Sequence[str], ingest: Sequence[str], attempt: int) -> str | None:
    """Where an attempt, counted from 0, sends a report; None: the version is refused."""
    if not set(ingest) <= set(addresses):
        return None
    named = [address for address in addresses if address in ingest]
    return named[attempt % len(named)]


def report(
    manifest: Manifest,
    head: bytes,
    payload: bytes,
    public_key: bytes,
    ephemeral: bytes,
    *,
    extensions: bytes = b"",
) -> bytes:
    """The body of one upload."""
    info = lp(b"deniable/1 report", manifest.collection.encode(), manifest.digest, head)
    return head + lp(seal(ephemeral, public_key, info, plaintext(payload, extensions)))


def refusals(body: bytes) -> list[tuple[bytes, int]]:
    """Ids and codes of an answer's reports that failed."""
    return [(body[start : start + 16], body[start + 16]) for start in range(0, len(body), 17)]


TAKING = {
    (400, "invalid-message"): "drop-and-stop",
    (410, "collection-closed"): "drop-collection",
    (413, "too-large"): "drop-and-stop",
    (415, "unsupported-media-type"): "drop-and-stop",
}
CODES = {0x09: "later", 0x0B: "reseal", 0x80: "fetch-manifest", 0x85: "later"}


def verdict(status: int, headers: Mapping[str, str], body: bytes, identifier: bytes) -> str:
    """What happens to the one report that was sent, for every reply."""
    fields = {name.lower(): value.lower() for name, value in headers.items()}
    framing = {fields.get("content-length"), fields.get("transfer-encoding")}
    if "content-encoding" in fields or not framing & {"chunked", str(len(body))}:
        return "keep"
    kind, *given = "".join(fields.get("content-type", "").replace('"', "").split()).split(";")
    parameters = dict(each.partition("=")[::2] for each in given)
    if kind == "application/problem+json":
        return TAKING.get((status, problem_name(body)), "keep")
    message = (parameters.get("message"), parameters.get("version"), len(given) - len(parameters))
    if (status, kind, *message) != (200, "application/vnd.deniable", "upload-errors", "1", 0):
        return "keep"
    failed = refusals(body) if len(body) % 17 == 0 else [(b"", 0)]
    if any(each != identifier for each, _ in failed):
        return "keep"
    return CODES.get(failed[0][1], "drop") if failed else "done"


def problem_name(body: bytes) -> str:
    """The name after urn:deniable:problem:, or nothing."""
    try:
        prefix, _, name = json.loads(body)["type"].partition("urn:deniable:problem:")
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""
    return "" if prefix else name
