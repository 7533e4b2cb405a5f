"""The notices: what a keyless intake must know.

The spool's consumer writes them next to the blocks.

They are one JSON file with three parts. First, the answers to the GETs of `upload.mirror`, as the
consumer's own service gives them, all public and signed. Second, the tokens of relays. Third, the
closed epochs, including those closed early. Any consumer replaces the file in one step.
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
"""The name of the relay tokens in the notices, in place of a path: `RelayTokens.encode()`."""
CLOSED = "closed"
"""The name of the closed epochs in the notices: `decode_closed` reads them."""

Closed = frozenset[tuple[str, int]]
"""(collection, epoch)"""


def decode_closed(data: bytes) -> Closed:
    """Return the closed epochs that `publish` was given."""
    return frozenset((str(collection), int(epoch)) for collection, epoch in json.loads(data))


def publish(spool: Spool, fetch: Fetch, *, relays: RelayTokens, closed: Closed) -> None:
    """Write everything that an intake needs to start."""
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
    """Return a function that reads the file once and returns a `Fetch`.

    It raises SpoolError if the file cannot be read.
    """
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
