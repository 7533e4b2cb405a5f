"""The parameters in the published vectors of sets, affine thresholds and geometric designs."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from deniable_shared.mechanisms import for_domain, pinned_parameters
from support.oracles.vectors import FOLDER, domain_of

VECTORS = json.loads((FOLDER / "designs.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["cases"], ids=lambda v: v["name"])
def test_parameters_are_the_best_for_one_report_or_pinned(
    vector: dict[str, Any],
) -> None:
    """Of a chain, too: chosen for the ε of one report, not for that of the permanent answer."""
    domain, epsilon = domain_of(vector["domain"]), Fraction(vector["epsilon"])
    names = pinned_parameters(vector["mechanism"])
    chosen = for_domain(vector["mechanism"], domain, epsilon)
    best = {name: getattr(chosen, name) for name in names}
    assert set(names) == vector["parameters"].keys()
    assert (vector["parameters"] == best) == ("pinned" not in vector["name"])
