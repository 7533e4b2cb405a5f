"""A state machine: two devices of one person, in a collection that requires vouchers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from hypothesis.stateful import invariant

from deniable_shared.manifest.model import Manifest
from support.builders.devices_and_service import Device, Sent, Spine
from support.builders.devices_and_workers import SharedSpine
from support.builders.exactly_once_machine import ExactlyOnce

__all__ = ["OncePerPerson", "SharedOncePerPerson"]

VOUCHED = ('requires = ["voucher/1"]\n',)


@dataclass
class Twin(Device):
    """A device of its own, which answers the same collection as the other."""

    @property
    def manifest(self) -> Manifest:
        return self.spine.manifests[0]


class OncePerPerson(ExactlyOnce):
    """In every case each epoch counts one report of the two, and all of what it acknowledged.

    The two may count in different epochs: each has a voucher of its own then.
    """

    def begin(self, folder: Path) -> Spine:
        return Spine(folder, 1, VOUCHED)

    def device(self, number: int) -> Device:
        return Twin(self.spine, number, ceiling=self.ceiling)

    @invariant()
    def no_second_coin_was_tossed(self) -> None:
        ids = {each.header.report_id for each in self._sent()}
        assert len(ids) <= len(self.devices)

    @invariant()
    def each_device_is_counted_at_most_once_and_as_it_answered(self) -> None:
        estimator = self.spine.collection(self.spine.manifests[0]).estimator
        for epoch, (n, tally) in self.spine.counted_by_epoch(self.spine.manifests[0]).items():
            sent = {each.payload for each in self._sent() if each.header.epoch == epoch}
            possible = [estimator.tally(_row(payload)).tolist() for payload in sent]
            assert n == 1
            assert tally in possible

    @invariant()
    def what_was_acknowledged_is_counted(self) -> None:
        counted, _ = self.spine.counted(self.spine.manifests[0])
        assert all(device.acknowledged <= 1 for device in self.devices)
        assert sum(device.acknowledged for device in self.devices) <= counted

    @invariant()
    def the_ledger_covers_every_toss(self) -> None:
        for device in self.devices:
            assert device.spent() in (0, device.manifest.epsilon_report)

    def _sent(self) -> list[Sent]:
        return self.spine.sent(self.spine.manifests[0])


class SharedOncePerPerson(OncePerPerson):
    """The same with several workers on one PostgreSQL database."""

    def begin(self, folder: Path) -> Spine:
        return SharedSpine(folder, 1, VOUCHED)


def _row(payload: bytes) -> npt.NDArray[np.uint8]:
    return np.frombuffer(payload, dtype=np.uint8)[None]
