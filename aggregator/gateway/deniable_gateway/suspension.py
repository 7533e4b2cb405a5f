"""Why uploads are suspended: named reasons, set by whatever notices one, read by every upload.

A reason is one sentence that says what is wrong and the way out. It holds no secret: devices and
`/readyz` show it.
"""

from __future__ import annotations

import threading

from deniable_gateway.problem import Problem, jittered

RETRY_SECONDS = 20.0
"""Devices and relays come back after one to two times this: within a minute."""


class Suspension:
    """Reasons by name, such as "clock" or "database". Thread-safe; reading takes no lock."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._reasons: dict[str, str] = {}

    def suspend(self, name: str, reason: str) -> None:
        """Answer uploads with 503 until `resume(name)`."""
        with self._changing:
            self._reasons = {**self._reasons, name: reason}

    def resume(self, name: str) -> None:
        """Remove this reason; without any reason left uploads are accepted again."""
        with self._changing:
            self._reasons = {
                other: sentence for other, sentence in self._reasons.items() if other != name
            }

    def reason(self, name: str) -> str | None:
        """The sentence of this reason; None if it does not hold."""
        return self._reasons.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all reasons; empty while uploads are accepted."""
        return tuple(self._reasons)

    def require_none(self) -> None:
        """Raises Problem("unavailable") with every reason while there is one."""
        if self._reasons:
            raise Problem(
                "unavailable",
                "; ".join(self._reasons.values()),
                retry_after=jittered(RETRY_SECONDS),
            )
