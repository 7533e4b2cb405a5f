"""A kind of release is one file and a line; options, form, price and pages come from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.builders.project_copy import AGGREGATOR, SUPPORT, Tree

pytestmark = pytest.mark.exhaustive

USES = Path(__file__).parent / "use_release.py"
KINDS = f"{AGGREGATOR}/releases/kinds"


def test_a_kind_of_release_is_one_file_and_a_line(tmp_path: Path) -> None:
    tree = Tree.copied_to(tmp_path)
    tree.add(f"{KINDS}/majority.py", (SUPPORT / "doubles" / "toy_release.py").read_text())
    tree.enter(
        f"{KINDS}/__init__.py",
        "from deniable_aggregator.releases.kinds import majority",
        after='        "histogram": histogram,',
        entry='        "majority": majority,',
    )
    assert tree.changes() == {
        f"{KINDS}/__init__.py": "imports and names one more",
        f"{KINDS}/majority.py": "added",
    }
    tree.lint(f"{KINDS}/majority.py")
    tree.run(str(USES))
