"""Opt-outs outside the app: an environment variable or a policy file pauses telemetry.

They delete nothing. Telemetry is paused by each of:

* `DO_NOT_TRACK` or `DENIABLE_DISABLE` set to anything but "", "0" or "false"
* the app's own switch, `MYAPP_TELEMETRY`, set to anything but a value of `ON`
* a variable of a build server (`CI_MARKERS`), read once, when the client is made
* a policy file `{"disabled": true}`: the machine's, the person's, or the one in `DENIABLE_POLICY`.
  A file that cannot be read or says something else pauses too: its author wanted to pause.

One is enough to pause. No value of them counts as consent.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from deniable_client.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CI_MARKERS", "OFF", "ON", "Denial", "OptOuts", "policy_files", "switch_name"]

CI_MARKERS = (
    *("CI", "CONTINUOUS_INTEGRATION", "APPVEYOR", "BITBUCKET_BUILD_NUMBER", "BUILDKITE"),
    *("CIRCLECI", "CIRRUS_CI", "CODEBUILD_BUILD_ID", "DRONE", "GITHUB_ACTIONS", "GITLAB_CI"),
    *("HUDSON_URL", "JENKINS_URL", "SEMAPHORE", "TEAMCITY_VERSION", "TF_BUILD", "TRAVIS"),
)
"""Variables that build servers set. One that is "", "0" or "false" does not count."""

OFF = ("0", "false", "off", "no", "n", "f", "disable", "disabled", "never", "none")
"""Values of an app's own switch that pause; a value that is in neither table does, too."""

ON = ("", "1", "true", "on", "yes", "y", "t", "enable", "enabled")
"""Values of an app's own switch that pause nothing; they are not consent."""

_SWITCHES = ("DO_NOT_TRACK", "DENIABLE_DISABLE")
_UNSET = frozenset({"", "0", "false"})
_ON = frozenset(ON)
_MAX_BYTES = 65_536
_APP = r"[A-Za-z][A-Za-z0-9._-]{0,63}"


class Denial(NamedTuple):
    """One reason to pause: its code in `status`, and a sentence without a full stop."""

    reason: str
    text: str


class OptOuts:
    """Reads the opt-outs of one app. `environ` replaces the process's environment.

    Raises TypeError if `environ` is not a mapping of texts.
    """

    def __init__(self, app: str | None = None, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else _texts(environ)
        self._switch = None if app is None else switch_name(app)
        self._ci = next(filter(self._is_set, CI_MARKERS), None)

    def denial(self) -> str | None:
        """Why telemetry is paused now, in words, or None.

        Read again each time; takes microseconds.
        """
        first = next(self._denials(), None)
        return first and first.text

    def denials(self) -> tuple[Denial, ...]:
        """Return all reasons to pause now."""
        return tuple(self._denials())

    def unreadable(self) -> str | None:
        """Return the first policy file that pauses only because it cannot be read, or None."""
        return next((path for path in policy_files(self._environ) if _is_unreadable(path)), None)

    def _denials(self) -> Iterator[Denial]:
        environ = self._environ
        for switch in _SWITCHES:
            if environ.get(switch, "").strip().lower() not in _UNSET:
                yield Denial(switch.lower().replace("_", "-"), f"{switch} is set")
        if self._switch and environ.get(self._switch, "").strip().lower() not in _ON:
            yield Denial("app-switch", f"{self._switch} {_meaning(environ[self._switch])}")
        if self._ci:
            yield Denial("ci", f"this is a build server: {self._ci} is set")
        for path in policy_files(environ):
            if _denies(path):
                reason = "policy-unreadable" if _is_unreadable(path) else "policy"
                yield Denial(reason, f"the policy file {path} denies")

    def _is_set(self, marker: str) -> bool:
        return self._environ.get(marker, "").strip().lower() not in _UNSET


def switch_name(app: object) -> str:
    """Return the app's own variable, like MYAPP_TELEMETRY.

    Raises ConfigurationError if `app` is no valid name.
    """
    if not isinstance(app, str) or not re.fullmatch(_APP, app):
        raise ConfigurationError(
            "app must be a short name like \"myapp\": letters, digits, '.', '-' and '_', "
            f"got {app!r:.80}"
        )
    return re.sub(r"[^A-Z0-9]", "_", app.upper()) + "_TELEMETRY"


def _texts(environ: object) -> Mapping[str, str]:
    if isinstance(environ, Mapping) and all(
        isinstance(text, str) for each in environ.items() for text in each
    ):
        return environ
    raise TypeError("environ must be a mapping of texts, like os.environ")


def policy_files(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths of the policy files."""
    files = [_machine_file(environ), _personal_file(environ)]
    files.append(environ.get("DENIABLE_POLICY", ""))
    return tuple(path for path in files if path)


def _meaning(value: str) -> str:
    return "says off" if value.strip().lower() in OFF else "is neither on nor off"


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
