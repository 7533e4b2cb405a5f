"""ASGI entry point: an application that waits for slow clients, so that no thread has to.

It checks headers, token and rate before the body. It reads the body with a time limit and a size
limit. Then uploads go to the queue, and other requests with their whole body to `others`. A reply
is sent piece by piece, and given up if the client does not read it. The server handles idle
connections and slow headers: it passes a request on only when the headers are complete.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any, Protocol

from deniable_gateway.problem import Problem, jittered
from deniable_gateway.upload.cross_origin import (
    NONE,
    PageAccess,
    WebOrigins,
    no_origins,
    page_access,
)
from deniable_gateway.upload.gate import Arrival, UploadGate
from deniable_gateway.upload.in_hand import InHand, full, share_is_used
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
    from deniable_gateway.upload.request import Headers
    from deniable_gateway.upload.upload_queue import UploadQueue

BODY_SECONDS = 10.0
"""Time limit for the body of a request, in seconds."""

PIECE_BYTES, PIECE_SECONDS = 65_536, 20.0
"""Bytes of a piece of a reply, and its time limit in seconds."""

RETRY_SECONDS = 5.0
REFUSALS = 64
"""Refusals of a kind made in advance, each with its own Retry-After: one costs little more than an
empty answer."""

MOST_BYTES = 64 * 1024 * 1024

TOKEN_THREADS = 4
"""Threads that look up tokens, which may wait for a database."""

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Fields = Mapping[bytes, bytes]
Refusals = Iterator[tuple[Message, Message]]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Time limits in seconds for a body and a piece of a reply, and how much is held at once.

    A network may hold fewer of the other requests: Flask takes a millisecond for each, so those of
    one network delay others by 32 ms at most.
    """

    body_seconds: float = BODY_SECONDS
    piece_seconds: float = PIECE_SECONDS
    uploads: int = 2_048
    uploads_of_network: int = 512
    upload_bytes: int = MOST_BYTES
    others: int = 512
    others_of_network: int = 32
    other_bytes: int = MOST_BYTES


class Others(Protocol):
    """Answers requests that are no uploads."""

    def body_limit(self, method: str, path: str) -> int:
        """Return the longest body in bytes; nothing is read of a longer one."""

    async def answer(self, scope: Scope, body: bytes) -> Reply:
        """Return the reply, problems included."""


class UploadWatch(Protocol):
    """Observes each upload from its headers to its reply."""

    async def watch(self, collection: str, answering: Awaitable[Reply]) -> Reply:
        """Return what `answering` returns. Raises the Problem that it raises."""

    def count_upload(self, status: int, seconds: float) -> None:
        """Count an upload that was answered; `seconds` is its duration."""

    def count_refused_path(self, status: int) -> None:
        """Count a request whose path is not in normal form."""


class Front:
    """The ASGI application of one process. All of it runs on the server's event loop."""

    def __init__(
        self,
        queue: UploadQueue,
        others: Others,
        *,
        gate: UploadGate,
        web_origins: WebOrigins = no_origins,
        watch: UploadWatch | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        bounds = bounds or Bounds()
        self._web_origins = web_origins
        self._queue = queue
        self._others = others
        self._gate = gate
        self._watch = watch
        self._body_seconds = bounds.body_seconds
        self._piece_seconds = bounds.piece_seconds
        self._uploads = InHand(
            requests=bounds.uploads,
            of_network=bounds.uploads_of_network,
            size=bounds.upload_bytes,
        )
        self._requests = InHand(
            requests=bounds.others, of_network=bounds.others_of_network, size=bounds.other_bytes
        )
        self._full, self._share_used = _made_in_advance(full), _made_in_advance(share_is_used)
        self._tokens = ThreadPoolExecutor(TOKEN_THREADS, thread_name_prefix="tokens")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI scope; only HTTP is accepted."""
        if scope["type"] != "http":
            return
        pages = self._page_access(scope)
        if pages.preflight:
            await _respond(send, (204, pages.fields, b""))
            return
        if pages.fields:
            send = _with_fields(send, pages.fields)
        collection = None
        try:
            require_normal_path(scope["path"], _raw_path(scope))
            collection = upload_collection(scope["method"], scope["path"])
        except Problem as problem:
            if self._watch is not None:
                self._watch.count_refused_path(problem.status)
            await _respond(send, problem_reply(problem))
            return
        refusals = self._refusals(self._requests if collection is None else self._uploads, scope)
        if refusals is not None:
            await self._refuse(next(refusals), collection, send)
        elif collection is None:
            await self._pass_on(scope, receive, send)
        else:
            await _respond(send, await self._answer_upload(collection, scope, receive))

    def _refusals(self, held: InHand, scope: Scope) -> Refusals | None:
        """Return the refusals of a request without a place; None if there may be one."""
        if held.is_full:
            return self._full
        return self._share_used if held.share_is_used(self._network(scope)) else None

    async def _refuse(
        self, refusal: tuple[Message, Message], collection: str | None, send: Send
    ) -> None:
        """Refuse a request without reading its headers."""
        start, body = refusal
        if collection is not None and self._watch is not None:
            self._watch.count_upload(start["status"], 0.0)
        await send(start)
        await send(body)

    def _page_access(self, scope: Scope) -> PageAccess:
        """Return what pages of other origins may read; nothing if the request has no origin."""
        if all(name != b"origin" for name, _ in scope["headers"]):
            return NONE
        headers = {name.decode("latin-1"): v.decode("latin-1") for name, v in scope["headers"]}
        return page_access(scope["method"], scope["path"], headers, self._web_origins)

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
        """Return how many bytes of the body to read: 0 if it is too long or has no length.

        The handler of the request then refuses it in its own words.
        """
        announced = _text(dict(scope["headers"]), b"content-length")
        if not (announced.isascii() and announced.isdigit() and len(announced) < 10):
            return 0
        length = int(announced)
        if not length or length > self._others.body_limit(scope["method"], scope["path"]):
            return 0
        return length

    async def _read(self, receive: Receive, length: int) -> bytes:
        """Return at most `length` bytes of the body. Raises Problem if it takes too long."""
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
                return  # the reply ends early, and the server closes the connection

    def _network(self, scope: Scope) -> str | None:
        """Return the sender's network; None if only a proxy's address is known."""
        return network_prefix(_address(scope)) if self._gate.limits_networks else None


def _with_fields(send: Send, fields: Headers) -> Send:
    """Return a `send` that adds these header fields to a reply."""
    more = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields]

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = message["headers"]  # a copy, as others may share the message
            names = {name for name, _ in own}
            message = {
                **message,
                "headers": [*own, *(each for each in more if each[0] not in names)],
            }
        await send(message)

    return sending


async def _respond(send: Send, reply: Reply) -> None:
    start, body = _messages(reply)
    await send(start)
    await send(body)


def _made_in_advance(problem: Callable[[], Problem]) -> Refusals:
    return cycle([_messages(problem_reply(problem())) for _ in range(REFUSALS)])


def _messages(reply: Reply) -> tuple[Message, Message]:
    status, headers, body = reply
    return _start(status, headers, len(body)), {"type": "http.response.body", "body": body}


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
    """Return the path as it was sent, if the server provides it."""
    return (scope.get("raw_path") or b"").decode("latin-1")
