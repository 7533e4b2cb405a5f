"""The page that `deniable estimates --html` writes, of a service in this process."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from deniable_aggregator.cli import main
from deniable_aggregator.cli.options import Target
from support.builders.api_world import World
from support.oracles.read_surfaces import connected

__all__ = ["page_of", "written"]


def page_of(world: World, name: str, *options: str) -> str:
    """The page on standard output."""
    return written(world, name, *options, path=Path("-"))


def written(world: World, name: str, *options: str, path: Path) -> str:
    """What the command prints; raises AssertionError unless it succeeds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Target, "connect", lambda _target: connected(world))
        clock = SimpleNamespace(time=world.clock)
        patch.setattr("deniable_aggregator.cli.estimates.time", clock)
        result = CliRunner().invoke(main, ["estimates", name, *options, "--html", str(path)])
    assert result.exit_code == 0, result.output
    return result.stdout
