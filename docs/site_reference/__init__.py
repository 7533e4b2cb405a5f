"""Reference pages that are written from the sources when the site is built.

A page holds a block named `generated`, and the name of a part: `PARTS[name]()` is its Markdown.
No part needs Sphinx, so that tests read the same text.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from site_reference import (
    addresses,
    commands,
    fields,
    metrics,
    outcomes,
    problems,
    python_api,
    releases,
    settings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["PARTS", "expanded"]

BLOCK = re.compile(r"^```\{generated\} (\S+)\n```$", re.M)

PARTS: Mapping[str, Callable[[], str]] = {
    "addresses": addresses.table_of_all,
    "commands": commands.every_command,
    "documents": addresses.documents,
    "errors": outcomes.client_errors,
    "manifest-fields": fields.of_manifests,
    "metrics": metrics.every_metric,
    "operations": addresses.operations,
    "outcomes": outcomes.of_record,
    "problems": problems.of_requests,
    "release-kinds": releases.every_kind,
    "report-errors": problems.of_reports,
    "results": outcomes.of_flush,
    "settings": settings.every_setting,
    "toml-keys": fields.of_toml,
    **{f"python-{name}": part for name, part in python_api.PACKAGES.items()},
}


def expanded(text: str) -> str:
    """The page with each block in place of its name. KeyError for a name that is none."""
    return BLOCK.sub(lambda match: _part(match[1]), text)


@cache
def _part(name: str) -> str:
    return PARTS[name]().rstrip("\n")
