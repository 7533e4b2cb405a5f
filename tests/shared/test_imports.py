"""Importing the wire costs little and loads no cryptography, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import deniable_shared

PACKAGE = Path(deniable_shared.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
)


def run(source: str) -> str:
    command = [sys.executable, "-c", source]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


@pytest.mark.processes
def test_importing_every_module_loads_neither_cryptography_nor_numpy() -> None:
    loaded = run(f"import json, sys, {', '.join(MODULES)}; print(json.dumps(sorted(sys.modules)))")
    names = {name.split(".")[0] for name in json.loads(loaded)}
    assert not names & {"cryptography", "numpy", "httpx", "typing_extensions", "asyncio"}


@pytest.mark.processes
def test_reading_a_manifest_loads_no_cryptography() -> None:
    source = (
        "import sys; from support.builders.manifests import settings; settings();"
        "assert 'cryptography' not in sys.modules"
    )
    run(f"import sys; sys.path.insert(0, {str(Path(__file__).parent.parent)!r}); {source}")
