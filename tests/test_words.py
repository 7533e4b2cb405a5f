"""Guides and pages of the service use people's words, in sentences that are read once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.oracles.markdown_pages import LINK, PAGES, ROOT, readability, sentences, without_code

TEMPLATES = ROOT / "aggregator/service/deniable_aggregator/web/dashboard/templates"
GUIDES = (
    *("README.md", "*/README.md", "aggregator/*/README.md", "client/web/README.md"),
    *("docs/*.md", "docs/tutorials/*.md", "docs/how-to/*.md", "docs/explanation/*.md"),
    *("deploy/*.md", "aggregator/central/docs/*.md"),
)
"""What is read from top to bottom. Reference, mathematics and decisions are looked up."""

WITH_WORDS_OF_CODE = frozenset({"docs/how-to/your-language.md", "tests/README.md"})
"""They speak of code and of the protocol, to people who write it."""

LONGEST_MEDIAN = 17
LONGEST_P90 = 28
FEWEST_SENTENCES = 10
"""A page with fewer says little about its style."""

CODE_WORDS = re.compile(
    r"\b(?:collections?|epochs?|manifests?|ceilings?|projected|fabricated|rejections?|ledgers?"
    r"|half-widths?|charge[ds]?|charging|keyless intakes?|spool consumers?|heads? of the log"
    r"|(?:an?|each|the|this|per|one|every|next|its) hold|(?:the|its|two) holds)\b",
    re.I,
)
"""The words of API and code. Guides say question, day, signed question file, privacy limit,
adjusted, fake reports, rejected, privacy budget, margin of error, spent, ingest node, processing
node, checkpoint and answer period. Left out are ε, guarantee and distance: both have these."""

NOT_READ = re.compile(
    r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<(code|pre|script|style)\b.*?</\1>|<!--.*?-->|<[^>]*>", re.S
)
"""Of a template: what Jinja fills in, code, and tags."""


def guides() -> list[Path]:
    """Every page that people read."""
    found = {path for pattern in GUIDES for path in ROOT.glob(pattern)} & set(PAGES)
    return sorted(found)


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def code_words(text: str) -> list[str]:
    """Each word of the API with what stands near it."""
    line = " ".join(text.split())
    return [
        line[max(0, found.start() - 30) : found.end() + 30] for found in CODE_WORDS.finditer(line)
    ]


def page_text(markdown: str) -> str:
    """What is read of a page: no code, and no address of a link."""
    return LINK.sub(r"\1", without_code(markdown))


def test_a_guide_has_short_sentences() -> None:
    long = {name(page): too_long(page.read_text()) for page in guides()}
    assert len(long) > 60
    assert {page: sentences for page, sentences in long.items() if sentences} == {}


def too_long(text: str) -> list[str]:
    """The longest sentences of a page that breaks a limit; none of one that keeps both."""
    middle, high, count = readability([text])
    if count < FEWEST_SENTENCES or (middle <= LONGEST_MEDIAN and high <= LONGEST_P90):
        return []
    return sorted(sentences(text), key=lambda each: -len(each.split()))[:5]


@pytest.mark.slow
def test_a_guide_has_no_word_of_the_api() -> None:
    used = {name(page): code_words(page_text(page.read_text())) for page in guides()}
    assert len(used) > 60
    assert {page for page, words in used.items() if words} <= WITH_WORDS_OF_CODE, used


def test_a_page_of_the_service_has_no_word_of_the_api() -> None:
    pages = sorted(TEMPLATES.rglob("*.html"))
    used = {name(page): code_words(NOT_READ.sub(" ", page.read_text())) for page in pages}
    assert len(used) > 20
    assert {page: words for page, words in used.items() if words} == {}


def test_a_long_winded_guide_is_seen() -> None:
    sentence = "This page has one sentence that goes on and on " + "and on " * 20 + "to its end."
    assert too_long(" ".join([sentence] * FEWEST_SENTENCES)) != []
    assert too_long("This is short. " * FEWEST_SENTENCES) == []
    mostly_short = " ".join(["This is short."] * 7 + [sentence] * 3)
    assert too_long(mostly_short)[0] == sentence


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Each epoch has a manifest.", 2),
        ("An answer serves\nthe hold; that holds for all.", 1),
        ("The **ceiling** of [a ledger](ledger.md).", 2),
        ("`collection` and ``an `epoch` `` are code, [a page](epochs.md) is an address.", 0),
        ("```toml\nepoch = 1\n```\nA question. <!-- manifest -->", 0),
        ("| a cell | of an epoch |", 1),
    ],
)
def test_a_word_of_the_api_is_seen_outside_code(text: str, seen: int) -> None:
    assert len(code_words(page_text(text))) == seen


@pytest.mark.parametrize(
    ("template", "seen"),
    [
        ("<h1>This collection</h1>", 1),
        ('<a href="/collections/x">{{ collection.name }}</a> {% if epoch %}day{% endif %}', 0),
        ("<code>deniable collections list</code> lists the manifests", 1),
    ],
)
def test_a_word_of_the_api_is_seen_on_a_template(template: str, seen: int) -> None:
    assert len(code_words(NOT_READ.sub(" ", template))) == seen


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One sentence. Another one, e.g. this. It has 0.5 and v1.2 in it!", 3),
        ("# A heading\n\nOne line\nand its next one.\n\n| a | table |", 1),
        ("- a label\n- an item that says something.\n  It has two sentences.\n- another label", 2),
        ("> A quote says this.\n\n```sh\nnot this.\n```\n", 1),
        ("`A. B.` is one word. [A link](x.md) is a sentence.", 2),
        ("A paragraph without an end that has eight words", 1),
    ],
)
def test_a_page_is_split_into_its_sentences(text: str, found: int) -> None:
    assert len(sentences(text)) == found, sentences(text)
