"""Rejection counters: in memory until they are written, so that a flood costs the disk nothing."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from deniable_aggregator.store.statements import Connections, Row, read_rows

_ADD = """
insert into rejections (collection, reason, n)
select number, ?, ? from collections where number = ?
on conflict (collection, reason) do update set n = rejections.n + excluded.n"""
_READ = "select reason, n from rejections where collection = ?"


@dataclass(slots=True)
class Rejections:
    """Of all collections; a collection is its number."""

    connections: Connections
    _waiting: Counter[tuple[int, str]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, number: int, counts: Mapping[str, int]) -> None:
        """By reason."""
        with self._lock:
            self._waiting.update({(number, reason): n for reason, n in counts.items()})

    def of(self, number: int) -> dict[str, int]:
        """By reason, those not yet written included."""
        # Under the lock that `flush` holds: a counter on its way to disk is seen once.
        with self._lock, self.connections.read() as db:
            rows = read_rows(Row, db.execute(_READ, (number,)))
            counts = Counter({row["reason"]: row["n"] for row in rows})
            for (owner, reason), n in self._waiting.items():
                if owner == number:
                    counts[reason] += n
        return dict(counts)

    def forget(self, number: int) -> None:
        """Those not yet written of a collection that was deleted."""
        with self._lock:
            for each in [each for each in self._waiting if each[0] == number]:
                del self._waiting[each]

    def flush(self) -> None:
        """Write them; those of collections that another process has deleted are lost."""
        with self._lock:
            if not self._waiting:
                return
            with self.connections.write() as db:
                for (number, reason), n in sorted(self._waiting.items()):
                    db.execute(_ADD, (reason, n, number))
            self._waiting.clear()
