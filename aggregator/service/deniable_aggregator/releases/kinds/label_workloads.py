"""Queries over a collection: what share of the answers is one of these labels.

points       each label by itself
prefixes     the labels up to each one but the last        of an ordered domain
intervals    the labels from one to another, but not all   of an ordered domain
a list       [{"labels": [...]}, ...], each a set of labels
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from deniable_aggregator.releases.kinds.arguments import nearest
from deniable_aggregator.releases.kinds.contract import Counts, Parameter
from deniable_central.queries import Workload, intervals, points, prefixes
from deniable_shared.domains import Domain, Record
from deniable_shared.errors import ParameterError

MOST_ENTRIES = 1 << 22
WORKLOAD = Parameter(
    "workload",
    'questions like "points", "prefixes" or "intervals", or a list of {"labels": [...]}, at most '
    "4,096 of them",
)
_MOST_LISTED = 4096

Name = Mapping[str, object]


@dataclass(frozen=True, slots=True, eq=False)
class LabelWorkload:
    """A workload over labels, the `argument` that it was read from, the `names` of its queries."""

    workload: Workload
    argument: str | Sequence[Name]
    names: Sequence[Name]


def read_workload(value: object, domain: Domain) -> LabelWorkload:
    """A family by its name, or a list of sets; ParameterError for anything else."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _listed(value, domain)
    if not isinstance(value, str) or value not in _FAMILIES:
        hint = nearest(value, _FAMILIES)
        raise ParameterError(
            f"workload must be a list of label sets or a family, got {value!r:.80}{hint}"
        )
    if value != "points" and isinstance(domain, Record):
        raise ParameterError(
            f"{value} need labels in an order, which a record has none of: use points, or list "
            "the sets of labels you ask for"
        )
    count, workload_of, names_of = _FAMILIES[value]
    _check_size(count(domain.size), domain.size)
    return LabelWorkload(workload_of(domain.size), value, names_of(domain.labels))


def read_label_set(question: object, domain: Domain) -> tuple[Counts, Name]:
    """{"labels": [...]} as a 0/1 row, and spelled in the domain's order."""
    if not isinstance(question, Mapping) or set(question) != {"labels"}:
        raise ParameterError(f'a query must be {{"labels": [...]}}, got {question!r:.80}')
    labels = question["labels"]
    if isinstance(labels, str) or not isinstance(labels, Sequence) or not labels:
        raise ParameterError(f"labels must be a list of at least 1 label, got {labels!r:.80}")
    places = {label: place for place, label in enumerate(domain.labels)}
    row = np.zeros(domain.size, dtype=np.int64)
    for label in labels:
        if not isinstance(label, str) or label not in places:
            raise ParameterError(f"labels must be the collection's own, got {label!r:.80}")
        row[places[label]] += 1
    if row.max() > 1:
        raise ParameterError(f"labels must each stand once in a query, got {labels!r:.80}")
    return row, {"labels": [domain.labels[place] for place in np.flatnonzero(row).tolist()]}


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
