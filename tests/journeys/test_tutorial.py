"""The tutorials, followed literally: from an empty directory to a chart and a notebook."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from support.processes.tutorial import NOTEBOOK, PAGE, PICTURES, PLOT, Reader, blocks, images

pytestmark = pytest.mark.processes


@pytest.mark.long
def test_the_tutorials_lead_from_an_empty_directory_to_a_chart(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """By default a browser goes this way in `test_first_steps`, and how-to pages are followed."""
    begun = time.monotonic()
    looked: list[str] = []
    reader = Reader(tmp_path, lambda reader, name: looked.append(name))
    with reader.following(PAGE.read_text()):
        page = chart_page(reader)
        seconds = time.monotonic() - begun
        notebook = reader.cells(NOTEBOOK.read_text())
    record_property("seconds", seconds)
    print(f"from an empty directory to a chart in {seconds:.1f} s")
    assert looked == list(PICTURES)
    assert "What do people drink in the morning?" in page
    assert re.search(r"data-chart[ =>]", page)
    assert re.search(r"\b601\b", page)
    assert len(images(notebook)) == 1
    assert "(601, 0.95)" in str(notebook)
    assert "service.collections() lists the collections" in str(notebook.cells[-1])


def chart_page(reader: Reader) -> str:
    """The page of the question, after a press of the link's button."""
    with httpx.Client(base_url=reader.address, trust_env=False, timeout=60) as browser:
        link = reader.link()
        [token] = re.findall(r'name="csrf_token" value="([^"]+)"', browser.get(link).text)
        form = {"csrf_token": token, "link": link.partition("link=")[2], "next": "/"}
        assert browser.post("/sign-in", data=form).status_code == 303
        return browser.get("/collections/drink").text


def test_each_picture_is_here_and_no_other() -> None:
    shown = [block.text for block in blocks(PAGE.read_text()) if block.kind == "picture"]
    taken = sorted(path.stem for path in PLOT.parent.glob("tutorial-*.png"))
    assert shown == list(PICTURES) == taken
    assert PLOT.is_file()
