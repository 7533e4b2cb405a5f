"""Sentences of the API in words for people.

Refusals, prices and laws come from rooms that speak of collections and epochs. A page shows them
with the words of the pages. Names are left as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deniable_aggregator.documents.describe import when
from deniable_shared.manifest.epochs import epoch_start, period_name

if TYPE_CHECKING:
    from collections.abc import Mapping

_EPOCH = re.compile(r"\b[Ee]poch ([0-9]{1,10})\b")
_WORDS: Mapping[str, str] = {
    "collection": "question",
    "collections": "questions",
    "collection's": "question's",
    "min_batch": "least number of reports",
    "made-up": "invented",
    "epsilon": "ε",
    "asked": "requested",
    "head": "checkpoint",
    "manifest": "signed question file",
    "manifests": "signed question files",
}
_PATTERN = re.compile(
    rf"(?<![\w'\"=/-])({'|'.join((*_WORDS, 'epochs', 'epoch'))})(?![\w'\"=/-])", re.IGNORECASE
)


def plain_words(text: str, seconds: int = 0) -> str:
    """The sentence with days and people's words; `seconds` is the length of a period, if known."""
    period = period_name(seconds)
    words = {**_WORDS, "epoch": period, "epochs": f"{period}s"}
    if seconds:
        text = _EPOCH.sub(lambda match: when(epoch_start(int(match[1]), seconds)), text)

    def replaced(match: re.Match[str]) -> str:
        word = words[match[0].lower()]
        return word.capitalize() if match[0][0].isupper() else word

    return _PATTERN.sub(replaced, text)
