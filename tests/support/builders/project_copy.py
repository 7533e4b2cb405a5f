"""A copy of the project, to which a rehearsal adds a few files and lines."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from support.processes.installed_programs import accepted, program

SUPPORT = Path(__file__).parents[1]
ROOT = SUPPORT.parent.parent
SHARED = "shared/deniable_shared"
AGGREGATOR = "aggregator/service/deniable_aggregator"
MECHANISMS = f"{SHARED}/mechanisms"
LIBRARY = "aggregator/estimators/deniable_estimators"
CENTRAL = "aggregator/central/deniable_central"
ESTIMATORS = f"{LIBRARY}/mechanisms"
_COPIED = (SHARED, AGGREGATOR, LIBRARY, CENTRAL, "tests/support", "tests/vectors")
_TESTS = ("tests/shared/test_payload_vectors.py",)
_IGNORED = shutil.ignore_patterns("__pycache__")


@dataclass(frozen=True, slots=True)
class Tree:
    """The copy; paths are those of the project."""

    folder: Path

    @classmethod
    def copied_to(cls, folder: Path) -> Tree:
        """The code of server and contract, and the tests that rehearsals need."""
        for name in _COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=_IGNORED)
        for name in _TESTS:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
        return cls(folder)

    def add(self, name: str, text: str) -> None:
        """A new file."""
        path = self.folder / name
        assert not path.exists()
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def enter(self, registry: str, imported: str = "", *, after: str, entry: str) -> None:
        """Name something in a registry, on the line below `after`, and import it there."""
        path = self.folder / registry
        text = path.read_text()
        assert text.count(f"{after}\n") == 1, f"{registry} has no one line {after!r}"
        text = text.replace(f"{after}\n", f"{after}\n{entry}\n")
        first = text.index("\nfrom deniable_") + 1
        path.write_text(text[:first] + f"{imported}\n" * bool(imported) + text[first:])

    def lint(self, name: str) -> None:
        """Check the style of a file as `just lint` does at this path of the project."""
        text = (self.folder / name).read_text().lstrip()
        ruff = program("ruff", "just setup")
        for words in (("check",), ("format", "--check")):
            accepted(ruff, *words, "--stdin-filename", ROOT / name, "-", given=text)

    def changes(self) -> dict[str, str]:
        """Which files differ from the project's, and how."""
        return {
            name: change
            for path in sorted(self.folder.rglob("*.*"))
            if path.is_file() and "__pycache__" not in path.parts
            for name in [str(path.relative_to(self.folder))]
            for change in [_change(path, ROOT / name)]
            if change
        }

    def take(self, pattern: str) -> list[str]:
        """Copy more of the project's files unchanged; return their paths."""
        paths = sorted(ROOT.glob(pattern))
        for path in paths:
            target = self.folder / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        return [str(path.relative_to(ROOT)) for path in paths]

    def run(self, *arguments: str) -> str:
        """What Python prints when it runs on the copy; it must succeed."""
        rooms = (
            self.folder / "shared",
            self.folder / "aggregator/service",
            self.folder / "aggregator/estimators",
            self.folder / "aggregator/central",
            self.folder / "tests",
        )
        path = map(str, (*rooms, ROOT / "client"))
        done = subprocess.run(
            [sys.executable, "-B", *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        assert not done.returncode, done.stdout + done.stderr
        return done.stdout


def _change(path: Path, original: Path) -> str:
    """How a file differs from the project's; empty where it does not."""
    if not original.exists():
        return "added"
    lines, before = path.read_bytes().splitlines(), original.read_bytes().splitlines()
    if lines == before:
        return ""
    more = Counter(lines) - Counter(before)
    assert not Counter(before) - Counter(lines), f"{path.name} lost a line"
    words = {
        (1, 0): "names one more",
        (2, 0): "names one more, twice",
        (2, 1): "imports and names one more",
    }
    return words[more.total(), sum(line.startswith(b"from ") for line in more)]
