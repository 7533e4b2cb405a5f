"""The `deniable` command, in this process or as a real one."""

from __future__ import annotations

import atexit
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from click import Command
from click.testing import CliRunner, Result

from deniable_aggregator.cli import main

NOWHERE = "http://127.0.0.1:9"
"""For DENIABLE_PUBLIC_URL: the doctor asks who answers at port 8000 of this machine."""

SETTINGS_TOML = """\
name = "settings"
purpose = "Which settings do people turn on?"
owner = "privacy@example.org"
epsilon = "1"
mechanism = "rr/1"
valid_from = 2026-01-01
expires = 2099-01-01
[domain]
type = "bits"
labels = ["dark_mode", "beta"]
"""


class Deniable:
    """Runs commands on the data directory `folder`/data."""

    def __init__(self, folder: Path, program: Command = main) -> None:
        self.folder = folder
        self.program = program
        self.data = folder / "data"
        self.key = folder / "operator.key"
        self.environ: dict[str, str | None] = {
            name: None
            for name in os.environ
            if name.startswith("DENIABLE_") or name.lower().endswith("_proxy")
        }
        self.environ["COLUMNS"] = None  # that of the person who runs the tests
        self.environ["DENIABLE_DATA"] = str(self.data)

    def __call__(self, *arguments: str | Path) -> Result:
        """The result, for every exit code; an unforeseen error is raised."""
        runner = CliRunner(env=self.environ)
        result = runner.invoke(self.program, [str(part) for part in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def done(self, *arguments: str | Path) -> str:
        """Standard output of a command that must succeed."""
        result = self(*arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    def prepare(self, *options: str) -> None:
        """Leave what `deniable init` with these options leaves: it runs once, then it is copied."""
        shutil.copytree(_prepared(options), self.folder, dirs_exist_ok=True)

    def copy(self, folder: Path) -> Deniable:
        """The same directory elsewhere, to change it there."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Deniable(folder, self.program)

    def json(self, *arguments: str | Path) -> dict[str, Any]:
        """The one JSON document a command prints on standard output."""
        document = json.loads(self.done(*arguments, "--json"))
        assert isinstance(document, dict)
        return document

    def refused(self, *arguments: str | Path, code: int = 1) -> str:
        """What a command that must fail says: one line on standard error, nothing on output."""
        result = self(*arguments)
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        said = result.stderr.strip()
        assert said.startswith("Error: ")
        assert "\n" not in said
        return said.removeprefix("Error: ")

    def write(self, name: str, text: str = SETTINGS_TOML) -> Path:
        """A file next to the data directory."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def process_environ(self) -> dict[str, str]:
        """The environment of a real process."""
        environ = {**os.environ, **self.environ}
        return {name: value for name, value in environ.items() if value is not None}

    def shell(self, line: str) -> subprocess.CompletedProcess[str]:
        """What a line of the shell did, with real processes."""
        program = f"{shlex.quote(sys.executable)} -m deniable_aggregator"
        return subprocess.run(
            ["/bin/sh", "-c", line.replace("deniable ", f"{program} ")],
            capture_output=True,
            text=True,
            check=False,
            env=self.process_environ(),
        )

    @contextmanager
    def process(self, *arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
        """A real `deniable` process; killed at the end if it still runs."""
        process = subprocess.Popen(
            [sys.executable, "-m", "deniable_aggregator", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.process_environ(),
        )
        with process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGTERM)
                    process.wait(timeout=120)


def bare_environ() -> dict[str, str]:
    """For a Python that needs nothing but bytecode: without it, each process would compile all."""
    place = os.environ.get("PYTHONPYCACHEPREFIX")
    return {"PATH": ""} | ({} if place is None else {"PYTHONPYCACHEPREFIX": place})


def wait_until(what: str, holds: object, seconds: float = 120.0) -> None:
    """Poll `holds()` until it is true; AssertionError naming `what` at the deadline."""
    assert callable(holds)
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.02)


@cache
def _prepared(options: tuple[str, ...]) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="deniable-init-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    Deniable(folder).done("init", *options)
    return folder
