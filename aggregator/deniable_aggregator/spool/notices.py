"""What a door without keys has to know, written by the opener beside the blocks.

One JSON file: the answers to the GETs that `relay.notices` makes of an aggregator, as the opener's
own application gives them, all of it public and signed; which relays the door may know; and which
epochs are closed, as one that was closed early. The file is replaced in one step, by any opener.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

from deniable_aggregator.errors import SpoolError
from deniable_aggregator.relay.mirror import Fetch, fetched
from deniable_aggregator.spool.protocol import NOTICES, Spool
from deniable_aggregator.spool.relay_tokens import Relays

RELAYS = "relays"
"""What `reader` is asked for instead of a path: `Relays.encode()`."""
CLOSED = "closed"
"""The same for closed epochs: `closed_of` reads them."""

Closed = frozenset[tuple[str, int]]
"""(collection, epoch)"""


def closed_of(data: bytes) -> Closed:
    """What `publish` was given."""
    return frozenset((str(collection), int(epoch)) for collection, epoch in json.loads(data))


def publish(spool: Spool, fetch: Fetch, *, relays: Relays, closed: Closed) -> None:
    """Write what a door needs to copy everything from nothing."""
    facts = {RELAYS: relays.encode(), CLOSED: json.dumps(sorted(closed)).encode()}
    answers = {name: base64.b64encode(fact).decode() for name, fact in facts.items()}

    def noted(path: str) -> bytes:
        body = fetch(path)
        answers[path] = base64.b64encode(body).decode()
        return body

    fetched(noted, None)
    spool.publish(json.dumps(answers).encode())


def reader(spool: Spool) -> Callable[[], Fetch]:
    """Gives a `Fetch` that answers from one reading of the file; SpoolError where it cannot."""
    name = f"{spool.where}/{NOTICES}"

    def opened() -> Fetch:
        try:
            answers = json.loads(spool.published())
        except (OSError, ValueError) as error:
            raise SpoolError(
                f"{name} cannot be read: has `deniable open` run with this spool?"
            ) from error

        def fetch(path: str) -> bytes:
            if path not in answers:
                raise SpoolError(f"{name} has no answer to {path}")
            return base64.b64decode(answers[path])

        return fetch

    return opened
