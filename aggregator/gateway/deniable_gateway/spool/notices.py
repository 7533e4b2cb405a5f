"""What a keyless intake has to know. The consumer of the spool writes it next to the blocks.

One JSON file: the answers to the GETs that `relay.notices` makes of an aggregator, as the
consumer's own service gives them, all of it public and signed; the tokens of relays; and which
epochs are closed, also early. Any consumer replaces the file, in one step.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from deniable_gateway.errors import SpoolError
from deniable_gateway.spool.protocol import NOTICES, Spool
from deniable_gateway.upload.mirror import Fetch, fetch_mirror

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_gateway.spool.relay_tokens import RelayTokens

RELAYS = "relays"
"""What `notices_reader` is asked for instead of a path: `RelayTokens.encode()`."""
CLOSED = "closed"
"""The same for closed epochs: `decode_closed` reads them."""

Closed = frozenset[tuple[str, int]]
"""(collection, epoch)"""


def decode_closed(data: bytes) -> Closed:
    """What `publish` was given."""
    return frozenset((str(collection), int(epoch)) for collection, epoch in json.loads(data))


def publish(spool: Spool, fetch: Fetch, *, relays: RelayTokens, closed: Closed) -> None:
    """Write what an intake needs to start from nothing."""
    own_documents = {RELAYS: relays.encode(), CLOSED: json.dumps(sorted(closed)).encode()}
    answers = {
        name: base64.b64encode(document).decode() for name, document in own_documents.items()
    }

    def fetch_and_keep(path: str) -> bytes:
        body = fetch(path)
        answers[path] = base64.b64encode(body).decode()
        return body

    fetch_mirror(fetch_and_keep, None)
    spool.write_notices(json.dumps(answers).encode())


def notices_reader(spool: Spool) -> Callable[[], Fetch]:
    """Gives a `Fetch` that answers from one reading of the file; SpoolError where it cannot."""
    name = f"{spool.where}/{NOTICES}"

    def read() -> Fetch:
        try:
            answers = json.loads(spool.read_notices())
        except (OSError, ValueError) as error:
            raise SpoolError(
                f"{name} cannot be read: has `deniable spool drain` run with this spool?"
            ) from error

        def fetch(path: str) -> bytes:
            if path not in answers:
                raise SpoolError(f"{name} has no answer to {path}")
            return base64.b64decode(answers[path])

        return fetch

    return read
