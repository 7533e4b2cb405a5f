"""A relay's copy of what an aggregator publishes: keys, log, collections, manifests.

Devices get replies from the copy, and only the clock triggers a refresh. So the aggregator never
sees a request that a device caused, and learns neither who asks nor when. The relay verifies
nothing; devices verify everything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from deniable_shared.errors import DecodeError
from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.wire import dsse
from deniable_shared.wire.key_list import KEYS_TYPE

LOG_PAGE = 1_000

Fetch = Callable[[str], bytes]
"""Returns the body of a successful GET of a path of the aggregator."""


@dataclass(frozen=True, slots=True)
class MirroredCollection:
    """A collection by its manifests; `newest` says when epochs close."""

    versions: Mapping[int, Manifest]
    open: bool

    @property
    def newest(self) -> Manifest:
        return self.versions[max(self.versions)]


@dataclass(frozen=True, slots=True)
class Mirror:
    """The copy at one moment. The log reaches at least as far as the key list says.

    `active` are the ids of the keys that devices seal to now, `listed` those of all keys that can
    still open reports.
    """

    keys: bytes
    active: frozenset[int]
    listed: frozenset[int]
    log: Sequence[object]
    log_head: str
    listing: bytes
    collections: Mapping[str, MirroredCollection]
    names: Mapping[str, str]
    envelopes: Mapping[tuple[str, int], bytes]

    def find(self, id_or_name: str) -> tuple[str, MirroredCollection] | None:
        """Return a collection's id and manifests, by id or name; None if there is none."""
        collection_id = (
            id_or_name if id_or_name in self.collections else self.names.get(id_or_name, "")
        )
        collection = self.collections.get(collection_id)
        return None if collection is None else (collection_id, collection)

    def manifest(self, id_or_name: str, version: int | None) -> bytes | None:
        """Return a signed manifest, by default the newest."""
        match = self.find(id_or_name)
        if match is None:
            return None
        return self.envelopes.get((match[0], version or match[1].newest.version))

    def log_page(self, first: int) -> bytes:
        """Return the reply to `GET /v1/log`."""
        page = self.log[first : first + LOG_PAGE]
        document = {"size": len(self.log), "head": self.log_head, "entries": list(page)}
        return json.dumps(document, separators=(",", ":")).encode()


def fetch_mirror(fetch: Fetch, previous: Mirror | None) -> Mirror:
    """Return a new copy. Fetches only what can have changed since `previous`.

    Raises DecodeError if a reply is not an aggregator's.
    """
    keys = fetch("/v1/keys")
    log, head = _log(fetch, list(previous.log) if previous else [])
    items = _items(fetch("/v1/collections?archived=true"))
    envelopes = dict(previous.envelopes) if previous else {}
    collections, names = {}, {}
    for item in items:
        collection_id, version = str(item["collection"]), _integer(item["version"])
        for each in range(1, version + 1):
            if (collection_id, each) not in envelopes:
                envelopes[collection_id, each] = fetch(
                    f"/v1/collections/{collection_id}/manifest?version={each}"
                )
        versions = {
            each: _manifest(envelopes[collection_id, each]) for each in range(1, version + 1)
        }
        collections[collection_id] = MirroredCollection(versions, item["state"] == "open")
        name = str(item["name"])
        names[name] = collection_id if name not in names else _newest_of_name(fetch, name)
    listing = _listing(items)
    return Mirror(keys, *_key_ids(keys), log, head, listing, collections, names, envelopes)


def _log(fetch: Fetch, entries_so_far: list[object]) -> tuple[list[object], str]:
    while True:
        page = _object(fetch(f"/v1/log?from={len(entries_so_far)}"))
        entries, size = page.get("entries"), _integer(page.get("size"))
        if not isinstance(entries, list) or (not entries and len(entries_so_far) != size):
            raise DecodeError(f"the log has {size} entries, and none after {len(entries_so_far)}")
        entries_so_far = entries_so_far + entries
        if len(entries_so_far) >= size:
            return entries_so_far, str(page.get("head"))


def _items(listing: bytes) -> list[dict[str, object]]:
    items = _object(listing).get("collections")
    if not isinstance(items, list):
        raise DecodeError("the list of collections has no collections")
    return items


def _listing(items: Sequence[dict[str, object]]) -> bytes:
    """Return the reply to `GET /v1/collections`."""
    visible = [item for item in items if not item.get("archived")]
    return json.dumps({"collections": visible}, separators=(",", ":")).encode()


def _newest_of_name(fetch: Fetch, name: str) -> str:
    """Return which of several collections the name means now."""
    return _manifest(fetch(f"/v1/collections/{name}/manifest")).collection


def _manifest(envelope: bytes) -> Manifest:
    return parse_manifest(dsse.unverified_payload(envelope, payload_type=MANIFEST_TYPE))


def _key_ids(envelope: bytes) -> tuple[frozenset[int], frozenset[int]]:
    extra = frozenset({"delegation"})
    body = _object(dsse.decode(envelope, payload_type=KEYS_TYPE, extra=extra).payload)
    keys = body.get("keys")
    if not isinstance(keys, list):
        raise DecodeError("the key list has no keys")
    states = {_integer(key["id"]): key["state"] for key in keys}
    active = frozenset(
        collection_id for collection_id, state in states.items() if state == "active"
    )
    return active, frozenset(states)


def _object(body: bytes) -> dict[str, object]:
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise DecodeError("the aggregator's answer is no JSON object: is this its address?")
    return document


def _integer(value: object) -> int:
    if type(value) is not int:
        raise DecodeError(f"a number was expected, got {value!r:.40}")
    return value
