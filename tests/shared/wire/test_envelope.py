"""What is sealed opens with its key, its info and its bytes, and with no other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import EnvelopeError
from deniable_shared.wire import envelope, report
from deniable_shared.wire.report import Plaintext, ReportHeader
from support.builders.annotated_hex import single_bit_flips
from support.oracles.hpke_reference import seal_with
from support.oracles.vectors import vectors

PRIVATE, PUBLIC = envelope.generate()
OPENER = envelope.Opener(PRIVATE)
LOW_ORDER = [
    bytes(32),
    b"\1" + bytes(31),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    bytes.fromhex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    bytes.fromhex("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    bytes.fromhex("eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
]


@given(plaintext=st.binary(max_size=300), info=st.binary(max_size=300))
def test_what_is_sealed_opens(plaintext: bytes, info: bytes) -> None:
    sealed = envelope.seal(plaintext, public_key=PUBLIC, info=info)
    assert len(sealed) == len(plaintext) + 48
    assert OPENER.open(sealed, info=info) == plaintext


def test_sealing_twice_gives_different_bytes() -> None:
    first, second = (envelope.seal(b"x", public_key=PUBLIC, info=b"") for _ in range(2))
    assert first != second


def test_a_report_with_any_bit_of_its_header_changed_does_not_open() -> None:
    header = ReportHeader(bytes(range(16)), 20800, 1, 1, (report.Extension(3, b"data"),))
    info = report.seal_info("settings-hvmb47", bytes(32), header)
    sealed = envelope.seal(Plaintext(b"x").encode(64), public_key=PUBLIC, info=info)
    for changed in single_bit_flips(header.encode()):
        other = info[: -len(changed)] + changed
        with pytest.raises(EnvelopeError):
            OPENER.open(sealed, info=other)
    assert Plaintext.decode(OPENER.open(sealed, info=info)).payload == b"x"


def test_a_report_does_not_open_for_another_collection_or_manifest() -> None:
    header = ReportHeader(bytes(16), 20800, 1, 1)
    sealed = envelope.seal(b"x", public_key=PUBLIC, info=report.seal_info("a", bytes(32), header))
    for collection, digest in (("b", bytes(32)), ("a", b"\1" + bytes(31))):
        with pytest.raises(EnvelopeError, match="does not open"):
            OPENER.open(sealed, info=report.seal_info(collection, digest, header))


def test_any_bit_of_the_sealed_bytes_changed_does_not_open() -> None:
    sealed = envelope.seal(b"x", public_key=PUBLIC, info=b"i")
    for changed in single_bit_flips(sealed):
        with pytest.raises(EnvelopeError):
            OPENER.open(changed, info=b"i")


def test_truncated_bytes_do_not_open() -> None:
    sealed = envelope.seal(b"x", public_key=PUBLIC, info=b"i")
    assert len(sealed) == 49
    for length in range(49):
        with pytest.raises(EnvelopeError):
            OPENER.open(sealed[:length], info=b"i")


@given(st.binary(max_size=200))
def test_any_bytes_do_not_open(data: bytes) -> None:
    with pytest.raises(EnvelopeError):
        OPENER.open(data, info=b"")


def test_another_key_does_not_open() -> None:
    sealed = envelope.seal(b"x", public_key=PUBLIC, info=b"")
    with pytest.raises(EnvelopeError):
        envelope.Opener(envelope.generate()[0]).open(sealed, info=b"")


@pytest.mark.parametrize("point", LOW_ORDER, ids=lambda point: point.hex()[:8])
def test_points_of_low_order_neither_open_nor_are_sealed_to(point: bytes) -> None:
    with pytest.raises(EnvelopeError, match="does not open"):
        OPENER.open(point + bytes(17), info=b"")
    with pytest.raises(EnvelopeError, match="low order"):
        envelope.seal(b"x", public_key=point, info=b"")


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33)])
def test_keys_of_another_length_are_refused(key: bytes) -> None:
    with pytest.raises(EnvelopeError, match=f"private_key must be 32 bytes, got {len(key)}"):
        envelope.Opener(key)
    with pytest.raises(EnvelopeError, match=f"public_key must be 32 bytes, got {len(key)}"):
        envelope.seal(b"x", public_key=key, info=b"")


def test_the_public_half_follows_from_the_private_one() -> None:
    assert envelope.public_of(PRIVATE) == PUBLIC
    assert len(PRIVATE) == len(PUBLIC) == envelope.KEY_BYTES[1]


@pytest.mark.parametrize("suite", [0, 3, 255])
def test_other_suites_are_refused_by_name(suite: int) -> None:
    for call in (envelope.generate, lambda each: envelope.Opener(PRIVATE, each)):
        with pytest.raises(EnvelopeError, match=rf"suite must be one of \[1, 2\] .*got {suite}"):
            call(suite)


def test_the_tests_own_hpke_is_that_of_the_rfc() -> None:
    """RFC 9180 appendix A.1.1, base mode, sequence number 0."""
    sealed = seal_with(
        bytes.fromhex("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736"),
        b"Beauty is truth, truth beauty",
        public_key=bytes.fromhex(
            "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d"
        ),
        info=b"Ode on a Grecian Urn",
        aad=b"Count-0",
    )
    assert sealed.hex() == (
        "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431"
        "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a"
    )


@pytest.mark.parametrize("vector", vectors("envelope.json"), ids=lambda each: each["name"])
def test_the_published_reports_open(vector: dict[str, str]) -> None:
    info, plaintext, sealed = (
        bytes.fromhex(vector[key]) for key in ("info", "plaintext", "sealed")
    )
    private, public = (bytes.fromhex(vector[key]) for key in ("private_key", "public_key"))
    ephemeral = bytes.fromhex(vector["ephemeral_private_key"])
    assert envelope.public_of(private) == public
    assert envelope.Opener(private).open(sealed, info=info) == plaintext
    assert seal_with(ephemeral, plaintext, public_key=public, info=info) == sealed
    assert Plaintext.decode(plaintext).payload.hex() == vector["payload"]
