"""What the first process of a run makes in a folder, and every process copies."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["copied"]


def copied(make: Callable[[Path], Any], template: Path, folder: Path) -> Any:
    """Copy to `folder` what `make` made in `template`; return what it returned, as JSON keeps it.

    The other processes wait meanwhile. If the first one fails, the next one tries.
    """
    template.mkdir(exist_ok=True)
    made, returned = template / "made", template / "returned.json"
    with (template / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not returned.exists():
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir()
            returned.write_text(json.dumps(make(made)))
    shutil.copytree(made, folder, dirs_exist_ok=True)
    return json.loads(returned.read_text())
