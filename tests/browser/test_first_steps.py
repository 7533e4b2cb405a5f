"""What somebody does who has never seen this: the demo's link, then a question of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from deniable_aggregator.operations.demo.questions import COMMUTES
from deniable_aggregator.operations.process import running_server
from support.processes.chromium import Tabs, Window
from support.processes.dashboard_site import Site
from support.processes.deniable_command import Deniable, wait_until

pytestmark = pytest.mark.processes

SENT_AT_ONCE = "result = client.flush(early=True)\nassert result.accepted == 1, result\n"
"""A report leaves at a random moment of its epoch: a test cannot wait for it."""

Arrive = Callable[[str], Window]


@pytest.fixture
def arrive(tabs: Tabs) -> Iterator[Arrive]:
    """Opens the window of a stranger at a service."""
    with ExitStack() as windows:

        def open_one(address: str) -> Window:
            site = Site(address, "", {}, "", {}, {})
            return windows.enter_context(tabs.opened(site, known=False))

        yield open_one


@contextmanager
def served(deniable: Deniable) -> Iterator[str]:
    """A new service, as `init` and `serve` make it; its address."""
    deniable.done("init")
    with deniable.process("serve", "--port", "0"):
        wait_until("server.json", lambda: running_server.find(deniable.data) is not None)
        live = running_server.read(deniable.data)
        assert live is not None
        yield live.address


@pytest.mark.exhaustive
def test_the_demo_s_link_leads_to_the_first_chart_in_one_click(
    tmp_path: Path, arrive: Arrive
) -> None:
    """By default its pages are looked at without a browser, and its lines without its pages."""
    deniable = Deniable(tmp_path)
    deniable.environ["TMPDIR"] = str(tmp_path)
    with deniable.process("demo") as demo:
        assert demo.stdout is not None
        line = demo.stdout.readline()
        link = re.fullmatch(r"Open (http://127\.0\.0\.1:\d+)(/sign-in\?link=\S+)\n", line)
        assert link is not None, line
        for _ in range(2):  # the link stays valid
            tab = arrive(link[1])
            tab.open(link[2])
            tab.page.click("main button[type=submit]")
            tab.page.wait_for_url("**/collections/simulated-commute")
            tab.settle()
            assert tab.drawing() >= 2
            assert set(tab.numbers("estimates")) == set(COMMUTES)
            assert "Simulated." in tab.page.inner_text("aside")
            assert tab.page.locator(".truth").count() == 2
            assert tab.violations() == tab.errors == []


def test_a_question_becomes_a_collection_a_report_and_a_chart(
    tmp_path: Path, arrive: Arrive
) -> None:
    deniable = Deniable(tmp_path)
    with served(deniable) as address:
        link = deniable.json("access", "users", "link", "--role", "admin")
        tab = arrive(address)
        tab.open(link["path"])
        tab.page.click("main button[type=submit]")
        tab.page.wait_for_url(f"{address}/")
        tab.page.click("header nav >> text=Set up")
        tab.page.fill("#name", "lunch")
        tab.page.fill("#purpose", "What do people eat at noon, so that we cook enough of it?")
        tab.page.fill("#owner", "kitchen@acme.test")
        tab.page.fill("#min_batch", "1")
        tab.page.fill("#labels", "soup\nsalad\nnothing")
        tab.until("(document.querySelector('#toml')?.textContent || '').includes('\"nothing\"]')")
        tab.settle()
        toml = deniable.write("lunch.toml", tab.page.text_content("#toml") or "")
        apply_here = tab.page.text_content("#apply-here") or ""
        assert apply_here == f"deniable collections apply lunch.toml --data {deniable.data}"
        snippet = tab.page.text_content("#snippet") or ""
        assert deniable.json("collections", "list")["collections"] == []
        deniable.done("collections", "apply", toml)
        deniable.write("app.deniable", deniable.done("collections", "export", "--app", "lunch"))
        run(snippet.replace("client.close()", SENT_AT_ONCE + "client.close()"), tmp_path)
        tab.open("/collections/lunch")
        assert tab.drawing() >= 1
        assert set(tab.numbers("estimates")) == {"soup", "salad", "nothing"}
        assert json.loads(deniable.done("estimates", "lunch", "--json"))["n"] == 1
        assert tab.violations() == tab.errors == []


def run(code: str, folder: Path) -> None:
    """As an app would, in the folder of its file; its state is there, too."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "XDG_STATE_HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
