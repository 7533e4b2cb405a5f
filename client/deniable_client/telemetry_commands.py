"""The commands `telemetry status`, `on`, `off` and `show`, for any command-line library."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from deniable_client.consent import Consent
from deniable_client.errors import ClientError

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_client.client import Client
    from deniable_client.inspection_server import InspectionServer

__all__ = ["SUMMARIES", "open_page", "run", "show", "status", "switch"]

SUMMARIES = {
    "status": "Say whether telemetry is on, and every reason if it is off.",
    "on": "Agree to telemetry.",
    "off": "Say no, and delete what waits on this device.",
    "show": "Show what is asked, what waits and what left, in a browser.",
}
"""The commands, and what each does."""


def run(command: str, client: Client, say: Callable[[str], object]) -> bool:
    """Run one of `SUMMARIES`. Returns False if it failed; `say` has then printed why."""
    try:
        if command == "show":
            show(client, say)
        elif command == "status":
            say(status(client))
        else:
            say(switch(client, on=command == "on"))
    except ClientError as error:
        say(f"This did not work: {error}.")
        return False
    return True


def status(client: Client) -> str:
    """Return the status, the questions, the budget spent and the waiting reports, one line each."""
    health = client.health()
    lines = [health.status.text]
    if health.questions:
        lines.append(f"This app asks about: {', '.join(health.questions)}.")
    with suppress(ClientError):  # the status already says that the state cannot be read
        lines.append(f"Privacy budget: {client.budget()}.")
    if health.why:
        lines.append(f"{health.why[0].upper()}{health.why[1:]}.")
    return "\n".join(lines)


def switch(client: Client, *, on: bool) -> str:
    """Store the person's decision, and return the new status."""
    client.consent(Consent.GRANTED if on else Consent.DENIED)
    now = client.status()
    if on and not now.on:
        return f"Your yes is stored. {now.text}"
    return now.text


def show(client: Client, say: Callable[[str], object]) -> None:
    """Open the page, and serve it until Ctrl-C."""
    import threading

    server = open_page(client)
    say(f"{server.url}\nPress Ctrl-C to stop.")
    with suppress(KeyboardInterrupt):
        threading.Event().wait()
    server.shutdown()
    server.server_close()


def open_page(client: Client, *, title: str = "What this app reports") -> InspectionServer:
    """Serve the page from a thread, and open it in the person's browser."""
    import webbrowser  # loaded only for the page

    from deniable_client.inspection_server import InspectionServer

    server = InspectionServer(client, title=title).start()
    webbrowser.open(server.url)
    return server
