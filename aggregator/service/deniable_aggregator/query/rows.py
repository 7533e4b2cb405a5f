"""Rows of an answer, and their conversion to a data frame or a plot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from msgspec import Struct, to_builtins

from deniable_aggregator.client.errors import MissingExtraError
from deniable_aggregator.query import plotting
from deniable_aggregator.query.notebook import rows_html
from deniable_aggregator.query.plotting import Row

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.axes import Axes

__all__ = ["Estimates", "Rows", "members"]

MOMENTS = ("time",)
SECONDS = ("start", "end", "closes", "created", "at")


def members(document: Struct, *without: str) -> dict[str, Any]:
    """The present members of a document by name, except those in `without`."""
    return {name: each for name, each in to_builtins(document).items() if name not in without}


class Rows(Sequence[Row]):
    """An answer: a sequence of rows, and `about`, the facts that all rows share."""

    def __init__(self, rows: Sequence[Row | Struct], about: Mapping[str, object]) -> None:
        self._rows = tuple(members(row) if isinstance(row, Struct) else row for row in rows)
        self.about = dict(about)

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Row]: ...

    def __getitem__(self, place: int | slice) -> Row | Sequence[Row]:
        """The row at this index, or a list of rows for a slice."""
        return self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __repr__(self) -> str:
        of = ", ".join(
            f"{name}={self.about[name]!r}" for name in ("collection",) if name in self.about
        )
        return f"<{type(self).__name__} {of} {len(self)} rows>".replace("  ", " ")

    def _repr_html_(self) -> str:
        return rows_html(self, self.about, drawn=False)

    def to_pandas(self) -> pd.DataFrame:
        """A data frame with a column for each member; times are timestamps in UTC.

        Raises MissingExtraError without pandas.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtraError("pandas", "query") from error
        frame = pd.DataFrame([dict(row) for row in self._rows])
        for name in frame.columns:
            if name in MOMENTS:
                frame[name] = pd.to_datetime(frame[name], utc=True)
            elif name in SECONDS:
                frame[name] = pd.to_datetime(frame[name], unit="s", utc=True)
        frame.attrs.update(self.about)
        return frame

    def to_arrow(self) -> pa.Table:
        """An Arrow table with a column for each member; needs pyarrow (extra `arrow`)."""
        try:
            import pyarrow as pa
        except ImportError as error:
            raise MissingExtraError("pyarrow", "arrow") from error
        names = dict.fromkeys(name for row in self._rows for name in row)
        return pa.table({name: [row.get(name) for row in self._rows] for name in names})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule interface: `polars.DataFrame(rows)`, `pyarrow.table(rows)`.

        Raises MissingExtraError without pyarrow.
        """
        return self.to_arrow().__arrow_c_stream__(requested_schema)


class Estimates(Rows):
    """Rows with `label`, an estimate, `lower` and `upper`; rows of a series also have `time`."""

    def _repr_html_(self) -> str:
        return rows_html(self, self.about, drawn=True)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot intervals as error bars by label, or as bands over time. Draws into `ax`, if given.

        Raises MissingExtraError without matplotlib.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise MissingExtraError("matplotlib", "query") from error

        target = plt.subplots()[1] if ax is None else ax
        over_time = any("time" in row for row in self)
        (plotting.bands if over_time else plotting.bars)(target, self, self.about)
        return target
