"""A mechanism is two files, its name in each registry and a vector, and then works everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.builders.project_copy import ESTIMATORS, MECHANISMS, SUPPORT, Tree

pytestmark = pytest.mark.exhaustive

USES = Path(__file__).parent / "use_mechanism.py"
VECTOR = {
    "key": "00" * 32,
    "labels": ["01"],
    "cases": [
        {
            "name": "toy, four choices",
            "mechanism": "toy/1",
            "domain": {"choices": 4},
            "epsilon": "1",
            "yes": [2],
            "threshold": "0x79b1a4eec500ab94",
            "payload": "03",
        }
    ],
}


def test_a_mechanism_is_two_files_its_name_in_two_registries_and_a_vector(tmp_path: Path) -> None:
    tree = Tree.copied_to(tmp_path)
    tree.add(f"{MECHANISMS}/toy.py", (SUPPORT / "doubles" / "toy_mechanism.py").read_text())
    tree.add(f"{ESTIMATORS}/toy.py", (SUPPORT / "doubles" / "toy_estimator.py").read_text())
    tree.enter(
        f"{MECHANISMS}/__init__.py",
        after='        "tree/1": "TreeResponse",',
        entry='        "toy/1": "Toy",',
    )
    tree.enter(f"{MECHANISMS}/__init__.py", after="        tree,", entry="        toy,")
    tree.enter(
        f"{ESTIMATORS}/__init__.py",
        "from deniable_estimators.mechanisms.toy import ToyEstimator",
        after='        "sue/1": SymmetricUnaryEstimator,',
        entry='        "toy/1": ToyEstimator,',
    )
    tree.add("tests/vectors/toy.json", json.dumps(VECTOR))
    assert tree.changes() == {
        f"{ESTIMATORS}/__init__.py": "imports and names one more",
        f"{ESTIMATORS}/toy.py": "added",
        f"{MECHANISMS}/__init__.py": "names one more, twice",
        f"{MECHANISMS}/toy.py": "added",
        "tests/vectors/toy.json": "added",
    }
    tree.lint(f"{MECHANISMS}/toy.py")
    tree.lint(f"{ESTIMATORS}/toy.py")
    tree.run(str(USES))
    vectors = "tests/shared/test_payload_vectors.py"
    assert "1 passed" in tree.run("-m", "pytest", "-q", "-p", "no:xdist", "-k", "toy", vectors)
