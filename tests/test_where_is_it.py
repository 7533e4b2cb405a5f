"""Every path on the page "Where is it?" is there, and every module of support is in its index."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/explanation/where-is-it.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
LISTS = {
    "kind of release": [
        *("docs/reference/topics.md", "docs/reference/releases.md"),
        *("tests/service/releases/kinds/test_audit.py", "tests/service/releases/test_surfaces.py"),
        *("tests/support/oracles/release_audit.py", "tests/service/cli/test_releases.py"),
        *("tests/support/builders/release_requests.py", "AUDITS", "ONE_OF_EACH_KIND"),
    ],
    "command": [
        *("tests/service/cli/test_help.py", "tests/service/web/test_surfaces.py"),
        *("tests/support/oracles/read_surfaces.py", "OTHER_COMMANDS", "COMMANDS"),
    ],
}
"""Where a new one must be named, or a test fails."""
SUPPORT = ROOT / "tests" / "support"


def test_every_path_is_there() -> None:
    paths = re.findall(r"`([^`]*/[^`]*)`", PAGE)
    assert len(paths) > 15
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", [PAGE, CONTRIBUTING], ids=["where-is-it", "contributing"])
@pytest.mark.parametrize("what", LISTS)
def test_a_recipe_names_every_list_that_a_test_holds(page: str, what: str) -> None:
    [row] = re.findall(rf"^\| (?:add )?a {what} \|.*$", page, re.M)
    named = set(re.findall(r"`([^`]+)`", row))
    assert set(LISTS[what]) <= named
    assert all((ROOT / path).exists() for path in LISTS[what] if "/" in path)


def first_line(module: Path) -> str:
    """Of what it says about itself."""
    return (ast.get_docstring(ast.parse(module.read_text())) or "").partition("\n")[0]


@pytest.mark.slow
def test_the_index_of_support_has_the_first_line_of_every_module() -> None:
    sections = (SUPPORT / "README.md").read_text().split("\n## ")[1:]
    listed = {
        f"{section.split()[0]}/{name}": line
        for section in sections
        for name, line in re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.M)
    }
    assert listed == {
        path.relative_to(SUPPORT).with_suffix("").as_posix(): first_line(path)
        for path in SUPPORT.glob("*/*.py")
    }
