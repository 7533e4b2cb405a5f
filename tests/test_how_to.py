"""The how-to pages for app developers are true: their code runs, and their figures are computed."""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from pathlib import Path
from textwrap import dedent

import pytest

from deniable_client import HttpTransport, testing
from deniable_client.opt_outs import CI_MARKERS, OFF, ON
from deniable_client.status import Status
from deniable_shared.analysis.posterior import max_posterior_percent
from deniable_shared.manifest.app_file import AppFile
from support.builders.client_world import Operator, manifest
from support.processes.deniable_command import Deniable

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "how-to"
EMBED = sorted(PAGES.glob("embed-*.md"))
Z = 1.959964


def read(name: str) -> str:
    return (PAGES / f"{name}.md").read_text()


def snippets(page: str, language: str = "python") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.S | re.M)


def lines(code: str) -> str:
    """Without indentation and empty lines."""
    return "\n".join(line.strip() for line in code.splitlines() if line.strip())


@pytest.mark.parametrize("page", EMBED, ids=lambda page: page.stem)
def test_each_snippet_is_a_part_of_the_tested_example(page: Path) -> None:
    text = page.read_text()
    [example] = set(re.findall(r"client/examples/(\w+)\.py", text)) - {"consent_switch"}
    code = lines((ROOT / "client" / "examples" / f"{example}.py").read_text())
    shown = snippets(text)
    assert len(shown) >= 3
    assert [snippet for snippet in shown if lines(snippet) not in code] == []


@pytest.mark.parametrize("name", ["embed-flask", "embed-django", "embed-fastapi"])
def test_each_page_of_a_server_says_who_sees_what_when_it_serves_many(name: str) -> None:
    section = read(name).split("## My server serves many people\n")[1].split("\n## ")[0]
    for words in ("One state file is one person", "(ask-on-a-website.md)"):
        assert words in section
    assert re.search(r"your server sees the true answer", section, re.I)


class App:
    """The app of the page about tests."""

    def __init__(self, telemetry: testing.ClientForTests) -> None:
        self.telemetry = telemetry

    def toggle_dark_mode(self) -> None:
        self.telemetry.record("settings", {"dark_mode": True, "beta": False})


def test_the_tests_of_the_page_about_tests_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = Operator()
    lasting = manifest(valid_from="2026-01-01", expires="2099-01-01")
    file = AppFile(("https://telemetry.example.org",), (operator.trust,), (operator.sign(lasting),))
    (tmp_path / "app.deniable").write_bytes(file.encode())
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"App": App}
    for snippet in snippets(read("test-your-app")):
        exec(snippet, names)  # noqa: S102  (our own page)
    tests = [test for name, test in names.items() if name.startswith("test_")]
    assert len(tests) == 3
    for test in tests:
        assert callable(test)
        test()


def test_the_snippets_about_sending_are_code() -> None:
    proxy, voucher = snippets(read("sending"))
    names: dict[str, object] = {}
    exec(proxy, names)  # noqa: S102  (our own page)
    assert isinstance(names["transport"], HttpTransport)
    assert ast.parse(voucher).body[0].name == "fetch"  # type: ignore[attr-defined]  # a function


def test_the_page_about_consent_lists_every_marker_value_and_reason() -> None:
    page = read("consent-and-switches")
    reasons = re.findall(r"[a-z-]+(?=[,.])", (Status.__doc__ or "").partition("one of: ")[2])
    assert len(reasons) == 14
    listed = (*CI_MARKERS, *filter(None, ON), *OFF, *reasons)
    assert [each for each in listed if f"`{each}`" not in page] == []


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of a table, below its heading row."""
    table = page.split(f"| {heading}")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def percents(cells: list[str]) -> list[float]:
    return [float(re.sub(r"[±% ]", "", cell)) for cell in cells]


def test_the_certainties_of_the_page_about_epsilon_are_computed() -> None:
    for epsilon, sure, _ in rows(read("choose-epsilon"), "ε | at most this sure"):
        assert sure == f"{max_posterior_percent(Fraction(epsilon))}%"


@pytest.mark.slow
def test_the_margins_of_the_page_about_epsilon_are_those_of_the_plan(tmp_path: Path) -> None:
    deniable = Deniable(tmp_path)
    asked = ("plan", "--type", "bits", "--domain", 1)
    for epsilon, *shown in rows(read("choose-epsilon"), "ε | 1,000 people"):
        plans = [
            deniable.json(*map(str, (*asked, "--epsilon", epsilon, "--users", users)))
            for users in (1_000, 10_000, 100_000)
        ]
        margins = [round(100 * plan["half_width"], 1) for plan in plans]
        assert percents(shown) == margins


def test_the_costs_of_the_page_about_repeats_are_those_of_the_plan(tmp_path: Path) -> None:
    words = "plan --type bits --domain 1 --epsilon 1 --users 10000 --epochs 52"
    plan = Deniable(tmp_path).json(*words.split())
    shown = rows(read("choose-a-repeat"), "`repeat` | ε that a device spends")
    for (repeat, cost, week, year), row in zip(shown, plan["repeats"], strict=True):
        assert f"`{row['repeat']}`" in repeat
        assert float(cost) == row["epsilon_lifetime"]
        errors = [row["std_error"], row["std_error_all"]]
        assert percents([week, year]) == [round(100 * Z * error, 1) for error in errors]


def test_the_year_of_the_page_is_what_the_commands_print(tmp_path: Path) -> None:
    page = read("ask-again-for-a-year")
    command, *_ = snippets(page, "sh")
    words = dedent(command).replace("\\\n", " ").partition(" > ")[0]
    deniable = Deniable(tmp_path)
    purpose = re.findall(r'"(.*?)"', words)[0]
    made = deniable.done(*words.partition(' "')[0].split()[1:], purpose)
    [lines] = snippets(page, "toml")
    assert [line for line in lines.splitlines() if line not in made] == []
    deniable.done("init")
    checked = deniable.done("collections", "lint", deniable.write("theme.toml", made))
    assert "2 holds of 182 epochs, all there are" in checked
    [limit] = snippets(page, "py")
    assert limit.strip() in checked.replace('"', "")
