"""The file of a backup: whole under its name or not there, and damage is told in a sentence."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from deniable_aggregator.base.errors import AggregatorError, StoreError
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.backup import archive, copying
from deniable_aggregator.store import schema
from deniable_gateway.errors import DataDirectoryError
from support.builders.data_directory import NOON, prepared
from support.builders.filled_store import filled
from support.tiers import by_tier


@pytest.fixture
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without hard links, as on memory sticks."""

    def refused(source: Path, target: Path) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("os.link", refused)


def test_two_writers_of_one_name_make_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    late = archive.new_file(path)
    late.__enter__().write(b"late, and longer")
    with archive.new_file(path) as early:
        early.write(b"early")
    with pytest.raises(StoreError, match="exists already"):
        late.__exit__(None, None, None)
    assert path.read_bytes() == b"early"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures("no_links")
def test_a_disk_without_links_gets_its_backup(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    with archive.new_file(path) as file:
        file.write(b"whole")
    assert path.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures("no_links")
def test_of_two_writers_without_links_the_late_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    late = archive.new_file(path)
    late.__enter__().write(b"late")
    with archive.new_file(path) as early:
        early.write(b"early")
    with pytest.raises(StoreError, match="exists already"):
        late.__exit__(None, None, None)
    assert path.read_bytes() == b"early"


@pytest.mark.slow
@pytest.mark.deeper
def test_whichever_bit_of_a_backup_flips_the_error_is_a_sentence(tmp_path: Path) -> None:
    whole = copying.back_up(filled(tmp_path / "old"), tmp_path / "b.zip", None, NOON).read_bytes()
    refused = 0
    directory = whole.index(b"PK\x01\x02")  # where the archive lists its members
    places = [
        *range(0, directory, directory // by_tier(20, 60)),
        *range(directory, len(whole), by_tier(20, 7)),
    ]
    for place in places:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        damaged = tmp_path / "damaged.zip"
        damaged.write_bytes(flipped)
        target = Settings(data=tmp_path / str(place) / "data")
        try:
            copying.restore(target, damaged, passphrase=str, nothing_released_since=True)
        except (AggregatorError, DataDirectoryError):
            refused += 1
            assert not target.database.exists()
    assert refused > 20


def test_an_archive_of_another_schema_or_kind_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = prepared(tmp_path / "old")
    path = copying.back_up(old, tmp_path / "b.zip", None, NOON)
    (tmp_path / "text.zip").write_bytes(b"no archive")
    with (
        pytest.raises(StoreError, match="is no backup"),
        archive.open_archive(tmp_path / "text.zip"),
    ):
        pass
    monkeypatch.setattr(schema, "HEAD", "9999")
    with pytest.raises(StoreError, match="this program 9999"), archive.open_archive(path):
        pass
