"""The spool's format: whole or refused, no order, no time, on disk before it has its name."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_gateway.errors import SpoolError
from deniable_gateway.spool import (
    MAX_RECORDS,
    SpooledReport,
    blocks,
    decode_block,
    encode_block,
    open_spool,
    read_block,
    write_block,
)
from deniable_gateway.spool.block_files import record_count
from support.builders.spools import REPORTS

records = st.lists(
    st.builds(
        SpooledReport,
        st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=64),
        st.binary(min_size=1, max_size=80),
    ),
    min_size=1,
    max_size=8,
)
TWO = [SpooledReport("settings-aaaaaa", b"\x01" * 40), SpooledReport("b", b"\x02")]


@given(records)
def test_a_block_reads_back_as_it_was_written(given_records: list[SpooledReport]) -> None:
    assert decode_block(encode_block(given_records)) == given_records


def test_no_byte_of_a_block_can_change_and_none_can_miss() -> None:
    block = encode_block(TWO)
    for at in range(len(block)):
        damaged = block[:at] + bytes([block[at] ^ 1]) + block[at + 1 :]
        for other in (damaged, block[:at], block + block[: at + 1]):
            with pytest.raises(SpoolError):
                decode_block(other)


@pytest.mark.parametrize("count", [0, MAX_RECORDS + 1])
def test_a_block_holds_neither_nothing_nor_too_much(count: int) -> None:
    with pytest.raises(SpoolError, match=r"must hold 1…100000 records"):
        encode_block(TWO[:1] * count)


@pytest.mark.parametrize(
    ("collection", "report"), [("", b"x"), ("a" * 65, b"x"), ("a", b""), ("a", bytes(2**17 + 1))]
)
def test_a_record_that_no_block_can_hold_is_refused(collection: str, report: bytes) -> None:
    with pytest.raises(SpoolError, match=r"bytes long, got \d+ and \d+"):
        SpooledReport(collection, report)


def test_the_largest_record_fits() -> None:
    largest = [SpooledReport("a" * 64, bytes(2**17))]
    assert decode_block(encode_block(largest)) == largest


def test_a_written_block_is_private_and_says_no_time_and_no_order(tmp_path: Path) -> None:
    many, spool = (
        [SpooledReport("c", index.to_bytes(2, "big")) for index in range(1_000)],
        open_spool,
    )
    name = write_block(spool(tmp_path), many)
    found, status = read_block(spool(tmp_path), name), (tmp_path / name).stat()
    assert sorted(found, key=lambda each: each.report) == many
    assert found != many  # false alarm: 1/1000!
    assert (status.st_mode & 0o777, status.st_mtime) == (0o600, 0)


def test_a_block_that_is_being_written_is_none_yet(tmp_path: Path) -> None:
    spool, seen = open_spool(tmp_path), list[list[str]]()

    def names() -> list[str]:
        return [block.name for block in blocks(spool)]

    with patch("os.fsync", lambda descriptor: seen.append(names())):
        name = write_block(spool, TWO)
    assert seen == [[], [name]]  # the file is synced before it has its name, the name afterwards
    assert names() == [name]


@pytest.mark.slow
def test_a_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    spool = open_spool(tmp_path)
    for format, records in (("block", TWO), ("parquet", REPORTS)):
        name = write_block(spool, records, block_format=format)
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-1])
        with pytest.raises(SpoolError, match=name):
            read_block(spool, name)


def test_a_name_says_how_many_records_and_without_it_the_block_does(tmp_path: Path) -> None:
    spool = open_spool(tmp_path)
    name = write_block(spool, TWO)
    assert record_count(spool, name) == 2
    spool.put("older.block", spool.get(name))
    assert record_count(spool, "older.block") == 2
    spool.put("damaged.block", b"damaged")
    assert record_count(spool, "damaged.block") == record_count(spool, "gone.block") == 0
    assert {block.name for block in blocks(spool)} == {name, "older.block", "damaged.block"}


def test_other_files_are_no_blocks(tmp_path: Path) -> None:
    for name in ("notices.json", "README", ".x.block", "x.block.damaged", "block"):
        (tmp_path / name).write_bytes(b"1")
    assert blocks(open_spool(tmp_path)) == []
