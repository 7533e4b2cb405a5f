"""The published vectors of unary encodings and of Hadamard response: which there are, and why."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from deniable_shared.mechanisms import for_domain, pinned_parameters
from support.oracles.vectors import FOLDER, domain_of

VECTORS = json.loads((FOLDER / "encodings.json").read_text())


def of(kind: str) -> list[dict[str, Any]]:
    return [vector for vector in VECTORS["cases"] if kind in vector]


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
