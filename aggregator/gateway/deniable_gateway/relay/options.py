"""The options of a relay, and how the serving process gets them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from deniable_gateway.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "DENIABLE_RELAY"
LEAST_BATCH = 2
_MOST_BATCH = 1_000_000


@dataclass(frozen=True, slots=True)
class RelayOptions:
    """`to` is the aggregator, `batch` the least number of reports passed on together.

    `token_file` has the relay's token for the aggregator, `data` is the relay's own directory.
    `reports_per_minute` limits one network; with `trusted_proxy` a proxy limits networks instead.
    """

    to: str
    token_file: str
    data: str
    batch: int
    trusted_proxy: bool = False
    reports_per_minute: int = 600

    def __post_init__(self) -> None:
        parts = urlsplit(self.to)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise SettingsError(f"to must be http(s)://host[:port], got {self.to!r}")
        if not LEAST_BATCH <= self.batch <= _MOST_BATCH:
            raise SettingsError(f"batch must be {LEAST_BATCH}…{_MOST_BATCH}, got {self.batch}")
        if not 1 <= self.reports_per_minute <= 10**9:
            raise SettingsError(
                f"reports_per_minute must be 1…{10**9}, got {self.reports_per_minute}"
            )

    @property
    def directory(self) -> Path:
        """The directory with the relay's queue."""
        return Path(self.data)

    def environ(self) -> dict[str, str]:
        """Return the variable that passes these options to a child process."""
        return {VARIABLE: json.dumps(asdict(self))}

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Return the options of the parent process."""
        try:
            return cls(**json.loads(environ[VARIABLE]))
        except KeyError:
            raise SettingsError(f"{VARIABLE} is not set: `deniable relay` sets it") from None
