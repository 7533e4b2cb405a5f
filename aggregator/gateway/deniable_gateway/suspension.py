"""Why uploads are suspended: reasons by name. Any part can set one, and every upload checks them.

A reason is one sentence that says what is wrong and what to do. It contains no secret: devices and
`/readyz` show it.
"""

from __future__ import annotations

import threading

from deniable_gateway.problem import Problem, jittered

RETRY_SECONDS = 20.0
"""Devices and relays retry after one to two times this many seconds: within a minute."""


class Suspension:
    """The reasons by name, such as "clock" or "database". Thread-safe; reading takes no lock."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._reasons: dict[str, str] = {}

    def suspend(self, name: str, reason: str) -> None:
        """Reply to uploads with 503 until `resume(name)`."""
        with self._changing:
            self._reasons = {**self._reasons, name: reason}

    def resume(self, name: str) -> None:
        """Remove this reason. Uploads are accepted again once no reason is left."""
        with self._changing:
            self._reasons = {
                other: sentence for other, sentence in self._reasons.items() if other != name
            }

    def reason(self, name: str) -> str | None:
        """Return the sentence of this reason, or None if there is no such reason."""
        return self._reasons.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all reasons; empty while uploads are accepted."""
        return tuple(self._reasons)

    def require_none(self) -> None:
        """Raises Problem("unavailable") with all reasons, if there is any."""
        if self._reasons:
            raise Problem(
                "unavailable",
                "; ".join(self._reasons.values()),
                retry_after=jittered(RETRY_SECONDS),
            )
