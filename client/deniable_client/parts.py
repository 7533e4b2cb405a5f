"""The parts of one client, built to fit each other."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from deniable_client._recording.known_collections import KnownCollections
from deniable_client._recording.recorder import Recorder
from deniable_client._state.installation import ConsentGate
from deniable_client._uploading.refresher import Refresher
from deniable_client._uploading.timed_transport import TimedTransport
from deniable_client._uploading.uploader import Uploader

if TYPE_CHECKING:
    from deniable_client._uploading.sender import ReportSender
    from deniable_client.calls import Calls
    from deniable_client.configuration import Configuration
    from deniable_client.opt_outs import OptOuts
    from deniable_client.transport import Transport
    from deniable_shared.manifest.epochs import Clock

__all__ = ["Parts", "assemble"]


class Parts(NamedTuple):
    """The objects that a client calls."""

    gate: ConsentGate
    collections: KnownCollections
    recorder: Recorder
    refresher: Refresher
    uploader: Uploader


def assemble(
    given: Configuration, opt_outs: OptOuts, *, transport: Transport, calls: Calls, clock: Clock
) -> Parts:
    """Build the parts. Reads nothing and starts nothing."""
    state, ceiling = given.state, given.ceiling
    gate = ConsentGate(state, opt_outs, given.fault)
    collections = KnownCollections(
        state,
        trust=given.trust,
        origins=tuple(address.origin for address in given.addresses),
        ceiling=ceiling,
        vouchers=given.vouchers,
        clock=clock,
    )
    recorder = Recorder(state, gate=gate, collections=collections, ceiling=ceiling, clock=clock)
    refresher = Refresher(collections, transport, calls=calls, addresses=given.addresses, gate=gate)
    uploader = Uploader(
        state,
        timed=partial(TimedTransport, transport, calls),
        gate=gate,
        make_sender=partial(_make_sender, given, refresher, clock),
        record_defaults=recorder.record_defaults,
        clock=clock,
    )
    return Parts(gate, collections, recorder, refresher, uploader)


def _make_sender(given: Configuration, refresher: Refresher, clock: Clock) -> ReportSender:
    from deniable_client._uploading.sender import ReportSender  # loaded only by a device that sends
    from deniable_client._uploading.server_keys import ServerKeys

    return ReportSender(
        given.state,
        addresses=given.addresses,
        server_keys=ServerKeys(given.state, trust=given.trust, clock=clock),
        fetch_manifest=refresher.fetch,
        vouchers=given.vouchers,
        clock=clock,
    )
