"""What every place for a spool promises, wherever it is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit

import pytest

from deniable_gateway.errors import ExtraError, SpoolError
from deniable_gateway.spool import open_spool
from deniable_gateway.spool.object_store import without_credentials
from deniable_gateway.spool.protocol import SpoolFile
from support.builders.spool_places import KINDS, Killed, Place, killed_at, place_of
from support.doubles import s3_server
from support.processes import postgres_server

SPOOL_PAGE = Path(__file__).parents[4] / "docs" / "reference" / "spool.md"


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with place_of(request.param, tmp_path) as made:
        yield made


def test_what_is_put_is_there_by_name_until_it_is_removed(place: Place) -> None:
    spool = place.spool
    assert spool.files() == []
    for name, data in (("b", b"12"), ("a", bytes(range(256))), ("c", b"")):
        spool.put(name, data)
    assert place.spool.files() == [SpoolFile("a", 256), SpoolFile("b", 2), SpoolFile("c", 0)]
    assert [spool.get(name) for name in "abc"] == [bytes(range(256)), b"12", b""]
    spool.remove("b")
    spool.remove("b")
    assert [file.name for file in spool.files()] == ["a", "c"]
    with pytest.raises(FileNotFoundError):
        spool.get("b")


def test_what_is_set_aside_is_no_file_any_more(place: Place) -> None:
    spool = place.spool
    spool.put("a", b"1")
    spool.set_aside("a")
    spool.set_aside("a")
    assert (spool.files(), place.set_aside()) == ([], {"a": b"1"})
    spool.put("b", b"2")
    assert spool.files() == [SpoolFile("b", 1)]


def test_what_is_published_last_is_read_and_is_no_file(place: Place) -> None:
    spool = place.spool
    spool.write_notices(b"first")
    spool.write_notices(b"second")
    assert (place.spool.read_notices(), spool.files()) == (b"second", [])


@pytest.mark.parametrize("kind", ["directory", "moved", "s3"])
def test_before_anything_was_published_a_file_is_missing(kind: str, tmp_path: Path) -> None:
    with place_of(kind, tmp_path) as place, pytest.raises(FileNotFoundError):
        place.spool.read_notices()


def test_files_of_several_megabytes_come_back(place: Place) -> None:
    data = os.urandom(6 << 20)  # S3 takes more than 5 MB in parts
    place.spool.put("large", data)
    assert place.spool.get("large") == data


def test_a_writer_that_is_killed_leaves_the_whole_file_or_none(place: Place) -> None:
    for step in count():
        name = f"file-{step}"
        with killed_at(step, place.kind) as seen:
            try:
                place.spool.put(name, b"whole")
                done = True
            except Killed:
                done = False
        there = [file.name for file in place.spool.files()]
        assert name in there or not done
        if name in there:
            assert place.spool.get(name) == b"whole"
        if seen[0] <= step:
            assert done
            assert step >= 2
            return


def test_a_publisher_that_is_killed_leaves_the_old_or_the_new(place: Place) -> None:
    place.spool.write_notices(b"old")
    for step in count():
        with killed_at(step, place.kind) as seen, suppress(Killed):
            place.spool.write_notices(b"new")
        assert place.spool.read_notices() in (b"old", b"new")
        if seen[0] <= step:
            assert place.spool.read_notices() == b"new"
            return


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("s3://key:secret@bucket/folder/?region=us-east-1", "s3://bucket/folder"),
        ("s3://bucket/a?endpoint_override=h:9", "s3://bucket/a?endpoint_override=h%3A9"),
        ("postgresql://intake:secret@db/name?sslmode=require", "postgresql://db/name"),
        ("postgresql://u@/name?host=/run/a&password=secret", "postgresql:///name?host=%2Frun%2Fa"),
        ("abfs://held:secret@name.dfs.example/a", "abfs://held@name.dfs.example/a"),
        ("abfs://:secret@name.blob.example/held", "abfs://@name.blob.example/held"),
    ],
)
def test_an_address_is_shown_without_what_opens_it(address: str, shown: str) -> None:
    assert without_credentials(address) == shown


def test_a_file_address_is_a_directory_with_its_promises(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    spool = open_spool(f"file://{tmp_path}/a%20b")
    spool.put("x", b"1")
    assert (tmp_path / "a b" / "x").stat().st_mtime == 0
    with pytest.raises(SpoolError, match="path of this machine"):
        open_spool("file://other/spool")


@pytest.mark.parametrize("address", ["ftp://host/spool", "s3://", "nonsense://"])
def test_an_address_that_nobody_knows_is_refused_with_those_that_are(address: str) -> None:
    with pytest.raises(SpoolError, match=r"must be a directory or an address like s3://"):
        open_spool(address)


@pytest.mark.slow
def test_a_place_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpoolError, match=r"there is no directory .*nowhere"):
        open_spool(tmp_path / "nowhere")
    with place_of("s3", tmp_path) as place:
        other = place.address.replace("bucket-", "nobucket-")
        with pytest.raises(SpoolError, match=r"there is no bucket .*nobucket-"):
            open_spool(other).files()
        with pytest.raises(OSError, match="NO_SUCH_BUCKET"):
            open_spool(other).put("a", b"1")


def test_a_missing_library_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable_gateway.spool.object_store.find_spec", lambda name: None)
    with pytest.raises(ExtraError, match=r"deniable-gateway\[arrow\]"):
        open_spool("s3://bucket/spool")
    with (
        patch.dict("sys.modules", {"deniable_gateway.spool.postgres": None}),
        pytest.raises(ExtraError, match=r"deniable-gateway\[postgres\]"),
    ):
        open_spool("postgresql://host/name")


@pytest.mark.slow
def test_a_small_object_is_one_request_and_nothing_is_listed_for_it(tmp_path: Path) -> None:
    with place_of("s3", tmp_path) as place:
        spool, asked = place.spool, s3_server.server().requests
        asked.clear()
        spool.put("a", b"1" * 5_000)
        assert [method for method, _ in asked] == ["PUT"]
        asked.clear()
        spool.get("a")
        assert {path for _, path in asked} == {asked[0][1]}
        assert {method for method, _ in asked} <= {"GET", "HEAD"}


def granted(role: str) -> list[str]:
    """What the page lets an administrator run, for a role of this name."""
    [script] = re.findall(r"^```sql\n(.*?)^```", SPOOL_PAGE.read_text("utf-8"), re.S | re.M)
    statements = script.replace("deniable_ingest", role).replace(" password '…'", "").split(";")
    return [statement for statement in statements if statement.strip()]


@pytest.mark.slow
def test_an_intake_s_role_can_put_and_read_notices_and_nothing_else(tmp_path: Path) -> None:
    with place_of("database", tmp_path) as place:
        for statement in granted("intake_of_test"):
            postgres_server.execute(place.address, statement)
        parts = urlsplit(place.address)
        as_intake = f"intake_of_test@{parts.netloc.rpartition('@')[2]}"
        intake = open_spool(parts._replace(netloc=as_intake).geturl())
        intake.put("a", b"1")
        assert intake.read_notices() == b""
        for refused in (intake.files, lambda: intake.get("a"), lambda: intake.remove("a")):
            with pytest.raises(Exception, match="permission denied"):
                refused()
        postgres_server.execute(place.address, "drop owned by intake_of_test")
        postgres_server.execute(place.address, "drop role intake_of_test")
