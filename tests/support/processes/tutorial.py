"""Follows docs/tutorials/first-question.md and notebook.md literally, from an empty folder on.

cd tests && python -m support.processes.tutorial      takes the pages' pictures again
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import nbformat as untyped
from nbclient import NotebookClient

from deniable_aggregator.operations.process import running_server
from deniable_aggregator.operations.process.serving import free_port
from deniable_client.opt_outs import CI_MARKERS
from support.processes.chromium import CHROMIUM, MISSING, chromium
from support.processes.deniable_command import wait_until

__all__ = ["NOTEBOOK", "PAGE", "PICTURES", "PLOT", "Block", "Reader", "blocks", "images"]

nbformat: Any = untyped
CELL_SECONDS = 600

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "tutorials" / "first-question.md"
NOTEBOOK = PAGE.with_name("notebook.md")
PLOT = ROOT / "docs" / "pictures" / "notebook-plot.png"
PORT = "8000"
"""The page's; a test takes a free one."""

PICTURES = {
    "tutorial-1-empty": ("/", 660),
    "tutorial-2-waiting": ("/collections/drink", 700),
    "tutorial-3-arrived": ("/collections/drink", 560),
    "tutorial-4-chart": ("/collections/drink", 620),
}
"""Name → address and height in pixels."""

WIDTH, LARGEST_BYTES = 1000, 120_000
_BLOCK = re.compile(
    r"^```(?P<kind>\w+)\n(?P<text>.*?)^```|^!\[.*?\]\(\S*?(?P<name>[^/]*)\.png\)", re.S | re.M
)
_ENTERED = re.compile(r"[?\]] (\w+)$", re.M)
"""What the reader types after a question."""


class Block(NamedTuple):
    """One block of the page: `kind` is sh, python, text or picture."""

    kind: str
    text: str
    before: str
    """The sentences above it."""
    shown: str
    """What the page says that it prints."""


def blocks(page: str) -> list[Block]:
    """Every block from the heading "2." on: the section above it prepares."""
    page = page[page.index("\n## 2.") :]
    matches = list(_BLOCK.finditer(page))
    before = [0, *(match.end() for match in matches)]
    return [
        Block(
            match["kind"] or "picture",
            match["text"] or match["name"],
            before=page[start : match.start()],
            shown=_shown_below(page[match.end() :]),
        )
        for start, match in zip(before, matches, strict=False)
    ]


def _shown_below(rest: str) -> str:
    shown = re.match(r"\s*```text\n(.*?)^```", rest, re.S | re.M)
    return shown[1] if shown else ""


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text)


@dataclass
class Reader:
    """A person in an empty folder who does what the page says. `look` is called at each picture."""

    folder: Path
    look: Callable[[Reader, str], None] = lambda reader, name: None
    port: int = field(default_factory=free_port)

    @property
    def address(self) -> str:
        """Of the service."""
        return f"http://127.0.0.1:{self.port}"

    def link(self) -> str:
        """The link that signs in once; on a terminal, `serve` prints it."""
        return (self._work / "data" / "sign-in-link").read_text().strip()

    @contextmanager
    def following(self, page: str) -> Iterator[None]:
        """With everything done, and the service still running."""
        self._install()
        here = self.folder
        with ExitStack() as running:
            for block in blocks(page.replace(f":{PORT}", f":{self.port}")):
                if "second terminal" in block.before:
                    here = self.folder
                if block.kind == "picture":
                    self.look(self, block.text)
                elif block.kind == "python":
                    name = re.findall(r"`(\w+\.py)`", block.before)[-1]
                    (here / name).write_text(block.text)
                elif block.kind == "sh":
                    here = self._type(block, here, running)
            yield

    def cells(self, page: str) -> Any:
        """The notebook of a page's cells with their outputs; raises where a cell does."""
        made = nbformat.v4.new_notebook()
        cells = [block.text for block in blocks(page) if block.kind == "python"]
        made.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
        client = NotebookClient(made, timeout=CELL_SECONDS, kernel_name="python3")
        words = ["tokens", "new", "--role", "viewer", "--label", "notebook", "--json"]
        printed = self._deniable("access", *words)
        token = json.loads(printed)["token"]
        environ = {"DENIABLE_URL": self.address, "DENIABLE_TOKEN": token}
        client.execute(cwd=str(self.folder), env=self._environ() | environ)
        return made

    def _deniable(self, *words: str) -> str:
        command = [sys.executable, "-m", "deniable_aggregator", *words]
        run = subprocess.run(
            command, cwd=self._work, env=self._environ(), capture_output=True, text=True, check=True
        )
        return run.stdout

    @property
    def _work(self) -> Path:
        return self.folder / "first-question"

    def _install(self) -> None:
        """What the first section brings: `deniable` and `python` are those of this process."""
        activate = self.folder / ".venv" / "bin" / "activate"
        activate.parent.mkdir(parents=True)
        activate.write_text(f'export PATH="{Path(sys.executable).parent}:$PATH"\n')

    def _environ(self) -> dict[str, str]:
        """A person's own, of an empty home: nothing is set and no build server is near."""
        hidden = ("DENIABLE", "XDG_", *CI_MARKERS)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        own = {"HOME": str(self.folder), "DENIABLE_PORT": str(self.port), "NO_PROXY": "127.0.0.1"}
        return kept | own | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def _type(self, block: Block, here: Path, running: ExitStack) -> Path:
        """Run the lines; where the terminal is then. `deniable serve` stays until the end."""
        lines, serve, _ = block.text.partition("deniable serve")
        done = subprocess.run(
            ["/bin/bash", "-ec", f"{lines}\npwd > '{self.folder}/here'"],
            cwd=here,
            env=self._environ(),
            input="".join(f"{word}\n" for word in _ENTERED.findall(block.shown)),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (lines, done.stdout, done.stderr)
        if block.shown:
            assert _words(done.stdout) == _words(_ENTERED.sub("", block.shown))
        if serve:
            running.enter_context(self._serving())
        return Path((self.folder / "here").read_text().strip())

    @contextmanager
    def _serving(self) -> Iterator[None]:
        command = [sys.executable, "-m", "deniable_aggregator", "serve"]
        with (
            (self.folder / "serve.log").open("wb") as log,
            subprocess.Popen(command, cwd=self._work, env=self._environ(), stdout=log) as process,
        ):
            data = self._work / "data"
            try:
                wait_until("it serves", lambda: running_server.find(data) is not None)
                wait_until("there is a link", (data / "sign-in-link").exists)
                yield
            finally:
                process.terminate()


def rewrite() -> None:
    """Take every picture again."""
    if CHROMIUM is None:
        sys.exit(MISSING)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page = browser.new_page(color_scheme="light")

        def look(reader: Reader, name: str) -> None:
            path, height = PICTURES[name]
            if page.url == "about:blank":
                page.goto(reader.link())
                page.click("main button[type=submit]")
            page.set_viewport_size({"width": WIDTH, "height": height})
            page.goto(reader.address + path)
            page.wait_for_timeout(800)
            taken = ROOT / "docs" / "pictures" / f"{name}.png"
            page.screenshot(path=taken)
            size = taken.stat().st_size
            print(f"{taken.name}: {size:,} bytes")
            assert size < LARGEST_BYTES, f"{taken.name} must be below {LARGEST_BYTES:,} bytes"

        reader = Reader(Path(folder), look, port=8000)
        with reader.following(PAGE.read_text()):
            [plot] = images(reader.cells(NOTEBOOK.read_text()))
        PLOT.write_bytes(plot)


def images(notebook: Any) -> list[bytes]:
    """The pictures that its cells have drawn."""
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    drawn = [output["data"].get("image/png") for output in outputs if "data" in output]
    return [base64.b64decode(each) for each in drawn if each]


if __name__ == "__main__":
    rewrite()
