"""The web client with Node.js: its folder, and why its tests are skipped where it cannot run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

__all__ = ["FOLDER", "build", "evaluate", "example_site", "node", "npm_script"]

FOLDER = Path(__file__).parents[3] / "client" / "web"
BUILD = FOLDER / "build" / "test"


def npm_script(*words: str) -> str:
    """What an npm script of the web client prints; where it fails, the test fails with why."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("Node.js is not here: the web client is tested where `node` and `npm` are")
    if not (FOLDER / "node_modules").is_dir():
        pytest.skip("the web client's packages are not here: `just web` brings them")
    return _printed(npm, "run", "--silent", *words)


@cache
def build() -> None:
    """What a site with a build imports and what one without it loads: made once a process."""
    npm_script("build")


def node(program: str, given: str = "") -> str:
    """What a compiled program of its test folder prints."""
    _compile()
    return _printed(shutil.which("node") or "node", BUILD / program, given=given)


def evaluate(program: str) -> str:
    """What an ES module prints that is in the folder of the web client."""
    return _printed(shutil.which("node") or "node", "--input-type=module", "--eval", program)


@cache
def _compile() -> None:
    npm_script("compile")


def _printed(*command: str | Path, given: str = "") -> str:
    answer = subprocess.run(
        list(map(str, command)),
        cwd=FOLDER,
        input=given,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


@contextmanager
def example_site(
    folder: Path, *, port: int, aggregator: str, trust: str, question: bytes
) -> Iterator[str]:
    """The example site, served by its one command; its address."""
    build()
    (folder / "question.json").write_bytes(question)
    words = [shutil.which("node") or "node", "example/serve.mjs", "--port", str(port)]
    words += ["--aggregator", aggregator, "--trust", trust]
    words += ["--question", str(folder / "question.json")]
    with subprocess.Popen(words, cwd=FOLDER, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().split()[-1]
        finally:
            server.terminate()
