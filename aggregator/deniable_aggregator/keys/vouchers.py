"""The keys that vouchers are made with: one a collection, all from one secret file.

    key of a collection = HMAC-SHA256(secret, "deniable/1 voucher key" ‖ collection id)

The operator's backend is given the keys of its own collections (`deniable vouchers key`), never the
secret. Another secret makes every voucher invalid that was issued before.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from hmac import digest
from pathlib import Path

from deniable_aggregator.keys import files as key_files

__all__ = ["VoucherKeys"]

FILE_NAME = "vouchers.key"

_LABEL = b"deniable/1 voucher key"


class VoucherKeys:
    """Gives each collection its key."""

    def __init__(self, secret: bytes) -> None:
        self.of: Callable[[str], bytes] = lru_cache(maxsize=1024)(
            lambda collection: digest(secret, _LABEL + collection.encode(), sha256)
        )

    @classmethod
    def open(cls, folder: Path) -> VoucherKeys:
        """With the secret in `folder`, which is made if it is missing."""
        path = folder / FILE_NAME
        if not path.exists():
            with suppress(FileExistsError):
                secret = os.urandom(key_files.SECRET_BYTES)
                key_files.write_private(path, secret, kind=key_files.VOUCHERS)
        return cls(key_files.read_private(path, kind=key_files.VOUCHERS))
