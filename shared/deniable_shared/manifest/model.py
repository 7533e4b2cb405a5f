"""The signed definition of a collection: PROTOCOL §2. One manifest is one immutable (id, version).

Signatures are not checked here: `dsse.verify` returns the body, `parser` reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, cast

from deniable_shared import mechanisms
from deniable_shared.errors import ManifestError
from deniable_shared.manifest.epochs import day_start, epoch_at
from deniable_shared.manifest.fields import (
    flatten,
    identity_of,
)
from deniable_shared.manifest.linkage import linkage
from deniable_shared.manifest.schedule import Schedule
from deniable_shared.randomness.dyadic import SCALE
from deniable_shared.wire.canonical import strict_json
from deniable_shared.wire.extensions import encoded_bytes, identifying
from deniable_shared.wire.report import padded_size

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from fractions import Fraction

    from deniable_shared.domains import Domain
    from deniable_shared.mechanisms import Chain, Mechanism

MANIFEST_TYPE = "application/vnd.deniable.manifest.v1+json"
MAX_BODY_BYTES = 768_000
"""Longest body: in base64 and with signatures it stays under a signed envelope's 1 MiB."""


@dataclass(frozen=True)
class Manifest:
    """A valid manifest.

    Only `parse_manifest` builds one, and it checks all rules. `body` is the canonical JSON; all
    else is read from it.
    """

    collection: str
    version: int
    previous: str | None
    name: str
    purpose: str
    owner: str
    valid_from: date
    expires: date
    domain: Domain
    mechanism_id: str
    threshold: int
    renewal_threshold: int | None
    epsilon_report: Fraction
    epsilon_permanent: Fraction | None
    epsilon_lifetime: Fraction
    ledger_group: str
    repeat: str
    hold_epochs: int
    epoch_seconds: int
    grace_seconds: int
    presence: str
    sampling: Fraction
    linkable: bool
    requires: tuple[str, ...]
    read: str
    public: bool
    central_per_epoch: Fraction
    central_per_installation: Fraction
    central_delta: Fraction
    cohorts: int
    min_batch: int
    retention_days: int
    ingest: tuple[str, ...]
    web_origins: tuple[str, ...]
    body: bytes = field(repr=False)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the body."""
        return sha256(self.body).digest()

    @cached_property
    def identity(self) -> bytes:
        """SHA-256 of the canonical immutable fields, without collection, version and ingest."""
        return identity_of(self.values)

    @cached_property
    def values(self) -> Mapping[str, object]:
        """The document's values by path: "epsilon.report" → "1"."""
        return flatten(strict_json(self.body))

    @cached_property
    def default(self) -> object:
        """What a device answers when nothing was recorded, as `domain.encode` takes it, or None."""
        return self.values["default"]

    @cached_property
    def parameters(self) -> Mapping[str, object]:
        """The mechanism's parameters besides domain and ε, like {"sampled": t}."""
        parameters = self.values["mechanism.parameters"]
        return parameters if isinstance(parameters, dict) else {}

    @cached_property
    def _mechanism(self) -> Mechanism | Chain:
        return mechanisms.for_domain(
            self.mechanism_id,
            self.domain,
            self.epsilon_report,
            permanent=self.epsilon_permanent,
            parameters=self.parameters,
        )

    def mechanism(self) -> Mechanism:
        """The randomizer of this collection; for a memoized one, its chain."""
        return self._mechanism

    def chain(self) -> Chain:
        """The chain of a memoized collection. Raises ManifestError for any other."""
        if self.epsilon_permanent is None:
            raise ManifestError(f'a collection of repeat = "{self.repeat}" has no permanent answer')
        return cast("Chain", self._mechanism)

    @property
    def identified(self) -> bool:
        """Whether reports can be attributed to people, so that no anonymity is claimed."""
        return identifying(self.requires)

    @cached_property
    def plaintext_size(self) -> int:
        """The size of every sealed plaintext in bytes, with the required extensions."""
        return padded_size(self.mechanism().payload_size, encoded_bytes(self.requires))

    @cached_property
    def linkage(self) -> float:
        """Bits that two reports of one permanent answer share; 0 if there is none."""
        return linkage(self._mechanism)

    @property
    def sampling_threshold(self) -> int:
        """A device answers in a hold if 64 bits of its sampling coins are below this integer."""
        return self.sampling.numerator * SCALE // self.sampling.denominator

    @cached_property
    def schedule(self) -> Schedule:
        """When a device answers, what it pays and when it stops, under the own lifetime."""
        return self.schedule_under(self.epsilon_lifetime)

    def schedule_under(self, ceiling: Fraction) -> Schedule:
        """Return the schedule under an app's own ceiling, if that is lower."""
        return Schedule(
            repeat=self.repeat,
            price=self.epsilon_permanent or self.epsilon_report,
            lifetime=min(ceiling, self.epsilon_lifetime),
            first_epoch=self.first_epoch,
            last_epoch=self.last_epoch,
            hold_epochs=self.hold_epochs,
        )

    def hold_at(self, epoch: int) -> int:
        """Return the hold of an epoch, as it keys the coins: see Schedule."""
        return self.schedule.hold_at(epoch)

    @property
    def paid_holds(self) -> int:
        """The tosses that the lifetime pays for: see Schedule."""
        return self.schedule.paid_holds

    @property
    def paid_epochs(self) -> int:
        """The epochs that those tosses can serve: see Schedule."""
        return self.schedule.paid_epochs

    @property
    def answers(self) -> str:
        """When a device stops, in words that follow "a device"."""
        return self.schedule.description

    @property
    def first_epoch(self) -> int:
        """The epoch in which valid_from begins."""
        return epoch_at(day_start(self.valid_from), self.epoch_seconds)

    @property
    def last_epoch(self) -> int:
        """The epoch of the last second before expires."""
        return epoch_at(day_start(self.expires) - 1, self.epoch_seconds)

    def started(self, now: float) -> bool:
        """Whether valid_from, 00:00 UTC, is past."""
        return now >= day_start(self.valid_from)

    def expired(self, now: float) -> bool:
        """Whether expires, 00:00 UTC, is past."""
        return now >= day_start(self.expires)
