"""`deniable --install-completion`: adds the line that makes a shell complete commands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.command_groups import CommandFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SHELLS = ("bash", "zsh", "fish")
OWN = "auto"
"""The value for the shell that SHELL names."""


def install_completion(
    context: click.Context, _parameter: click.Parameter, shell: str | None
) -> None:
    """Write the line, print where, and exit. Does nothing without the option."""
    if shell is None or context.resilient_parsing:
        return
    chosen = _own_shell(os.environ) if shell == OWN else shell
    path, line = _PLACES[chosen](os.environ), _LINES[chosen]
    try:
        added = _append(path, line)
    except OSError as error:
        raise CommandFailed(
            f"cannot write {path} ({error.strerror}): add this line yourself: {line}"
        ) from error
    click.echo(f"{path} {'completes' if added else 'already completes'} `deniable`")
    if added:
        click.echo("Open a new shell to use it.")
    context.exit()


def _own_shell(environ: Mapping[str, str]) -> str:
    name = Path(environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise CommandFailed(
            f"SHELL is {name or 'not set'}, but completion works in {', '.join(SHELLS)}: "
            "name one, like --install-completion bash"
        )
    return name


def _append(path: Path, line: str) -> bool:
    """Append the line if it is missing; returns whether it was."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if line in text.splitlines():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{'' if not text or text.endswith(chr(10)) else chr(10)}{line}\n")
    return True


def _fish(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_CONFIG_HOME")
    config = Path(base) if base else Path.home() / ".config"
    return config / "fish" / "completions" / "deniable.fish"


_PLACES: Mapping[str, Callable[[Mapping[str, str]], Path]] = {
    "bash": lambda _environ: Path.home() / ".bashrc",
    "zsh": lambda environ: Path(environ.get("ZDOTDIR") or Path.home()) / ".zshrc",
    "fish": _fish,
}
_LINES = {
    "bash": 'eval "$(_DENIABLE_COMPLETE=bash_source deniable)"',
    "zsh": 'eval "$(_DENIABLE_COMPLETE=zsh_source deniable)"',
    "fish": "_DENIABLE_COMPLETE=fish_source deniable | source",
}
