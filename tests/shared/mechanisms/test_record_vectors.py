"""The published payloads of records, and of their chains."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from deniable_shared.mechanisms import for_domain
from deniable_shared.randomness.coins import Coins
from support.builders.record_domains import record
from support.oracles.vectors import FOLDER

VECTORS = json.loads((FOLDER / "records.json").read_text())
KEY, LABELS = bytes.fromhex(VECTORS["key"]), list(map(bytes.fromhex, VECTORS["labels"]))
PUBLIC = bytes.fromhex(VECTORS["public"])


def of(kind: str) -> list[dict[str, Any]]:
    return [vector for vector in VECTORS["cases"] if kind in vector]


def sent(vector: dict[str, Any]) -> tuple[int, Coins, Coins]:
    """The index, the coins it keys, and those of the public part."""
    index = 0
    for place, radix in zip(vector["places"], vector["radices"], strict=True):
        index = index * radix + place
    canonical = record(*vector["radices"]).canonical(index)
    coins = Coins.derive(KEY, *LABELS, canonical)
    return index, coins, Coins.derive(KEY, *LABELS, PUBLIC)


@pytest.mark.parametrize("vector", of("payload"), ids=lambda v: v["name"])
def test_payloads_are_the_canonical_ones(vector: dict[str, Any]) -> None:
    domain, epsilon = record(*vector["radices"]), Fraction(vector["epsilon"])
    mechanism = for_domain(vector["mechanism"], domain, epsilon, parameters=vector["parameters"])
    assert f"0x{mechanism.threshold:016x}" == vector["threshold"]
    assert mechanism.randomize(*sent(vector)).hex() == vector["payload"]
    best = for_domain(vector["mechanism"], domain, epsilon)
    assert (mechanism == best) == ("pinned" not in vector["name"])


@pytest.mark.parametrize("vector", of("permanent"), ids=lambda v: v["name"])
def test_permanent_answers_and_reports_are_the_canonical_ones(vector: dict[str, Any]) -> None:
    domain, permanent = record(*vector["radices"]), Fraction(vector["permanent"])
    epsilon = Fraction(vector["epsilon"])
    chain = for_domain(vector["mechanism"], domain, epsilon, permanent=permanent)
    answer = chain.memoize(*sent(vector))
    coins = [Coins.derive(KEY, *LABELS, answer, bytes([t])) for t in range(4)]
    assert f"0x{chain.permanent_threshold:016x}" == vector["permanent_threshold"]
    assert f"0x{chain.renewal_threshold:016x}" == vector["renewal_threshold"]
    assert answer.hex() == vector["answer"]
    assert [chain.rerandomize(answer, each).hex() for each in coins] == vector["reports"]
