"""A manifest made ready to be answered: everything `record()` needs, worked out once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from deniable_client.budget import millionths
from deniable_client.ceiling import Ceiling
from deniable_client.outcome import Outcome
from deniable_shared.domain import Bits, Domain
from deniable_shared.epochs import closes_at, day_start, epoch_at, epoch_end
from deniable_shared.manifest import Manifest
from deniable_shared.mechanisms import Mechanism

__all__ = ["REPEATS", "Encoded", "Once", "Question", "Repeat", "prepare"]

Encoded = int | Sequence[int]


class Repeat(Protocol):
    """How often one device answers one collection."""

    def refusal(self, highest_epoch: int | None, epoch: int) -> Outcome | None:
        """Why there is no answer now, when `highest_epoch` is the last one answered, or None."""

    def hold(self, epoch: int) -> int:
        """Which toss an epoch belongs to: the part of the coins' labels that is not the value."""


class Once:
    """One report ever, one hold for all time: a copy of this device tosses the same coin."""

    def refusal(self, highest_epoch: int | None, epoch: int) -> Outcome | None:
        """Any answer, at any time, is the last."""
        return None if highest_epoch is None else Outcome.ALREADY_ANSWERED

    def hold(self, epoch: int) -> int:
        """Always the same."""
        return 0


REPEATS: Mapping[str, Repeat] = MappingProxyType({"once": Once()})
"""By the manifest's `repeat`."""


@dataclass(frozen=True, slots=True)
class Question:
    """One collection, ready. Millionths of ε: cost, limit. Unix seconds: starts, ends."""

    manifest: Manifest
    mechanism: Mechanism
    repeat: Repeat
    identity: bytes
    admitted: bool
    cost: int
    limit: int
    starts: int
    ends: int

    def live(self, now: float) -> bool:
        """Whether it has started and is not over."""
        return self.starts <= now < self.ends

    def encode(self, value: object) -> tuple[Encoded, bytes]:
        """What is randomized, and what keys its coins; DomainError for no value of the domain."""
        return _encode(self.manifest.domain, value)

    def epoch(self, now: float) -> int:
        """The epoch a report of this moment belongs to."""
        return epoch_at(now, self.manifest.epoch_seconds)

    def closes_at(self, epoch: int) -> int:
        """When reports of the epoch are no longer taken."""
        return closes_at(epoch, self.manifest.epoch_seconds, self.manifest.grace_seconds)

    def latest_send(self, epoch: int) -> float:
        """Until when reports of the epoch are spread: its end and half the grace."""
        return epoch_end(epoch, self.manifest.epoch_seconds) + self.manifest.grace_seconds / 2


def prepare(manifest: Manifest, ceiling: Ceiling) -> Question:
    """Work out a manifest under the app's ceiling."""
    return Question(
        manifest=manifest,
        mechanism=manifest.mechanism(),
        repeat=REPEATS[manifest.repeat],
        identity=manifest.identity,
        admitted=ceiling.admits(manifest.epsilon_report),
        cost=millionths(manifest.epsilon_report),
        limit=millionths(ceiling.lifetime(manifest.epsilon_lifetime)),
        starts=day_start(manifest.valid_from),
        ends=day_start(manifest.expires),
    )


def _encode(domain: Domain, value: object) -> tuple[Encoded, bytes]:
    if isinstance(domain, Bits):
        bits = domain.encode(value)
        return bits, domain.canonical(bits)
    index = domain.encode(value)
    return index, domain.canonical(index)
