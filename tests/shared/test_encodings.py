"""The published payloads of unary encodings and of Hadamard response, and of their chains."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from deniable_shared.coins import Coins
from deniable_shared.mechanisms import for_domain, pinned_parameters
from support.vectors import FOLDER, domain_of, value_of

VECTORS = json.loads((FOLDER / "encodings.json").read_text())
KEY, LABELS = bytes.fromhex(VECTORS["key"]), list(map(bytes.fromhex, VECTORS["labels"]))


def of(kind: str) -> list[dict[str, Any]]:
    return [vector for vector in VECTORS["cases"] if kind in vector]


def streams(vector: dict[str, Any]) -> tuple[Coins, Coins]:
    """Keyed by the value, and by anything but the value."""
    domain = domain_of(vector["domain"])
    canonical = domain.canonical(value_of(vector, domain))  # type: ignore[arg-type]
    return Coins.derive(KEY, *LABELS, canonical), Coins.derive(KEY, b"public", *LABELS)


@pytest.mark.parametrize("vector", of("payload"), ids=lambda v: v["name"])
def test_payloads_are_the_canonical_ones(vector: dict[str, Any]) -> None:
    domain = domain_of(vector["domain"])
    mechanism = for_domain(
        vector["mechanism"],
        domain,
        Fraction(vector["epsilon"]),
        parameters=vector.get("parameters", {}),
    )
    payload = mechanism.randomize(value_of(vector, domain), *streams(vector))
    assert f"0x{mechanism.threshold:016x}" == vector["threshold"]
    assert payload.hex() == vector["payload"]


@pytest.mark.parametrize("vector", of("permanent"), ids=lambda v: v["name"])
def test_permanent_answers_and_reports_are_the_canonical_ones(vector: dict[str, Any]) -> None:
    domain, permanent = domain_of(vector["domain"]), Fraction(vector["permanent"])
    epsilon = Fraction(vector["epsilon"])
    chain = for_domain(
        vector["mechanism"],
        domain,
        epsilon,
        permanent=permanent,
        parameters=vector.get("parameters", {}),
    )
    answer = chain.memoize(value_of(vector, domain), *streams(vector))
    coins = [Coins.derive(KEY, *LABELS, answer, bytes([t])) for t in range(4)]
    assert f"0x{chain.permanent_threshold:016x}" == vector["permanent_threshold"]
    assert f"0x{chain.renewal_threshold:016x}" == vector["renewal_threshold"]
    assert answer.hex() == vector["answer"]
    assert [chain.rerandomize(answer, each).hex() for each in coins] == vector["reports"]


def test_every_mechanism_of_the_file_has_payloads_and_a_chain() -> None:
    ids = {"dbitflip/1", "hadamard/1", "loloha/1", "oue/1", "sue/1"}
    for kind in ("payload", "permanent"):
        assert {vector["mechanism"] for vector in of(kind)} == ids


@pytest.mark.parametrize("vector", of("parameters"), ids=lambda v: v["name"])
def test_parameters_that_are_not_given_are_those_of_one_report(vector: dict[str, Any]) -> None:
    names = pinned_parameters(vector["mechanism"])
    domain, epsilon = domain_of(vector["domain"]), Fraction(vector["epsilon"])
    chosen = for_domain(vector["mechanism"], domain, epsilon)
    assert set(names) == vector["parameters"].keys()
    named_here = vector["name"].endswith(("nine elements", "of a thousand", "buckets, asked again"))
    assert ({name: getattr(chosen, name) for name in names} != vector["parameters"]) == named_here
