"""The pages, one module and one template of the same name each: what lies here is a page.

A module holds `PAGE`. Nothing else has to know of it: routes, the menu and the tests of every page
in both themes and at both widths are made from this list.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.web.dashboard.page import Page

    Menu = tuple[tuple[str, Page], ...]

__all__ = ["menu", "operator_menu", "pages"]


@cache
def pages() -> Mapping[str, Page]:
    """Every page by its name."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name: import_module(f"{__name__}.{name}").PAGE for name in names}


@cache
def menu() -> Menu:
    """The pages of the menu, in their order."""
    return _menu(operates=False)


@cache
def operator_menu() -> Menu:
    """The pages of those who look after the service."""
    return _menu(operates=True)


def _menu(*, operates: bool) -> Menu:
    listed = [
        (page.menu, name, page)
        for name, page in pages().items()
        if page.menu is not None and page.operates is operates
    ]
    return tuple((name, page) for _, name, page in sorted(listed, key=lambda entry: entry[:2]))
