"""Pages speak in people's words: question, day, checkpoint; API words are in code only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest

from deniable_aggregator.web.app import create_app
from deniable_aggregator.web.dashboard.plain_words import plain_words
from support.doubles.browser import Browser
from support.processes import dashboard_site
from support.tiers import by_tier

API_WORDS = re.compile(
    r"(?<![\w-])(collections?|epochs?|manifests?|ceilings?|half-width|projected|fabricated"
    r"|keyless|heads?|told|tells|whoever|whatever|somebody|anew|stands|beside|liars?|made-up"
    r"|turned away|std_error|min_batch)(?![\w-])",
    re.IGNORECASE,
)
IN_CODE = ("code", "pre", "script", "style", "textarea", "option")
ADDRESSES = (
    *("/", "/releases", "/ledger", "/health", "/log?verify=true", "/access", "/keys"),
    *("/audit?verify=yes", "/sign-in", "/shared", "/collections/nothing"),
    "/set-up?name=lunch&labels=a%0Ab&repeat=memoized&read=releases&epsilon=8",
    "/set-up?type=record&attributes=os%3Dmac,linux%0Asize%3Dsmall,large",
)
MORE_ADDRESSES = by_tier((), ("/set-up?name=x&type=number&high=3000&repeat=fresh",))
OF_A_QUESTION = (
    *("", "/compare", "/share", "/releases", "/releases?cost=true&epsilon=0.1"),
    *("/releases?cost=true&epsilon=300", "?view=table"),
)


class VisibleTexts(HTMLParser):
    """What a person reads: texts outside code, and tooltips, labels and placeholders."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        self.texts += [named[name] or "" for name in ("title", "aria-label") if name in named]
        if tag in IN_CODE or (tag == "span" and "hidden" in named):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not self._open:
            self.texts.append(data)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browser, list[str]]]:
    """An admin's browser, and the addresses of every page with something on it."""
    with dashboard_site.filled(tmp_path_factory.mktemp("words")) as filler:
        made = list(dashboard_site.one_of_each(filler))
        browser = Browser.signed_in(create_app(filler.service), filler.service, "admin")
        addresses = [*ADDRESSES, *MORE_ADDRESSES]
        for collection in made[:: by_tier(6, 1)]:
            addresses += [f"/collections/{collection.id}{rest}" for rest in OF_A_QUESTION]
            addresses += [f"/public/{collection.name}", f"/embed/{collection.name}"]
            addresses += [f"/ledger?collection={collection.name}"]
        for name, kind, arguments in dashboard_site.RELEASES:
            release = filler.release(name, kind, arguments)
            [own] = [each.id for each in made if each.name == name]
            addresses.append(f"/collections/{own}/releases/{release}")
        yield browser, addresses


@pytest.mark.deeper
@pytest.mark.slow
def test_no_page_says_an_api_word(pages: tuple[Browser, list[str]]) -> None:
    browser, addresses = pages
    said = set()
    for address in addresses:
        reader = VisibleTexts()
        reader.feed(browser.client.get(address).text)
        said |= {(address, text) for text in reader.texts if API_WORDS.search(text)}
    assert said == set()


def test_a_text_with_an_api_word_is_noticed() -> None:
    reader = VisibleTexts()
    reader.feed('<p title="an epoch">Day <code>epoch</code></p><pre>manifest</pre>')
    assert [text for text in reader.texts if API_WORDS.search(text)] == ["an epoch"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Epoch 20766 takes reports", "2026-11-09 takes reports"),
        ("read other epochs", "read other days"),
        ("the collection's min_batch", "the question's least number of reports"),
        ("Collections of epoch-test and epsilon=1", "Questions of epoch-test and epsilon=1"),
        ("'epoch' is a name", "'epoch' is a name"),
    ],
)
def test_a_sentence_of_the_api_gets_the_words_of_people(text: str, said: str) -> None:
    assert plain_words(text, 86_400) == said


def test_without_a_length_a_period_is_a_period() -> None:
    assert plain_words("read other epochs") == "read other periods"
