"""The way in on an event loop: what is slow is held, bounded and given up, and never waited for."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from deniable_gateway.suspension import Suspension
from deniable_gateway.upload.front import PIECE_BYTES, Bounds, Front, Message
from deniable_gateway.upload.gate import Arrival, UploadGate
from deniable_gateway.upload.limiter import PrefixLimiter
from deniable_gateway.upload.request import Reply
from deniable_gateway.upload.upload_queue import Outcome, UploadQueue
from deniable_shared.wire.report import MEDIA_TYPE

PATH = "/v1/collections/settings/reports"
NEAR, FAR = "192.0.2.7", "198.51.100.7"


class Pages:
    """Answers so many bytes; reads bodies of up to ten."""

    def __init__(self, size: int = 2) -> None:
        self.size = size
        self.bodies: list[bytes] = []

    def body_limit(self, method: str, path: str) -> int:
        return 10

    async def answer(self, scope: Any, body: bytes) -> Reply:
        self.bodies.append(body)
        return 200, [("X-Page", "yes")], bytes(self.size)


@dataclass
class Exchange:
    """One request: what was sent of its body, what was read of that, and the answer."""

    scope: Message
    pieces: list[Message]
    blocked: bool = False
    reads: int = 0
    sent: list[Message] = field(default_factory=list)

    async def receive(self) -> Message:
        if not self.pieces:
            await asyncio.Event().wait()
        self.reads += 1
        return self.pieces.pop(0)

    async def send(self, message: Message) -> None:
        self.sent.append(message)
        if self.blocked and message.get("more_body"):
            await asyncio.Event().wait()

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent[1:])

    @property
    def problem(self) -> str:
        return str(json.loads(self.body)["type"]).rpartition(":")[2]


def exchange(
    *pieces: bytes,
    length: int | None = None,
    path: str = PATH,
    method: str = "POST",
    address: str = NEAR,
    blocked: bool = False,
    whole: bool = True,
    **fields: str,
) -> Exchange:
    """A request whose body comes in these pieces; the rest never does unless it is whole."""
    announced = sum(map(len, pieces)) if length is None else length
    headers = {"content-type": MEDIA_TYPE, "content-length": str(announced), **fields}
    more = [*[True] * (len(pieces) - 1), not whole] if pieces else []
    return Exchange(
        {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": (address, 1),
        },
        [
            {"type": "http.request", "body": piece, "more_body": follows}
            for piece, follows in zip(pieces, more, strict=True)
        ],
        blocked,
    )


class World:
    """A front over a queue that accepts everything."""

    def __init__(self, *, trusted: bool = False, per_minute: int = 6_000, **more: Any) -> None:
        self.taken: list[Arrival] = []
        self.asked: list[str] = []
        self.suspension = Suspension()
        self.pages = more.pop("pages", Pages())
        bounds = {"uploads": 8, "uploads_of_network": 2, "upload_bytes": 1_000}
        bounds |= {"others": 8, "others_of_network": 2, "other_bytes": 10**7, **more}
        limiter = None if trusted else PrefixLimiter(per_minute, clock=lambda: 0.0)
        self.queue = UploadQueue(self.take, suspension=self.suspension)
        self.front = Front(
            self.queue,
            self.pages,
            gate=UploadGate(self.suspension, limiter, is_relay=self.is_relay),
            bounds=Bounds(**bounds),
        )

    def take(self, arrivals: Sequence[Arrival]) -> Sequence[Outcome]:
        self.taken += arrivals
        return [[] for _ in arrivals]

    def is_relay(self, credential: str, collection: str) -> bool:
        self.asked.append(threading.current_thread().name)
        return credential == "relay"

    def run(self, asking: Coroutine[Any, Any, None]) -> None:
        """Ask on a loop; at the end nothing is held."""
        asyncio.run(asking)
        self.queue.stop()
        for held in (self.front._uploads, self.front._requests):
            assert (held.held, held.bytes, held._networks) == (0, 0, {})

    def ask(self, *exchanges: Exchange) -> None:
        """One after another."""

        async def asking() -> None:
            for each in exchanges:
                await self.front(each.scope, each.receive, each.send)

        self.run(asking())

    async def held(self, *exchanges: Exchange) -> list[asyncio.Task[None]]:
        """Requests under way, whose bodies are awaited by now."""
        tasks = [
            asyncio.ensure_future(self.front(each.scope, each.receive, each.send))
            for each in exchanges
        ]
        for _ in range(5):
            await asyncio.sleep(0)
        return tasks


async def dropped(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_an_upload_is_taken_whole_from_its_pieces() -> None:
    world, asked = World(), exchange(b"ab", b"", b"cd")
    world.ask(asked)
    assert (asked.status, asked.body, asked.headers["content-length"]) == (200, b"", "0")
    [arrival] = world.taken
    assert (arrival.collection, arrival.body, arrival.sender.prefix) == (
        "settings",
        b"abcd",
        "192.0.2",
    )


@pytest.mark.parametrize("path", [PATH, "/sign-in"])
def test_a_body_that_takes_too_long_is_answered_and_kept_by_its_device(path: str) -> None:
    world, asked = World(body_seconds=0.0), exchange(b"ab", length=9, whole=False, path=path)
    world.ask(asked)
    assert (asked.status, asked.problem) == (503, "unavailable")
    assert 5 <= int(asked.headers["retry-after"]) <= 10
    assert (world.taken, world.pages.bodies) == ([], [])


def test_a_body_that_ends_early_is_refused() -> None:
    world, asked = World(), exchange(b"ab", length=9)
    world.ask(asked)
    assert (asked.status, asked.problem, world.taken) == (400, "invalid-message", [])


def test_a_device_that_hangs_up_is_refused() -> None:
    world, asked = World(), exchange(length=9)
    asked.pieces.append({"type": "http.disconnect"})
    world.ask(asked)
    assert (asked.status, world.taken) == (400, [])


def test_headers_and_rate_are_judged_before_a_byte_of_the_body_is_read() -> None:
    world = World(per_minute=1)
    wrong = exchange(b"x", length=10**9)
    first, over = exchange(b"x"), exchange(b"x")
    world.ask(wrong, first, over)
    assert [each.status for each in (wrong, first, over)] == [413, 200, 429]
    assert [each.reads for each in (wrong, first, over)] == [0, 1, 0]


def test_suspended_uploads_are_refused_unread() -> None:
    world, asked = World(), exchange(b"x")
    world.suspension.suspend("clock", "the clock is wrong")
    world.ask(asked)
    assert (asked.status, asked.reads) == (503, 0)


def test_a_token_is_looked_up_in_a_thread_and_only_where_there_is_one() -> None:
    world = World(per_minute=1)
    world.ask(exchange(b"x"))
    assert world.asked == []
    world = World(per_minute=1)
    relay = [exchange(b"x", authorization="relay") for _ in range(3)]
    other = exchange(b"x", authorization="other")
    world.ask(*relay, other)
    assert [each.status for each in (*relay, other)] == [200] * 4
    assert [arrival.sender.relay for arrival in world.taken] == [True, True, True, False]
    assert [arrival.sender.token_refused for arrival in world.taken] == [False, False, False, True]
    assert {name.partition("_")[0] for name in world.asked} == {"tokens"}


def test_one_network_fills_its_share_and_no_more() -> None:
    world = World()
    stalled = [exchange(length=5) for _ in range(2)]
    over, other = exchange(b"x"), exchange(b"x", address=FAR)

    async def asking() -> None:
        tasks = await world.held(*stalled)
        for each in (over, other):
            await world.front(each.scope, each.receive, each.send)
        await dropped(tasks)

    world.run(asking())
    assert (over.status, over.problem, over.reads) == (429, "too-many-requests", 0)
    assert 5 <= int(over.headers["retry-after"]) <= 10
    assert other.status == 200


def test_behind_a_proxy_no_network_has_a_share_and_all_have_a_bound() -> None:
    world = World(trusted=True)
    over = exchange(b"x", address=FAR)
    refuse_all(world, [exchange(length=5) for _ in range(8)], [over])
    assert (over.status, over.problem, over.reads) == (503, "unavailable", 0)


def test_with_no_free_place_an_upload_is_refused_before_its_headers() -> None:
    world = World(trusted=True)
    stalled = [exchange(length=5) for _ in range(8)]
    over = [exchange(b"x", authorization="Bearer relay") for _ in range(40)]
    refuse_all(world, stalled, over)
    assert {(each.status, each.problem, each.reads) for each in over} == {(503, "unavailable", 0)}
    waits = {int(each.headers["retry-after"]) for each in over}
    assert len(waits) > 1
    assert waits <= set(range(5, 11))
    assert world.asked == []


def test_requests_over_the_share_of_a_network_are_refused_before_their_headers() -> None:
    """Of uploads and of others alike: 2 of 8 places are a network's."""
    world = World()
    for path in (PATH, "/sign-in"):
        stalled = [exchange(length=5, path=path) for _ in range(2)]
        over = [exchange(b"x", path=path, authorization="relay") for _ in range(200)]
        refuse_all(world, stalled, over)
        assert {(each.status, each.problem, each.reads) for each in over} == {
            (429, "too-many-requests", 0)
        }
        waits = {int(each.headers["retry-after"]) for each in over}
        assert len(waits) > 1
        assert waits <= set(range(5, 11))
    assert (world.asked, world.pages.bodies) == ([], [])


def refuse_all(world: World, stalled: Sequence[Exchange], over: Sequence[Exchange]) -> None:
    """Ask for `over` while `stalled` are held."""

    async def asking() -> None:
        tasks = await world.held(*stalled)
        for each in over:
            await world.front(each.scope, each.receive, each.send)
        await dropped(tasks)

    world.run(asking())


def test_announced_bytes_are_bounded_too() -> None:
    world = World(uploads=100)
    stalled = exchange(length=900)
    same, over, other = exchange(b"x"), exchange(bytes(200), address=FAR), exchange(b"x")
    other.scope["client"] = (FAR, 1)

    async def asking() -> None:
        tasks = await world.held(stalled)
        for each in (same, over, other):
            await world.front(each.scope, each.receive, each.send)
        await dropped(tasks)

    world.run(asking())
    assert [each.status for each in (same, over, other)] == [429, 503, 200]


def test_other_requests_come_with_their_whole_body() -> None:
    world, asked = World(), exchange(b"na", b"me", path="/sign-in")
    world.ask(asked)
    assert (asked.status, asked.body, asked.headers["x-page"]) == (200, b"\0\0", "yes")
    assert world.pages.bodies == [b"name"]


@pytest.mark.parametrize("length", ["11", "-1", "x", "", "9" * 99])
def test_a_body_that_is_too_long_or_of_no_length_is_not_read(length: str) -> None:
    world, asked = World(), exchange(b"x", path="/sign-in")
    asked.scope["headers"] = [(b"content-length", length.encode())]
    world.ask(asked)
    assert (asked.status, asked.reads, world.pages.bodies) == (200, 0, [b""])


def test_requests_that_stall_take_no_room_from_uploads() -> None:
    world = World()
    stalled = [exchange(length=5, path="/sign-in") for _ in range(2)]
    over = exchange(b"x", path="/sign-in")
    upload, far = exchange(b"x"), exchange(b"x", path="/sign-in", address=FAR)

    async def asking() -> None:
        tasks = await world.held(*stalled)
        for each in (over, upload, far):
            await world.front(each.scope, each.receive, each.send)
        await dropped(tasks)

    world.run(asking())
    assert [each.status for each in (over, upload, far)] == [429, 200, 200]


def test_a_long_answer_leaves_in_pieces() -> None:
    size = 2 * PIECE_BYTES + 1
    world, asked = World(pages=Pages(size)), exchange(path="/export", method="GET", length=0)
    world.ask(asked)
    assert [len(each["body"]) for each in asked.sent[1:]] == [PIECE_BYTES, PIECE_BYTES, 1]
    assert [each["more_body"] for each in asked.sent[1:]] == [True, True, False]
    assert asked.headers["content-length"] == str(size)


def test_an_answer_that_nobody_reads_is_given_up() -> None:
    world = World(pages=Pages(3 * PIECE_BYTES), piece_seconds=0.0)
    asked = exchange(path="/export", method="GET", length=0, blocked=True)
    world.ask(asked)
    assert len(asked.sent) == 2


def test_answers_that_wait_to_be_read_are_bounded() -> None:
    pages = Pages(3 * PIECE_BYTES)
    world = World(pages=pages, other_bytes=4 * PIECE_BYTES)
    slow = exchange(path="/export", method="GET", length=0, blocked=True)
    over = exchange(path="/export", method="GET", length=0, address=FAR)

    async def asking() -> None:
        tasks = await world.held(slow)
        await world.front(over.scope, over.receive, over.send)
        await dropped(tasks)

    world.run(asking())
    assert (over.status, over.problem) == (503, "unavailable")


@pytest.mark.parametrize("kind", ["lifespan", "websocket"])
def test_what_is_no_http_is_left_alone(kind: str) -> None:
    world, asked = World(), exchange(b"x")
    asked.scope["type"] = kind
    world.ask(asked)
    assert (asked.sent, asked.reads) == ([], 0)


def test_a_refusal_that_is_shared_keeps_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refusals of a full front are made once: what lets one page read them is not kept."""
    world, page = World(uploads=0), "https://www.example.org"
    monkeypatch.setattr(world.front, "_web_origins", lambda _collection: (page,))
    asked = [exchange(b"a", origin=page), *(exchange(b"a") for _ in range(200))]
    world.ask(*asked)
    assert {each.status for each in asked} == {503}
    readable = ["access-control-allow-origin" in each.headers for each in asked]
    assert readable == [True, *[False] * 200]
