"""Places for uploads, and reads of bodies that are given up."""

from __future__ import annotations

import io
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from deniable_gateway.problem import Problem
from deniable_gateway.upload.admission import Admission
from deniable_gateway.upload.slow_body_guard import SlowBodyGuard, shut_down_silent
from support.builders.api_world import authored, opened

SOON = 0.001
LONG = 60.0


def full(places: int, **patience: float) -> Admission:
    admission = Admission(places, **patience)
    for _ in range(places):
        admission.enter()
    return admission


def test_as_many_enter_as_there_are_places() -> None:
    with pytest.raises(Problem, match="3 uploads wait to be stored") as refused:
        full(3, patience_seconds=SOON).enter()
    assert (refused.value.status, refused.value.slug) == (503, "unavailable")


def test_who_comes_beyond_them_waits_for_one_to_be_free() -> None:
    admission = full(1, patience_seconds=LONG)
    waiting = threading.Thread(target=admission.enter)
    waiting.start()
    admission.leave()
    waiting.join()


def test_a_burst_waits_and_is_not_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight times as many uploads as places, however long the machine takes over each."""
    monkeypatch.setattr(Admission.__init__, "__kwdefaults__", {"patience_seconds": LONG})
    with opened(tmp_path, threads=4) as world, ThreadPoolExecutor(32) as pool:
        found = world.register(authored())
        value = {"dark_mode": True, "beta": False}
        reports = [world.report(found, value) for _ in range(32)]
        answers = pool.map(lambda report: world.upload(found, report).status_code, reports)
        assert list(answers) == [200] * 32
        assert [row.n for row in world.running.store.epochs(found.id)] == [32]


def test_the_wait_that_is_asked_for_differs_and_lies_between_5_and_10_seconds() -> None:
    admission, waits = full(1, patience_seconds=SOON), set()
    for _ in range(20):
        with pytest.raises(Problem) as refused:
            admission.enter()
        waits.add(refused.value.retry_after)
    assert len(waits) > 1
    assert all(wait is not None and 5 <= wait <= 10 for wait in waits)


def test_nobody_waits_after_one_has_waited_in_vain_until_a_place_is_free() -> None:
    admission = full(1, patience_seconds=SOON)
    with pytest.raises(Problem):
        admission.enter()
    admission._patience_seconds = LONG
    with pytest.raises(Problem):
        admission.enter()  # it would wait for half a minute otherwise
    admission.leave()
    admission.enter()
    assert not admission._stalled


class Clocked:
    """A clock, a list of what was cut, and a stream that looks while it is read."""

    def __init__(self) -> None:
        self.now = 0.0
        self.cut: list[tuple[str, float]] = []
        self.body_guard = SlowBodyGuard(10, clock=lambda: self.now, shut_down=self.note)

    def note(self, address: str, seconds: float) -> int:
        self.cut.append((address, seconds))
        return 1

    def after(self, seconds: float, address: str = "192.0.2.1") -> int:
        """What is cut off while a body has been awaited for so long."""
        found = []

        class Stream(io.BytesIO):
            def read(stream, size: int | None = -1, /) -> bytes:  # noqa: N805  (a method of another class)
                self.now += seconds
                found.append(self.body_guard.cut_off())
                return b""

        self.body_guard.read(Stream(), 5, address)
        return found[0]


@pytest.mark.parametrize(("seconds", "cut"), [(0.0, 0), (9.9, 0), (10.0, 1), (99.0, 1)])
def test_a_body_is_cut_off_once_it_takes_too_long(seconds: float, cut: int) -> None:
    assert Clocked().after(seconds) == cut


def test_a_body_that_has_come_is_forgotten() -> None:
    clocked = Clocked()
    clocked.after(0)
    clocked.now += 99
    assert clocked.body_guard.cut_off() == 0
    assert clocked.cut == []


def test_without_an_address_nobody_is_cut_off() -> None:
    assert Clocked().after(99, address="") == 0


def test_a_guarded_stream_reads_like_the_one_it_guards() -> None:
    guard = SlowBodyGuard(10)
    data = b"one\ntwo\nthree"
    assert guard.watch(io.BytesIO(data), "x").read() == data
    assert guard.watch(io.BytesIO(data), "x").read(3) == b"one"
    assert guard.watch(io.BytesIO(data), "x").readline() == b"one\n"
    assert guard.watch(io.BytesIO(data), "x").readlines() == [b"one\n", b"two\n", b"three"]


def accepted(stack: ExitStack) -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection to a port that this process listens on."""
    listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    client = stack.enter_context(socket.create_connection(listening.getsockname()))
    return client, stack.enter_context(listening.accept()[0])


def test_silent_connections_of_that_address_are_shut_down() -> None:
    with ExitStack() as stack:
        client, server = accepted(stack)
        assert shut_down_silent("127.0.0.1", 0) >= 1
        assert server.recv(1) == client.recv(1) == b""


@pytest.mark.parametrize(("address", "seconds"), [("127.0.0.2", 0), ("127.0.0.1", 60)])
def test_other_addresses_and_connections_just_answered_stay(address: str, seconds: float) -> None:
    with ExitStack() as stack:
        client, server = accepted(stack)
        assert shut_down_silent(address, seconds) == 0
        client.sendall(b"x")
        assert server.recv(1) == b"x"


def test_connections_that_this_process_made_itself_stay() -> None:
    """As to its database: their far end listens elsewhere."""
    with ExitStack() as stack:
        client, server = accepted(stack)
        port = client.getsockname()[1]
        shut_down_silent("127.0.0.1", 0)
        assert client.getsockname()[1] == port
        client.sendall(b"still my own to write")
        server.close()
