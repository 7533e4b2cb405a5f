"""A manifest with everything that `record()` needs, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_client._recording.repeat_rules import REPEAT_RULES, RepeatRule, ReportingPeriod
from deniable_client.budget import millionths
from deniable_shared.domains import encode
from deniable_shared.manifest.epochs import closes_at, day_start, epoch_at, epoch_end
from deniable_shared.manifest.rules import epochs_open
from deniable_shared.randomness.dyadic import SCALE

if TYPE_CHECKING:
    from deniable_client.ceiling import Ceiling
    from deniable_shared.manifest.model import Manifest
    from deniable_shared.manifest.schedule import Schedule
    from deniable_shared.mechanisms import Mechanism

Encoded = int | Sequence[int]

_SHORTEST_WINDOW = 3_600
"""Seconds for sending that an epoch without grace keeps at its end, if it is that long."""


@dataclass(frozen=True, slots=True)
class PreparedCollection:
    """One prepared collection. Costs and limits are in millionths of ε, times in unix seconds.

    `sampling` is a threshold out of 2^64, None if every device takes part. `open`: part of an
    answer is public.
    """

    manifest: Manifest
    mechanism: Mechanism
    repeat_rule: RepeatRule
    schedule: Schedule
    identity: bytes
    admitted: bool
    cost: int
    limit: int
    paid: int
    starts: int
    ends: int
    default: tuple[Encoded, bytes] | None
    sampling: int | None
    open: bool

    @property
    def always(self) -> bool:
        """Whether the default is sent when the app records nothing."""
        return self.default is not None

    def live(self, now: float) -> bool:
        """Whether the collection has started and has not ended."""
        return self.starts <= now < self.ends

    def encode(self, value: object) -> tuple[Encoded, bytes]:
        """Return the encoded value and the bytes that key its coins.

        Raises DomainError if the domain does not have the value.
        """
        return encode(self.manifest.domain, value)

    def epoch(self, now: float) -> int:
        """The epoch of a report made at `now`."""
        return epoch_at(now, self.manifest.epoch_seconds)

    def period(self, epoch: int) -> ReportingPeriod:
        """Return the epoch as the rules of `repeat` see it."""
        return ReportingPeriod(epoch, self.schedule.hold_at(epoch), self.paid)

    def closes_at(self, epoch: int) -> int:
        """When the aggregator stops taking reports of the epoch."""
        return closes_at(epoch, self.manifest.epoch_seconds, self.manifest.grace_seconds)

    def latest_send(self, epoch: int) -> float:
        """The latest random sending time of an epoch: its end plus half the grace."""
        return epoch_end(epoch, self.manifest.epoch_seconds) + self.manifest.grace_seconds / 2

    def settles_at(self, epoch: int) -> float:
        """When the default is recorded for an epoch without an answer.

        This is the end of the epoch. It is earlier only if half the grace is too short for sending.
        """
        window = min(self.manifest.epoch_seconds / 2, _SHORTEST_WINDOW)
        end = float(epoch_end(epoch, self.manifest.epoch_seconds))
        return min(end, self.latest_send(epoch) - window)

    def window(self, epoch: int, now: float) -> tuple[float, float]:
        """Return the first and last moment to send a report: the same for defaults and answers."""
        earliest = self.settles_at(epoch) if self.always else now
        return earliest, max(earliest, self.latest_send(epoch))

    def overdue(self, joined: int, highest: int | None, *, now: float) -> Sequence[int]:
        """Return the epochs that need a default and can still get one."""
        manifest, newest = self.manifest, self.epoch(now)
        lowest = max(joined, self.schedule.first_epoch)
        if highest is not None:
            lowest = max(lowest, highest + 1)
        lowest = max(lowest, newest - epochs_open(manifest.epoch_seconds, manifest.grace_seconds))
        return [
            epoch
            for epoch in range(lowest, min(newest, self.schedule.last_epoch) + 1)
            if self.settles_at(epoch) <= now <= self.closes_at(epoch)
        ]


def prepare(manifest: Manifest, ceiling: Ceiling) -> PreparedCollection:
    """Prepare a manifest under the app's ceiling."""
    threshold = manifest.sampling_threshold
    schedule = manifest.schedule_under(ceiling.epsilon_lifetime)
    return PreparedCollection(
        manifest=manifest,
        mechanism=manifest.mechanism(),
        repeat_rule=REPEAT_RULES[manifest.repeat],
        schedule=schedule,
        identity=manifest.identity,
        admitted=ceiling.admits(manifest.epsilon_report, manifest.epsilon_permanent),
        cost=millionths(schedule.price),
        limit=millionths(schedule.lifetime),
        paid=schedule.paid_holds,
        starts=day_start(manifest.valid_from),
        ends=day_start(manifest.expires),
        default=encode(manifest.domain, manifest.default) if _always(manifest) else None,
        sampling=threshold if threshold < SCALE else None,
        open=manifest.mechanism().public_outcomes > 1,
    )


def _always(manifest: Manifest) -> bool:
    return manifest.presence == "always"
