"""A page: an address, whom it lets in, what its query may say, and the function that fills it.

A view takes `query` (the page's Struct) and the parts of the address. It returns what the template
`templates/pages/<name>.html` is given (`status` in it is that of the answer, 200 if there is none),
or a response of its own: a file, or where to go next.
A view of GET reads and never spends; what changes something is `post`, with a role of its own,
and its form carries `csrf_token()`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flask import Response

from deniable_aggregator.documents.fields import Arguments

Context = Mapping[str, object]
View = Callable[..., Context | Response]


@dataclass(frozen=True, slots=True)
class Post:
    """What a form of the page does. `act` reads `request.form`; it ends with `see_other`."""

    role: str
    act: View


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page. `role` None needs no sign-in; `menu` is its place in the menu, None for none.

    The menu of one that `operates` is the operator's.
    """

    path: str
    title: str
    view: View
    role: str | None = "viewer"
    query: type[Arguments] = Arguments
    menu: int | None = None
    operates: bool = False
    post: Post | None = None

    def __post_init__(self) -> None:
        if not self.path.startswith("/") or self.path.startswith(("/v1/", "/static/")):
            raise ValueError(f"path must start with / and leave /v1/ alone, got {self.path!r}")
