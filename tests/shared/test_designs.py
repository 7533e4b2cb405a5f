"""The published payloads of sets, affine thresholds and geometric designs, and of their chains."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from deniable_shared.coins import Coins
from deniable_shared.mechanisms import for_domain, pinned_parameters
from support.vectors import FOLDER, domain_of, value_of

VECTORS = json.loads((FOLDER / "designs.json").read_text())
KEY, LABELS = bytes.fromhex(VECTORS["key"]), list(map(bytes.fromhex, VECTORS["labels"]))


def of(kind: str) -> list[dict[str, Any]]:
    return [vector for vector in VECTORS["cases"] if kind in vector]


def keyed_by_value(vector: dict[str, Any]) -> Coins:
    domain = domain_of(vector["domain"])
    canonical = domain.canonical(value_of(vector, domain))  # type: ignore[arg-type]
    return Coins.derive(KEY, *LABELS, canonical)


@pytest.mark.parametrize("vector", of("payload"), ids=lambda v: v["name"])
def test_payloads_are_the_canonical_ones(vector: dict[str, Any]) -> None:
    domain, epsilon = domain_of(vector["domain"]), Fraction(vector["epsilon"])
    mechanism = for_domain(
        vector["mechanism"], domain, epsilon, parameters=vector.get("parameters", {})
    )
    payload = mechanism.randomize(value_of(vector, domain), keyed_by_value(vector))
    assert f"0x{mechanism.threshold:016x}" == vector["threshold"]
    assert payload.hex() == vector["payload"]


@pytest.mark.parametrize("vector", of("permanent"), ids=lambda v: v["name"])
def test_permanent_answers_and_reports_are_the_canonical_ones(vector: dict[str, Any]) -> None:
    domain, permanent = domain_of(vector["domain"]), Fraction(vector["permanent"])
    epsilon = Fraction(vector["epsilon"])
    chain = for_domain(vector["mechanism"], domain, epsilon, permanent=permanent)
    answer = chain.memoize(value_of(vector, domain), keyed_by_value(vector))
    coins = [Coins.derive(KEY, *LABELS, answer, bytes([t])) for t in range(4)]
    assert f"0x{chain.permanent_threshold:016x}" == vector["permanent_threshold"]
    assert f"0x{chain.renewal_threshold:016x}" == vector["renewal_threshold"]
    assert answer.hex() == vector["answer"]
    assert [chain.rerandomize(answer, each).hex() for each in coins] == vector["reports"]


@pytest.mark.parametrize("vector", VECTORS["cases"], ids=lambda v: v["name"])
def test_parameters_are_those_that_one_report_needs_or_those_that_are_pinned(
    vector: dict[str, Any],
) -> None:
    """Of a chain, too: chosen for the ε of one report, not for that of the permanent answer."""
    domain, epsilon = domain_of(vector["domain"]), Fraction(vector["epsilon"])
    names = pinned_parameters(vector["mechanism"])
    chosen = for_domain(vector["mechanism"], domain, epsilon)
    best = {name: getattr(chosen, name) for name in names}
    assert set(names) == vector["parameters"].keys()
    assert (vector["parameters"] == best) == ("pinned" not in vector["name"])
