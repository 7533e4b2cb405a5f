"""The amount and rate of a load test. All values have limits: a typo must not become an attack."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from deniable_aggregator.base.errors import AggregatorError
from deniable_shared.wire.report import MAX_REPORTS

MOST_REPORTS = 1_000_000
MOST_RATE = 20_000
MOST_CONNECTIONS = 512
MOST_SECONDS = 3_600


class LoadError(AggregatorError):
    """The load test was refused; the message says what to change."""


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """`rate` requests a second for `seconds`, each of `reports` reports, over `connections`."""

    rate: int
    connections: int
    reports: int
    seconds: int

    def __post_init__(self) -> None:
        _check("rate", self.rate, MOST_RATE)
        _check("connections", self.connections, MOST_CONNECTIONS)
        _check("reports-per-request", self.reports, MAX_REPORTS)
        _check("duration", self.seconds, MOST_SECONDS)
        if self.rate * self.seconds * self.reports > MOST_REPORTS:
            raise LoadError(
                f"rate × duration × reports-per-request must be at most {MOST_REPORTS:,}, got "
                f"{self.rate * self.seconds * self.reports:,}: lower one of them"
            )

    @property
    def requests(self) -> int:
        """The total number of requests."""
        return self.rate * self.seconds


def require_this_machine(url: str) -> None:
    """Raises LoadError unless the address is this machine's own."""
    host = urlsplit(url).hostname or ""
    try:
        loopback = ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    if not loopback:
        raise LoadError(
            f"{host or url!r} is not this machine. To send load there use --other-host; "
            "first ask its operator"
        )


def _check(name: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise LoadError(f"{name} must be 1…{most:,}, got {value:,}")
