"""Cohorts: disjoint groups of a collection's reports, for central releases.

    cohort = HMAC-SHA256(key of the collection, report id) mod cohorts
    key of the collection = HMAC-SHA256(secret, "deniable/1 cohorts" ‖ collection id)

The secret is a file, so the database or a report id does not reveal the group of a report. Groups
are disjoint in reports; over several epochs the reports of one device fall into several groups.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from hmac import digest
from typing import TYPE_CHECKING

from deniable_aggregator.keys import files as key_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILE_NAME = "cohorts.key"

_LABEL = b"deniable/1 cohorts"
_BYTES = 8  # 64 bits: 64 cohorts are exactly equally likely, and so are 256


class Cohorts:
    """Puts reports into the cohorts of their collection."""

    def __init__(self, secret: bytes) -> None:
        self._key_of: Callable[[str], bytes] = lru_cache(maxsize=1024)(
            lambda collection: digest(secret, _LABEL + collection.encode(), sha256)
        )

    @classmethod
    def open(cls, folder: Path) -> Cohorts:
        """Read the secret in `folder`, or make it if it is missing."""
        path = folder / FILE_NAME
        if not path.exists():
            with suppress(FileExistsError):
                secret = os.urandom(key_files.SECRET_BYTES)
                key_files.write_private(path, secret, kind=key_files.COHORTS)
        return cls.read(folder)

    @classmethod
    def read(cls, folder: Path) -> Cohorts:
        """Read the secret in `folder`, which must exist."""
        return cls(key_files.read_private(folder / FILE_NAME, kind=key_files.COHORTS))

    def of(self, collection: str, report_id: bytes, cohorts: int) -> int:
        """The cohort of a report, 0 … cohorts − 1, always the same for one id."""
        if cohorts == 1:
            return 0
        mac = digest(self._key_of(collection), report_id, sha256)
        return int.from_bytes(mac[:_BYTES], "big") % cohorts
