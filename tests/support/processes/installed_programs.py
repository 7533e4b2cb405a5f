"""Programs such as nginx and promtool: found, or the test says how to get them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def program(name: str, package: str = "") -> str:
    """The program's path; skips the test where it is not installed."""
    beside = str(Path(sys.executable).parent)
    places = (None, beside, "/usr/sbin", "/usr/lib/systemd")
    actual = next(filter(None, (shutil.which(name, path=place) for place in places)), None)
    if actual is None:
        pytest.skip(f"{name} is not installed: {package or f'apt-get install {name}'} to run this")
    return actual


def accepted(*command: str | Path, given: str | None = None) -> str:
    """What a checker says of a file it accepts; where it does not, the test fails with why."""
    words = list(map(str, command))
    answer = subprocess.run(words, capture_output=True, text=True, timeout=600, input=given)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout + answer.stderr
