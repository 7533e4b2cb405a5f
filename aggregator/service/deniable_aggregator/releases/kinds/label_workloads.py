"""Workloads: many queries for the share of people with one of some labels.

points       each label by itself
prefixes     the labels up to each one but the last        of an ordered domain
intervals    the labels from one to another, but not all   of an ordered domain
tables       each combination of labels of two attributes  of a record
a list       [{"labels": [...]}, ...], each a set of labels; or, of a record, {"cells": [...]} with
             texts like "os=mac, beta=yes" or "os=mac": the combinations that have any of these
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

import numpy as np

from deniable_aggregator.releases.kinds.arguments import nearest
from deniable_aggregator.releases.kinds.contract import Counts, Parameter
from deniable_central.queries import Workload, intervals, points, prefixes
from deniable_estimators.inference.marginals import labels_of
from deniable_shared.domains import Domain, Record
from deniable_shared.errors import ParameterError

MOST_ENTRIES = 1 << 22
WORKLOAD = Parameter(
    "workload",
    'questions like "points", "prefixes", "intervals" or "tables", or a list of {"labels": [...]}, '
    'of a record also {"cells": ["os=mac, beta=yes"]}, at most 4,096 of them',
)
_MOST_LISTED = 4096
_TABLES = "tables"

Name = Mapping[str, object]


@dataclass(frozen=True, slots=True, eq=False)
class LabelWorkload:
    """A workload over labels, the `argument` that it was read from, the `names` of its queries."""

    workload: Workload
    argument: str | Sequence[Name]
    names: Sequence[Name]


def read_workload(value: object, domain: Domain) -> LabelWorkload:
    """A family by its name, or a list of sets. Raises ParameterError for another value."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _listed(value, domain)
    if not isinstance(value, str) or value not in (*_FAMILIES, _TABLES):
        hint = nearest(value, (*_FAMILIES, _TABLES))
        raise ParameterError(
            f"workload must be a list of label sets or a family, got {value!r:.80}{hint}"
        )
    if isinstance(domain, Record) and value == _TABLES:
        return _tables(domain)
    if value == _TABLES:
        raise ParameterError(
            f"tables need answers that are records, but these are of type {domain.type}: use "
            "points, prefixes or intervals"
        )
    if value != "points" and isinstance(domain, Record):
        raise ParameterError(
            f"{value} need labels in an order, which a record does not have: use points or tables, "
            "or list the sets of labels that you need"
        )
    count, workload_of, names_of = _FAMILIES[value]
    _check_size(count(domain.size), domain.size)
    return LabelWorkload(workload_of(domain.size), value, names_of(domain.labels))


def read_label_set(question: object, domain: Domain) -> tuple[Counts, Name]:
    """{"labels": [...]} or {"cells": [...]} as a 0/1 row, and its name in canonical form."""
    if isinstance(question, Mapping) and set(question) == {"cells"} and isinstance(domain, Record):
        return _read_cells(question["cells"], domain)
    if not isinstance(question, Mapping) or set(question) != {"labels"}:
        also = ' or {"cells": [...]}' if isinstance(domain, Record) else ""
        raise ParameterError(f'a query must be {{"labels": [...]}}{also}, got {question!r:.80}')
    labels = question["labels"]
    if isinstance(labels, str) or not isinstance(labels, Sequence) or not labels:
        raise ParameterError(f"labels must be a list of at least 1 label, got {labels!r:.80}")
    places = {label: place for place, label in enumerate(domain.labels)}
    row = np.zeros(domain.size, dtype=np.int64)
    for label in labels:
        if not isinstance(label, str) or label not in places:
            raise ParameterError(
                f"labels must be the collection's own, got {label!r:.80}{_cells_hint(domain)}"
            )
        row[places[label]] += 1
    if row.max() > 1:
        raise ParameterError(f"labels must each be named once in a query, got {labels!r:.80}")
    return row, {"labels": [domain.labels[place] for place in np.flatnonzero(row).tolist()]}


def _cells_hint(domain: Domain) -> str:
    """The end of a refusal of labels: what to use of a record, whose labels have commas."""
    if not isinstance(domain, Record):
        return ""
    name, labels = domain.attributes[0]
    return f': of a record, use cells (--cells), like "{name}={labels[0]}"'


def _read_cells(cells: object, domain: Record) -> tuple[Counts, Name]:
    """The combinations that have all labels of one of the cells, and the cells by name."""
    if isinstance(cells, str) or not isinstance(cells, Sequence) or not cells:
        raise ParameterError(f"cells must be a list of at least 1 text, got {cells!r:.80}")
    cube, names = np.zeros(domain.radices, dtype=np.int64), set[str]()
    for cell in cells:
        places = _read_cell(cell, domain) if isinstance(cell, str) else None
        if places is None:
            name, labels = domain.attributes[0]
            raise ParameterError(
                f'cells must be texts with labels of attributes, like "{name}={labels[0]}", in '
                f"a text several between commas, got {cell!r:.80}"
            )
        cube[tuple(places.get(axis, slice(None)) for axis in range(cube.ndim))] = 1
        names.add(_cell_name(domain, places))
    return cube.reshape(-1), {"cells": sorted(names)}


def _read_cell(text: str, domain: Record) -> dict[int, int] | None:
    """Attribute to label of "os=mac, beta=yes"; None of another text. Labels may have commas."""
    for axis, (name, labels) in enumerate(domain.attributes):
        for place, label in enumerate(labels):
            named = f"{name}={label}"
            if text == named:
                return {axis: place}
            if text.startswith(f"{named},"):
                others = _read_cell(text[len(named) + 1 :].strip(), domain)
                if others is not None and axis not in others:
                    return {axis: place, **others}
    return None


def _cell_name(domain: Record, places: Mapping[int, int]) -> str:
    """The name of a cell, with its attributes in the record's order."""
    named = ((*domain.attributes[axis], place) for axis, place in sorted(places.items()))
    return ", ".join(f"{name}={labels[place]}" for name, labels, place in named)


def _listed(sets: Sequence[object], domain: Domain) -> LabelWorkload:
    if not 1 <= len(sets) <= _MOST_LISTED:
        raise ParameterError(
            f"workload must list 1 to {_MOST_LISTED:,} sets of labels, got {len(sets):,}"
        )
    _check_size(len(sets), domain.size)
    rows, names = zip(*(read_label_set(one, domain) for one in sets), strict=True)
    if len({row.tobytes() for row in rows}) != len(rows):
        raise ParameterError("workload must list each set of labels once")
    return LabelWorkload(Workload(np.array(rows)), list(names), list(names))


def _tables(domain: Record) -> LabelWorkload:
    """Every cell of the table of every two attributes, as a set of combinations."""
    digits = np.unravel_index(np.arange(domain.size), domain.radices)
    pairs = list(combinations(range(len(domain.radices)), 2))
    cells = sum(domain.radices[one] * domain.radices[other] for one, other in pairs)
    _check_size(cells, domain.size)
    rows, names = [], []
    for axes in pairs:
        sizes = [domain.radices[axis] for axis in axes]
        cell_of = np.ravel_multi_index([digits[axis] for axis in axes], sizes)
        rows.append(cell_of == np.arange(int(np.prod(sizes)))[:, None])
        names += [{"cell": name} for name in labels_of(domain, axes)]
    matrix = np.concatenate(rows).astype(np.int64)
    return LabelWorkload(Workload(matrix), _TABLES, names)


def _check_size(queries: int, labels: int) -> None:
    if queries * labels > MOST_ENTRIES:
        raise ParameterError(
            f"workload must have at most {MOST_ENTRIES:,} entries, queries times labels, got "
            f"{queries:,} times {labels:,}: list the queries you need, or use histogram"
        )


def _point_names(labels: tuple[str, ...]) -> list[Name]:
    return [{"labels": [label]} for label in labels]


def _prefix_names(labels: tuple[str, ...]) -> list[Name]:
    return [{"to": label} for label in labels[:-1]]


def _interval_names(labels: tuple[str, ...]) -> list[Name]:
    size = len(labels)
    pairs = ((a, b) for a in range(size) for b in range(a, size) if b - a < size - 1)
    return [{"from": labels[a], "to": labels[b]} for a, b in pairs]


_Family = tuple[
    Callable[[int], int], Callable[[int], Workload], Callable[[tuple[str, ...]], list[Name]]
]
_FAMILIES: Mapping[str, _Family] = MappingProxyType(
    {
        "points": (lambda size: size, points, _point_names),
        "prefixes": (lambda size: size - 1, prefixes, _prefix_names),
        "intervals": (lambda size: size * (size + 1) // 2 - 1, intervals, _interval_names),
    }
)
