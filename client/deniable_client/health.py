"""The state of telemetry on this device, for an app's diagnostics: `Client.health()`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from deniable_client._state.outbox import waiting_rows
from deniable_client._uploading.waiting import WaitingReports, explain_waiting
from deniable_client.errors import StorageError
from deniable_client.status import TROUBLE, Status

if TYPE_CHECKING:
    from deniable_client._state.installation import ConsentGate
    from deniable_client._state.state import State
    from deniable_client.notices import Notices

__all__ = ["Health", "read_health"]

_COUNTS = "SELECT sum(state = 'done'), sum(state = 'dropped') FROM outbox"


@dataclass(frozen=True, slots=True)
class Health:
    """Counts and problems of this installation. `problems` holds each problem once.

    A problem of the network is left out once a later run has reached the service, and one of the
    state file once it was written again. `why` says why reports wait.
    Counts cover the installation's whole life: reports `accepted` by the service, `dropped` and
    `waiting`. `next_due` is in unix seconds.
    """

    status: Status
    questions: tuple[str, ...]
    accepted: int
    dropped: int
    waiting: int
    next_due: float | None
    why: str
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is broken. A person who said no is no problem."""
        reasons = {each.reason for each in self.status.silences}
        return not self.problems and not reasons & TROUBLE

    def to_json(self) -> dict[str, object]:
        """Return plain types. No answer and no key is among them."""
        return {**asdict(self), "status": self.status.to_json(), "ok": self.ok}


def read_health(
    state: State,
    gate: ConsentGate,
    *,
    status: Status,
    questions: tuple[str, ...],
    now: float,
    notices: Notices,
) -> Health:
    """Return the health. Never raises, not even for a state file that cannot be read."""
    if state.failure is None and all(each.reason != "storage" for each in status.silences):
        notices.end(StorageError)
    accepted = dropped = 0
    waiting = WaitingReports()
    try:
        with state.reading() as db:
            accepted, dropped = db.execute(_COUNTS).fetchone()
            rows = waiting_rows(db)
        waiting = explain_waiting(rows, now, gate.pause(), failed=notices.failed)
    except StorageError:
        pass
    return Health(
        status=status,
        questions=questions,
        accepted=accepted or 0,
        dropped=dropped or 0,
        waiting=waiting.count,
        next_due=waiting.next_due,
        why=waiting.why,
        problems=notices.current,
    )
