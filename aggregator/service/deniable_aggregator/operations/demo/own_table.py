"""Makes a study from a user's table: columns are bits or choices, rows are people."""

from __future__ import annotations

import csv
import difflib
import re
from collections import Counter
from dataclasses import dataclass, field
from secrets import SystemRandom
from typing import TYPE_CHECKING, Protocol

from deniable_aggregator.operations.demo.questions import LIVE_PEOPLE
from deniable_aggregator.operations.demo.study import (
    PAST_DAYS,
    PREFIX,
    Question,
    Study,
    StudyError,
    draw_people,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

MAX_CHOICES = 1_000
"""A column with more distinct values is an identifier or free text, with no useful estimates."""

YES_OR_NO = {"0": False, "1": True, "false": False, "true": True, "no": False, "yes": True}
DELIMITERS = ",;\t"
LONGEST_NAME = 36
LONGEST_PURPOSE = 160


@dataclass(slots=True)
class Cells:
    """One column of the table, and the first line in which it is empty, 0 if it never is."""

    values: list[str] = field(default_factory=list)
    empty_line: int = 0

    def add(self, value: str, line: int) -> None:
        """The cell of one more row."""
        self.values.append(value)
        if not value:
            self.empty_line = self.empty_line or line


class Reader(Protocol):
    """The result of csv.reader: rows, and the number of lines read."""

    @property
    def line_num(self) -> int:
        """The number of lines read."""
        ...

    def __iter__(self) -> Iterator[list[str]]: ...
    def __next__(self) -> list[str]: ...


def read_study(
    path: Path, columns: Sequence[str], epsilon: str, *, people: int | None = None
) -> tuple[Study, list[str]]:
    """A study whose people are the rows, each on a random day, or `people` drawn from them.

    The 0/1 (true/false, yes/no) columns are the bits of one collection; each other is a choice.
    Every collection costs `epsilon`. Without `columns` it uses all suitable ones; the second value
    gives the reason for each column left out. Raises StudyError if the file, a column or a cell is
    unusable.
    """
    read = _read_columns(path, columns)
    labels, left_out = _labels_by_column(read, strict=bool(columns))
    cells = {column: read[column].values for column in labels}
    rows = len(next(iter(cells.values())))
    past = draw_people(range(rows), rows if people is None else people)
    days = _on_random_days(past)
    live = draw_people(range(rows), LIVE_PEOPLE)
    tables = list(_tables(path, labels, cells))
    questions = tuple(table.question(epsilon, days, first=table is tables[0]) for table in tables)
    return Study(
        questions, tuple(tuple(table.places[row] for table in tables) for row in live)
    ), left_out


@dataclass(frozen=True, slots=True)
class Table:
    """One question from the file: `places` has the index of every row's answer."""

    name: str
    purpose: str
    domain: Mapping[str, object]
    answers: tuple[object, ...]
    places: Sequence[int]

    def question(self, epsilon: str, days: Sequence[Sequence[int]], *, first: bool) -> Question:
        """The question, its past epochs counted; the first one has a release and a session."""
        counts = [Counter(self.places[row] for row in rows) for rows in days]
        return Question(
            name=self.name,
            purpose=self.purpose,
            domain=self.domain,
            epsilon=epsilon,
            answers=self.answers,
            past=tuple(tuple(day[place] for place in range(len(self.answers))) for day in counts),
            release="histogram" if first else "",
            session="queries" if first and self.domain["type"] == "choice" else "",
        )


def _tables(
    path: Path, labels: Mapping[str, tuple[str, ...]], cells: Mapping[str, list[str]]
) -> Iterator[Table]:
    """The bits of all columns of yes and no together, then each other column by itself."""
    taken: set[str] = set()
    bits = [column for column in labels if _is_yes_or_no(cells[column])]
    if bits:
        name = _unused(_slug(path.stem if len(bits) > 1 else bits[0]), taken)
        yield _bits_table(name, bits, cells)
    for column in labels:
        if column not in bits:
            name = _unused(_slug(column), taken)
            yield _choice_table(name, column, labels[column], cells[column])


def _bits_table(name: str, bits: Sequence[str], cells: Mapping[str, list[str]]) -> Table:
    columns = [[YES_OR_NO[cell.casefold()] for cell in cells[bit]] for bit in bits]
    rows = list(zip(*columns, strict=True))
    places = {row: place for place, row in enumerate(sorted(set(rows)))}
    return Table(
        name,
        _purpose("Of how many people is this true: ", bits),
        {"type": "bits", "labels": bits},
        tuple(dict(zip(bits, row, strict=True)) for row in places),
        [places[row] for row in rows],
    )


def _choice_table(name: str, column: str, labels: Sequence[str], cells: Sequence[str]) -> Table:
    places = {label: place for place, label in enumerate(labels)}
    purpose = _purpose("What do people say to this: ", [column])
    domain = {"type": "choice", "labels": labels}
    return Table(name, purpose, domain, tuple(labels), [places[cell] for cell in cells])


def _purpose(opening: str, columns: Sequence[str]) -> str:
    text = opening + ", ".join(columns)
    return (text if len(text) < LONGEST_PURPOSE else text[:LONGEST_PURPOSE] + "…") + "?"


def _on_random_days(rows: Sequence[int]) -> list[list[int]]:
    """The rows of each day, about the same number each."""
    shuffled = list(rows)
    SystemRandom().shuffle(shuffled)
    return [shuffled[day::PAST_DAYS] for day in range(PAST_DAYS)]


def _labels_by_column(
    cells: Mapping[str, Cells], *, strict: bool
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The values of every suitable column, and the reason for each other column.

    Raises the first reason if the user named the columns, or if no column is suitable.
    """
    labels: dict[str, tuple[str, ...]] = {}
    reasons: list[str] = []
    for column, held in cells.items():
        try:
            labels[column] = _labels(column, held)
        except StudyError as error:
            reasons.append(str(error))
    if reasons and (strict or not labels):
        raise StudyError(reasons[0])
    return labels, reasons


def _read_columns(path: Path, columns: Sequence[str]) -> dict[str, Cells]:
    if len(set(columns)) < len(columns):
        raise StudyError(f"name each column once, got {', '.join(columns)}")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first_line = file.readline()
            file.seek(0)
            delimiter = max(DELIMITERS, key=first_line.count)
            return _cells(csv.reader(file, delimiter=delimiter), path, columns)
    except UnicodeDecodeError as error:
        raise StudyError(f"{path.name} is not UTF-8 text: save it as CSV UTF-8") from error
    except csv.Error as error:
        raise StudyError(f"{path.name} is not a CSV file: {error}") from error


def _cells(reader: Reader, path: Path, columns: Sequence[str]) -> dict[str, Cells]:
    header = [name.strip() for name in next(reader, [])]
    places = {column: _place(column, header, path) for column in columns or filter(None, header)}
    cells = {column: Cells() for column in places}
    for row in filter(any, reader):
        for column, place in places.items():
            cells[column].add(row[place].strip() if place < len(row) else "", reader.line_num)
    if not any(column.values for column in cells.values()):
        raise StudyError(f"{path.name} has no rows below its header")
    return cells


def _place(column: str, header: list[str], path: Path) -> int:
    if header.count(column) == 1:
        return header.index(column)
    if column in header:
        times = header.count(column)
        raise StudyError(f"{path.name} has {times} columns named {column!r}: rename one")
    near = difflib.get_close_matches(column, header, n=1, cutoff=0.5)
    columns = ", ".join(header[:12]) or "no header"
    cure = f"did you mean {near[0]!r}?" if near else f"it has {columns}"
    raise StudyError(f"{path.name} has no column {column!r}: {cure}")


def _is_yes_or_no(cells: list[str]) -> bool:
    return {cell.casefold() for cell in set(cells)} <= YES_OR_NO.keys()


def _labels(column: str, cells: Cells) -> tuple[str, ...]:
    """The values that people choose from. Raises StudyError if the column is unsuitable."""
    values = set(cells.values)
    if cells.empty_line:
        raise StudyError(
            f"column {column!r} is empty in line {cells.empty_line}: "
            "fill it in or leave the row out"
        )
    if _is_yes_or_no(cells.values):
        return ("no", "yes")
    if len(values) == 1:
        [only] = values
        raise StudyError(f"column {column!r} has {only!r} in every row: nothing to estimate")
    if len(values) > MAX_CHOICES:
        raise StudyError(
            f"column {column!r} has {len(values):,} different values, but at most "
            f"{MAX_CHOICES:,} can be estimated: is it an identifier? Group rare values first"
        )
    return tuple(sorted(values, key=_natural))


def _natural(value: str) -> list[tuple[int, str]]:
    """Sorts "2" before "10" and ignores case."""
    parts = re.split(r"([0-9]+)", value.casefold())
    return [(int(part) if part.isascii() and part.isdigit() else 0, part) for part in parts]


def _slug(text: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")
    return PREFIX + (slug[:LONGEST_NAME].strip("-") or "answers")


def _unused(name: str, taken: set[str]) -> str:
    """The name, with a number appended if it is taken; adds it to `taken`."""
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    free = name if name not in taken else next(other for other in numbered if other not in taken)
    taken.add(free)
    return free
