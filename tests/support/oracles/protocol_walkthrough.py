"""The report that shared/PROTOCOL.md walks through, from fixed keys."""

from __future__ import annotations

from dataclasses import dataclass

from deniable_shared.manifest.model import Manifest
from deniable_shared.randomness.coins import Coins
from deniable_shared.wire import envelope
from deniable_shared.wire.codec import lp
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import (
    Plaintext,
    Report,
    ReportHeader,
    ReportStatus,
    encode_errors,
    encode_upload,
    padded_size,
    seal_info,
)
from support.builders.manifests import settings
from support.oracles.hpke_reference import seal_with

INSTALLATION_KEY = bytes(range(32))
PRIVATE_KEY = bytes(range(64, 96))
EPHEMERAL_KEY = bytes(range(128, 160))
VALUE = {"dark_mode": True, "beta": False}
EPOCH, MANIFEST_VERSION, KEY_ID = 20800, 1, 1


@dataclass(frozen=True, slots=True)
class Walkthrough:
    """Every stage of one report, from the value to the request body."""

    manifest: Manifest
    seed: bytes
    payload: bytes
    id_seed: bytes
    header: ReportHeader
    info: bytes
    plaintext: bytes
    report: Report

    @property
    def blocks(self) -> dict[str, bytes]:
        """The bytes of the document's hex blocks by name."""
        failed = [ReportStatus(self.header.report_id, ReportError.EPOCH_CLOSED)]
        return {
            "coins": self.seed,
            "payload": self.payload,
            "id": self.id_seed,
            "header": self.header.encode(),
            "plaintext": self.plaintext,
            "info": self.info,
            "upload": encode_upload([self.report]),
            "errors": encode_errors(failed),
        }


def walkthrough() -> Walkthrough:
    """The report, from the installation's key, the aggregator's and an ephemeral one."""
    manifest = settings()
    mechanism = manifest.mechanism()
    encoded = manifest.domain.encode(VALUE)
    value = b"\x80"  # the bits 1 and 0, zero padded: what `domain.canonical` gives
    labels = (b"deniable/1 coins", b"\x01", manifest.identity, bytes(4), value)
    payload = mechanism.randomize(encoded, Coins.derive(INSTALLATION_KEY, *labels))
    place = (b"deniable/1 rid", manifest.collection.encode(), EPOCH.to_bytes(4, "big"))
    report_id = Coins.derive(INSTALLATION_KEY, *place).bytes(16)
    header = ReportHeader(report_id, EPOCH, MANIFEST_VERSION, KEY_ID)
    info = seal_info(manifest.collection, manifest.digest, header)
    plaintext = Plaintext(payload).encode(padded_size(mechanism.payload_size))
    public = envelope.public_of(PRIVATE_KEY)
    sealed = seal_with(EPHEMERAL_KEY, plaintext, public_key=public, info=info)
    return Walkthrough(
        manifest=manifest,
        seed=b"".join(map(lp, (INSTALLATION_KEY, *labels))),
        payload=payload,
        id_seed=b"".join(map(lp, (INSTALLATION_KEY, *place))),
        header=header,
        info=info,
        plaintext=plaintext,
        report=Report(header, sealed),
    )
