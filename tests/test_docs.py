"""What the documentation says is so: snippets run, and the commands they name are there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import groupby, takewhile
from pathlib import Path

import click
import pytest

from deniable_aggregator.cli import main
from deniable_aggregator.releases.kinds import RELEASE_KINDS, parameters
from support.builders import readme_releases
from support.oracles.command_lines import named_command, take
from support.oracles.markdown_pages import NOT_OURS, PAGES, ROOT
from support.tiers import grid

RELEASES = (ROOT / "docs" / "how-to" / "release-results.md").read_text()
KINDS = (ROOT / "docs" / "reference" / "releases.md").read_text()
CENTRAL = (ROOT / "aggregator" / "central" / "README.md").read_text()
TUTORIALS = ROOT / "aggregator" / "central" / "docs"
TUTORIAL_PAGES = sorted(TUTORIALS.glob("*.md"))
HOW_IT_WORKS = ROOT / "docs" / "explanation" / "how-it-works.md"
LARGEST_FIGURE = 60_000
TEXTS = {".md", ".html", ".ipynb", ".py", ".service", ".timer", ".yml", ".yaml", ".toml", ".json"}
TEXTS |= {".example", ".ts", ".js"}
PAST = {"CHANGELOG.md", "decisions", "moved-commands.md", "fixtures", "rehearsals"}
NAMED = re.compile(r"`deniable\s([^`]*)`|<code>deniable (.*?)</code>|bin/deniable (.*)")
"""Commands in backticks, in the code of a page, and those that a unit starts."""
FIRST_WORDS_BEFORE = frozenset(
    {
        *("attack", "audit", "backup", "clock", "collections", "copy-store", "demo", "doctor"),
        *("epochs", "estimates", "init", "keys", "ledger", "loadgen", "log", "migrate", "open"),
        *("plan", "relay", "release", "releases", "report", "restore", "serve", "sessions"),
        *("simulate", "tally", "tokens", "users", "vouchers"),
    }
)
"""Before the commands were in groups."""
FIRST_EXAMPLE = re.compile(r"^```python\n(.*?)^```.*?^```text\n(.*?)^```", re.S | re.M)
NUMBER = re.compile(r"-?\d+\.\d*")
"""As numpy prints it: a value that rounds to nothing is `0.` or `-0.`."""

SPREAD = 0.1
"""How far a number may be from the page's: the frequencies of 10,000 grr/1 answers at ε = 1
are further than 0.087 from the truth with probability below 10⁻⁷ (Hoeffding: 6 exp(−2nt²(p−q)²),
p − q = 0.364), and those of the page are nearer than 0.013."""


def fenced(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.S | re.M)


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """Every `deniable …` line of a shell block, without its comment."""
    for page in PAGES:
        for block in fenced(page, "sh"):
            for line in re.sub(r"\\\n\s*", " ", block).splitlines():
                for words in simple_commands(shlex.split(line, comments=True)):
                    if words and Path(words[0]).name == "deniable":
                        yield page.name, words[1:]


def simple_commands(words: list[str]) -> Iterator[list[str]]:
    """A line's commands as their words, without what starts them and where their output goes."""
    for runs, command in groupby(words, lambda word: word not in {"&&", "|"}):
        if runs:
            own = list(takewhile(lambda word: word != ">", command))
            started = {"uv": 2, "sudo": 3}.get(own[0], 0)
            yield own[started:]


@pytest.mark.slow
def test_every_command_line_in_the_docs_is_one_the_command_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = list(command_lines())
    assert len(lines) > 100
    for number, (page, words) in enumerate(lines):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        try:
            take(page, words, folder)
        except click.ClickException as error:
            pytest.fail(f"{page}: deniable {shlex.join(words)}: {error.format_message()}")


def texts() -> Iterator[Path]:
    """Every text of the repository, but for those that speak of the past."""
    for folder in ("", "aggregator", "client", "deploy", "docs", "shared", "tests"):
        for path in (ROOT / folder).glob("**/*" if folder else "*"):
            parts = path.relative_to(ROOT).parts
            if path.suffix in TEXTS and not (PAST | NOT_OURS) & set(parts) and path.is_file():
                yield path


@pytest.mark.slow
def test_every_command_that_a_text_names_exists() -> None:
    read = 0
    for path in texts():
        for groups in NAMED.findall(path.read_text(encoding="utf-8")):
            words = "".join(groups).split()
            assert named_command(words), f"{path}: there is no `deniable {' '.join(words)}`"
            read += 1
    assert read > 200


def test_every_moved_command_is_at_its_new_place() -> None:
    page = (ROOT / "docs/reference/moved-commands.md").read_text()
    rows = re.findall(r"^\| `deniable (.*?)` \| `deniable (.*?)`", page, re.M)
    assert len(rows) > 20
    for old, new in rows:
        assert named_command(new.split()), new
        stays = old == "doctor" or old.startswith("releases COLLECTION")
        assert named_command(old.split()) == stays, old


def test_every_first_word_that_is_gone_has_a_row() -> None:
    page = (ROOT / "docs/reference/moved-commands.md").read_text()
    rows = set(re.findall(r"^\| `deniable ([a-z-]+)", page, re.M))
    assert rows >= FIRST_WORDS_BEFORE - set(main.list_commands(click.Context(main)))


@pytest.mark.slow
def test_first_examples_print_what_the_pages_show_except_for_the_coins() -> None:
    members = ("shared", "aggregator/central", "aggregator/estimators")
    pages = [HOW_IT_WORKS, *(ROOT / member / "README.md" for member in members)]
    examples = [FIRST_EXAMPLE.findall(page.read_text())[0] for page in pages]
    said = outputs([code for code, _ in examples])
    for page, (_, shown), output in zip(pages, examples, said, strict=True):
        assert wording(output) == wording(shown), page
        assert numbers(output) == pytest.approx(numbers(shown), abs=SPREAD), page


def outputs(programs: list[str]) -> list[str]:
    """What each program prints, without a warning: all in one process, which imports once."""
    end = "-- end of program --\n"
    code = f"for each in {programs!r}: exec(each, {{}}); print({end!r}, end='')"
    run = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    *said, rest = done.stdout.split(end)
    assert rest == ""
    return said


def wording(text: str) -> str:
    """The part of an output that does not depend on the coins."""
    return re.sub(r"\s", "", NUMBER.sub("0", text))


def numbers(text: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(text)]


@pytest.mark.parametrize("second", ["-0.004", " 0.   ", "-0.   ", " 0.012", " 0.01 "])
def test_an_output_reads_the_same_whatever_its_numbers_round_to(second: str) -> None:
    shown = FIRST_EXAMPLE.findall(HOW_IT_WORKS.read_text())[0][1]
    other = shown.replace("-0.004", second)
    assert wording(other) == wording(shown)
    assert numbers(other) == pytest.approx(numbers(shown), abs=SPREAD)


@pytest.mark.parametrize("page", [ROOT / "README.md", HOW_IT_WORKS], ids=lambda page: page.stem)
def test_first_example_is_at_most_twelve_lines(page: Path) -> None:
    assert len(fenced(page, "python")[0].splitlines()) <= 12


def worked(page: Path) -> list[tuple[str, str]]:
    """Every snippet of a tutorial with the output below it."""
    return re.findall(r"^```python\n(.*?)^```\n```text\n(.*?)^```", page.read_text(), re.S | re.M)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", grid(TUTORIAL_PAGES, by_default=TUTORIAL_PAGES[::4]), ids=lambda page: page.stem
)
def test_every_snippet_of_a_tutorial_prints_what_stands_below_it(page: Path) -> None:
    snippets, end = worked(page), "-- end of snippet --\n"
    assert len(snippets) == len(fenced(page, "python")) >= 4
    code = "".join(f"{snippet}\nprint({end!r}, end='')\n" for snippet, _ in snippets)
    [said] = outputs([code])
    assert said.split(end)[:-1] == [shown for _, shown in snippets]


@pytest.mark.slow
def test_the_worked_releases_print_what_the_page_shows(tmp_path: Path) -> None:
    toml, examples = readme_releases.worked(RELEASES)
    deniable = readme_releases.prepared(tmp_path, toml)
    assert len(examples) == 4
    for line, shown in examples:
        said = deniable.done(*shlex.split(line)[1:])
        assert readme_releases.words(said) == readme_releases.words(shown)


@pytest.mark.parametrize("mechanism", RELEASE_KINDS)
def test_every_mechanism_of_releases_has_a_row_that_names_what_it_needs(mechanism: str) -> None:
    [row] = [line for line in KINDS.splitlines() if line.startswith(f"| `{mechanism}` |")]
    needed = [p.name for p in parameters(mechanism) if p.default is None and p.name != "epsilon"]
    assert all(f"--{name}" in row for name in needed)


def test_every_tutorial_is_in_the_readme_and_shows_a_figure() -> None:
    linked = set(re.findall(r"\]\(docs/(.*?\.md)\)", CENTRAL))
    pages = TUTORIAL_PAGES
    assert linked == {page.name for page in pages}
    assert all(re.search(r"!\[.+?\]\(\S+\.svg\)", page.read_text()) for page in pages)


def test_the_figures_are_those_that_the_script_draws_and_the_pages_show() -> None:
    drawn = re.findall(r'with figure\(\s*"(.*?)"', (TUTORIALS / "plots.py").read_text())
    pages = "".join(page.read_text() for page in TUTORIAL_PAGES)
    assert sorted(f"{name}.svg" for name in drawn) == sorted(
        p.name for p in TUTORIALS.glob("*.svg")
    )
    assert sorted(f"{name}.svg" for name in drawn) == sorted(re.findall(r"\((\S+\.svg)\)", pages))


@pytest.mark.parametrize("path", sorted(TUTORIALS.glob("*.svg")), ids=lambda path: path.stem)
def test_a_figure_is_small_and_can_be_read_on_white_and_on_black(path: Path) -> None:
    text = path.read_text()
    assert len(text) < LARGEST_FIGURE
    assert ET.fromstring(text).tag.endswith("svg")  # noqa: S314  (our own file)
    assert "<text" in text
    assert not re.search(r"<script|<image|(?:fill|stroke): #(?:000000|ffffff)", text)
