"""Follows docs/tutorials/private-release.md literally, on a demo of its own.

cd tests && python -m support.processes.release_tutorial      takes the page's pictures again
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support.processes.chromium import CHROMIUM, MISSING, chromium
from support.processes.deniable_command import Deniable

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "tutorials" / "private-release.md"
COMMUTE = "/collections/simulated-commute"
PRICED = f"{COMMUTE}/releases?question=top-k&k=3&cost=true&epsilon="
PICTURES = {
    "release-budget-light": ("/ledger?collection=simulated-commute", 680),
    "release-price-light": (f"{PRICED}0.2", 430),
    "release-result-light": (f"{COMMUTE}/releases/NEWEST", 470),
    "release-list-light": ("/releases", 480),
    "release-refused-light": (f"{PRICED}5", 400),
}
"""Name → address and height in pixels; NEWEST is the id of the release that was just made."""

WIDTH, LARGEST_BYTES = 1000, 150_000
_BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```|^!\[.*?\]\(\S*?([^/]*)\.png\)", re.S | re.M)
_LINK = re.compile(r"^Open (\S+)$", re.M)
_VARIABLES = re.compile(r"(DENIABLE_URL)=(\S+) (DENIABLE_TOKEN)=(\S+)")
"""What the demo prints: the link of step 1, and the line that step 2 copies."""

_OWN_EACH_TIME = re.compile(r"\b[0-9a-f]{16}\b|(?<=simulated-commute)-\w{6}")
"""Ids of releases and questions."""


def missing_lines(shown: str, said: str) -> list[str]:
    """Lines of the page that do not follow each other in the output, for all numbers."""
    lines = iter([_words(line) for line in said.splitlines()])
    return [line for line in shown.splitlines() if _words(line) not in lines]


def _words(line: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", _OWN_EACH_TIME.sub(" ", line))


@dataclass
class ReleaseReader:
    """A person who does what the page says. `look` is called at each picture."""

    deniable: Deniable
    look: Callable[[ReleaseReader, str], None] = lambda reader, name: None
    link: str = ""
    compared: int = 0

    def follow(self, page: str) -> None:
        """Every line and picture of the page, in order. AssertionError at a wrong output."""
        self.deniable.environ |= {"DENIABLE_DATA": None, "COLUMNS": "100"}
        [(_, demo, _), *blocks] = _BLOCK.findall(page)
        with self.deniable.process(*shlex.split(demo)[1:]) as running:
            copied = self._printed(running)
            said = ""
            for kind, text, picture in blocks:
                if kind == "sh":
                    said = "".join(self._type(line, copied) for line in text.splitlines())
                elif kind == "text":
                    assert missing_lines(text, said) == []
                    self.compared += 1
                else:
                    self.look(self, picture)

    def newest(self) -> str:
        """The id of the release that was made last."""
        listed = self.deniable.json("releases", "list", "simulated-commute")["releases"]
        return str(listed[-1]["release"])

    def _printed(self, demo: subprocess.Popen[str]) -> dict[str, str]:
        assert demo.stdout is not None
        said = ""
        for line in demo.stdout:
            said += line
            if copied := _VARIABLES.search(line):
                self.link = _LINK.findall(said)[0]
                return {copied[1]: copied[2], copied[3]: copied[4]}
        raise AssertionError(f"the demo printed no address: {said}")

    def _type(self, line: str, copied: dict[str, str]) -> str:
        """What a line prints; the line of step 2 sets what the demo has printed."""
        if line.startswith("export "):
            self.deniable.environ |= copied
            return ""
        return self.deniable.done(*shlex.split(line)[1:])


def take() -> None:
    """Take every picture again."""
    if CHROMIUM is None:
        sys.exit(MISSING)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page = browser.new_page(color_scheme="light")

        def look(reader: ReleaseReader, name: str) -> None:
            if page.url == "about:blank":
                page.goto(reader.link)
                page.click("main button[type=submit]")
            if name not in PICTURES:
                return
            path, height = PICTURES[name]
            if "NEWEST" in path:
                path = path.replace("NEWEST", reader.newest())
            page.set_viewport_size({"width": WIDTH, "height": height})
            page.goto(reader.link.partition("/sign-in")[0] + path)
            page.wait_for_timeout(800)
            taken = ROOT / "docs" / "pictures" / f"{name}.png"
            page.screenshot(path=taken)
            size = taken.stat().st_size
            print(f"{taken.name}: {size:,} bytes")
            assert size < LARGEST_BYTES, f"{taken.name} must be below {LARGEST_BYTES:,} bytes"

        ReleaseReader(Deniable(Path(folder)), look).follow(PAGE.read_text("utf-8"))


if __name__ == "__main__":
    take()
