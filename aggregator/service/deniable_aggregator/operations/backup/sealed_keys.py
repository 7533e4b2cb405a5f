"""Encrypts the files of keys/ with a passphrase: scrypt derives a key for AES-256-GCM.

scrypt with N = 2^17, r = 8, p = 1 takes 128 MiB and almost a second for each guess. Salt
and nonce are fresh for each archive. RFC 7914; NIST SP 800-38D.
"""

from __future__ import annotations

import os
import re
from base64 import b64decode, b64encode
from dataclasses import dataclass
from shutil import rmtree
from typing import TYPE_CHECKING

import msgspec

from deniable_aggregator.base.errors import KeyFileError
from deniable_aggregator.keys.files import make_directory
from deniable_gateway.directory_sync import sync_directory
from deniable_gateway.errors import DataDirectoryError

if TYPE_CHECKING:
    from pathlib import Path

SPEC = b"deniable/keys/1"
DRAFT = "keys.restoring"
LEAST_CHARACTERS = 12
_N, _R, _P = 1 << 17, 8, 1
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,127}")


@dataclass(frozen=True, slots=True)
class _SealedKeys:
    salt: bytes
    nonce: bytes
    sealed: bytes
    spec: str = SPEC.decode()


def seal_keys(folder: Path, passphrase: str) -> bytes:
    """The encrypted files. Raises KeyFileError for a passphrase that is too short."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if len(passphrase) < LEAST_CHARACTERS:
        raise KeyFileError(
            f"the passphrase must have at least {LEAST_CHARACTERS} characters, "
            f"got {len(passphrase)}"
        )
    files = {
        path.name: b64encode(path.read_bytes()).decode()
        for path in sorted(folder.iterdir())
        if _NAME.fullmatch(path.name) and path.suffix in (".key", ".json")
    }
    salt, nonce = os.urandom(16), os.urandom(12)
    cipher = AESGCM(_derive_key(passphrase, salt))
    text = cipher.encrypt(nonce, msgspec.json.encode(files), SPEC)
    return msgspec.json.encode(_SealedKeys(salt, nonce, text))


def restore_keys(folder: Path, data: bytes, passphrase: str) -> list[str]:
    """Write the files into a new directory, all or none; returns their names.

    Raises KeyFileError for a wrong passphrase.
    """
    files = _decrypt(data, passphrase)
    folder = folder.resolve()  # the keys may lie on another disk
    if folder.exists() and any(folder.iterdir()):
        raise DataDirectoryError(f"{folder} is not empty: keys are never overwritten")
    draft = folder.with_name(DRAFT)
    rmtree(draft, ignore_errors=True)  # of a run that was interrupted
    try:
        make_directory(draft)
        for name, content in files.items():
            _write_new(draft / name, content, mode=0o600 if name.endswith(".key") else 0o644)
        sync_directory(draft)
        draft.rename(folder)  # an empty directory may be there
    except BaseException:
        rmtree(draft, ignore_errors=True)
        raise
    sync_directory(folder.parent)
    return sorted(files)


def _write_new(path: Path, content: bytes, *, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _decrypt(data: bytes, passphrase: str) -> dict[str, bytes]:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        sealed = msgspec.json.decode(data, type=_SealedKeys)
        cipher = AESGCM(_derive_key(passphrase, sealed.salt))
        text = cipher.decrypt(sealed.nonce, sealed.sealed, SPEC)
    except (InvalidTag, msgspec.DecodeError, ValueError):
        raise KeyFileError(
            "the keys cannot be opened: the passphrase is wrong, or the archive is damaged"
        ) from None
    contents = msgspec.json.decode(text, type=dict[str, str])
    foreign = [name for name in contents if not _NAME.fullmatch(name)]
    if foreign:
        raise KeyFileError(f"keys must have plain names, got {foreign[0][:64]!r}")
    return {name: b64decode(content) for name, content in contents.items()}


def _derive_key(passphrase: str, salt: bytes) -> bytes:
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    return Scrypt(salt=salt, length=32, n=_N, r=_R, p=_P).derive(passphrase.encode())
