"""A command is one file, and a line that gives its place and its summary in the help."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.builders.project_copy import AGGREGATOR, Tree

pytestmark = pytest.mark.exhaustive

CLI = f"{AGGREGATOR}/cli"
MODULE = '''
"""`deniable hello`: a command of tests."""

from __future__ import annotations

import click

from deniable_aggregator.cli.options import example


@click.command(epilog=example("deniable hello Ada"))
@click.argument("name")
def hello(name: str) -> None:
    """Say good day."""
    click.echo(f"Good day, {name}.")
'''


def test_a_command_is_one_file_and_a_line(tmp_path: Path) -> None:
    tree = Tree.copied_to(tmp_path)
    tree.add(f"{CLI}/hello.py", MODULE)
    tree.enter(
        f"{CLI}/__init__.py",
        after='        "serve": Entry(f"{HERE}.serve", "serve", "Run the service."),',
        entry='        "hello": Entry(f"{HERE}.hello", "hello", "Say good day."),',
    )
    assert tree.changes() == {f"{CLI}/__init__.py": "names one more", f"{CLI}/hello.py": "added"}
    tree.lint(f"{CLI}/hello.py")
    assert "deniable hello Ada" in tree.run("-m", "deniable_aggregator", "hello", "--help")
    assert "Say good day." in tree.run("-m", "deniable_aggregator", "--help")
    assert tree.run("-m", "deniable_aggregator", "hello", "Ada") == "Good day, Ada.\n"
