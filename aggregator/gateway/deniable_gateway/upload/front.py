"""The way in: an ASGI application that holds what is slow, so that no thread ever waits for it.

Headers, token and rate are judged before the body; the body is read with a deadline and a bound;
then uploads go to the queue, and other requests to `others`, with their whole body. An answer
leaves piece by piece, and one that nobody reads is given up. Idle connections and headers that do
not come belong to the server, which hands nothing over before the headers are complete.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from deniable_gateway.problem import Problem, jittered
from deniable_gateway.upload.gate import Arrival, UploadGate
from deniable_gateway.upload.in_hand import InHand
from deniable_gateway.upload.limiter import network_prefix
from deniable_gateway.upload.paths import require_normal_path
from deniable_gateway.upload.request import (
    Reply,
    problem_reply,
    require_whole,
    upload_collection,
)
from deniable_shared.wire.report import ERRORS_MEDIA_TYPE, encode_errors

if TYPE_CHECKING:
    from deniable_gateway.upload.upload_queue import UploadQueue

BODY_SECONDS = 10.0
"""How long the body of a request may take."""

PIECE_BYTES, PIECE_SECONDS = 65_536, 20.0
"""An answer leaves in such pieces, and each may take so long."""

RETRY_SECONDS = 5.0
MOST_BYTES = 64 * 1024 * 1024

TOKEN_THREADS = 4
"""Look tokens up, which may wait for a database."""

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Fields = Mapping[bytes, bytes]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long a body and a piece of an answer may take, and how much is held at once."""

    body_seconds: float = BODY_SECONDS
    piece_seconds: float = PIECE_SECONDS
    uploads: int = 2_048
    upload_bytes: int = MOST_BYTES
    others: int = 512
    other_bytes: int = MOST_BYTES


class Others(Protocol):
    """Answers what is no upload."""

    def body_limit(self, method: str, path: str) -> int:
        """Longest body that is read for this; of a longer one nothing is."""

    async def answer(self, scope: Scope, body: bytes) -> Reply:
        """The answer, problems included."""


class UploadWatch(Protocol):
    """Sees each upload from its headers to its answer."""

    async def watch(self, collection: str, answering: Awaitable[Reply]) -> Reply:
        """What `answering` gives; a Problem that it raises is raised."""

    def count_upload(self, status: int, seconds: float) -> None:
        """An upload that was answered."""

    def count_refused_path(self, status: int) -> None:
        """A request whose path is not in its normal form."""


class Front:
    """One process's way in. All of it runs on the event loop of the server."""

    def __init__(
        self,
        queue: UploadQueue,
        others: Others,
        *,
        gate: UploadGate,
        watch: UploadWatch | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        bounds = bounds or Bounds()
        self._queue = queue
        self._others = others
        self._gate = gate
        self._watch = watch
        self._body_seconds = bounds.body_seconds
        self._piece_seconds = bounds.piece_seconds
        self._uploads = InHand(requests=bounds.uploads, size=bounds.upload_bytes)
        self._requests = InHand(requests=bounds.others, size=bounds.other_bytes)
        self._tokens = ThreadPoolExecutor(TOKEN_THREADS, thread_name_prefix="tokens")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI, HTTP alone."""
        if scope["type"] != "http":
            return
        collection = None
        try:
            require_normal_path(scope["path"], _raw_path(scope))
            collection = upload_collection(scope["method"], scope["path"])
        except Problem as problem:
            if self._watch is not None:
                self._watch.count_refused_path(problem.status)
            await _respond(send, problem_reply(problem))
            return
        if collection is None:
            await self._pass_on(scope, receive, send)
        else:
            await _respond(send, await self._answer_upload(collection, scope, receive))

    async def _answer_upload(self, collection: str, scope: Scope, receive: Receive) -> Reply:
        begun = time.perf_counter()
        try:
            answering = self._upload(collection, scope, receive)
            watch = self._watch
            reply = await (answering if watch is None else watch.watch(collection, answering))
        except Problem as problem:
            reply = problem_reply(problem)
        except Exception:
            logger.exception("an upload failed")
            reply = problem_reply(Problem("internal", "the upload failed: try again"))
        if self._watch is not None:
            self._watch.count_upload(reply[0], time.perf_counter() - begun)
        return reply

    async def _upload(self, collection: str, scope: Scope, receive: Receive) -> Reply:
        fields: Fields = dict(scope["headers"])
        gate, network = self._gate, self._network(scope)
        length = gate.announced_length(
            _text(fields, b"content-type"), _text(fields, b"content-length")
        )
        self._uploads.enter(network, length)
        try:
            credential = fields.get(b"authorization")
            sender = gate.admit(
                _address(scope),
                None if credential is None else credential.decode("latin-1"),
                relay=credential is not None and await self._is_relay(credential, collection),
            )
            body = require_whole(await self._read(receive, length), length)
            failed = await self._queue.put(Arrival(collection, body, sender))
        finally:
            self._uploads.leave(network, length)
        return 200, [("Content-Type", ERRORS_MEDIA_TYPE)], encode_errors(failed)

    async def _is_relay(self, credential: bytes, collection: str) -> bool:
        if not self._gate.knows_tokens:
            return False
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._tokens, self._gate.is_relay, credential.decode("latin-1"), collection
        )

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        network, held = self._network(scope), self._requests
        length = self._readable_length(scope)
        try:
            held.enter(network, length)
        except Problem as problem:
            await _respond(send, problem_reply(problem))
            return
        size = length
        try:
            reply = await self._answer(scope, receive, length)
            if len(reply[2]) > PIECE_BYTES:
                held.grow(network, len(reply[2]))
                size += len(reply[2])
            await self._send_pieces(send, reply)
        except Problem as problem:
            await _respond(send, problem_reply(problem))
        finally:
            held.leave(network, size)

    async def _answer(self, scope: Scope, receive: Receive, length: int) -> Reply:
        body = await self._read(receive, length)
        return await self._others.answer(scope, body)

    def _readable_length(self, scope: Scope) -> int:
        """How much is read of the body: nothing of one that is too long, or announces no length.

        What is asked says so itself, in its own words.
        """
        announced = _text(dict(scope["headers"]), b"content-length")
        if not (announced.isascii() and announced.isdigit() and len(announced) < 10):
            return 0
        length = int(announced)
        if not length or length > self._others.body_limit(scope["method"], scope["path"]):
            return 0
        return length

    async def _read(self, receive: Receive, length: int) -> bytes:
        """So much of the body, or less if it ends early; Problem once it takes too long."""
        if not length:
            return b""
        pieces: list[bytes] = []
        try:
            async with asyncio.timeout(self._body_seconds):
                missing = length
                while missing > 0:
                    message = await receive()
                    pieces.append(message.get("body", b""))
                    missing -= len(pieces[-1])
                    if not message.get("more_body"):
                        break
        except TimeoutError:
            raise Problem(
                "unavailable",
                f"the body did not come within {self._body_seconds:g} seconds",
                retry_after=jittered(RETRY_SECONDS),
            ) from None
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def _send_pieces(self, send: Send, reply: Reply) -> None:
        status, headers, body = reply
        if len(body) <= PIECE_BYTES:
            await _respond(send, reply)
            return
        await send(_start(status, headers, len(body)))
        view = memoryview(body)
        for at in range(0, len(body), PIECE_BYTES):
            piece, more = bytes(view[at : at + PIECE_BYTES]), at + PIECE_BYTES < len(body)
            try:
                async with asyncio.timeout(self._piece_seconds):
                    await send({"type": "http.response.body", "body": piece, "more_body": more})
            except TimeoutError:
                return  # the answer ends early, and the server closes the connection

    def _network(self, scope: Scope) -> str | None:
        """The sender's network; None where a proxy's address is all that is known."""
        return network_prefix(_address(scope)) if self._gate.limits_networks else None


async def _respond(send: Send, reply: Reply) -> None:
    status, headers, body = reply
    await send(_start(status, headers, len(body)))
    await send({"type": "http.response.body", "body": body})


def _start(status: int, headers: list[tuple[str, str]], size: int) -> Message:
    fields = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    if not any(name == b"content-length" for name, _ in fields):
        fields.append((b"content-length", b"%d" % size))
    return {"type": "http.response.start", "status": status, "headers": fields}


def _text(fields: Fields, name: bytes) -> str:
    return fields.get(name, b"").decode("latin-1")


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""


def _raw_path(scope: Scope) -> str:
    """The path as it was sent, where the server says so."""
    return (scope.get("raw_path") or b"").decode("latin-1")
