"""Writes rows as Apache Arrow or Parquet. The name of a column fixes its type.

Needs pyarrow, the extra `arrow`; it is loaded when the first such answer is made.
"""

from __future__ import annotations

from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from deniable_aggregator.web.spreadsheet import Row

CURE = 'install the extra where the service runs: pip install "deniable-aggregator[arrow]"'

_TEXTS = (
    *("act", "account", "actor", "adjacency", "collection", "delta", "details", "entry", "epochs"),
    *("epsilon", "head", "label", "left_delta", "left_epsilon", "left_rho", "limit_delta"),
    *("limit_epsilon", "limit_rho", "mechanism", "name", "note", "parameters", "release", "rho"),
    *("spent_delta", "spent_epsilon", "spent_rho", "state"),
)
_INTEGERS = (
    *("after_n", "at", "before_n", "closes", "created", "devices_to_leave_interval", "end"),
    *(
        "epoch",
        "fewer_than",
        "first",
        "index",
        "last",
        "n",
        "reports",
        "reports_to_leave_interval",
        "start",
        "version",
    ),
)
_NUMBERS = (
    *("after", "before", "confidence", "count", "difference", "frequency", "liars_to_zero"),
    *("lower", "lower_under_lies", "projected", "projected_lower", "projected_upper", "std_error"),
    *("upper", "upper_under_lies", "value"),
)
_TRUTHS = ("changed", "expired", "provisional", "significant")
_TIMES = ("time",)


def is_installed() -> bool:
    """Whether pyarrow is installed; does not load it."""
    return find_spec("pyarrow") is not None


def arrow_bytes(rows: Iterable[Row], columns: Sequence[str], about: Mapping[str, str]) -> bytes:
    """An Arrow IPC stream; `about` goes into the metadata of its schema."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    table = _table(rows, columns, about)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def parquet_bytes(rows: Iterable[Row], columns: Sequence[str], about: Mapping[str, str]) -> bytes:
    """A Parquet file, compressed with zstd."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(_table(rows, columns, about), sink, compression="zstd")
    return bytes(sink.getvalue())


def _table(rows: Iterable[Row], columns: Sequence[str], about: Mapping[str, str]) -> Any:
    import pyarrow as pa

    held = list(rows)
    names = list(columns or (held[0] if held else ()))
    types = _types()
    schema = pa.schema([(name, types[name]) for name in names], metadata=dict(about))
    return pa.Table.from_pydict(
        {name: [_converter(name)(row.get(name)) for row in held] for name in names}, schema=schema
    )


def _types() -> dict[str, Any]:
    import pyarrow as pa

    kinds: list[tuple[tuple[str, ...], Any]] = [
        (_TEXTS, pa.string()),
        (_INTEGERS, pa.int64()),
        (_NUMBERS, pa.float64()),
        (_TRUTHS, pa.bool_()),
        (_TIMES, pa.timestamp("s", tz="UTC")),
    ]
    return {name: kind for names, kind in kinds for name in names}


def _converter(name: str) -> Callable[[object], object]:
    return _moment if name in _TIMES else lambda value: value


def _moment(value: object) -> datetime:
    return datetime.fromisoformat(str(value))
