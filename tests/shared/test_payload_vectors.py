"""The published payloads of mechanisms and of their chains: of every file that has some."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from deniable_shared.mechanisms import for_domain
from deniable_shared.randomness.coins import Coins
from support.oracles.vectors import FOLDER, domain_of, value_of


def of(kind: str) -> list[Any]:
    """The vectors that name a domain by its size, each with the file that has the key."""
    return [
        pytest.param(file, vector, id=vector["name"])
        for file in (json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json")))
        for vector in file.get("cases", ())
        if {"mechanism", "domain", kind} <= vector.keys()
    ]


def streams(file: dict[str, Any], vector: dict[str, Any]) -> tuple[Coins, Coins]:
    """Keyed by the value, and by anything but the value."""
    key, labels = bytes.fromhex(file["key"]), list(map(bytes.fromhex, file["labels"]))
    domain = domain_of(vector["domain"])
    canonical = domain.canonical(value_of(vector, domain))  # type: ignore[arg-type]  # a value of this domain
    return Coins.derive(key, *labels, canonical), Coins.derive(key, b"public", *labels)


@pytest.mark.parametrize(("file", "vector"), of("payload"))
def test_payloads_are_the_canonical_ones(file: dict[str, Any], vector: dict[str, Any]) -> None:
    domain = domain_of(vector["domain"])
    mechanism = for_domain(
        vector["mechanism"],
        domain,
        Fraction(vector["epsilon"]),
        parameters=vector.get("parameters", {}),
    )
    payload = mechanism.randomize(value_of(vector, domain), *streams(file, vector))
    assert f"0x{mechanism.threshold:016x}" == vector["threshold"]
    assert payload.hex() == vector["payload"]


@pytest.mark.parametrize(("file", "vector"), of("permanent"))
def test_permanent_answers_and_reports_are_the_canonical_ones(
    file: dict[str, Any], vector: dict[str, Any]
) -> None:
    domain, permanent = domain_of(vector["domain"]), Fraction(vector["permanent"])
    chain = for_domain(
        vector["mechanism"],
        domain,
        Fraction(vector["epsilon"]),
        permanent=permanent,
        parameters=vector.get("parameters", {}),
    )
    answer = chain.memoize(value_of(vector, domain), *streams(file, vector))
    key, labels = bytes.fromhex(file["key"]), list(map(bytes.fromhex, file["labels"]))
    coins = [Coins.derive(key, *labels, answer, bytes([t])) for t in range(4)]
    assert f"0x{chain.permanent_threshold:016x}" == vector["permanent_threshold"]
    assert f"0x{chain.renewal_threshold:016x}" == vector["renewal_threshold"]
    assert answer.hex() == vector["answer"]
    assert [chain.rerandomize(answer, each).hex() for each in coins] == vector["reports"]
