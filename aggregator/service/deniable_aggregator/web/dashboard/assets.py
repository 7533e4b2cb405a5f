"""The files that pages load: one address for each content, kept by browsers for a year.

`/static/<name>.<hash>.<ending>` is the file with that content, and nothing else has that address,
so that it never has to be asked for again. Each is held in memory, as it is and compressed. No
ranges, and no validators, which could recognize a visitor.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from flask import Response, request, url_for

from deniable_gateway.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

STATIC = Path(__file__).parent / "static"
KEPT = "public, max-age=31536000, immutable"
_HASH_CHARACTERS = 16
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}


@dataclass(frozen=True, slots=True)
class Asset:
    """One file under its address."""

    path: str
    content: bytes
    compressed: bytes
    content_type: str


def address(name: str) -> str:
    """Where a browser finds a file of `static/`; KeyError for one that is not there."""
    return url_for("dashboard.static", path=_assets_by_name()[name].path)


def serve(path: str) -> Response:
    """The file at an address, compressed where the browser takes that."""
    asset = _assets_by_path().get(path)
    if asset is None:
        raise Problem("not-found", f"no file of the pages is at {path[:80]!r}")
    smaller = "gzip" in request.headers.get("Accept-Encoding", "").lower()
    response = Response(asset.compressed if smaller else asset.content)
    response.headers["Content-Type"] = asset.content_type
    response.headers["Cache-Control"] = KEPT
    response.headers["Vary"] = "Accept-Encoding"
    if smaller:
        response.headers["Content-Encoding"] = "gzip"
    return response


@cache
def _assets_by_name() -> Mapping[str, Asset]:
    """Every file by its name."""
    files = [path for path in sorted(STATIC.rglob("*")) if path.is_file() and path.suffix]
    return {path.relative_to(STATIC).as_posix(): _asset(path) for path in files}


@cache
def fingerprint() -> str:
    """Changes with any of the files."""
    paths = sorted(asset.path for asset in _assets_by_name().values())
    return hashlib.sha256("\n".join(paths).encode()).hexdigest()


@cache
def _assets_by_path() -> Mapping[str, Asset]:
    return {asset.path: asset for asset in _assets_by_name().values()}


def _asset(path: Path) -> Asset:
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:_HASH_CHARACTERS]
    guessed = mimetypes.guess_type(path.name)[0] or "text/plain"
    return Asset(
        path=f"{path.stem}.{digest}{path.suffix}",
        content=content,
        compressed=gzip.compress(content, mtime=0),
        content_type=_TYPES.get(path.suffix, guessed),
    )
