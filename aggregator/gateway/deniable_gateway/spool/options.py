"""The options of a keyless intake, and how its workers get them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from deniable_gateway.errors import SettingsError, SpoolError
from deniable_gateway.spool.block_files import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "DENIABLE_SPOOL"
_MAX_WAIT_MS = 10_000


@dataclass(frozen=True, slots=True)
class IntakeOptions:
    """`spool` is the address of the spool, `data` a directory whose keys must not be readable.

    `block_format` is "block" or "parquet". In an object store, reports for one object are gathered
    for `wait_ms` milliseconds. `reports_per_minute_per_prefix` limits one network, and
    `reports_per_minute_per_collection` limits one collection; 0 is no limit. With `trusted_proxy` a
    proxy limits networks instead.
    """

    spool: str
    data: str = "data"
    block_format: str = "block"
    wait_ms: int = 1_000
    trusted_proxy: bool = False
    reports_per_minute_per_prefix: int = 300_000
    reports_per_minute_per_collection: int = 0

    def __post_init__(self) -> None:
        if self.block_format not in FORMATS:
            raise SettingsError(f"block_format must be block or parquet, got {self.block_format!r}")
        if not 0 <= self.wait_ms <= _MAX_WAIT_MS:
            raise SettingsError(f"wait_ms must be 0…{_MAX_WAIT_MS}, got {self.wait_ms}")

    def environ(self) -> dict[str, str]:
        """Return the variable that passes these options to a child process."""
        return {VARIABLE: json.dumps(asdict(self))}

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Return the options of the parent process."""
        try:
            return cls(**json.loads(environ[VARIABLE]))
        except KeyError:
            raise SettingsError(
                f"{VARIABLE} is not set: `deniable-gateway intake` sets it"
            ) from None

    def require_no_key(self) -> None:
        """Raises SpoolError if this process, which faces the internet, can read a private key."""
        for path in sorted((Path(self.data) / "keys").glob("*.key")):
            if os.access(path, os.R_OK):
                raise SpoolError(
                    f"the intake must not be able to read keys, and {path} can be read: run it on "
                    "another machine or as another user, with --data elsewhere"
                )
