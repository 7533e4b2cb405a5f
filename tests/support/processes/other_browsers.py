"""Firefox and WebKit, by WebDriver: one tab each, without a screen and with an empty profile.

Firefox speaks the protocol by itself (Marionette: JSON on a socket). WebKit has a program for it.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import IO, Any

import httpx

from deniable_aggregator.operations.process.serving import free_port
from support.processes.installed_programs import program

__all__ = ["BROWSERS", "Tab"]

_PATIENCE_SECONDS = 120.0
_WHEN = """() => new Promise((done) => {
  const look = (found) => (found ? done(THEN) : setTimeout(() => look(SEEN), 10));
  look(SEEN);
})"""


@dataclass
class Tab:
    """One tab; `send` gives a browser a command and returns its value."""

    send: Callable[[str, dict[str, Any]], Any]

    def open(self, address: str) -> None:
        """Load a page of the example site and wait until its script has run."""
        self.send("url", {"url": address})
        self.when("document.documentElement.dataset.ready")

    def when(self, seen: str, then: str = "undefined") -> Any:
        """Wait for what an expression finds, and return what another one makes of `found`."""
        return self.run(_WHEN.replace("SEEN", seen).replace("THEN", then))

    def run(self, function: str, *values: Any) -> Any:
        """What a function of JavaScript returns, or what its promise brings."""
        script = f"return ({function})(...arguments)"
        return self.send("execute/sync", {"script": script, "args": values})


@contextmanager
def firefox(folder: Path) -> Iterator[Tab]:
    """With a profile in this folder; skips the test where Firefox is not installed."""
    path, port = program("firefox-esr"), free_port()
    (folder / "user.js").write_text(f'user_pref("marionette.port", {port});\n')
    words = [path, "--headless", "--marionette", "--no-remote", "--profile", str(folder)]
    with _running(words, stdout=subprocess.PIPE) as browser:
        assert browser.stdout is not None
        assert any(b"Listening on port" in line for line in browser.stdout)
        connection = socket.create_connection(("127.0.0.1", port), _PATIENCE_SECONDS)
        with connection, connection.makefile("rb") as replies:
            yield Tab(_Marionette(connection, replies).send)


@dataclass
class _Marionette:
    """Firefox's own words for commands: its length, a colon and a list in JSON."""

    connection: socket.socket
    replies: IO[bytes]

    def __post_init__(self) -> None:
        self._reply()  # what it speaks
        self._command("WebDriver:NewSession", {})

    def send(self, command: str, given: dict[str, Any]) -> Any:
        names = {"url": "Navigate", "execute/sync": "ExecuteScript"}
        return self._command(f"WebDriver:{names[command]}", given)["value"]

    def _command(self, name: str, given: dict[str, Any]) -> Any:
        body = json.dumps([0, 1, name, given]).encode()
        self.connection.sendall(b"%d:%s" % (len(body), body))
        _, _, error, value = self._reply()
        assert error is None, error
        return value

    def _reply(self) -> Any:
        rest = iter(lambda: self.replies.read(1), b"")
        length = int(b"".join(takewhile(lambda byte: byte != b":", rest)))
        return json.loads(self.replies.read(length))


@contextmanager
def webkit(folder: Path) -> Iterator[Tab]:
    """With storage of its own; skips the test where WebKit's driver or Xvfb is not installed."""
    driver = program("WebKitWebDriver", "apt-get install webkit2gtk-driver")
    port = free_port()
    again = httpx.HTTPTransport(retries=8)  # until the driver listens
    with _display() as display, ExitStack() as opened:
        surroundings = {**os.environ, "DISPLAY": display, "HOME": str(folder)}
        opened.enter_context(_running([driver, f"--port={port}"], env=surroundings))
        address = f"http://127.0.0.1:{port}/session"
        client = opened.enter_context(httpx.Client(transport=again, timeout=_PATIENCE_SECONDS))
        post = partial(_posted, client)
        address += "/" + post(address, {"capabilities": {}})["sessionId"]
        opened.callback(client.delete, address)
        yield Tab(lambda command, given: post(f"{address}/{command}", given))


def _posted(client: httpx.Client, address: str, given: dict[str, Any]) -> Any:
    reply = client.post(address, json=given)
    assert reply.status_code == 200, reply.text
    return reply.json()["value"]


@contextmanager
def _display() -> Iterator[str]:
    """A screen in memory: WebKit's window needs one."""
    path = program("Xvfb", "apt-get install xvfb")
    seen, given = os.pipe()
    with os.fdopen(seen) as number, ExitStack() as opened:
        words = [path, "-displayfd", str(given), "-nolisten", "tcp"]
        opened.enter_context(_running(words, pass_fds=[given]))
        os.close(given)
        yield f":{number.readline().strip()}"


@contextmanager
def _running(words: list[str], **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A program, until the block ends."""
    with subprocess.Popen(words, stderr=subprocess.DEVNULL, **how) as process:
        try:
            yield process
        finally:
            process.terminate()


BROWSERS = {"firefox": firefox, "webkit": webkit}
