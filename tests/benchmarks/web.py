"""The web client: what a page loads, and how long one report takes in Chromium and in Node.js.

Needs Node.js and Chromium; where they are missing, the section says so.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import pytest

from benchmarks.measure import Effort, Line
from benchmarks.results import Case, Result, Verdict, at_most
from support.processes.chromium import CHROMIUM, MISSING
from support.processes.web_client import npm_script

TITLE = "The web client"
LOADED = re.compile(r"^(.+): ([\d,]+) bytes gzipped$", re.MULTILINE)
TIMED = re.compile(r"^(\S+) +(\d+ \w+|\w+) +([\d.]+) ms$", re.MULTILINE)
MOST_KILOBYTES, MOST_MILLISECONDS = 20, 1
REMARKS = (
    "A page loads the file at first and those of its mechanisms; what records and sends is loaded "
    "once the person is asked or has agreed. Each file is compressed by itself.",
    "One report is its encoding, coins, payload, id and the next key. Storing it takes as long as "
    "the disk of the browser.",
)


def run(effort: Effort) -> Result:
    """Sizes are those of the build; times are medians of 20 batches, one value a round."""
    try:
        sizes = _sizes()
        rounds = [_in_chromium() for _ in range(effort.rounds)]
        node = [_times(npm_script("bench")) for _ in range(effort.rounds)]
    except pytest.skip.Exception as missing:
        return Result(TITLE, (), remarks=(f"Not measured: {missing}.",))
    browser = _lines(rounds)
    return Result(
        TITLE,
        (
            Case("what a page loads, compressed", tuple(sizes)),
            Case("one report in Chromium", browser),
            Case("one report in Node.js", _lines(node)),
        ),
        _verdicts(sizes[0], max(browser, key=lambda line: line.median)),
        REMARKS,
    )


def _verdicts(first: Line, slowest: Line) -> tuple[Verdict, ...]:
    return (
        at_most(
            "web client, loaded at first",
            MOST_KILOBYTES,
            first,
            bound="reading signed questions is almost half of it",
        ),
        at_most(
            "web client, one report in Chromium, the slowest mechanism",
            MOST_MILLISECONDS,
            slowest,
            bound=slowest.name,
        ),
    )


def _sizes() -> list[Line]:
    return [
        Line(what, "ours", "kB", (int(size.replace(",", "")) / 1e3,))
        for what, size in LOADED.findall(npm_script("build"))
    ]


def _in_chromium() -> dict[str, float]:
    """What the page shows at the end; it needs no server and no network."""
    if CHROMIUM is None:
        pytest.skip(MISSING)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "bench.html"
        script = npm_script("bench:page").replace("</script", "<\\/script")
        page.write_text(f"<!doctype html><body><script>{script}</script>", encoding="utf-8")
        words = [CHROMIUM, "--headless", "--no-sandbox", f"--user-data-dir={folder}/profile"]
        shown = subprocess.run(
            [*words, "--dump-dom", page.as_uri()],
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
    return _times(shown.stdout.partition("</script>")[2])


def _times(text: str) -> dict[str, float]:
    return {f"{what}, {of}": float(ms) for what, of, ms in TIMED.findall(text)}


def _lines(rounds: list[dict[str, float]]) -> tuple[Line, ...]:
    return tuple(
        Line(name, "ours", "ms", tuple(times[name] for times in rounds)) for name in rounds[0]
    )
