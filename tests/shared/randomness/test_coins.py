"""The stream, and that every draw from it is what its name says."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import PLANES, Coins
from support.doubles.scripted_coins import Scripted
from support.oracles.privacy_checks import check_below_is_uniform

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "coins.json").read_text())
TOP = 2**PLANES - 1
LENGTHS = [1, 2, 7, 8, 9, 63, 64, 65, 255, 256, 257, 264, 1000]

thresholds = st.one_of(
    st.integers(0, TOP),
    st.sampled_from([0, 1, 2, 2**63 - 1, 2**63, 2**63 + 1, TOP - 1, TOP, 0x5555555555555555]),
)


def lanes_near(threshold: int) -> st.SearchStrategy[int]:
    """64-bit integers, most of which share a long prefix with the threshold."""
    flipped = st.integers(0, 63).map(lambda bit: threshold ^ 1 << bit)
    near = st.integers(-2, 2).map(lambda step: min(max(threshold + step, 0), TOP))
    return st.one_of(st.integers(0, TOP), flipped, near)


def planes(lanes: list[int]) -> bytes:
    """The stream in which lane i of the 64 planes spells `lanes[i]`, with junk in the padding."""
    size = (len(lanes) + 7) // 8
    padding = 8 * size - len(lanes)
    stream = b""
    for plane in reversed(range(PLANES)):
        bits = 0
        for lane in lanes:
            bits = bits << 1 | lane >> plane & 1
        stream += (bits << padding | secrets.randbits(padding)).to_bytes(size, "big")
    return stream


def lane_by_lane(lanes: list[int], threshold: int) -> int:
    return int("".join("01"[lane < threshold] for lane in lanes), 2)


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=6), st.integers(0, 1000))
def test_stream_is_shake_256_of_the_key_and_labels_each_after_its_length(
    parts: list[bytes], count: int
) -> None:
    seed = b"".join(len(part).to_bytes(2, "big") + part for part in parts)
    assert Coins.derive(*parts).bytes(count) == hashlib.shake_256(seed).digest(count)


@given(st.lists(st.integers(0, 400), max_size=12))
def test_reads_in_pieces_are_one_stream(counts: list[int]) -> None:
    coins = Coins.derive(b"key")
    pieces = b"".join([coins.bytes(count) for count in counts])
    assert pieces == Coins.derive(b"key").bytes(sum(counts))


def test_labels_do_not_run_into_each_other() -> None:
    splits = [(b"abc",), (b"ab", b"c"), (b"a", b"bc"), (b"", b"abc"), (b"abc", b"")]
    assert len({Coins.derive(b"key", *labels).bytes(16) for labels in splits}) == len(splits)


def test_parts_that_do_not_fit_their_length_are_refused() -> None:
    Coins.derive(b"k" * 65_535)
    with pytest.raises(ParameterError, match="shorter than 65,536 bytes, got 65536"):
        Coins.derive(b"key", b"l" * 65_536)


def test_coins_already_tossed_cannot_be_tossed_again() -> None:
    coins = Coins.derive(b"key")
    coins.bytes(8)
    with pytest.raises(ParameterError, match="count must be at least 0, got -8"):
        coins.bytes(-8)


def test_coins_of_the_system_never_repeat() -> None:
    coins = Coins.system()
    assert len({coins.bytes(16), coins.bytes(16), Coins.system().bytes(16)}) == 3
    assert 0 <= coins.below(10) < 10
    assert 0 <= coins.bernoulli_vector(2**63, 12) < 2**12


@given(st.binary(min_size=40, max_size=40), st.integers(0, 300))
def test_bits_are_the_most_significant_ones_of_whole_bytes(stream: bytes, count: int) -> None:
    coins = Scripted(stream)
    read = "".join(f"{byte:08b}" for byte in stream)[:count]
    assert coins.bits(count) == int(read or "0", 2)
    assert len(coins.rest) == 40 - (count + 7) // 8


@pytest.mark.slow
def test_each_integer_below_a_bound_has_equally_many_draws() -> None:
    for bound in range(2, 257):
        spare = 8 - (bound - 1).bit_length()
        drawn = Counter(Scripted(bytes([byte, 0])).below(bound) for byte in range(256))
        rejected = 256 - (bound << spare)
        drawn[0] -= rejected  # the script goes on with a byte that is 0
        assert drawn == dict.fromkeys(range(bound), 1 << spare), f"bound {bound}"


def test_below_is_uniform_over_all_paths() -> None:
    for bound in range(1, 33):
        check_below_is_uniform(Coins.below, bound)


@given(st.integers(257, 2**70), st.data())
def test_wide_draws_are_rejected_exactly_from_the_bound_on(bound: int, data: st.DataObject) -> None:
    width = (bound - 1).bit_length()
    size, spare = (width + 7) // 8, -width % 8
    accepted = data.draw(st.integers(0, bound - 1) | st.just(bound - 1))
    last = (1 << width) - 1
    over = st.lists(st.integers(bound, last), max_size=3) if bound <= last else st.just([])
    rejected = data.draw(over)
    coins = Scripted(
        b"".join((draw << spare).to_bytes(size, "big") for draw in [*rejected, accepted])
    )
    assert coins.below(bound) == accepted
    assert coins.rest == b""


def test_below_one_reads_nothing_and_below_nothing_is_refused() -> None:
    assert Scripted(b"").below(1) == 0
    with pytest.raises(ParameterError, match="bound must be at least 1, got 0"):
        Scripted(b"").below(0)


@given(
    st.binary(max_size=64),
    st.lists(st.one_of(st.integers(1, 300), st.integers(1, 65_536)), max_size=80),
    st.integers(0, 200),
)
def test_draws_below_many_bounds_are_those_of_single_calls(
    key: bytes, bounds: list[int], before: int
) -> None:
    many, single = Coins.derive(key), Coins.derive(key)
    assert many.bytes(before) == single.bytes(before)
    assert many.below_each(bounds) == [single.below(bound) for bound in bounds]
    assert many.bytes(9) == single.bytes(9)


def test_many_draws_of_the_system_lie_below_their_bounds() -> None:
    bounds = range(1, 600)
    drawn = Coins.system().below_each(bounds)
    assert all(0 <= each < bound for each, bound in zip(drawn, bounds, strict=True))


@pytest.mark.parametrize("bound", [-1, 0, 65_537])
def test_many_draws_refuse_a_bound_that_two_bytes_do_not_hold(bound: int) -> None:
    with pytest.raises(ParameterError, match=r"bounds must lie in \[1, 65,536\], got"):
        Coins.derive(b"key").below_each([2, bound])


@given(thresholds, st.data())
def test_a_coin_is_true_exactly_below_the_threshold(threshold: int, data: st.DataObject) -> None:
    drawn = data.draw(lanes_near(threshold))
    assert Scripted(drawn.to_bytes(8, "big")).bernoulli(threshold) == (drawn < threshold)


@pytest.mark.slow
@given(thresholds, st.data(), st.integers(1, 300))
def test_a_vector_compares_each_lane_with_the_threshold(
    threshold: int, data: st.DataObject, length: int
) -> None:
    near = lanes_near(threshold)
    lanes = data.draw(st.lists(near, min_size=length, max_size=length))
    coins = Scripted(planes(lanes))
    assert coins.bernoulli_vector(threshold, length) == lane_by_lane(lanes, threshold)


@pytest.mark.parametrize("length", LENGTHS)
def test_every_first_difference_from_the_threshold_decides_its_lane(length: int) -> None:
    """Lanes equal to T, and differing from it first at each of the 64 planes, in every place."""
    threshold = secrets.randbits(64)
    tails = [0, TOP, secrets.randbits(64)]
    kinds = [threshold]
    for plane, tail in product(range(PLANES), tails):
        below = (1 << plane) - 1
        kinds.append((threshold ^ 1 << plane) & ~below | tail & below)
    for start in range(0, len(kinds), 1 + length // 2):
        lanes = [kinds[(start + place) % len(kinds)] for place in range(length)]
        coins = Scripted(planes(lanes))
        assert coins.bernoulli_vector(threshold, length) == lane_by_lane(lanes, threshold)


@pytest.mark.parametrize("quarters", range(4))
def test_two_lanes_are_independent_with_the_chance_of_the_threshold(
    quarters: int,
) -> None:
    """All 2^4 ways the two leading planes of two lanes can fall, the other planes 1."""
    outcomes = Counter(
        Scripted(planes([one << 62 | TOP >> 2, two << 62 | TOP >> 2])).bernoulli_vector(
            quarters << 62, 2
        )
        for one, two in product(range(4), repeat=2)
    )
    yes, no = quarters, 4 - quarters
    assert outcomes == +Counter({0: no * no, 1: no * yes, 2: yes * no, 3: yes * yes})


def test_a_vector_always_reads_64_planes() -> None:
    for length, threshold in product(LENGTHS, [0, 1, 2**63, TOP]):
        size = (length + 7) // 8
        coins = Scripted(bytes(PLANES * size))
        coins.bernoulli_vector(threshold, length)
        assert coins.rest == b"", f"length {length}, threshold {threshold}"


@pytest.mark.parametrize("length", [1, 1000])
@pytest.mark.parametrize("threshold", [-1, 2**64])
def test_a_threshold_that_is_no_64_bit_integer_is_refused(length: int, threshold: int) -> None:
    with pytest.raises(ParameterError, match=r"threshold must lie in \[0, 2\^64 - 1\]"):
        Coins.derive(b"key").bernoulli_vector(threshold, length)


@pytest.mark.parametrize("vector", VECTORS["streams"], ids=lambda v: v["name"])
def test_streams_are_the_canonical_ones(vector: dict[str, str | list[str]]) -> None:
    labels = [bytes.fromhex(label) for label in vector["labels"]]
    stream = bytes.fromhex(str(vector["stream"]))
    coins = Coins.derive(bytes.fromhex(str(vector["key"])), *labels)
    assert coins.bytes(len(stream)) == stream


@pytest.mark.parametrize("vector", VECTORS["draws"], ids=lambda v: v["name"])
def test_draws_are_the_canonical_ones(vector: dict[str, str | list[dict[str, str | int]]]) -> None:
    coins = Coins.derive(bytes.fromhex(str(vector["key"])))
    for read in vector["reads"]:
        assert isinstance(read, dict)
        assert draw(coins, read) == read["result"]


def draw(coins: Coins, read: dict[str, str | int]) -> str:
    """One read of a vector, its result in hex."""
    match read["read"]:
        case "bits":
            return f"{coins.bits(int(read['count'])):x}"
        case "below":
            return f"{coins.below(int(read['bound'])):x}"
        case "bernoulli":
            return f"{coins.bernoulli(int(str(read['threshold']), 16)):x}"
        case _:
            threshold = int(str(read["threshold"]), 16)
            return f"{coins.bernoulli_vector(threshold, int(read['length'])):x}"
