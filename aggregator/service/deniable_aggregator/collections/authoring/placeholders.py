"""Which purposes say nothing: the text of a template, or a mark that one is still to be written."""

from __future__ import annotations

import re

__all__ = ["PLACEHOLDER_PURPOSE", "is_placeholder"]

PLACEHOLDER_PURPOSE = "What do we want to know, and what for?"
"""What `collections new` writes where no purpose was given."""

_MARKS = frozenset({"fixme", "placeholder", "tbd", "todo", "xxx"})
"""A purpose that begins with one of them is not written yet."""

_EMPTY = frozenset(
    {
        "change me",
        "changeme",
        "description",
        "lorem ipsum",
        "n a",
        "none",
        "purpose",
        "purpose here",
        "tba",
        "to be announced",
        "to be defined",
        "to be done",
        "your purpose",
        "your purpose here",
    }
)


def is_placeholder(purpose: str) -> bool:
    """Whether a purpose is the template's own, a mark such as TODO, or has no letter at all.

    Case, punctuation and spaces do not matter; "<purpose>" and "[your purpose here]" count too.
    """
    words = _words(purpose)
    if not words or words[0] in _MARKS:
        return True
    return " ".join(words) in _EMPTY or words == _words(PLACEHOLDER_PURPOSE)


def _words(text: str) -> list[str]:
    """Runs of letters of any script, in one case."""
    return re.findall(r"[^\W\d_]+", text.casefold())
