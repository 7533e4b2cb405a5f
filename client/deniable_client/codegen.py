"""Prints a typed Python module for an app's questions, so that type checkers find wrong answers.

python -m deniable_client.codegen app.deniable > questions.py
python -m deniable_client.codegen settings.manifest theme.manifest > questions.py
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from deniable_shared.errors import DecodeError, DeniableError
from deniable_shared.manifest.bindings import SignedManifest, read_file, render

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the module. Exits with an error message if a file cannot be read."""
    parser = argparse.ArgumentParser(
        prog="python -m deniable_client.codegen", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--trust", action="append", default=[], metavar="KEY")
    given = parser.parse_args(arguments)
    try:
        sys.stdout.write(_module(given.files, given.trust))
    except (DeniableError, OSError) as error:
        parser.exit(1, f"{error}\n")


def _module(files: Iterable[Path], trusted: Sequence[str]) -> str:
    signed: list[SignedManifest] = []
    for path in files:
        try:
            signed += read_file(path.read_bytes(), trusted=trusted)
        except DeniableError as error:
            raise DecodeError(f"{path}: {error}") from error
    return render(signed)


if __name__ == "__main__":
    main()
