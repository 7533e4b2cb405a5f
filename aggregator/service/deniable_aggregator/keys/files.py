"""Private keys as files: one line of text, mode 0600, in directories of mode 0700.

ed25519-seed:<base64url>     the operator's or the online key
hpke-<suite>:<base64url>     opens reports
cohort-secret:<base64url>    assigns reports to cohorts
"""

from __future__ import annotations

import base64
import os
import secrets
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import KeyFileError
from deniable_gateway.directory_sync import sync_directory
from deniable_gateway.errors import DataDirectoryError
from deniable_shared.wire import dsse

if TYPE_CHECKING:
    from pathlib import Path

SEED = "ed25519-seed"
COHORTS = "cohort-secret"
VOUCHERS = "voucher-secret"
SECRET_BYTES = 32
"""Bytes of every private key."""

_OWNER_ONLY = 0o600
_LONGEST_FILE = 512


def make_directory(path: Path) -> None:
    """The directory with mode 0700, made if it is missing."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)


def write_private(path: Path, raw: bytes, *, kind: str) -> None:
    """Write a new key file, complete on disk, or none. Raises FileExistsError if it exists.

    Each writer has its own draft, so with two writers one writes the complete file.
    """
    text = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    _write(draft, f"{kind}:{text}\n", _OWNER_ONLY)
    try:
        os.link(draft, path)  # unlike a rename, a link never replaces a file
    finally:
        draft.unlink()
    sync_directory(path.parent)


def read_private(path: Path, *, kind: str) -> bytes:
    """The key's bytes. Raises KeyFileError if it is missing, readable by others or wrong."""
    try:
        text = path.read_text(encoding="ascii")[:_LONGEST_FILE].strip()
        mode = stat.S_IMODE(path.stat().st_mode)
    except (OSError, ValueError) as error:
        raise KeyFileError(f"{path} cannot be read as a key file: {error}") from error
    if mode & 0o077:
        raise KeyFileError(f"{path} is open to others (mode {mode:04o}): chmod 600 {path}")
    prefix, _, encoded = text.partition(":")
    try:
        raw = base64.b64decode(encoded + "=", altchars=b"-_", validate=True)
    except ValueError:
        raw = b""
    if prefix != kind or len(raw) != SECRET_BYTES:
        raise KeyFileError(
            f"{path} must have one line “{kind}:” and 43 base64url characters; is it another file?"
        )
    return raw


def read_seed(path: Path) -> bytes:
    """The 32-byte seed of a signing key, such as the operator's."""
    return read_private(path, kind=SEED)


def read_trust(data: Path) -> str:
    """The operator's public key, as apps contain it."""
    path = data / "trust"
    try:
        trust = path.read_text(encoding="ascii").strip()
        dsse.key_bytes(trust)
    except FileNotFoundError:
        raise DataDirectoryError(
            f"{data} is not prepared ({path.name} is missing): run `deniable init` first"
        ) from None
    except (OSError, ValueError) as error:
        raise KeyFileError(f"{path} must contain the operator's public key: {error}") from error
    return trust


def read_public(path: Path) -> bytes:
    """The bytes of a public file. Raises KeyFileError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise KeyFileError(f"{path} cannot be read: {error}") from error


def destroy(path: Path) -> None:
    """Overwrite a key file and remove it; a missing file is no error.

    Copies in a file system, on a disk or in a backup are out of reach.
    """
    with suppress(FileNotFoundError):
        with path.open("r+b") as file:
            file.write(bytes(path.stat().st_size))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()
        sync_directory(path.parent)


def write_public(path: Path, content: bytes) -> None:
    """Replace a public file atomically, as readable as its directory allows."""
    draft = path.with_name(path.name + ".new")
    _write(draft, content.decode(), 0o644)
    draft.replace(path)


def _write(path: Path, content: str, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
