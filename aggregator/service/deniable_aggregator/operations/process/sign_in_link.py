"""The first sign-in link: to a terminal, or into a file that only the owner can read.

It signs in an admin. The standard output of a service usually goes to a log, whose readers must
not get it.
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
    """In the block the owner can read the link of `server`, if it has one."""
    if server.link is None:
        yield
        return
    addresses = _addresses(settings, server)
    terminal = next((each for each in (sys.stdout, sys.stderr) if each.isatty()), None)
    if terminal is not None:
        click.echo("No one has signed in yet. This link works once, for 15 minutes:", terminal)
        click.echo(f"  {addresses[-1]}", terminal)
        yield
        return
    file, text = settings.data / NAME, "".join(f"{each}\n" for each in addresses)
    _write(file, text)
    click.echo(f"No one has signed in yet. A link that works once, for 15 minutes, is in {file}")
    try:
        yield
    finally:
        _remove(file, text)


def _addresses(settings: Settings, server: Server) -> list[str]:
    """The link at the public address, then at this machine's."""
    origins = dict.fromkeys([settings.public_url.rstrip("/"), server.address])
    return [f"{origin}/sign-in?link={server.link}" for origin in origins]


def _write(file: Path, text: str) -> None:
    """Replace the file atomically; only its owner can read it."""
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        draft.unlink()
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(text)
    draft.replace(file)


def _remove(file: Path, text: str) -> None:
    """Remove the file, unless another server has written its own link."""
    with suppress(FileNotFoundError):
        if file.read_text(encoding="utf-8") == text:
            file.unlink()
