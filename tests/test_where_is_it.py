"""Every path on the page "Where is it?" is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "where-is-it.md").read_text()


def test_every_path_is_there() -> None:
    paths = re.findall(r"`([^`]*/[^`]*)`", PAGE)
    assert len(paths) > 15
    assert [path for path in paths if not (ROOT / path).exists()] == []
