"""Reads the one file that an app ships, and picks the default place of the state file."""

from __future__ import annotations

import os
from pathlib import Path

from deniable_client.errors import ConfigurationError
from deniable_client.opt_outs import switch_name
from deniable_shared.errors import DecodeError
from deniable_shared.manifest.app_file import AppFile

__all__ = ["default_state", "read_app_file"]


def read_app_file(file: str | os.PathLike[str] | bytes) -> AppFile:
    """Return the contents of a file that `deniable collections export --app` wrote.

    Raises ConfigurationError if the file cannot be read or is anything else.
    """
    label = "given as bytes" if isinstance(file, bytes) else f"{os.fspath(file)!r:.200}"
    try:
        return AppFile.decode(file if isinstance(file, bytes) else Path(file).read_bytes())
    except (OSError, ValueError, DecodeError) as error:  # ValueError: no path can be spelt so
        why = error.strerror if isinstance(error, OSError) else error
        if isinstance(file, str) and file.lstrip().startswith("{"):
            why = "this is the text of a file: give its path, or its bytes"
        raise ConfigurationError(
            f"the app file {label} cannot be used: {why}. "
            "Write it with `deniable collections export --app`, and ship it inside the app"
        ) from error


def default_state(app: str) -> Path:
    """Return the path of `deniable.db` in this system's directory for the state of the app.

    Raises ConfigurationError if `app` cannot be a directory name or the system has no such
    directory.
    """
    switch_name(app)  # raises for a name that could not be a directory
    import platformdirs  # loaded only if the app gives no `state`

    try:
        return platformdirs.user_state_path(app, appauthor=False) / "deniable.db"
    except RuntimeError as error:  # no home directory
        raise ConfigurationError(
            f"this system has no directory for the state of {app} ({error}): give state="
        ) from error
