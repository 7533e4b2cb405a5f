"""Keys, coins and ids: the very bytes every other implementation must give."""

from __future__ import annotations

from hashlib import shake_256

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from hypothesis import given
from hypothesis import strategies as st

from deniable_client._state import keychain
from deniable_shared.wire.codec import lp

KEY = bytes(range(32))


@given(st.binary(min_size=32, max_size=32))
def test_a_step_is_hkdf_expand(key: bytes) -> None:
    assert keychain.step(key) == HKDFExpand(SHA256(), 32, b"next").derive(key)


def test_coins_are_the_stream_of_the_protocol() -> None:
    parts = [KEY, b"deniable/1 coins", b"\x01", b"i" * 32, bytes(4), b"\xa0"]
    stream = shake_256(b"".join(map(lp, parts))).digest(64)
    coins = keychain.coins(KEY, identity=b"i" * 32, hold=0, value=b"\xa0")
    assert coins.bytes(64) == stream


def test_a_report_id_is_the_stream_of_the_protocol() -> None:
    parts = [KEY, b"deniable/1 rid", b"settings-4kqz0m", (20_833).to_bytes(4, "big")]
    expected = shake_256(b"".join(map(lp, parts))).digest(16)
    assert keychain.report_id(KEY, collection="settings-4kqz0m", epoch=20_833) == expected


def stream(*parts: bytes) -> bytes:
    return shake_256(b"".join(map(lp, (KEY, *parts)))).digest(64)


def test_the_second_round_is_the_stream_of_the_protocol() -> None:
    coins = keychain.renewal_coins(KEY, identity=b"i" * 32, epoch=20_882, permanent=b"\xc0")
    labels = (b"deniable/1 coins", b"\x02", b"i" * 32, (20_882).to_bytes(4, "big"), b"\xc0")
    assert coins.bytes(64) == stream(*labels)


def test_sampling_and_public_coins_are_the_streams_of_the_protocol() -> None:
    labels = {"identity": b"i" * 32, "hold": 7}
    tail = (b"i" * 32, (7).to_bytes(4, "big"))
    sampling = keychain.sampling_coins(KEY, **labels)  # type: ignore[arg-type]  # one dict has values of many types
    public = keychain.public_coins(KEY, **labels)  # type: ignore[arg-type]  # one dict has values of many types
    assert sampling.bytes(64) == stream(b"deniable/1 sampling", *tail)
    assert public.bytes(64) == stream(b"deniable/1 public", *tail)


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_to_advance_is_to_step_so_often(steps: int) -> None:
    key = KEY
    for _ in range(steps):
        key = keychain.step(key)
    assert keychain.advance(KEY, steps) == key


@pytest.mark.parametrize(
    "changed", [{"value": b"\x80"}, {"hold": 1}, {"identity": b"j" * 32}, {"key": bytes(32)}]
)
def test_no_two_labels_share_a_stream(changed: dict[str, object]) -> None:
    given = {"key": KEY, "identity": b"i" * 32, "hold": 0, "value": b"\xa0"}

    def drawn(labels: dict[str, object]) -> bytes:
        named = dict(labels)
        key = named.pop("key")
        return keychain.coins(key, **named).bytes(32)  # type: ignore[arg-type]  # one dict has values of many types

    assert drawn(given) != drawn(given | changed)


def test_new_keys_differ() -> None:
    assert len({keychain.new_key() for _ in range(100)}) == 100
