"""What a page of Markdown says: its sentences, headings and links, without code and tables."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median, quantiles

__all__ = [
    "LINK",
    "NOT_OURS",
    "PAGES",
    "ROOT",
    "headings",
    "links",
    "readability",
    "sentences",
    "slugs",
    "without_code",
]

ROOT = Path(__file__).parents[3]
NOT_OURS = {".venv", ".pytest_cache", "node_modules", "dist", "build"}
"""Folders of what was installed or built."""


def _pages() -> Iterator[Path]:
    """It enters no folder that is not ours: every process that collects tests pays for the walk."""
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in NOT_OURS]
        yield from (Path(folder, name) for name in files if name.endswith(".md"))


PAGES = sorted(_pages())

FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2`*[ ]*$\n?", re.S | re.M)
SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s]*)(?: \"[^\"]*\")?\)")
ITEM = re.compile(r"^ *(?:[-*+]|\d+[.)]) +(?:\[.\] )?")
END = re.compile(r"(?<=[.!?])[\"”')*_]*\s+(?=[\"“(*_`]?[A-Z0-9ε√×])")
NO_END = re.compile(r"\b(?:e\.g|i\.e|etc|vs|Fig|No|Dr|al|cf)\.$")
LEAST_WORDS = 8
"""What ends without a mark and has fewer words is a label, not a sentence."""


def without_code(text: str) -> str:
    """The page without code, comments and tags; a code span is the word `code`."""
    text = re.sub(r"<!--.*?-->", "", FENCE.sub("\n", text), flags=re.S)
    return re.sub(r"</?[a-z][^>]*>", "", SPAN.sub("code", text))


def sentences(text: str) -> list[str]:
    """Each sentence of paragraphs, lists and quotes; a list item ends its sentence."""
    actual: list[str] = []
    for block in _blocks(LINK.sub(r"\1", re.sub(r"!\[", "[", _without_pictures(text)))):
        actual += _split(block)
    return [each for each in actual if each[-1] in ".!?:" or len(words(each)) >= LEAST_WORDS]


def words(sentence: str) -> list[str]:
    """What has a letter or a digit."""
    return [word for word in sentence.split() if re.search(r"\w", word)]


def readability(texts: Iterable[str]) -> tuple[float, float, int]:
    """Median and 90th percentile of words a sentence, and how many sentences there are."""
    lengths = [len(words(each)) for text in texts for each in sentences(text)]
    if len(lengths) < 2:
        return 0, 0, len(lengths)
    return median(lengths), quantiles(lengths, n=10, method="inclusive")[-1], len(lengths)


def headings(text: str) -> list[str]:
    """In their order, as they are written."""
    return re.findall(r"^#{1,6} +(.+?)(?: +#+)?$", FENCE.sub("\n", text), re.M)


def slugs(titles: Iterable[str]) -> Iterator[str]:
    """The anchors that the repository's host and the site give to headings."""
    seen: Counter[str] = Counter()
    for title in titles:
        plain = LINK.sub(r"\1", title).replace("`", "").strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        yield f"{slug}-{seen[slug]}" if seen[slug] else slug
        seen[slug] += 1


def links(text: str) -> list[tuple[str, str]]:
    """Path and heading of each link and picture to a place of this repository."""
    targets = [actual[1] for actual in LINK.findall(SPAN.sub("code", FENCE.sub("\n", text)))]
    targets += re.findall(r'(?:src|srcset|href)="([^"]+)"', FENCE.sub("\n", text))
    here = [each for each in targets if not re.match(r"[a-z]+:|//", each)]
    return [
        (path, mark + heading) for path, mark, heading in (each.partition("#") for each in here)
    ]


def _without_pictures(text: str) -> str:
    return re.sub(r"!\[[^\]]*\]\([^)]*\)", "", without_code(text))


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs and list items, each on one line; no headings, tables or rules."""
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        bare = line.strip().removeprefix("> ")
        skipped = not bare or bare.startswith(("#", "|", "---", "==="))
        if skipped or ITEM.match(line):
            if block:
                yield " ".join(block)
            block = []
        if not skipped:
            block.append(ITEM.sub("", bare))


def _split(block: str) -> list[str]:
    """A block's sentences; an abbreviation does not end one."""
    parts: list[str] = []
    for part in filter(None, END.split(block)):
        if parts and NO_END.search(parts[-1]):
            parts[-1] += f" {part}"
        else:
            parts.append(part)
    return parts
