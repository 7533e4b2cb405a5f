"""The operators' and analysts' how-to pages: every line that needs no other machine is run."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deniable_aggregator.operations.webhooks import signature
from deniable_shared.wire.voucher import issue
from support.builders import readme_releases
from support.builders.guided_service import Guided, command_lines, needs_more, with_recent_days
from support.processes.published_service import published
from support.tiers import grid, thorough

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
HOW_TO = (
    *("plan-a-question", "give-access", "access-and-deletion", "audit", "share-results", "alerts"),
    *("compare-versions", "one-report-a-person", "rotate-keys", "restore-a-backup", "upgrade"),
    "register-a-question",
)
PAGES = dict.fromkeys(HOW_TO, "how-to") | dict.fromkeys(("estimates", "data-formats"), "reference")
FEWEST_LINES = 45
WHOLE_MAP = "deniable plan --explore --plot mechanisms.svg"
"""Takes seconds. By default the line below it explores less, and tests/service/cli draws maps."""

PLANS = re.compile(r"deniable plan --(domain|type (record|number)) ")
"""By default one is run, by the test of what the page shows; tests/service/cli plans each type."""


@pytest.fixture(scope="module")
def guided(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guided]:
    before = Path.cwd()
    yield Guided(tmp_path_factory.mktemp("guided"), os.chdir)
    os.chdir(before)


def path(page: str) -> Path:
    return DOCS / PAGES[page] / f"{page}.md"


def code(page: str) -> str:
    page_text = (DOCS / f"{page}.md").read_text("utf-8")
    first, *_ = re.findall(r"^```py\n(.*?)^```", page_text, re.S | re.M)
    return str(first)


@pytest.mark.deeper
@pytest.mark.parametrize("page", grid(PAGES, by_default=list(PAGES)[::3]))
def test_every_line_does_what_the_page_says(page: str, guided: Guided) -> None:
    lines = [line for line in command_lines(path(page)) if line and not needs_more(line)]
    assert lines
    assert page != "plan-a-question" or WHOLE_MAP in lines
    for line in lines:
        if thorough() or not (line == WHOLE_MAP or PLANS.match(line)):
            guided.run(line)


def test_the_plan_is_what_the_page_shows(guided: Guided) -> None:
    page = path("plan-a-question")
    [shown] = re.findall(r"^```text\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)
    said = guided.deniable.done(*next(command_lines(page)).split()[1:])
    assert [line.rstrip() for line in said.strip().splitlines()] == shown.splitlines()


def test_most_lines_are_run() -> None:
    every = [line for page in PAGES for line in command_lines(path(page)) if line]
    assert len([line for line in every if not needs_more(line)]) >= FEWEST_LINES


def test_a_session_is_opened_and_asked(tmp_path: Path) -> None:
    page = DOCS / "how-to" / "release-results.md"
    toml, _ = readme_releases.worked(page.read_text("utf-8"))
    deniable = readme_releases.prepared(tmp_path, toml)
    make, ask = (
        shlex.split(line)[1:]
        for line in command_lines(page)
        if "make queries" in line or "releases ask" in line
    )
    release = deniable.json(*make)["release"]
    said = deniable.done(*(release if word == "RELEASE" else word for word in ask))
    assert "questions left" in said.replace("_", " ")


@pytest.mark.exhaustive
@pytest.mark.processes
def test_the_lines_for_pandas_read_a_service(tmp_path: Path) -> None:
    lines = code("how-to/pandas-and-polars").replace("settings", "theme").replace("beta", "dark")
    with published(tmp_path) as service:
        lines = with_recent_days(lines.replace("https://deniable.example.org", service.url))
        names: dict[str, object] = {"token": service.token}
        exec(lines, names)  # noqa: S102  (the page's own)
        names["service"].close()  # type: ignore[attr-defined]  # what the page connected


def test_the_webhook_s_lines_check_a_signature() -> None:
    names: dict[str, Any] = {}
    exec(code("how-to/alerts"), names)  # noqa: S102  (the page's own)
    secret, body, now = bytes(range(32)), b'{"id":"1"}', time.time()
    header = signature(secret, body, now)
    assert names["genuine"](header, body, secret.hex())
    assert not names["genuine"](header, body + b" ", secret.hex())
    assert not names["genuine"](signature(secret, body, now - 400), body, secret.hex())


def test_the_backend_s_lines_issue_a_voucher() -> None:
    class account:  # noqa: N801  (the page's name)
        id = "ana"

    names: dict[str, object] = {"key": "vk_" + "0" * 43, "epoch": 20_000, "account": account}
    exec(code("how-to/one-report-a-person"), names)  # noqa: S102  (the page's own)
    assert names["voucher"] == issue(
        str(names["key"]), collection="survey-4kqz0m", epoch=20_000, person="ana"
    )
