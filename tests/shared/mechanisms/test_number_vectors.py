"""The published payloads of mechanisms for numbers, and of their chains."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from deniable_shared.analysis.optimal_mean_scores import scores_for
from deniable_shared.domains import bytes_for
from deniable_shared.mechanisms import build, pinned_parameters
from deniable_shared.randomness.coins import Coins
from support.oracles.vectors import FOLDER, vectors

DOCUMENT = json.loads((FOLDER / "numbers.json").read_text())
CASES = vectors("numbers.json")
KEY = bytes.fromhex(DOCUMENT["key"])
LABELS = [bytes.fromhex(label) for label in DOCUMENT["labels"]]


def title(case: dict[str, object]) -> str:
    return "-".join(str(case[name]) for name in ("mechanism", "values", "epsilon", "value"))


def coins_of(case: dict[str, object]) -> Coins:
    width = bytes_for(int(str(case["values"])))
    return Coins.derive(KEY, *LABELS, int(str(case["value"])).to_bytes(width, "big"))


@pytest.mark.parametrize("case", [c for c in CASES if "permanent" not in c], ids=title)
def test_one_report_is_the_published_one(case: dict[str, object]) -> None:
    built = build(
        str(case["mechanism"]), domain_size=int(str(case["values"])), epsilon=str(case["epsilon"])
    )
    assert {name: getattr(built, name) for name in pinned_parameters(built.id)} == case[
        "parameters"
    ]
    assert hex(built.threshold) == case["threshold"]
    assert built.randomize(int(str(case["value"])), coins_of(case)).hex() == case["payload"]


@pytest.mark.parametrize("case", [c for c in CASES if "permanent" in c], ids=title)
def test_a_chain_renews_as_published(case: dict[str, object]) -> None:
    chain = build(
        str(case["mechanism"]),
        domain_size=int(str(case["values"])),
        epsilon=str(case["epsilon"]),
        permanent=str(case["permanent"]),
    )
    assert hex(chain.permanent_threshold) == case["threshold"]
    assert hex(chain.renewal_threshold) == case["renewal_threshold"]
    answer = chain.memoize(int(str(case["value"])), coins_of(case))
    assert answer.hex() == case["answer"]
    result = [
        chain.rerandomize(answer, Coins.derive(KEY, *LABELS, answer, bytes([t]))) for t in range(4)
    ]
    assert [report.hex() for report in result] == case["reports"]


@pytest.mark.parametrize("case", [c for c in CASES if "scores" in c], ids=title)
def test_scores_are_the_published_ones(case: dict[str, object]) -> None:
    parameters = case["parameters"]
    assert isinstance(parameters, dict)
    ratio = Fraction(parameters["odds"], 1 << 16)
    actual = scores_for(parameters["outputs"], parameters["window"], ratio)
    assert list(actual) == case["scores"]
