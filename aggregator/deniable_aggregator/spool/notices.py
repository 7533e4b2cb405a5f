"""What a door without keys has to know, written by the opener beside the blocks.

One JSON file: the answers to the GETs that `relay.notices` makes of an aggregator, as the opener's
own application gives them, all of it public and signed; which relays the door may know; and which
epochs are closed, as one that was closed early. The file is replaced in one step, by any opener.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from deniable_aggregator.errors import SpoolError
from deniable_aggregator.relay.notices import Fetch, fetched
from deniable_aggregator.spool.relays import Relays

__all__ = ["CLOSED", "NAME", "RELAYS", "Closed", "closed_of", "publish", "reader"]

NAME = "notices.json"
RELAYS = "relays"
"""What `reader` is asked for instead of a path: `Relays.encode()`."""
CLOSED = "closed"
"""The same for closed epochs: `closed_of` reads them."""

Closed = frozenset[tuple[str, int]]
"""(collection, epoch)"""


def closed_of(data: bytes) -> Closed:
    """What `publish` was given."""
    return frozenset((str(collection), int(epoch)) for collection, epoch in json.loads(data))


def publish(directory: Path, fetch: Fetch, *, relays: Relays, closed: Closed) -> None:
    """Write what a door needs to copy everything from nothing."""
    facts = {RELAYS: relays.encode(), CLOSED: json.dumps(sorted(closed)).encode()}
    answers = {name: base64.b64encode(fact).decode() for name, fact in facts.items()}

    def noted(path: str) -> bytes:
        body = fetch(path)
        answers[path] = base64.b64encode(body).decode()
        return body

    fetched(noted, None)
    draft = directory / f".{NAME}.{secrets.token_hex(8)}.draft"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        json.dump(answers, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(directory / NAME)


def reader(directory: Path) -> Callable[[], Fetch]:
    """Gives a `Fetch` that answers from one reading of the file; SpoolError where it cannot."""

    def opened() -> Fetch:
        try:
            answers = json.loads((directory / NAME).read_bytes())
        except (OSError, ValueError) as error:
            raise SpoolError(
                f"{directory / NAME} cannot be read: has `deniable open` run with this spool?"
            ) from error

        def fetch(path: str) -> bytes:
            if path not in answers:
                raise SpoolError(f"{directory / NAME} has no answer to {path}")
            return base64.b64decode(answers[path])

        return fetch

    return opened
