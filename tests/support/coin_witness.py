"""Sees every toss of a device, its clones and its restored backups, and remembers what came of it.

The promise: for one question, hold and value there is one coin, and for one permanent answer and
epoch one renewal, whatever happened in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

from deniable_client import recorder
from deniable_client.collection_state import CollectionState
from deniable_client.prepared_collection import Encoded, PreparedCollection
from deniable_client.repeats import Turn
from deniable_client.toss import Tossed
from deniable_client.toss import toss as real_toss
from deniable_shared.coins import Coins

__all__ = ["Witness", "watched"]

Answer = tuple[Encoded, bytes]


@dataclass
class Witness:
    """What was tossed, by what it must depend on; `second` lists what should not have been.

    `generation` names the keys: a denial wipes them, and the next grant brings others. `using`
    holds the keys that the last calls drew from.
    """

    generation: int = 0
    seen: dict[tuple[object, ...], object] = field(default_factory=dict)
    second: list[tuple[object, ...]] = field(default_factory=list)
    using: list[bytes] = field(default_factory=list)

    def toss(
        self,
        prepared: PreparedCollection,
        state: CollectionState,
        turn: Turn,
        answer: Answer,
        *,
        pays: bool,
    ) -> Tossed:
        """The real toss, noted."""
        tossed = real_toss(prepared, state, turn, answer, pays=pays)
        who, after = prepared.manifest.collection, tossed.state
        if state.hold != turn.hold:
            self._note(after.asked, "asked", who, turn.hold)
        if tossed.paid:
            result = after.permanent or tossed.payload
            self._note(result, "tossed", who, turn.hold, answer[1])
        if tossed.payload is not None:
            base = after.permanent or answer[1]
            self._note(tossed.payload, "report", who, turn.epoch, base)
            self._note(tossed.report_id, "id", who, turn.epoch)
        return tossed

    def draw(self, key: bytes, *labels: bytes) -> Coins:
        """The real stream, its key noted."""
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
    """Let `witness` see every toss inside."""
    with (
        patch.object(recorder, "toss", witness.toss),
        patch.object(Coins, "derive", witness.draw),
    ):
        yield witness
