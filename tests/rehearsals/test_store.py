"""A store is one folder and a line; the suite of stores, and a service, run over it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.builders.project_copy import AGGREGATOR, SUPPORT, Tree

pytestmark = pytest.mark.exhaustive

USES = Path(__file__).parent / "use_store.py"
STORE = f"{AGGREGATOR}/store"
LEFT_OUT = {
    f"tests/service/store/test_{name}.py"
    for name in (
        *("crash", "history", "migration", "open", "postgres", "processes", "sqlite"),
        *("kinds", "protocols", "schema_version"),
    )
}
"""What these test is of SQLite or of PostgreSQL, takes minutes, or needs no database."""


def test_a_store_is_one_folder_and_a_line(tmp_path: Path) -> None:
    tree = Tree.copied_to(tmp_path)
    tree.add(f"{STORE}/toy/__init__.py", '"""A store of tests."""\n')
    tree.add(f"{STORE}/toy/opening.py", (SUPPORT / "doubles" / "toy_store.py").read_text())
    tree.enter(
        f"{STORE}/opening.py",
        "from deniable_aggregator.store.toy import opening as toy",
        after='        "postgresql://": postgres,',
        entry='        "toy://": toy,',
    )
    tree.take("tests/service/conftest.py")
    suite = set(tree.take("tests/service/store/test_*.py")) - LEFT_OUT
    assert tree.changes() == {
        f"{STORE}/opening.py": "imports and names one more",
        f"{STORE}/toy/__init__.py": "added",
        f"{STORE}/toy/opening.py": "added",
    }
    tree.run(str(USES))
    options = (
        "-q",
        "-p",
        "no:xdist",
        "-p",
        "support.doubles.toy_database",
        "--import-mode=importlib",
    )
    alone = ("-m", "not processes")  # another process would run the project's own code
    printed = tree.run("-m", "pytest", *options, *alone, *sorted(suite))
    [passed] = re.findall(r"(\d+) passed", printed.rstrip("\n").rpartition("\n")[2])
    assert int(passed) > 100, printed
