"""The table of topics: each kind of release is in it, each command and each test is there."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import click

from deniable_aggregator.cli import main
from deniable_aggregator.releases.kinds import RELEASE_KINDS
from deniable_shared import mechanisms

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs/reference/topics.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if re.search(r"`tests/\S+\.py` \|$", line)
]


def test_every_kind_and_every_mechanism_is_in_the_table() -> None:
    kinds = {name for row in ROWS for name in re.findall(r"`([a-z-]+)`", row[1])}
    assert RELEASE_KINDS.keys() <= kinds
    assert {*re.findall(r"`([a-z-]+/1)`", TEXT)} == {*mechanisms.mechanism_ids()}


def test_what_a_row_names_is_there() -> None:
    assert len(ROWS) > 20
    for row in ROWS:
        assert (ROOT / row[-1].strip("`")).is_file(), row
        for words in re.findall(r"`deniable ([a-z -]+)`", " ".join(row)):
            found: click.Command | None = main
            for word in words.split():
                assert isinstance(found, click.Group), row
                found = found.get_command(click.Context(found), word)
            assert found is not None, row
        for module in re.findall(r"`(deniable_central\.\w+)`", row[1]):
            import_module(module)
