"""Private keys as files: one line of text, mode 0600, in directories of mode 0700.

ed25519-seed:<base64url>     the operator's or the online key
hpke-1:<base64url>           opens reports of suite 1
"""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path

from deniable_aggregator.errors import KeyFileError

__all__ = [
    "SEED",
    "make_directory",
    "read_private",
    "read_seed",
    "write_private",
    "write_public",
]

SEED = "ed25519-seed"

_RAW_BYTES = 32
_OWNER_ONLY = 0o600
_LONGEST_FILE = 256


def make_directory(path: Path) -> None:
    """The directory with mode 0700, made if it is missing."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)


def write_private(path: Path, raw: bytes, *, kind: str) -> None:
    """Write a new key file and have it on disk; FileExistsError rather than overwrite a key."""
    text = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    _write(path, f"{kind}:{text}\n", os.O_EXCL, _OWNER_ONLY)


def read_private(path: Path, *, kind: str) -> bytes:
    """The key's 32 bytes; KeyFileError if it is missing, readable by others or of another kind."""
    try:
        text = path.read_text(encoding="ascii")[:_LONGEST_FILE].strip()
        mode = stat.S_IMODE(path.stat().st_mode)
    except (OSError, ValueError) as error:
        raise KeyFileError(f"{path} cannot be read as a key file: {error}") from error
    if mode & 0o077:
        raise KeyFileError(f"{path} is open to others (mode {mode:04o}): chmod 600 {path}")
    found, _, encoded = text.partition(":")
    try:
        raw = base64.b64decode(encoded + "=", altchars=b"-_", validate=True)
    except ValueError:
        raw = b""
    if found != kind or len(raw) != _RAW_BYTES:
        raise KeyFileError(
            f"{path} must hold one line “{kind}:” and 43 base64url characters; is it another file?"
        )
    return raw


def read_seed(path: Path) -> bytes:
    """The 32-byte seed of a signing key, such as the operator's."""
    return read_private(path, kind=SEED)


def write_public(path: Path, content: bytes) -> None:
    """Replace a file that is no secret in one step, as readable as its directory allows."""
    draft = path.with_name(path.name + ".new")
    _write(draft, content.decode(), os.O_TRUNC, 0o644)
    draft.replace(path)


def _write(path: Path, content: str, flag: int, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flag, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
