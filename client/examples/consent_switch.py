"""A small app that asks nicely: one page with a switch for consent, over nothing but this client.

    python consent_switch.py URL TRUST MANIFEST… [--state FILE] [--port 8000]

The page says what is asked and what a report can reveal, in `Client.explain()`'s words. The person
switches telemetry on or off, uses the app, and can read exactly which bytes left. Every change of a
setting calls `record()` with the switch on or off: the client decides.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from deniable_client import Ceiling, Client, Consent

if TYPE_CHECKING:
    from collections.abc import Mapping

COLLECTION = "settings"
SETTINGS = ("dark_mode", "beta")
CEILING = Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=8)
MOST_BYTES = 10_000
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Settings</title></head><body>
<h1>Settings</h1>
<form method="post" action="/settings">{boxes}<button>Save</button></form>
<p role="status">{notice}</p>
<h2>Telemetry: {consent}</h2>
<form method="post" action="/consent">
<button name="answer" value="granted"{granted}>Switch on</button>
<button name="answer" value="denied"{denied}>Switch off and delete what waits</button>
</form>
<h2>What it reveals</h2>
<pre>{explained}</pre>
</body></html>
"""


@dataclass
class App:
    """The settings of one person, and the client that may ask about them."""

    client: Client
    settings: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(SETTINGS, False))
    notice: str = ""

    def save(self, chosen: Mapping[str, list[str]]) -> None:
        """Keep the settings; the answer is randomized here or not given at all."""
        self.settings = {name: name in chosen for name in SETTINGS}
        outcome = self.client.record(COLLECTION, self.settings)
        self.notice = f"Saved. The question about settings: {outcome}."

    def decide(self, chosen: Mapping[str, list[str]]) -> None:
        """The switch."""
        answer = chosen.get("answer", [""])[0]
        if answer in (Consent.GRANTED, Consent.DENIED):
            self.client.consent(answer)
            self.notice = "Telemetry is on." if answer == Consent.GRANTED else "Telemetry is off."

    def page(self) -> str:
        """What the person sees."""
        boxes = "".join(
            f'<label><input type="checkbox" name="{name}"{" checked" * on}> {name}</label><br>'
            for name, on in self.settings.items()
        )
        consent = self.client.consent()
        return PAGE.format(
            boxes=boxes,
            notice=escape(self.notice),
            consent=consent,
            granted=" disabled" * (consent is Consent.GRANTED),
            denied=" disabled" * (consent is Consent.DENIED),
            explained=escape(self.client.explain().text),
        )


def make_server(app: App, port: int = 0) -> ThreadingHTTPServer:
    """A server for one person, on loopback only; port 0 takes a free one."""
    actions = {"/settings": app.save, "/consent": app.decide}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200 if self.path == "/" else 404, app.page())

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            site = self.headers.get("Origin")
            valid = self.path in actions and site in (None, f"http://{self.headers.get('Host')}")
            if not valid or not 0 <= length <= MOST_BYTES:
                self._answer(400, "")
                return
            actions[self.path](parse_qs(self.rfile.read(length).decode("utf-8", "replace")))
            self.send_response(303)
            self.send_header("Location", "/")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _answer(self, status: int, page: str) -> None:
            body = page.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Logs nothing: a line would show what a person sets."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main(arguments: list[str] | None = None) -> None:
    """Run the app until Ctrl-C."""
    parser = argparse.ArgumentParser(description="An app with a consent switch.")
    parser.add_argument("url")
    parser.add_argument("trust")
    parser.add_argument("manifests", nargs="+", type=Path)
    parser.add_argument("--state", default="~/.local/state/consent-switch/deniable.db")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args(arguments)
    with Client(
        given.url,
        trust=given.trust,
        manifests=given.manifests,
        state=given.state,
        ceiling=CEILING,
    ) as client:
        server = make_server(App(client), given.port)
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass
        finally:
            server.server_close()


if __name__ == "__main__":
    main()
