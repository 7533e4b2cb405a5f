"""An older `cryptography`, without the post-quantum hybrid."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives import hpke


def without_hybrid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take MLKEM768-X25519 away, until the test is over."""
    monkeypatch.setattr(hpke, "KEM", SimpleNamespace(X25519=hpke.KEM.X25519))
