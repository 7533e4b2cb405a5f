"""Doubts a wall clock that stepped: uploads wait, and nothing irreversible happens.

A step of more than 300 s against the boot clock counts, and so does the sum of smaller ones. A
start counts as a step, too, if the last moment stored in the data directory is in the future. The
doubt ends when

* the steps cancel out,
* the kernel says that a time service has synchronised its clock, or
* an operator runs `deniable doctor confirm-clock`.

A gap in the past is no step: the machine may have been off. It only delays the deletion of tallies.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from typing import TYPE_CHECKING

from deniable_gateway.clock import reading, record
from deniable_gateway.clock.reading import Reading, age_of, boot_id, boot_time, step_since
from deniable_gateway.clock.record import ClockRecord
from deniable_gateway.problem import Problem, jittered
from deniable_gateway.suspension import RETRY_SECONDS, Suspension

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from deniable_shared.manifest.epochs import Clock

REASON = "clock"
"""The name of its reason in `Suspension`."""

LIMIT_SECONDS = 300
"""Largest step of the wall clock, in seconds, that does not suspend uploads."""

SETTLING_SECONDS = 3_600
"""Tallies that are due are deleted after one to two times this many seconds."""

NOTE_SECONDS = 60

logger = logging.getLogger(__name__)


class ClockWatch:
    """Compares two clocks, and suspends uploads while the wall clock is in doubt. Thread-safe."""

    def __init__(
        self,
        clock: Clock = time.time,
        boot_clock: Clock | None = None,
        *,
        suspension: Suspension,
        folder: Path | None = None,
        newest: float = 0.0,
        synchronised: Callable[[float], bool] = reading.synchronised,
    ) -> None:
        """Start watching. `folder` stores the last tick; without it there is no past.

        A `clock` without a `boot_clock` never counts as stepped. `newest` is a wall time in unix
        seconds that was certainly reached before anything was stored in the folder.
        """
        self._clock = clock
        self._boot_clock = boot_clock or (boot_time if clock is time.time else clock)
        self._suspension = suspension
        watched = self._boot_clock is not clock
        self._folder = folder if watched else None
        self._synchronised = synchronised
        self._looking = threading.Lock()
        self._doubted = ""
        self._confirmation: float | None = None
        self._noted = -math.inf
        self._offset = math.nan  # no time is trusted before the first check
        now = self.read()
        past = None if self._folder is None else record.read(self._folder)
        self._anchor = past.tick if past else Reading(newest if watched else 0.0, 0.0, "")
        self._mark, self._settled = (past.mark, past.settled) if past else (now, 0.0)
        self.look()

    @property
    def settled(self) -> float:
        """A wall time that was trusted at least `SETTLING_SECONDS` ago; 0 if there is none.

        What was due then may be deleted. So a clock that is wrong for less than that deletes
        nothing.
        """
        return self._settled

    def read(self) -> Reading:
        """Return both clocks at this moment."""
        return Reading(self._clock(), self._boot_clock(), boot_id())

    def now(self) -> float:
        """Return the wall clock's time in unix seconds.

        Raises Problem("unavailable") while in doubt.
        """
        while True:
            wall = self._clock()
            if abs(wall - self._boot_clock() - self._offset) <= LIMIT_SECONDS:
                return wall
            if not self.look():
                raise Problem("unavailable", self._doubted, retry_after=jittered(RETRY_SECONDS))

    def look(self) -> bool:
        """Return whether the wall clock can be trusted now."""
        with self._looking:
            return self._look(self.read())

    def take_confirmation(self) -> float | None:
        """Return the time of a confirmation that ended a doubt since the last call, or None."""
        taken, self._confirmation = self._confirmation, None
        return taken

    def tick(self) -> bool:
        """Check the clock. Store a trusted moment in the folder at most once a minute."""
        with self._looking:
            now = self.read()
            believed = self._look(now)
            if believed:
                self._note(now)
            return believed

    def _look(self, now: Reading) -> bool:
        step = step_since(self._anchor, now)
        if abs(step) <= LIMIT_SECONDS:
            if math.isnan(self._offset):
                self._believe(self._anchor if self._anchor.boot_id == now.boot_id else now)
            return True
        if self._vouched(now):
            logger.warning("the clock was set by %+.0f s, and the new time is confirmed", step)
            self._mark, self._settled = now, min(self._settled, now.wall)
            self._believe(now)
            return True
        self._doubt(step)
        return False

    def _vouched(self, now: Reading) -> bool:
        return self._synchronised(now.wall) or self._confirmed(now)

    def _confirmed(self, now: Reading) -> bool:
        """Return whether an operator confirmed just now, by this clock."""
        said = None if self._folder is None else record.confirmed(self._folder)
        if said is None or abs(said.wall - now.wall) > LIMIT_SECONDS:
            return False
        if said.boot_id == now.boot_id and abs(said.boot - now.boot) > LIMIT_SECONDS:
            return False
        self._confirmation = said.wall
        return True

    def _believe(self, anchor: Reading) -> None:
        """Trust the clock: steps are counted from `anchor` on."""
        self._anchor, self._offset = anchor, anchor.wall - anchor.boot
        self._noted = -math.inf
        if self._doubted:
            self._doubted = ""
            self._suspension.resume(REASON)
            logger.warning("the clock is trusted again: uploads are accepted")

    def _doubt(self, step: float) -> None:
        sentence = _sentence(step, confirmable=self._folder is not None)
        if not self._doubted:
            logger.error("%s; until then nothing is closed, deleted or signed", sentence)
        self._doubted, self._offset = sentence, math.nan
        self._suspension.suspend(REASON, sentence)

    def _note(self, now: Reading) -> None:
        if age_of(self._mark, now) >= SETTLING_SECONDS:
            self._mark, self._settled = now, self._mark.wall
        if self._folder is None or now.boot - self._noted < NOTE_SECONDS:
            return
        self._noted = now.boot
        try:
            record.write(self._folder, ClockRecord(now, self._mark, self._settled))
        except OSError as error:  # a full disk: /readyz reports it
            logger.warning("the time of this tick cannot be stored: %s", error)


def _sentence(step: float, *, confirmable: bool) -> str:
    """Return what is wrong, and what to do."""
    way = "run `deniable doctor confirm-clock`" if confirmable else "start this process again"
    where = "ahead" if step > 0 else "back"
    return f"the clock jumped {_duration(abs(step))} {where}: set it right, or {way} if it is right"


def _duration(seconds: float) -> str:
    for name, length in (("days", 86_400), ("hours", 3_600)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {name}"
    return f"{seconds / 60:.0f} minutes"
