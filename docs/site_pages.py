"""Makes pages written for the repository's host into pages of the site.

A link to a folder leads to its README. A link to any other file that is no page becomes its text.
A picture with one file per theme follows the site's theme. The block `listed` makes the pages that
the lists of an index name into its part of the menu.
"""

from __future__ import annotations

import os
import re
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from site_reference import expanded

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(
    r"(?<!!)\[((?:`[^`]*`|[^\[\]`])+)\]"  # [words], not of a picture
    r"\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)"  # (path#heading)
)
PICTURE = re.compile(
    r'<picture>\s*<source[^>]* srcset="(?P<dark>[^"]+)">\s*'
    r'<img alt="(?P<alt>[^"]*)" src="(?P<light>[^"]+)"[^>]*>\s*</picture>'
)


LISTED = "```{listed}\n```"
ITEM = re.compile(r"^- \[.*?\]\(([^)]+)\.md\)", re.M)


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("source-read", _read)
    app.connect("autodoc-process-docstring", _read_docstring)
    return {"parallel_read_safe": True}


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(name))
    pages = {Path(app.env.doc2path(each)) for each in app.env.found_docs}
    source[0] = for_site(expanded(source[0]), page, pages)


def _read_docstring(*given: object) -> None:
    lines = given[-1]
    assert isinstance(lines, list)
    lines[:] = as_rst(lines)


def as_rst(lines: list[str]) -> list[str]:
    """A docstring, where backticks are code and indented lines are shown as they are."""
    made: list[str] = []
    for indented, block in groupby(lines, lambda line: line.startswith("  ")):
        text = "\n".join(block)
        made += ["", "::", "", *text.split("\n"), ""] if indented else _escaped(text).split("\n")
    return made


def _escaped(text: str) -> str:
    """Outside backticks each character is itself; a letter may follow a backtick."""
    return re.sub(
        r"(`[^`]*`)(?=(\w)?)|([*_|\\])",
        lambda found: f"\\{found[3]}" if found[3] else found[1] + "\\ " * bool(found[2]),
        text,
    )


def for_site(text: str, page: Path, pages: set[Path]) -> str:
    """The Markdown of `page`, of which `pages` are all those of the site."""

    def linked(match: re.Match[str]) -> str:
        words, link, heading = match[1], match[2], match[3] or ""
        target = (page.parent / link).resolve()
        if target in pages or not target.exists():  # one that is not there is a warning
            return match[0]
        if (readme := target / "README.md") in pages:
            return f"[{words}]({link.rstrip('/')}/{readme.name}{heading})"
        return words

    with_menu = text.replace(LISTED, _menu(text, page))
    return PICTURE.sub(_by_theme, LINK.sub(linked, with_menu))


def _menu(text: str, page: Path) -> str:
    """The pages that its lists link to, for Sphinx."""
    names = ("/" + os.path.relpath(page.parent / link, ROOT) for link in ITEM.findall(text))
    return "\n".join(["```{toctree}\n:hidden:\n", *names, "```"])


def _by_theme(match: re.Match[str]) -> str:
    each = (f"![{match['alt']}]({match[theme]}){{.only-{theme}}}" for theme in ("light", "dark"))
    return "\n".join(each)
