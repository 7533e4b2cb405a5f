"""The tutorial "Make a private release", line by line, as a reader types it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.processes.deniable_command import Deniable
from support.processes.release_tutorial import PAGE, ReleaseReader, missing_lines

pytestmark = pytest.mark.processes


def test_a_line_that_the_output_lacks_is_noticed() -> None:
    assert missing_lines("a 1\nc 3", "a 9\nb 9\nc 9") == []
    assert missing_lines("c\na", "a\nb\nc") == ["a"]


@pytest.mark.exhaustive
def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    """Over a demo. By default the how-to page on releases is followed over a small collection."""
    seen: list[str] = []
    reader = ReleaseReader(Deniable(tmp_path), lambda _, picture: seen.append(picture))
    reader.deniable.environ["TMPDIR"] = str(tmp_path)
    reader.follow(PAGE.read_text("utf-8"))
    assert reader.compared >= 7
    assert len(seen) >= 6
