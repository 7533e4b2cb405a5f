"""Watches every randomized answer of a device and its copies: no coin is drawn twice.

The promise: for one question, hold and value there is one coin, and for one permanent answer and
epoch one renewal, after all events in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

from deniable_client._recording import recorder
from deniable_client._recording.prepared_collection import Encoded, PreparedCollection
from deniable_client._recording.randomize import EpochResult
from deniable_client._recording.randomize import randomize as real_randomize
from deniable_client._recording.repeat_rules import ReportingPeriod
from deniable_client._state.collection_state import CollectionState
from deniable_shared.randomness.coins import Coins

__all__ = ["Witness", "watched"]

Answer = tuple[Encoded, bytes]


@dataclass
class Witness:
    """Everything that was randomized, by what it must depend on; `second` lists violations.

    `generation` names the keys: a denial deletes them, and the next grant makes others. `using`
    holds the keys of the last calls.
    """

    generation: int = 0
    seen: dict[tuple[object, ...], object] = field(default_factory=dict)
    second: list[tuple[object, ...]] = field(default_factory=list)
    using: list[bytes] = field(default_factory=list)

    def randomize(
        self,
        prepared: PreparedCollection,
        state: CollectionState,
        period: ReportingPeriod,
        answer: Answer,
        *,
        pays: bool,
    ) -> EpochResult:
        """Call the real function and record its result."""
        result = real_randomize(prepared, state, period, answer, pays=pays)
        who, after = prepared.manifest.collection, result.state
        if state.hold != period.hold:
            self._note(after.asked, "asked", who, period.hold)
        if result.paid:
            randomized = after.permanent or result.payload
            self._note(randomized, "tossed", who, period.hold, answer[1])
        if result.payload is not None:
            base = after.permanent or answer[1]
            self._note(result.payload, "report", who, period.epoch, base)
            self._note(result.report_id, "id", who, period.epoch)
        return result

    def draw(self, key: bytes, *labels: bytes) -> Coins:
        """Return the real stream and record its key."""
        self.using.append(key)
        return real_derive(key, *labels)

    def used(self) -> set[bytes]:
        """The keys drawn from since the last time."""
        keys = set(self.using)
        self.using.clear()
        return keys

    def _note(self, result: object, *what: object) -> None:
        if self.seen.setdefault((self.generation, *what), result) != result:
            self.second.append(what)


real_derive = Coins.derive


@contextmanager
def watched(witness: Witness) -> Iterator[Witness]:
    """Let `witness` see every randomized answer inside."""
    with (
        patch.object(recorder, "randomize", witness.randomize),
        patch.object(Coins, "derive", witness.draw),
    ):
        yield witness
