"""Suite 2, MLKEM768-X25519: the same promises, longer, and off where the library lacks it."""

from __future__ import annotations

from hashlib import sha256

import pytest
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import mlkem
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import EnvelopeError
from deniable_shared.wire import envelope
from deniable_shared.wire.report import Plaintext
from support.doubles.older_cryptography import without_hybrid
from support.oracles.hpke_reference import hybrid_public, open_hybrid
from support.oracles.vectors import vectors

PRIVATE, PUBLIC = envelope.generate(2)
OPENER = envelope.Opener(PRIVATE, 2)


@given(plaintext=st.binary(max_size=300), info=st.binary(max_size=300))
def test_what_is_sealed_opens(plaintext: bytes, info: bytes) -> None:
    sealed = envelope.seal(plaintext, public_key=PUBLIC, info=info, suite=2)
    assert len(sealed) == len(plaintext) + envelope.SEALED_BYTES[2]
    assert OPENER.open(sealed, info=info) == plaintext
    assert open_hybrid(PRIVATE, sealed, info=info) == plaintext


def test_sizes_are_as_announced() -> None:
    assert len(PUBLIC) == envelope.KEY_BYTES[2] == 1216
    assert len(PRIVATE) == envelope.PRIVATE_BYTES == 32
    assert envelope.public_of(PRIVATE, 2) == PUBLIC == hybrid_public(PRIVATE)
    one = envelope.seal(b"x", public_key=envelope.generate()[1], info=b"")
    assert len(one) == 1 + envelope.SEALED_BYTES[1]


def test_it_is_off_unless_asked_for() -> None:
    private, public = envelope.generate()
    assert len(public) == envelope.KEY_BYTES[1]
    assert (
        envelope.Opener(private).open(envelope.seal(b"x", public_key=public, info=b""), info=b"")
        == b"x"
    )


def test_the_keys_are_those_of_x_wing() -> None:
    """draft-connolly-cfrg-xwing-kem, appendix C, the first seed and its public key."""
    seed = bytes.fromhex("7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26")
    public = envelope.public_of(seed, 2)
    assert public.hex().startswith(
        "e2236b35a8c24b39b10aa1323a96a919a2ced88400633a7b07131713fc14b2b5"
    )
    assert public.hex().endswith("6223593d4ba32d9abac8cd049040ef6534")
    assert sha256(public).hexdigest() == (
        "2e816deebcd76c5c80d0cd2d174478871658e8e2ff42bc9d4a6e486372e856bb"
    )


@pytest.mark.parametrize("vector", vectors("envelope_hybrid.json"), ids=lambda each: each["name"])
def test_the_published_reports_open(vector: dict[str, str]) -> None:
    names = ("private_key", "public_key", "info", "plaintext", "sealed")
    private, public, info, plaintext, sealed = (bytes.fromhex(vector[name]) for name in names)
    assert envelope.public_of(private, 2) == public
    assert envelope.Opener(private, 2).open(sealed, info=info) == plaintext
    assert open_hybrid(private, sealed, info=info) == plaintext
    assert Plaintext.decode(plaintext).payload.hex() == vector["payload"]


@pytest.mark.slow
def test_any_byte_changed_does_not_open() -> None:
    """Bytes, not bits: of the 1,137 one in each of the parts would do."""
    sealed = envelope.seal(b"x", public_key=PUBLIC, info=b"i", suite=2)
    for place in range(len(sealed)):
        changed = sealed[:place] + bytes([sealed[place] ^ 1]) + sealed[place + 1 :]
        with pytest.raises(EnvelopeError):
            OPENER.open(changed, info=b"i")
    with pytest.raises(EnvelopeError):
        OPENER.open(sealed, info=b"j")


@pytest.mark.parametrize("length", [0, 32, 1087, 1088, 1119, 1120, 1136])
def test_truncated_bytes_do_not_open(length: int) -> None:
    sealed = envelope.seal(b"x", public_key=PUBLIC, info=b"i", suite=2)
    with pytest.raises(EnvelopeError):
        OPENER.open(sealed[:length], info=b"i")


def test_a_report_of_one_suite_does_not_open_in_the_other() -> None:
    classic = envelope.Opener(PRIVATE)
    with pytest.raises(EnvelopeError):
        classic.open(envelope.seal(b"x", public_key=PUBLIC, info=b"", suite=2), info=b"")
    with pytest.raises(EnvelopeError):
        OPENER.open(envelope.seal(b"x", public_key=envelope.public_of(PRIVATE), info=b""), info=b"")


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(1215), bytes(1217)], ids=len)
def test_keys_of_another_length_are_refused(key: bytes) -> None:
    with pytest.raises(EnvelopeError, match=f"private_key must be 32 bytes, got {len(key)}"):
        envelope.Opener(key, 2)
    with pytest.raises(EnvelopeError, match=f"public_key must be 1216 bytes, got {len(key)}"):
        envelope.seal(b"x", public_key=key, info=b"", suite=2)


@pytest.mark.parametrize(
    ("key", "reason"),
    [(b"\xff" * 1216, "no key of ML-KEM-768"), (PUBLIC[:1184] + bytes(32), "low order")],
    ids=["coefficients too large", "point of low order"],
)
def test_keys_that_are_none_are_refused(key: bytes, reason: str) -> None:
    with pytest.raises(EnvelopeError, match=reason):
        envelope.seal(b"x", public_key=key, info=b"", suite=2)


class TestWithoutIt:
    """An older library: suite 1 goes on, suite 2 says what to do."""

    def test_an_older_cryptography_is_named_with_the_cure(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert envelope.suites() == (1, 2)
        without_hybrid(monkeypatch)
        assert envelope.suites() == (1,)
        for call in (envelope.generate, lambda each: envelope.Opener(PRIVATE, each)):
            with pytest.raises(EnvelopeError, match=r"suite 2 .* upgrade cryptography, or use su"):
                call(2)
        assert envelope.generate(1)

    def test_so_is_a_library_under_it_that_lacks_ml_kem(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Lacking:
            @staticmethod
            def from_seed_bytes(_seed: bytes) -> None:
                raise UnsupportedAlgorithm("ML-KEM-768")

        monkeypatch.setattr(mlkem, "MLKEM768PrivateKey", Lacking)
        assert envelope.suites() == (1,)
