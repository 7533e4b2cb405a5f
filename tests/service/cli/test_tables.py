"""Tables on a narrow screen: ids stay whole, and no line is longer than the screen."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.cli import output
from deniable_aggregator.cli.output import column_widths, plain_table

ACCESS = ["id", "role", "label", "collections", "created", "expires"]
TOKENS = [
    ["3f9a01c2b4de", "viewer", "Grafana", "all", "2026-11-21 12:00 UTC", "never"],
    [
        *("0123456789ab", "analyst", "Ana Maria of the northern office"),
        *("settings-4kqz0m, theme-kcqye9", "2026-11-21 12:00 UTC", "2027-11-21 12:00 UTC"),
    ],
]
RELEASES = [["0123456789abcdef", "2026-11-21 06:01 UTC", "exponential: epsilon = 0.2", "made"]]
LONG = "-".join(["settings"] * 7) + "-4kqz0m"
WORDS = st.text(alphabet="abcdef0123456789-", min_size=1, max_size=30)
CELLS = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)


def printed(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    width: int,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    plain_table(columns, rows)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
@pytest.mark.parametrize(
    ("columns", "rows"),
    [(ACCESS, TOKENS), (["release", "charged", "asked", "state"], RELEASES)],
    ids=["tokens", "releases"],
)
def test_ids_are_whole_and_lines_fit_the_screen(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    width: int,
    columns: list[str],
    rows: list[list[str]],
) -> None:
    lines = printed(capsys, monkeypatch, width, columns, rows)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for row in rows:
        assert row[0] in text
        for word in " ".join(row).split():
            assert word in text


def test_an_id_longer_than_the_screen_is_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = printed(capsys, monkeypatch, 40, ["collection", "state"], [[LONG, "open"]])
    assert any(LONG in line for line in lines)


def test_a_moment_is_whole_where_the_table_fits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = ["2026-11-21 12:00 UTC", "collections.archived", "ana of the office", "few words " * 8]
    lines = printed(capsys, monkeypatch, 80, ["when", "act", "who", "details"], [entry])
    assert max(map(len, lines)) <= 80
    assert any(entry[0] in line for line in lines)


def test_a_table_in_a_pipe_is_100_wide_unless_columns_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert output.console(io.StringIO()).width == 100
    monkeypatch.setenv("COLUMNS", "72")
    assert output.console(io.StringIO()).width == 72
    monkeypatch.setenv("COLUMNS", "wide")
    assert output.console(io.StringIO()).width == 100


@pytest.mark.slow
@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=4), st.integers(5, 120))
def test_widths_break_no_word_and_take_no_more_than_there_is(
    rows: list[tuple[str, str, str]], room: int
) -> None:
    lines = [("id", "what", "who"), *rows]
    widths = column_widths(lines, room)
    words = [max(len(word) for row in lines for word in row[place].split()) for place in (1, 2)]
    least = [max(len(row[0]) for row in lines), *words]
    if widths is None:
        assert sum(least) > room
    else:
        assert sum(widths) <= room
        assert all(width >= smallest for width, smallest in zip(widths, least, strict=True))
