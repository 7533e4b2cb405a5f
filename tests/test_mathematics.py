"""The pages of docs/mathematics: every section that code, tests or pages cite is there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MATHEMATICS = ROOT / "docs" / "mathematics"
PAGES = sorted(path for path in MATHEMATICS.glob("*.md") if path.name != "index.md")
TEXTS = {".py", ".ts", ".js", ".md", ".toml", ".sql", ".html"}
NOT_OURS = {".git", ".venv", "node_modules", "dist", "__pycache__", "_build"}
CITATION = re.compile(r"docs/mathematics/([\w-]+\.md)")
FOREIGN_SECTION = re.compile(r"(RFC \d+|Core [\d.]+|\d{4},) $")
"""What may stand before a §: a standard or a paper, whose sections are elsewhere."""


@cache
def texts() -> tuple[Path, ...]:
    """Every text of the project but this file, which cites what is not there."""
    found: list[Path] = []
    for folder, below, names in os.walk(ROOT):
        below[:] = [name for name in below if name not in NOT_OURS]
        found += (Path(folder, name) for name in names if Path(name).suffix in TEXTS)
    return tuple(path for path in found if path != Path(__file__).resolve())


def running_text(path: Path) -> str:
    """A file on one line: without comment marks, and with strings that continue joined."""
    lines = (re.sub(r"^\s*(#|//|\*)?\s*", "", line) for line in path.read_text().split("\n"))
    joined = re.sub(r'"\s*\n\s*f?"', "", "\n".join(lines))
    return " ".join(joined.split())


@cache
def headings(page: str) -> tuple[str, ...]:
    """Of a page, in order; none if it is not there."""
    path = MATHEMATICS / page
    return tuple(re.findall(r"^## (.+)$", path.read_text(), re.M)) if path.exists() else ()


def cited(text: str) -> Iterator[tuple[str, str]]:
    """Each citation: its page, and what follows it."""
    for found in CITATION.finditer(text):
        yield found[1], text[found.end() : found.end() + 80]


def leads_to_a_section(page: str, after: str) -> bool:
    return any(
        re.match(rf", {re.escape(heading)}(?!\w)", after) is not None for heading in headings(page)
    )


@pytest.mark.slow
def test_every_section_that_is_cited_is_there() -> None:
    wrong = [
        (path.relative_to(ROOT).as_posix(), page, after[:40])
        for path in texts()
        if "mathematics" in path.read_text()  # most have none, and to join lines takes time
        for page, after in cited(running_text(path))
        if not leads_to_a_section(page, after)
        and not (path.suffix == ".md" and re.match(r"[`)]", after) and headings(page))
    ]
    assert wrong == []


def test_a_citation_of_what_is_not_there_is_noticed() -> None:
    assert leads_to_a_section("designs.md", ", Difference sets; Singer 1938.")
    assert not leads_to_a_section("designs.md", ", Difference setsquares")
    assert not leads_to_a_section("designs.md", ", Nothing")
    assert not leads_to_a_section("nothing.md", ", Difference sets")


@pytest.mark.slow
def test_every_numbered_section_is_of_the_protocol_or_of_a_source() -> None:
    protocol = (ROOT / "shared" / "PROTOCOL.md").read_text()
    numbers = set(re.findall(r"^## (\d+)\.", protocol, re.M))
    wrong = []
    for path in texts():
        text = running_text(path) if "§" in path.read_text() else ""
        for found in re.finditer(r"§\s?([\d.]*\d)?", text):
            before = text[max(0, found.start() - 30) : found.start()]
            known = before.endswith("PROTOCOL ") and found[1] in numbers
            if not known and not FOREIGN_SECTION.search(before):
                wrong.append((path.relative_to(ROOT).as_posix(), before + found[0]))
    assert wrong == []


def test_every_path_on_a_page_is_there() -> None:
    for page in PAGES:
        paths = re.findall(r"`([\w./-]+/[\w./-]+)`", page.read_text())
        paths = [path for path in paths if not re.fullmatch(r"[a-z-]+/1", path)]
        assert paths, page.name
        assert [path for path in paths if not (ROOT / path).exists()] == [], page.name


def test_every_test_that_a_page_names_is_in_the_file_before_it() -> None:
    named = [
        (page.name, file, name)
        for page in PAGES
        for file, name in re.findall(r"`(tests/[\w/]+\.py)` \(`(test_\w+)`\)", page.read_text())
    ]
    assert named
    assert [each for each in named if f"def {each[2]}(" not in _read(each[1])] == []


@cache
def _read(file: str) -> str:
    return (ROOT / file).read_text()


def test_sections_have_a_name_each_and_say_what_tests_them() -> None:
    for page in PAGES:
        sections = page.read_text().split("\n## ")[1:]
        names = [section.partition("\n")[0] for section in sections]
        assert len(names) == len(set(names)), page.name
        untested = [
            name
            for name, section in zip(names, sections, strict=True)
            if "**Code.**" in section and "**Test.**" not in section
        ]
        assert untested == [], page.name


@pytest.mark.slow
def test_the_product_cites_every_page_of_derivations() -> None:
    product = [
        path
        for path in texts()
        if path.suffix == ".py" and "tests" not in path.parts and "mathematics" in path.read_text()
    ]
    pages = {page for path in product for page, _ in cited(running_text(path))}
    assert {page.name for page in PAGES} - pages == {"errors-in-sources.md"}


def test_the_index_lists_every_page() -> None:
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (MATHEMATICS / "index.md").read_text())
    assert sorted(listed) == [page.name for page in PAGES]


def test_every_error_of_a_source_has_its_test() -> None:
    text = (MATHEMATICS / "errors-in-sources.md").read_text()
    files = {letter: _read(path) for letter, path in re.findall(r"^- ([A-Z]): `(.+)`$", text, re.M)}
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    tests = [row.split(" | ")[-1] for row in rows if not re.match(r"\| (where|stated|---)", row)]
    assert len(tests) > 50
    for cell in tests:
        named = re.findall(r'([A-Z]) (?:`(test_\w+)`|"([^"]+)")', cell)
        assert named, cell
        for letter, function, mistake in named:
            assert (f"def {function}(" if function else f'"{mistake}"') in files[letter], cell
