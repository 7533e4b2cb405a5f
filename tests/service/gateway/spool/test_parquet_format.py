"""Blocks in Parquet: the same records, readable columns, and nothing damaged goes unnoticed."""

from __future__ import annotations

import io
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from deniable_gateway.errors import ExtraError, SpoolError
from deniable_gateway.spool import MAX_RECORDS, SpooledReport, encode_block
from deniable_gateway.spool.parquet_format import decode_parquet, encode_parquet
from deniable_shared.wire.report import Extension, Report, ReportHeader
from support.builders.spools import REPORTS
from support.tiers import by_tier

headers = st.builds(
    ReportHeader,
    st.binary(min_size=16, max_size=16),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**16 - 1),
    st.integers(0, 255),
    st.one_of(st.just(()), st.builds(lambda data: (Extension(7, data),), st.binary(max_size=9))),
)
records = st.builds(
    lambda name, header, sealed: SpooledReport(name, Report(header, sealed).encode()),
    st.from_regex(r"[a-z0-9é-]{1,30}", fullmatch=True),
    headers,
    st.binary(min_size=1, max_size=80),
)


def written(table: Any, **how: Any) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(table, sink, **how)
    return sink.getvalue()


def read(data: bytes) -> Any:
    return parquet.read_table(io.BytesIO(data))


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(records, min_size=1, max_size=6))
def test_a_block_reads_back_as_it_was_written(given_records: list[SpooledReport]) -> None:
    assert decode_parquet(encode_parquet(given_records)) == given_records


@pytest.mark.slow
def test_what_is_in_the_open_has_a_column_each() -> None:
    table = read(encode_parquet(REPORTS))
    assert table.column_names == [
        *("collection", "report_id", "epoch", "manifest_version", "key_id", "extensions", "sealed")
    ]
    assert table["epoch"].to_pylist() == [1, 2**32 - 1]
    assert table["sealed"].to_pylist() == [b"\x01", b"2"]


@pytest.mark.slow
@pytest.mark.deeper
def test_a_changed_byte_changes_no_record_or_the_block_is_refused() -> None:
    block, refused, apart = encode_parquet(REPORTS), 0, by_tier(3, 1)
    for at in range(0, len(block), apart):
        damaged = block[:at] + bytes([block[at] ^ 1]) + block[at + 1 :]
        try:
            assert decode_parquet(damaged) == REPORTS
        except SpoolError:
            refused += 1
    assert refused > 200 // apart


def test_a_block_that_ends_early_is_refused() -> None:
    block = encode_parquet(REPORTS)
    for end in range(0, len(block), 7):
        with pytest.raises(SpoolError, match="not a block of a spool in Parquet"):
            decode_parquet(block[:end])


@pytest.mark.parametrize("how", ["a row less", "another order", "no checksum", "no rows"])
def test_other_rows_than_were_written_are_refused(how: str) -> None:
    table = read(encode_parquet(REPORTS))
    changed = {
        "a row less": table.slice(0, 1),
        "another order": pa.concat_tables([table.slice(1, 1), table.slice(0, 1)]),
        "no checksum": table.replace_schema_metadata(None),
        "no rows": table.slice(0, 0),
    }[how]
    with pytest.raises(SpoolError, match=r"checksum is wrong|1…100000 records"):
        decode_parquet(written(changed))


def test_other_columns_are_refused() -> None:
    table = read(encode_parquet(REPORTS))
    for other in (table.drop_columns(["sealed"]), table.append_column("at", [[1, 2]])):
        with pytest.raises(SpoolError, match="columns are not those of a spool"):
            decode_parquet(written(other))


@pytest.mark.slow
def test_a_file_that_would_fill_the_memory_is_refused_before_it_does() -> None:
    table = read(encode_parquet(REPORTS)).slice(1, 1)
    bomb = pa.concat_tables([table.set_column(6, table.schema.field(6), [[bytes(65_000)]])] * 300)
    block = written(bomb.combine_chunks(), compression="zstd")
    assert len(block) < 100_000
    with pytest.raises(SpoolError, match="times as large as the file"):
        decode_parquet(block)


def test_other_writers_may_compress_and_cut_into_groups_as_they_like() -> None:
    table = read(encode_parquet(REPORTS))
    assert decode_parquet(written(table, compression="zstd", row_group_size=1)) == REPORTS


@pytest.mark.parametrize("count", [0, MAX_RECORDS + 1])
def test_a_block_holds_neither_nothing_nor_too_much(count: int) -> None:
    with pytest.raises(SpoolError, match=r"must hold 1…100000 records"):
        encode_parquet(REPORTS[:1] * count)


def test_only_single_reports_have_columns() -> None:
    two = SpooledReport("a", REPORTS[0].report * 2)
    for record in (two, SpooledReport("a", b"no report")):
        with pytest.raises(SpoolError, match="must be one report"):
            encode_parquet([record])


def test_the_checksum_is_that_of_the_plain_block() -> None:
    metadata = read(encode_parquet(REPORTS)).schema.metadata
    assert metadata[b"deniable.sha256"].decode() == encode_block(REPORTS)[-32:].hex()


def test_without_pyarrow_a_good_block_is_not_called_damaged() -> None:
    block = encode_parquet(REPORTS)
    with (
        patch("deniable_gateway.spool.object_store.find_spec", lambda name: None),
        pytest.raises(ExtraError, match=r"pip install \"deniable-gateway\[arrow\]\""),
    ):
        decode_parquet(block)
