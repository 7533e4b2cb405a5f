"""Ambient opt-outs: a denial by the environment or by a policy file pauses everything.

* `DO_NOT_TRACK` or `DENIABLE_DISABLE` set to anything but "", "0" or "false"
* a policy file `{"disabled": true}`: the machine's, the person's, or one `DENIABLE_POLICY` names.
  One that cannot be read or says something else denies too: whoever wrote it meant to.

Any denial wins, none of them wipes anything.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["denial", "policy_files", "unreadable"]

_SWITCHES = ("DO_NOT_TRACK", "DENIABLE_DISABLE")
_OFF = frozenset({"", "0", "false"})
_MAX_BYTES = 65_536


def denial(environ: Mapping[str, str] | None = None) -> str | None:
    """What denies right now, in words, or None. Looked up anew each time: a few microseconds."""
    environment = os.environ if environ is None else environ
    for switch in _SWITCHES:
        if environment.get(switch, "").strip().lower() not in _OFF:
            return f"{switch} is set"
    for path in policy_files(environment):
        if _denies(path):
            return f"the policy file {path} denies"
    return None


def unreadable() -> str | None:
    """The first policy file that denies only because it cannot be read, or None."""
    return next((path for path in policy_files(os.environ) if _is_unreadable(path)), None)


def policy_files(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where policies are looked for."""
    files = [_machine_file(environ), _personal_file(environ)]
    files.append(environ.get("DENIABLE_POLICY", ""))
    return tuple(path for path in files if path)


def _machine_file(environ: Mapping[str, str]) -> str:
    if sys.platform == "win32":
        return environ.get("PROGRAMDATA", r"C:\ProgramData") + r"\deniable\policy.json"
    if sys.platform == "darwin":
        return "/Library/Application Support/deniable/policy.json"
    return "/etc/deniable/policy.json"


def _personal_file(environ: Mapping[str, str]) -> str:
    if sys.platform == "win32":
        base = environ.get("APPDATA", "")
        return base + r"\deniable\policy.json" if base else ""
    home = environ.get("HOME", "")
    base = environ.get("XDG_CONFIG_HOME", "") or (home + "/.config" if home else "")
    return base + "/deniable/policy.json" if base else ""


def _denies(path: str) -> bool:
    try:
        return not _allows(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError, RecursionError):
        return True


def _allows(path: str) -> bool:
    with open(path, "rb") as file:  # noqa: PTH123  (each answer comes here: a Path costs as much)
        policy = json.loads(file.read(_MAX_BYTES))
    return isinstance(policy, dict) and policy.get("disabled") is False


def _is_unreadable(path: str) -> bool:
    try:
        _allows(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError, RecursionError):
        return True
    return False
