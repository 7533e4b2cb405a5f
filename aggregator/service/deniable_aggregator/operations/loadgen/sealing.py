"""Makes reports of random answers, randomized and sealed as on a device, each with its own id."""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from typing import TYPE_CHECKING

from deniable_aggregator.operations.loadgen.plan import LoadError
from deniable_shared.manifest.epochs import epoch_at
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.randomness.coins import Coins
from deniable_shared.wire import dsse
from deniable_shared.wire.envelope import seal
from deniable_shared.wire.key_list import verify_key_list
from deniable_shared.wire.report import Plaintext, Report, ReportHeader, padded_size, seal_info

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_aggregator.client.service_client import ServiceClient


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
        """The path that reports are sent to."""
        return f"/v1/collections/{parse_manifest(self.body).collection}/reports"


def fetch_target(client: ServiceClient, collection: str) -> SealingTarget:
    """Fetch manifest and keys. Trusts any signer of the manifest, because answers are not real.

    Raises ServiceError if the service has no such collection, LoadError if its reports cannot be
    simulated.
    """
    envelope = client.manifest(collection)
    signers = [each.keyid for each in dsse.decode(envelope, payload_type=MANIFEST_TYPE).signatures]
    body = dsse.verify(envelope, payload_type=MANIFEST_TYPE, trusted=signers)
    manifest = parse_manifest(body)
    if manifest.requires:
        raise LoadError(
            f"{manifest.collection} requires {', '.join(manifest.requires)}, which test reports "
            "do not have: use a collection that requires nothing"
        )
    now = time.time()
    key = verify_key_list(client.keys(), trusted=signers, now=now).active
    epoch = epoch_at(now, manifest.epoch_seconds)
    return SealingTarget(body, epoch, key.id, key.suite, key.public_key)


INPUTS = 64
SHARE = 1_000
INLINE = 2_000
MOST_PROCESSES = 4
ID_BYTES = 16


def seal_bodies(
    target: SealingTarget, requests: int, reports: int, progress: Callable[[int], None]
) -> list[bytes]:
    """The bodies of `requests`; calls `progress` with the number of sealed reports."""
    made: list[bytes] = []
    for share in _shares(target, requests * reports):
        made += share
        progress(len(made))
    return [b"".join(made[start : start + reports]) for start in range(0, len(made), reports)]


def seal_reports(target: SealingTarget, count: int) -> list[bytes]:
    """`count` encoded reports."""
    manifest = parse_manifest(target.body)
    mechanism, coins = manifest.mechanism(), Coins.system()
    inputs = list(islice(mechanism.inputs(), INPUTS))
    size = padded_size(mechanism.payload_size)
    made = []
    for _ in range(count):
        payload = mechanism.randomize(inputs[coins.below(len(inputs))], coins)
        header = ReportHeader(os.urandom(ID_BYTES), target.epoch, manifest.version, target.key_id)
        info = seal_info(manifest.collection, manifest.digest, header)
        plaintext = Plaintext(payload).encode(size)
        shut = seal(plaintext, public_key=target.public_key, info=info, suite=target.suite)
        made.append(Report(header, shut).encode())
    return made


def _shares(target: SealingTarget, count: int) -> Iterator[list[bytes]]:
    sizes = [min(SHARE, count - start) for start in range(0, count, SHARE)]
    if count <= INLINE:
        yield from (seal_reports(target, size) for size in sizes)
        return
    processes = min(MOST_PROCESSES, os.cpu_count() or 1)
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield from pool.map(seal_reports, [target] * len(sizes), sizes)
