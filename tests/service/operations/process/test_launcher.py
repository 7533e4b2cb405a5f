"""Counters of several workers lie in the data directory, in a folder that is emptied first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deniable_aggregator.operations.process import launcher


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a server with two workers on port 8123; one that was killed left a file in it."""
    monkeypatch.setenv("DENIABLE_WORKERS", "2")
    monkeypatch.setenv("DENIABLE_DATA", str(tmp_path))
    monkeypatch.setenv("DENIABLE_PORT", "8123")
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "/nowhere")  # so that it is put back afterwards
    found = tmp_path / "counters" / "8123"
    found.mkdir(parents=True)
    (found / "counter_1.db").write_bytes(b"")
    return found


def test_what_a_killed_server_left_is_gone_when_the_next_one_starts(folder: Path) -> None:
    with launcher.counters():
        assert os.environ["PROMETHEUS_MULTIPROC_DIR"] == str(folder)
        assert list(folder.iterdir()) == []
        (folder / "counter_2.db").write_bytes(b"")
    assert not folder.exists()


def test_servers_on_other_ports_keep_their_counters(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENIABLE_PORT", "8124")
    with launcher.counters():
        assert [path.name for path in folder.iterdir()] == ["counter_1.db"]


def test_one_worker_keeps_its_counters_in_memory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENIABLE_WORKERS", "1")
    with launcher.counters():
        assert "PROMETHEUS_MULTIPROC_DIR" not in os.environ
