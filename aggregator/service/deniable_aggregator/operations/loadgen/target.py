"""What the reports of one collection are sealed for, as its service tells it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from deniable_aggregator.client.service_client import ServiceClient
from deniable_aggregator.operations.loadgen.plan import LoadError
from deniable_shared.manifest.epochs import epoch_at
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.wire import dsse
from deniable_shared.wire.key_list import verify_key_list


@dataclass(frozen=True, slots=True)
class SealingTarget:
    """A collection in its current epoch; picklable, so that many processes can seal for it."""

    body: bytes
    epoch: int
    key_id: int
    suite: int
    public_key: bytes

    @property
    def path(self) -> str:
        """Where its reports go."""
        return f"/v1/collections/{parse_manifest(self.body).collection}/reports"


def fetch_target(client: ServiceClient, collection: str) -> SealingTarget:
    """Ask for the manifest and the keys. Believes whoever signed the manifest: answers are made up.

    Raises ServiceError if the service has no such collection, LoadError if reports of it cannot be
    made up.
    """
    envelope = client.manifest(collection)
    signers = [each.keyid for each in dsse.decode(envelope, payload_type=MANIFEST_TYPE).signatures]
    body = dsse.verify(envelope, payload_type=MANIFEST_TYPE, trusted=signers)
    manifest = parse_manifest(body)
    if manifest.requires:
        raise LoadError(
            f"{manifest.collection} requires {', '.join(manifest.requires)}, and made-up reports "
            "have none: use a collection that requires nothing"
        )
    now = time.time()
    key = verify_key_list(client.keys(), trusted=signers, now=now).active
    epoch = epoch_at(now, manifest.epoch_seconds)
    return SealingTarget(body, epoch, key.id, key.suite, key.public_key)
