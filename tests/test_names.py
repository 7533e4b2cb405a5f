"""One word, one thing: old names do not come back."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import click
import pytest

from deniable_aggregator.cli import main
from support.oracles.python_sources import source_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
SECTIONS = (ROOT / "tests" / "old_names.md").read_text().split("\n## ")[1:]
ROOMS = [section for section in SECTIONS if not section.startswith("Words")]
[WORDS] = [section for section in SECTIONS if section.startswith("Words")]
_, FOR_ALL, FOR_PEOPLE = WORDS.split("| old | new |")

PRODUCT = ("aggregator", "client", "shared")
WORN = frozenset({"asked", "found", "known", "shown", "told"})
"""They say nothing about a value: it is a row, an estimate, a manifest."""

WORN_WORDS = (
    *("told", "tells", "tell", "whoever", "whatever", "nobody", "somebody", "anybody", "everybody"),
    *("anew", "stands", "beside", "for good", "the way in", "keep house", "keeps house"),
    "housekeeping",
)
"""A reader must decode them. The folders below use none, in any comment, text or name."""

PLAIN_FOLDERS = (
    *("aggregator/service/deniable_aggregator", "aggregator/gateway/deniable_gateway"),
    *("aggregator/central/deniable_central", "aggregator/estimators/deniable_estimators"),
    *("client/deniable_client", "shared/deniable_shared"),
)
KEPT_TEXTS = frozenset(
    {
        "aggregator/gateway/deniable_gateway/background_threads.py: housekeeping",
        "aggregator/service/deniable_aggregator/releases/serialize.py: everybody",
        "aggregator/service/deniable_aggregator/web/auth/signin.py: nobody",
    }
)
"""Texts that stored documents or rules for alerts have, and that therefore stay."""

KEPT_PAGES = frozenset({"deploy/prometheus/deniable.rules.yml: housekeeping"})
"""It quotes a line of the log, which stays."""

WORN_NAME = re.compile(rf"\b_*({'|'.join(sorted(WORN))})_*\b")
CLASS = re.compile(r"^ *class (\w+)[(:]", re.M)
FIXTURE = re.compile(r"@pytest\.fixture\b.*?\bdef (\w+)\(", re.S)

COLUMNS = frozenset({"client/deniable_client/_state/collection_state.py: asked"})
"""Columns of a database, which keep their names."""

TEXTS = (
    *("README.md", "*/README.md", "aggregator/*/README.md", "aggregator/service/docs/**/*.md"),
    *("aggregator/*/docs/**/*.md", "docs/**/*.md", "shared/*.md"),
    *("deploy/**/*", "aggregator/service/deniable_aggregator/**/*.html"),
)
EXCEPT = ("CHANGELOG.md",)


def rows(section: str) -> dict[str, str]:
    """Old name → new name."""
    return dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|", section, re.M))


def names(section: str) -> Iterator[str]:
    """Every module and class of the folders that the heading names."""
    for folder in re.findall(r"`(.+?)`", section.partition("\n")[0]):
        for path in (ROOT / folder).rglob("*.py"):
            yield path.stem.removeprefix("test_")
            yield from CLASS.findall(path.read_text())


def worn_names() -> Iterator[str]:
    """File and name of each in product code."""
    for path in sorted(path for top in PRODUCT for path in (ROOT / top).rglob("*.py")):
        if not WORN_NAME.search(path.read_text()):
            continue
        file = path.relative_to(ROOT).as_posix()
        used = {name.strip("_") for name in source_of(path).bound}
        yield from (f"{file}: {name}" for name in sorted(used & WORN))


def worn_words(source: str) -> set[str]:
    """The worn words of a source, in lower case."""
    pattern = rf"\b({'|'.join(WORN_WORDS)})\b"
    return {word.lower() for word in re.findall(pattern, " ".join(source.split()), re.I)}


def plain_modules() -> Iterator[Path]:
    """Every module of the folders that use no worn word."""
    for folder in PLAIN_FOLDERS:
        yield from sorted((ROOT / folder).rglob("*.py"))


@cache
def texts() -> tuple[tuple[str, str], ...]:
    """Name and text of every page, template and document, and of the help of every command."""
    paths = {path for pattern in TEXTS for path in ROOT.glob(pattern) if path.is_file()}
    pages = (
        (path.relative_to(ROOT).as_posix(), " ".join(path.read_text().split()))
        for path in sorted(path for path in paths if path.name not in EXCEPT)
    )
    return (*pages, *help_texts(main, click.Context(main, info_name="deniable")))


def help_texts(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """The help of a command and of those below it."""
    yield context.command_path, " ".join(command.get_help(context).split())
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from help_texts(inner, click.Context(inner, parent=context, info_name=name))


def fixtures() -> Iterator[tuple[str, str]]:
    """Name of each fixture of the tests, and what it gives, with the module of each type.

    Without the names that one fixture has: they mean one thing.
    """
    ours = (path for path in (ROOT / "tests").rglob("*.py") if ".venv" not in path.parts)
    sources = {path: path.read_text() for path in ours}
    named = {path: FIXTURE.findall(source) for path, source in sources.items()}
    often = {name for name, times in Counter(chain(*named.values())).items() if times > 1}
    for path in (path for path in sources if often & set(named[path])):
        nodes = list(ast.walk(ast.parse(sources[path])))
        types = dict(type_names(nodes, path.relative_to(ROOT).as_posix()))
        for node in nodes:
            if isinstance(node, ast.FunctionDef) and node.name in often and is_fixture(node):
                yield node.name, what_it_gives(node, types)


def what_it_gives(node: ast.FunctionDef, types: dict[str, str]) -> str:
    given = re.sub(r"^Iterator\[(.*)\]$", r"\1", ast.unparse(node.returns or node))
    return re.sub(r"\w+", lambda word: types.get(word[0], word[0]), given)


def type_names(nodes: Iterable[ast.AST], file: str) -> Iterator[tuple[str, str]]:
    """Each imported name and each class, with where it comes from."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            yield from (
                (each.asname or each.name, f"{node.module}.{each.name}") for each in node.names
            )
        elif isinstance(node, ast.ClassDef):
            yield node.name, f"{file}:{node.name}"


def is_fixture(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(each).startswith("pytest.fixture") for each in node.decorator_list)


@pytest.mark.parametrize("section", ROOMS, ids=lambda section: section.partition(":")[0])
def test_modules_and_classes_use_the_new_names(section: str) -> None:
    old_to_new, used = rows(section), set(names(section))
    assert old_to_new
    assert old_to_new.keys() & used == set()
    assert set(old_to_new.values()) <= used


@pytest.mark.slow
def test_no_value_or_function_has_a_worn_name() -> None:
    assert set(worn_names()) == COLUMNS


def test_no_module_of_the_service_uses_a_worn_word() -> None:
    used = {
        f"{path.relative_to(ROOT).as_posix()}: {word}"
        for path in plain_modules()
        for word in worn_words(path.read_text())
    }
    assert used == KEPT_TEXTS


def test_no_page_and_no_help_text_uses_a_worn_word() -> None:
    used = {f"{name}: {word}" for name, text in texts() for word in worn_words(text)}
    assert used == KEPT_PAGES


def test_a_worn_word_is_seen_in_comments_texts_and_names() -> None:
    planted = '"""Whoever asks, for\n    good."""\ntold = 1  # beside it\n'
    assert worn_words(planted) == {"whoever", "for good", "told", "beside"}
    assert worn_words("told_twice = retell  # understands") == set()


def old_words(table: str, texts: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Each text and the words of the table's first column that it uses."""
    words = re.findall(r"^\| (\w.*?) \|", table, re.M)
    pattern = re.compile(rf"\b({'|'.join(words)})\b", re.I)
    return {(name, word) for name, text in texts for word in pattern.findall(text)}


def test_no_text_uses_an_old_word() -> None:
    assert old_words(FOR_ALL, texts()) == set()


def test_no_page_and_no_help_text_uses_an_old_word() -> None:
    people = (
        (name, text)
        for name, text in texts()
        if name.endswith(".html") or name.startswith("deniable")
    )
    assert old_words(FOR_PEOPLE, people) == set()


def test_a_fixture_name_means_one_thing_in_all_tests() -> None:
    given: dict[str, set[str]] = {}
    for name, what in fixtures():
        given.setdefault(name, set()).add(what)
    assert given
    assert {name: types for name, types in given.items() if len(types) > 1} == {}
