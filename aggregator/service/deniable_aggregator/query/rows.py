"""Rows as they came, and the same as a frame or a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from msgspec import Struct, to_builtins

from deniable_aggregator.client.errors import MissingExtraError
from deniable_aggregator.query import plotting
from deniable_aggregator.query.plotting import Row

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.axes import Axes

__all__ = ["Estimates", "Rows", "members"]

MOMENTS = ("time",)
SECONDS = ("start", "end", "closes", "created", "at")


def members(document: Struct, *without: str) -> dict[str, Any]:
    """The members of a document that it has, by their names, but those in `without`."""
    return {name: each for name, each in to_builtins(document).items() if name not in without}


class Rows(Sequence[Row]):
    """An answer: a sequence of rows, and `about`, what it is an answer of."""

    def __init__(self, rows: Sequence[Row | Struct], about: Mapping[str, object]) -> None:
        self._rows = tuple(members(row) if isinstance(row, Struct) else row for row in rows)
        self.about = dict(about)

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Row]: ...

    def __getitem__(self, place: int | slice) -> Row | Sequence[Row]:
        """The row at this place, or some of them."""
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

    def to_pandas(self) -> pd.DataFrame:
        """A frame with a column for each member, times as timestamps in UTC."""
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
        """A table of the same."""
        try:
            import pyarrow as pa
        except ImportError as error:
            raise MissingExtraError("pyarrow", "arrow") from error
        return pa.Table.from_pylist([dict(row) for row in self._rows])


class Estimates(Rows):
    """Rows that have `label`, an estimate, `lower` and `upper`; of series `time`, too."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Intervals as error bars, by label; over time as bands. Draws into `ax`, if given."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise MissingExtraError("matplotlib", "query") from error

        target = plt.subplots()[1] if ax is None else ax
        over_time = any("time" in row for row in self)
        (plotting.bands if over_time else plotting.bars)(target, self, self.about)
        return target
