"""The Python API: which modules of each package are public. Sphinx reads their docstrings."""

from __future__ import annotations

import pkgutil
import re
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

CLIENT = (
    "deniable_client",
    "deniable_client.testing",
    "deniable_client.inspection_page",
    "deniable_client.telemetry_commands",
    "deniable_client.argparse_commands",
    "deniable_client.click_commands",
    "deniable_client.explanation",
    "deniable_client.status",
    "deniable_client.codegen",
)
"""What an app imports, and what that returns; the other modules of the client are its own."""

PROGRAM = re.compile(r".*\.(__main__|cli)")
BESIDE = frozenset(
    f"deniable_shared.mechanisms.{name}" for name in ("memoization", "protocols", "structure")
)
"""Public, but not in the `__all__` of their package, by which single mechanisms are reached."""


def libraries(package: str) -> Iterator[str]:
    """The modules of a library, but for those that their package shows by its `__all__`."""
    root = import_module(package)
    for module in pkgutil.walk_packages(root.__path__, f"{package}."):
        parent = module.name.rpartition(".")[0]
        shown = hasattr(import_module(parent), "__all__") and module.name not in BESIDE
        empty = module.ispkg and not hasattr(import_module(module.name), "__all__")
        if not (shown or empty or PROGRAM.fullmatch(module.name)):
            yield module.name


def _sections(modules: Iterable[str]) -> str:
    return "\n".join(map(_section, modules))


def _section(name: str) -> str:
    is_package = hasattr(import_module(name), "__path__")
    imported = "\n   :imported-members:" if is_package else ""
    directive = f".. automodule:: {name}\n   :members:{imported}"
    return f"## `{name}`\n\n```{{eval-rst}}\n{directive}\n```\n"


def _library(package: str) -> str:
    return _sections(libraries(package))


PACKAGES: Mapping[str, Callable[[], str]] = {
    "client": partial(_sections, CLIENT),
    "query": partial(_sections, ("deniable_aggregator.query",)),
    "estimators": partial(_library, "deniable_estimators"),
    "central": partial(_library, "deniable_central"),
    "shared": partial(_library, "deniable_shared"),
    "gateway": partial(_library, "deniable_gateway"),
}
"""Part of the reference → what makes its text."""
