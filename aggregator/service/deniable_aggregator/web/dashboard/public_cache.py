"""Public answers are made once for each state of what they show, and browsers may keep them.

The state is a hash of what is finished or released, of the settings that an answer shows, and of
the code. It is the key here and the ETag outside: an answer that a browser still has costs one look
at the periods.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING

from flask import Response, current_app, request

from deniable_aggregator.queries.public_results import public_state
from deniable_aggregator.web.application import service
from deniable_aggregator.web.dashboard import assets

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.collections.registry import Collection

KEPT = "public, max-age=300"
MOST_ANSWERS = 128
LARGEST = 1 << 20
"""Longest answer that is kept, in bytes: all of them together take 128 MiB at most."""

EXTENSION = "deniable_public"


class PublicAnswers:
    """The answers used last, by their ETag. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: OrderedDict[str, Response] = OrderedDict()

    def find(self, tag: str) -> Response | None:
        """A copy of the answer of this tag."""
        with self._lock:
            answer = self._answers.get(tag)
            if answer is None:
                return None
            self._answers.move_to_end(tag)
        return _copy(answer)

    def keep(self, tag: str, answer: Response) -> None:
        """Remember a copy, and forget the one that was not used for longest."""
        if len(answer.get_data()) > LARGEST:
            return
        with self._lock:
            self._answers[tag] = _copy(answer)
            while len(self._answers) > MOST_ANSWERS:
                self._answers.popitem(last=False)


def _copy(answer: Response) -> Response:
    return Response(answer.get_data(), status=answer.status_code, headers=list(answer.headers))


def cached(collection: Collection, make: Callable[[], Response]) -> Response:
    """What `make` answers to this request, made at most once for each state of what it shows."""
    answers = current_app.extensions.setdefault(EXTENSION, PublicAnswers())
    tag = _tag(collection)
    if request.if_none_match.contains(tag):
        answer = Response(status=304)
    else:
        answer = answers.find(tag)
        if answer is None:
            answer = make()
            answers.keep(tag, answer)
    answer.set_etag(tag)
    answer.headers["Cache-Control"] = KEPT
    return answer


def _tag(collection: Collection) -> str:
    """Of this address, the results and settings that it shows, and the code and files."""
    running = service()
    parts = (
        request.full_path,
        public_state(running.store, collection),
        str(running.settings.relay_batch),
        running.settings.public_url,
        version("deniable-aggregator"),
        assets.fingerprint(),
    )
    return sha256("\n".join(parts).encode()).hexdigest()[:32]
