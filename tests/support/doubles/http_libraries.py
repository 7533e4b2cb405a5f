"""The client's sockets over httpx and over httpx2, in one process."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from types import ModuleType

import pytest

import deniable_client

__all__ = ["LIBRARIES", "sockets_over"]

LIBRARIES = [name for name in ("httpx", "httpx2") if find_spec(name)]
"""Where the client's wheel is tested alone, there is httpx only."""

SOCKETS = "deniable_client.sockets"


def sockets_over(library: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module `sockets` as it is where this library is the one to use, until the test ends."""
    importlib.import_module(SOCKETS)
    monkeypatch.setattr(deniable_client, "sockets", None, raising=False)
    monkeypatch.delitem(sys.modules, SOCKETS)
    with monkeypatch.context() as during:
        if library == "httpx":
            during.setitem(sys.modules, "httpcore2", None)
        module = importlib.import_module(SOCKETS)
    assert module.httpcore.__name__ == library.replace("httpx", "httpcore")
    return module
