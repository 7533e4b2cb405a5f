"""Plans without the number that takes most of their time."""

from __future__ import annotations

import math
from importlib import import_module

import pytest


@pytest.fixture
def unshuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans say nothing of what shuffling hides; `test_anonymity.py` and others check that."""
    module = import_module("deniable_aggregator.collections.planning.plan")
    monkeypatch.setattr(module, "shuffled_epsilon", lambda mechanism, reports, delta: math.nan)
