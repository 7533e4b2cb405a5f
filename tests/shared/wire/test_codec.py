"""TLS presentation language: lengths are checked before reading, and every byte is used."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import DecodeError
from deniable_shared.wire.codec import Reader, lp, opaque


def test_integers_are_big_endian() -> None:
    reader = Reader(bytes.fromhex("01 0203 04050607"))
    assert [reader.uint(1), reader.uint(2), reader.uint(4)] == [1, 0x0203, 0x04050607]
    reader.finish()


def test_opaque_is_a_length_and_the_bytes() -> None:
    assert opaque(b"abc", 1, 0, 255) == bytes.fromhex("03 616263")
    assert lp(b"abc") == bytes.fromhex("0003 616263")


@given(data=st.binary(max_size=300), prefix=st.integers(2, 4))
def test_opaque_reads_back(data: bytes, prefix: int) -> None:
    reader = Reader(opaque(data, prefix, 0, 300))
    assert reader.opaque(prefix, 0, 300) == data
    assert reader.done


@pytest.mark.parametrize("length", [1, 5])
def test_opaque_outside_its_bounds_is_neither_written_nor_read(length: int) -> None:
    with pytest.raises(DecodeError, match=f"length must be 2…4 bytes, got {length}"):
        opaque(bytes(length), 1, 2, 4)
    with pytest.raises(DecodeError, match=f"length must be 2…4 bytes, got {length}"):
        Reader(bytes([length]) + bytes(length)).opaque(1, 2, 4)


def test_a_length_beyond_its_bound_is_refused_before_bytes_are_read() -> None:
    with pytest.raises(DecodeError, match="length must be"):
        Reader(b"\xff\xff\xff\xff").opaque(4, 0, 10)


def test_lp_stops_at_what_its_prefix_can_say() -> None:
    assert len(lp(bytes(65_535))) == 65_537
    with pytest.raises(DecodeError, match="got 65536"):
        lp(bytes(65_536))


@pytest.mark.parametrize("count", [4, 1 << 40])
def test_reading_past_the_end_says_where(count: int) -> None:
    reader = Reader(b"abcd")
    reader.take(1)
    with pytest.raises(DecodeError, match=f"{count} bytes wanted at byte 1, 3 left"):
        reader.take(count)


def test_bytes_left_over_are_refused() -> None:
    reader = Reader(b"abc")
    reader.take(2)
    assert not reader.done
    with pytest.raises(DecodeError, match="1 bytes left over at byte 2"):
        reader.finish()


def test_the_rest_may_be_nothing() -> None:
    reader = Reader(b"ab")
    assert reader.rest() == b"ab"
    assert reader.rest() == b""
