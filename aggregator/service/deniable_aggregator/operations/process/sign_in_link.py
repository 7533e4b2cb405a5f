"""The first sign-in link: to a terminal, or into a file that only the owner can read.

It signs in an admin. Standard output of a service ends in a journal or a log pipeline, whose
readers are not meant.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.operations.process.serving import Server

NAME = "sign-in-link"
OWNER_ONLY = 0o600


@contextmanager
def publish_link(settings: Settings, server: Server) -> Iterator[None]:
    """Within the block the link of `server`, if it has one, can be found by its owner."""
    if server.link is None:
        yield
        return
    addresses = _addresses(settings, server)
    terminal = next((each for each in (sys.stdout, sys.stderr) if each.isatty()), None)
    if terminal is not None:
        click.echo("Nobody has signed in yet. This link does it once, within 15 minutes:", terminal)
        click.echo(f"  {addresses[-1]}", terminal)
        yield
        return
    file, text = settings.data / NAME, "".join(f"{each}\n" for each in addresses)
    _write(file, text)
    click.echo(f"Nobody has signed in yet. A link that does it once, for 15 minutes, is in {file}")
    try:
        yield
    finally:
        _remove(file, text)


def _addresses(settings: Settings, server: Server) -> list[str]:
    """The link from outside, then from this machine."""
    origins = dict.fromkeys([settings.public_url.rstrip("/"), server.address])
    return [f"{origin}/sign-in?link={server.link}" for origin in origins]


def _write(file: Path, text: str) -> None:
    """Replace the file in one step; only its owner can ever read it."""
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        draft.unlink()
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(text)
    draft.replace(file)


def _remove(file: Path, text: str) -> None:
    """Unless another server wrote its own meanwhile."""
    with suppress(FileNotFoundError):
        if file.read_text(encoding="utf-8") == text:
            file.unlink()
