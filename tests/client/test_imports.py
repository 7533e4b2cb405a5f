"""What an app pays for the client: the standard library alone until something is sent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from deniable_shared.manifest.model import Manifest
from support.builders.client_world import URL, Device, Operator, manifest

HTTP = ["httpx", "httpx2", "httpcore", "httpcore2"]
HEAVY = [
    *(*HTTP, "certifi", "cryptography", "numpy", "ssl", "anyio", "asyncio", "email"),
    *("pathlib", "urllib.parse", "ipaddress"),
]
BEFORE = "import json, sys\nbefore = set(sys.modules)"  # a start file of this Python may load some
LOADED = f"print(sorted(set({HEAVY!r}) & set(sys.modules) - before))"


def python(code: str, *arguments: str) -> str:
    """What a fresh interpreter prints."""
    command = [sys.executable, "-I", "-c", f"{BEFORE}\n{code}\n{LOADED}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_importing_the_client_loads_nothing_heavy() -> None:
    assert python("import deniable_client") == "[]\n"


@pytest.mark.slow
def test_recording_on_a_second_start_loads_nothing_heavy(
    device: Device, operator: Operator, tmp_path: Path
) -> None:
    shipped: Manifest = manifest()
    device.granted().close()
    file = tmp_path / "settings.manifest"
    file.write_bytes(operator.sign(shipped))
    code = f"""
from deniable_client import Ceiling, Client
arguments = json.loads(sys.argv[1])
now = lambda: {device.clock()}
client = Client({URL!r}, ceiling=Ceiling(2, 4, 8), background=False, clock=now, **arguments)
print(client.record("settings", {{"dark_mode": True, "beta": False}}))
client.flush()
client.close()
"""
    arguments = {"trust": operator.trust, "manifests": [str(file)], "state": str(device.path)}
    assert python(code, json.dumps(arguments)) == "queued\n[]\n"


@pytest.mark.slow
def test_the_background_thread_loads_nothing_heavy_before_something_is_due(
    device: Device, operator: Operator
) -> None:
    device.granted().record("settings", {"dark_mode": True, "beta": False})
    device.close()
    code = f"""
from deniable_client import Ceiling, Client
now = lambda: {device.clock()}
client = Client({URL!r}, ceiling=Ceiling(2, 4, 8), clock=now, **json.loads(sys.argv[1]))
client.close()
"""
    arguments = {"trust": operator.trust, "state": str(device.path)}
    assert python(code, json.dumps(arguments)) == "[]\n"
