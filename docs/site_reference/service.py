"""A service in a temporary directory, whose addresses, OpenAPI document and metrics are read."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from deniable_aggregator import keys
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.service import Service

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def empty_service() -> Iterator[Service]:
    """A new service without a collection."""
    with TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder) / "data")
        keys.initialise(settings, operator_key=Path(folder) / "operator.key", now=time.time())
        service = Service.open(settings)
        try:
            yield service
        finally:
            service.close()
