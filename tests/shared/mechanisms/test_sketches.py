"""Sketches of texts: exact laws, both ε of RAPPOR, collisions, shapes, published payloads."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from hashlib import md5
from itertools import product
from typing import Any

import pytest

from deniable_shared.domains import Text
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms import Mechanism, build
from deniable_shared.mechanisms.bit_sketch import BitSketch
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import at_most_exp
from support.oracles.privacy_checks import (
    EACH_EPSILON,
    EPSILONS,
    SOME,
    check_follows_pmf,
    check_private,
    check_tight,
    largest_ratio,
    laws,
    with_renewal_threshold,
    with_threshold,
)
from support.oracles.vectors import FOLDER, vectors
from support.tiers import grid

IDS = ("cms/1", "hcms/1", "rappor/1")
TEXTS = [tuple(text.encode()) for text in ("a", "b", "c", "ab", "é")]
SMALL = {"tables": 2, "cells": 8}
VECTORS = json.loads((FOLDER / "sketches.json").read_text())
CASES = [*VECTORS["cases"], *vectors("prefixes.json")]  # of one key and the same labels
KEY, LABELS = bytes.fromhex(VECTORS["key"]), list(map(bytes.fromhex, VECTORS["labels"]))


def small(id: str, epsilon: object, **more: int) -> Mechanism:
    return build(id, domain_size=2, epsilon=Fraction(str(epsilon)), **SMALL, **more)


def apart(id: str) -> list[tuple[int, ...]]:
    """Two texts with all their cells, and none in common, in the first table of `small`."""
    mechanism = small(id, 1)
    letters = [(byte,) for byte in range(97, 123)]
    cells = {text: mechanism.cells_of(0, bytes(text)) for text in letters}  # type: ignore[attr-defined]  # only sketches have it
    full = [text for text in letters if len(cells[text]) == mechanism.hashes]  # type: ignore[attr-defined]  # only sketches have it
    return [full[0], next(text for text in full if not {*cells[full[0]]} & {*cells[text]})]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=str)
@pytest.mark.parametrize("id", IDS)
def test_no_payload_separates_two_texts_by_more_than_e_to_the_epsilon(
    id: str, epsilon: Fraction
) -> None:
    check_private(laws(small(id, epsilon), TEXTS), epsilon)


@pytest.mark.parametrize(
    "epsilon", grid([e for e in EPSILONS if e <= 10], by_default=SOME), ids=str
)
@pytest.mark.parametrize("id", IDS)
def test_some_payload_uses_all_of_epsilon_at_the_largest_threshold(
    id: str, epsilon: Fraction
) -> None:
    mechanism, texts = small(id, epsilon), apart(id)
    check_tight(laws(mechanism, texts), epsilon)
    raised = with_threshold(mechanism, mechanism.threshold + 1)
    assert not at_most_exp(largest_ratio([raised.pmf(text) for text in texts]), epsilon)


@pytest.mark.parametrize("id", IDS)
def test_randomize_has_exactly_the_law_that_pmf_states(id: str) -> None:
    check_follows_pmf(small(id, 1), TEXTS[:2])
    assert all(sum(small(id, 1).pmf(text).values()) == 1 for text in TEXTS)


@pytest.mark.parametrize("id", grid(IDS, by_default=["hcms/1"]))
def test_the_second_round_is_the_largest_that_keeps_a_reports_epsilon(id: str) -> None:
    texts = apart(id)
    chain = build(id, domain_size=2, epsilon="1", permanent="2", tables=1, cells=8)
    check_private([chain.pmf(text) for text in texts], Fraction(1))
    check_private([chain.first.pmf(text) for text in texts], Fraction(2))  # type: ignore[attr-defined]  # only chains have it
    raised = with_renewal_threshold(chain, chain.renewal_threshold + 1)
    assert not at_most_exp(largest_ratio([raised.pmf(text) for text in texts]), Fraction(1))


@pytest.mark.parametrize("hashes", [1, 2, 4])
def test_both_epsilon_of_rappor_are_those_of_its_paper(hashes: int) -> None:
    """ε∞ = 2h·ln((1 − f/2)/(f/2)), ε1 = h·ln(q*(1 − p*)/(p*(1 − q*))), with p, q and f as there."""
    chain = build("rappor/1", domain_size=8, epsilon="1", permanent="2", hashes=hashes)
    assert isinstance(chain, MemoizedChain)
    f = 2 * (1 - chain.first.p)
    q, p = (1 + chain.keep_probability) / 2, (1 - chain.keep_probability) / 2
    q_star, p_star = f * (p + q) / 2 + (1 - f) * q, f * (p + q) / 2 + (1 - f) * p
    assert 2 * hashes * math.log((1 - f / 2) / (f / 2)) == pytest.approx(2, abs=1e-12)
    odds = q_star * (1 - p_star) / (p_star * (1 - q_star))
    assert hashes * math.log(odds) == pytest.approx(1, abs=1e-12)
    assert at_most_exp(odds**hashes, Fraction(1))
    assert at_most_exp(((1 - f / 2) / (f / 2)) ** (2 * hashes), Fraction(2))


@pytest.mark.parametrize("hashes", [1, 2, 3])
def test_the_chance_of_a_common_cell_is_that_over_all_hash_functions(hashes: int) -> None:
    mechanism = build("rappor/1", domain_size=2, epsilon="1", tables=1, cells=8, hashes=hashes)
    assert isinstance(mechanism, BitSketch)
    drawn = list(product(range(8), repeat=hashes))
    share = Fraction(sum(0 in cells for cells in drawn), len(drawn))
    assert mechanism.collision_probability == share
    assert mechanism.q == share * mechanism.p + (1 - share) * (1 - mechanism.p)


@pytest.mark.parametrize("id", ["cms/1", "hcms/1"])
def test_p_and_q_are_the_chances_of_support_over_all_cells_of_another_text(id: str) -> None:
    mechanism = small(id, 1)
    law = mechanism.pmf(TEXTS[0])
    assert supporting(mechanism, law, TEXTS[0]) == mechanism.p
    by_cell = {
        mechanism.cells_of(0, bytes((byte,)))[0]: (byte,)  # type: ignore[attr-defined]  # only sketches have it
        for byte in range(33, 127)
    }
    assert len(by_cell) == SMALL["cells"]
    result = {y: chance for y, chance in law.items() if in_table(mechanism, y) == 0}
    chances = [supporting(mechanism, result, text) for text in by_cell.values()]
    assert sum(chances, Fraction()) / len(chances) / sum(result.values()) == mechanism.q


def supporting(mechanism: Mechanism, law: dict[bytes, Fraction], text: tuple[int, ...]) -> Fraction:
    result = (chance for y, chance in law.items() if mechanism.supports(y, text))  # type: ignore[arg-type]  # a text mechanism takes a text
    return sum(result, Fraction())


def in_table(mechanism: Mechanism, payload: bytes) -> int:
    number = int.from_bytes(payload, "big")
    return number >> 8 if isinstance(mechanism, BitSketch) else number // 16


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_variances_are_the_closed_forms_with_their_collisions(epsilon: float) -> None:
    m, e = 1_024, Fraction(str(epsilon))
    swell = (m / (m - 1)) ** 2
    cms, hcms = (build(id, domain_size=8, epsilon=e) for id in ("cms/1", "hcms/1"))

    def variance(one: Mechanism) -> float:
        return float(one.q * (1 - one.q) / (one.p - one.q) ** 2)

    assert variance(cms) == pytest.approx(
        swell / (4 * math.sinh(epsilon / 4) ** 2) + 1 / (m - 1), rel=1e-9
    )
    assert variance(hcms) == pytest.approx(
        swell * (1 / math.tanh(epsilon / 2) ** 2 - 1 / m**2), rel=1e-9
    )


def test_the_bits_of_rappor_are_bytes_of_md5_each_once() -> None:
    mechanism = build("rappor/1", domain_size=8, epsilon="1", hashes=16, cells=64)
    assert isinstance(mechanism, BitSketch)
    digest = md5(b"\0\0\0\7" + b"word", usedforsecurity=False).digest()
    cells = mechanism.cells_of(7, b"word")
    assert set(cells) == {byte % 64 for byte in digest}
    assert len(cells) == len(set(cells)) < 17


@pytest.mark.parametrize("id", IDS)
def test_payloads_that_no_device_sends_are_refused(id: str) -> None:
    mechanism = build(id, domain_size=8, epsilon="1", tables=3, cells=8)
    with pytest.raises(DecodeError, match="bytes"):
        mechanism.validate(bytes(mechanism.payload_size + 1))
    with pytest.raises(DecodeError, match=r"must (name|hold)"):
        mechanism.validate(b"\xff" * mechanism.payload_size)
    for value in (3, (), (97,) * 9):
        with pytest.raises(DomainError, match="bytes of an encoded text"):
            mechanism.randomize(value, Coins.system())


@pytest.mark.parametrize(
    ("id", "given", "reason"),
    [
        ("cms/1", {"cells": 24}, "power of two"),
        ("hcms/1", {"tables": 0}, "tables must lie"),
        ("cms/1", {"tables": 1_024, "cells": 4_096}, "tables times cells"),
        ("rappor/1", {"cells": 512}, "at most 256"),
        ("rappor/1", {"hashes": 17}, "hashes must lie"),
    ],
)
def test_shapes_out_of_range_are_refused(id: str, given: dict[str, int], reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        build(id, domain_size=8, epsilon="1", **given)


def streams(vector: dict[str, Any]) -> tuple[bytes, Coins, Coins]:
    text = vector["text"].encode()
    canonical = Text(16).canonical(text)
    return text, Coins.derive(KEY, *LABELS, canonical), Coins.derive(KEY, b"public", *LABELS)


@pytest.mark.parametrize("vector", CASES, ids=lambda v: v["name"])
def test_payloads_and_reports_are_the_canonical_ones(vector: dict[str, Any]) -> None:
    text, coins, public = streams(vector)
    given = vector["parameters"]
    if "permanent" not in vector:
        mechanism = build(vector["mechanism"], domain_size=16, epsilon=vector["epsilon"], **given)
        assert f"0x{mechanism.threshold:016x}" == vector["threshold"]
        assert mechanism.randomize(text, coins, public).hex() == vector["payload"]
        return
    chain = build(
        vector["mechanism"],
        domain_size=16,
        epsilon=vector["epsilon"],
        permanent=vector["permanent"],
        **given,
    )
    answer = chain.memoize(text, coins, public)
    assert f"0x{chain.permanent_threshold:016x}" == vector["permanent_threshold"]
    assert f"0x{chain.renewal_threshold:016x}" == vector["renewal_threshold"]
    assert answer.hex() == vector["answer"]
    again = [Coins.derive(KEY, *LABELS, answer, bytes([t])) for t in range(len(vector["reports"]))]
    assert [chain.rerandomize(answer, each).hex() for each in again] == vector["reports"]


def test_every_sketch_has_payloads_and_a_chain_in_the_file() -> None:
    for chained in (False, True):
        actual = {v["mechanism"] for v in VECTORS["cases"] if ("permanent" in v) == chained}
        assert actual == set(IDS)
