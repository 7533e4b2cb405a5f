"""What lint owes a reader and no linter asks for: docstrings of methods, reasons of exceptions."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.oracles.python_sources import source_of

ROOT = Path(__file__).parent.parent
PRODUCT = ("aggregator", "client", "shared")

EXCEPTION = re.compile(r"# *(noqa|type: *ignore|pyright:|mypy:|ruff:)")
FORMS = (
    re.compile(r"# noqa: [A-Z]+\d+(, [A-Z]+\d+)*  \(.+\)"),
    re.compile(r"# (type|pyright): ignore\[[\w-]+(, ?[\w-]+)*\]  # (?!noqa).+"),
)
"""A code and its reason: `noqa: S101  (…)`, and `type: ignore[arg-type]  # …`, as mypy reads it."""


@pytest.mark.slow
def test_a_public_method_is_documented_or_implements_one_that_is() -> None:
    """Ruff's D102 wants a text at each implementation, too: here one of that name is enough."""
    paths = [path for folder in PRODUCT for path in (ROOT / folder).rglob("deniable_*/**/*.py")]
    methods = [(path, *method) for path in paths for method in source_of(path).methods]
    documented = {name for _, _, name, is_documented in methods if is_documented}
    silent = [
        f"{path.relative_to(ROOT)}: {owner}.{name}"
        for path, owner, name, _ in methods
        if not owner.startswith("_") and not name.startswith("_") and name not in documented
    ]
    assert silent == []


def is_plain(line: str) -> bool:
    """Whether it has no comment of another form, which can be seen without reading the module.

    Without a quote behind its first `#`, a line has one comment or, within a string, none.
    """
    comment = line[line.find("#") :]
    return not set(comment) & {*"'\""} and any(form.fullmatch(comment) for form in FORMS)


def exceptions_in(path: Path) -> Iterator[str]:
    """The comments that make a linter or a type checker pass over a line.

    None of a module in which all lines are plain: to read it takes time.
    """
    text = path.read_text()
    lines = text.splitlines() if EXCEPTION.search(text) else []  # most modules have none
    if any(EXCEPTION.search(line) and not is_plain(line) for line in lines):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and EXCEPTION.search(token.string):
                yield token.string


@pytest.mark.slow
def test_an_exception_from_a_rule_names_it_and_gives_a_reason() -> None:
    bare = [
        f"{path.relative_to(ROOT)}: {comment}"
        for folder in (*PRODUCT, "tests")
        for path in (ROOT / folder).rglob("*.py")
        if ".venv" not in path.parts
        for comment in exceptions_in(path)
        if not any(form.fullmatch(comment) for form in FORMS)
    ]
    assert bare == []


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# noqa: S101",
        "# noqa: S101 - a heat map has both",
        "# type: ignore",
        "# type: ignore  # a double",
        "# type: ignore[arg-type]",
        "# type: ignore[arg-type]  # noqa: S101  (a heat map has both)",
    ],
)
def test_an_exception_without_a_reason_is_noticed(comment: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(f"one = 1  {comment}\n")
    assert list(exceptions_in(path)) == [comment]
    assert not any(form.fullmatch(comment) for form in FORMS)
