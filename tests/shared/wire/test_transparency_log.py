"""The log: both ends chain it alike, a page says one thing, and a fork does not go unnoticed."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import DecodeError, ForkError
from deniable_shared.wire.canonical import canonical_json
from deniable_shared.wire.transparency_log import (
    GENESIS,
    LOG_PAGE,
    LogEntry,
    LogPage,
    extend,
    parse_log_page,
    release_entry,
    verify_extension,
)
from support.oracles.vectors import vectors

HASHES = st.binary(min_size=32, max_size=32)
ENTRIES = st.builds(LogEntry, st.sampled_from(["manifest", "keys", "release", "x-9"]), HASHES)
LOGS = st.lists(ENTRIES, max_size=12)
TWO = (LogEntry("manifest", b"\1" * 32), LogEntry("keys", b"\2" * 32))
PAGE = LogPage(9, b"\7" * 32, TWO)


def test_an_entry_is_hashed_after_the_head_before_it() -> None:
    wanted = sha256(sha256(GENESIS + b"manifest" + b"\1" * 32).digest() + b"keys" + b"\2" * 32)
    assert extend(GENESIS, TWO) == wanted.digest()
    assert extend(GENESIS, []) == bytes(32)


def test_a_release_is_hashed_behind_its_salt() -> None:
    entry = release_entry(b"\5" * 32, b"{}")
    assert entry == LogEntry("release", sha256(b"\5" * 32 + b"{}").digest())
    with pytest.raises(DecodeError, match="salt must be 32 bytes, got 31"):
        release_entry(bytes(31), b"{}")


@pytest.mark.parametrize("vector", vectors("log.json"), ids=lambda each: each["name"])
def test_the_published_logs_end_as_they_say(vector: dict[str, str]) -> None:
    page = parse_log_page(vector["document"].encode(), first=0)
    assert page.encode().decode() == vector["document"]
    verify_extension(0, GENESIS, page.entries, page.size, page.head)


@given(log=LOGS, data=st.data())
def test_a_log_extends_every_one_of_its_beginnings(
    log: list[LogEntry], data: st.DataObject
) -> None:
    size = data.draw(st.integers(0, len(log)))
    head = extend(GENESIS, log[:size])
    verify_extension(size, head, log[size:], len(log), extend(GENESIS, log))


@given(mine=LOGS, yours=LOGS, data=st.data())
def test_no_entries_lead_from_one_log_to_another(
    mine: list[LogEntry], yours: list[LogEntry], data: st.DataObject
) -> None:
    """With any entries: a log that is no beginning of the other one does not become it."""
    size = len(mine)
    shown = data.draw(st.sampled_from([yours, yours[size:], mine, []]) | LOGS)
    if mine == yours[:size]:
        return
    head, end = extend(GENESIS, mine), extend(GENESIS, yours)
    with pytest.raises(ForkError):
        verify_extension(size, head, shown, len(yours), end)


def test_the_reason_of_a_fork_is_said() -> None:
    head, one = extend(GENESIS, TWO), extend(GENESIS, TWO[:1])
    with pytest.raises(ForkError, match="the log shrank from 2 to 1 entries"):
        verify_extension(2, head, [], 1, one)
    with pytest.raises(ForkError, match="grew from 1 to 2 entries, and 0 were sent"):
        verify_extension(1, one, [], 2, head)
    with pytest.raises(ForkError, match=f"ends in {one.hex()}, and the known .* {head.hex()}"):
        verify_extension(2, head, [], 2, one)


@given(st.builds(LogPage, st.just(9), HASHES, st.lists(ENTRIES, max_size=4).map(tuple)))
def test_a_page_reads_back(page: LogPage) -> None:
    first = 9 if not page.entries else 9 - len(page.entries)
    assert parse_log_page(page.encode(), first=first) == page


def changed(**members: object) -> bytes:
    return canonical_json(json.loads(PAGE.encode()) | members)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"not json", "not JSON"),
        (b"[]", "fields of the log must be entries, head, size"),
        (b"{}", "fields of the log must be entries, head, size"),
        (changed(extra=1), "fields of the log"),
        (changed(size=True), "size must be an integer, got true"),
        (changed(size=-1), "size must be 0…"),
        (changed(size=2**53), "size must be 0…"),
        (changed(size="9"), "size must be an integer"),
        (changed(head="00" * 31), "head must be 64 hex digits"),
        (changed(head="AB" * 32), "head must be 64 hex digits"),
        (changed(head=None), "head must be 64 hex digits"),
        (changed(entries={}), "entries must be a list of at most 1,000"),
        (changed(entries=[["keys"]]), r"entries must each be \[type, hash\]"),
        (changed(entries=[["keys", "00" * 32, 1]]), "entries must each be"),
        (changed(entries=["keys"]), "entries must each be"),
        (changed(entries=[[1, "00" * 32]]), "entries must each be"),
        (changed(entries=[["keys", 1]]), "hash must be 64 hex digits"),
        (changed(entries=[["Keys", "00" * 32]]), "type must be 1…32 characters"),
        (changed(entries=[["", "00" * 32]]), "type must be 1…32 characters"),
        (changed(entries=[["k" * 33, "00" * 32]]), "type must be 1…32 characters"),
        (changed(entries=[["keys\n", "00" * 32]]), "type must be 1…32 characters"),
        (changed(entries=[["keys", "00" * 32]] * 1_001, size=5_000), "at most 1,000, got 1,001"),
    ],
    ids=lambda each: str(each)[:40],
)  # fmt: skip
def test_any_other_document_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        parse_log_page(data, first=0)


@given(st.binary(max_size=100))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        parse_log_page(data, first=0)


def test_whoever_asks_for_the_next_page_gets_on() -> None:
    assert parse_log_page(PAGE.encode(), first=7) == PAGE
    with pytest.raises(DecodeError, match="those from 8 up to size = 9, got 2"):
        parse_log_page(PAGE.encode(), first=8)
    with pytest.raises(DecodeError, match="those from 3 up to size = 9, got 0"):
        parse_log_page(changed(entries=[]), first=3)
    assert parse_log_page(changed(entries=[]), first=9).entries == ()


def test_the_longest_page_is_a_document() -> None:
    entries = (LogEntry("a" * 32, bytes(32)),) * LOG_PAGE
    page = LogPage(LOG_PAGE, extend(GENESIS, entries), entries)
    assert parse_log_page(page.encode(), first=0) == page


@pytest.mark.parametrize("body_hash", [b"", bytes(31), bytes(33)])
def test_an_entry_has_a_hash_of_32_bytes(body_hash: bytes) -> None:
    with pytest.raises(DecodeError, match=f"body_hash must be 32 bytes, got {len(body_hash)}"):
        LogEntry("keys", body_hash)
    with pytest.raises(DecodeError, match="head must be 32 bytes"):
        LogPage(0, body_hash, ())
