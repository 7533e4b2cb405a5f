"""Long lists, some at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar

from msgspec import Meta

if TYPE_CHECKING:
    from collections.abc import Sequence

Item = TypeVar("Item")

PageNumber = Annotated[int, Meta(ge=1, le=100_000, description="a page from 1 to 100000")]


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Item]):
    """One page of a list; numbers count from 1."""

    items: Sequence[Item]
    page: int
    pages: int
    first: int
    total: int

    @property
    def last(self) -> int:
        """Number of the last item shown."""
        return self.first + len(self.items) - 1


def paginate(items: Sequence[Item], page: int, size: int) -> ListPage[Item]:
    """That page, or the last one there is."""
    pages = max(-(-len(items) // size), 1)
    page = min(page, pages)
    start = (page - 1) * size
    return ListPage(items[start : start + size], page, pages, start + 1, len(items))
