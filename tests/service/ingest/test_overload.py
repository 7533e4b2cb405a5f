"""What is too much, too slow or too large is refused or cut off, over real sockets."""

from __future__ import annotations

import socket
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress

import httpx
import pytest

from deniable_aggregator.operations.loadgen.sealing import fetch_target, seal_reports
from deniable_shared.wire.report import MAX_UPLOAD_BYTES, MEDIA_TYPE
from support.processes.deniable_command import wait_until
from support.processes.live_service import Live, bounded, live

pytestmark = pytest.mark.processes

UPLOADS = 4
"""So many are held at once by `patient`, and by `live_service` of one network."""

HALF_SENT = 12
PATIENCE = 60.0
GIGABYTE = 10**9
CHUNK = bytes(65_536)


@pytest.fixture(scope="module")
def live_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Cuts a body off after three seconds, as long as an honest one may take on a busy machine.

    Each network has a share of the uploads.
    """
    folder = tmp_path_factory.mktemp("overload")
    with bounded(body_seconds=3, uploads=4 * UPLOADS), live(folder) as started:
        yield started


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Gives a body more time; no network has a share, as behind a proxy.

    To start a server is most of the work of these tests, so those by default share this one.
    """
    folder = tmp_path_factory.mktemp("patient")
    with (
        bounded(body_seconds=6, uploads=UPLOADS),
        live(folder, trusted_proxy=True) as started,
    ):
        yield started


def head(live_service: Live, *lines: str, path: str = "", method: str = "POST") -> bytes:
    first = [
        f"{method} {path or live_service.path} HTTP/1.1",
        "Host: x",
        f"Content-Type: {MEDIA_TYPE}",
    ]
    return "\r\n".join([*first, *lines, "", ""]).encode()


def opened(live_service: Live, data: bytes, *, source: str = "127.0.0.1") -> socket.socket:
    connection = socket.create_connection(
        live_service.place, timeout=PATIENCE, source_address=(source, 0)
    )
    connection.sendall(data)
    return connection


def answer(connection: socket.socket) -> int:
    """The status; 0 for a connection that was cut without a word."""
    with suppress(ConnectionError):
        received = connection.recv(4_096)
        return int(received[9:12]) if received else 0
    return 0


def test_half_sent_bodies_are_cut_off_and_the_service_goes_on(patient: Live) -> None:
    """Uploads, and what goes to the framework: no thread reads any of them."""
    paths = {"POST": patient.path, "PUT": "/v1/collections/settings"}
    halves = [
        head(patient, "Content-Length: 200", path=path, method=method) + b"abc"
        for method, path in paths.items()
    ]
    with ExitStack() as stack:
        slow = [stack.enter_context(opened(patient, half)) for half in HALF_SENT * halves]
        assert httpx.get(f"{patient.server.address}/healthz", timeout=PATIENCE).is_success
        assert {answer(connection) for connection in slow} <= {0, 401, 429, 503}


@pytest.mark.exhaustive
def test_half_sent_bodies_of_one_network_take_no_room_from_another(live_service: Live) -> None:
    half = head(live_service, "Content-Length: 200") + b"abc"
    body = sealed_reports(live_service, 1)[0]
    with ExitStack() as stack:
        slow = [stack.enter_context(opened(live_service, half)) for _ in range(4 * UPLOADS)]
        whole = head(live_service, f"Content-Length: {len(body)}") + body
        assert answer(stack.enter_context(opened(live_service, whole, source="127.0.9.1"))) == 200
        assert {answer(connection) for connection in slow} == {429, 503}


@pytest.mark.exhaustive
def test_a_request_that_waits_is_not_cut_for_another_of_its_address(live_service: Live) -> None:
    """Bodies that never arrive, and one that arrives slowly but in time."""
    body = sealed_reports(live_service, 1)[0]
    with ExitStack() as stack:
        slow = head(live_service, f"Content-Length: {len(body)}") + body[:-1]
        honest = stack.enter_context(opened(live_service, slow))
        stalled = head(live_service, "Content-Length: 200") + b"abc"
        others = [stack.enter_context(opened(live_service, stalled)) for _ in range(UPLOADS - 1)]
        honest.sendall(body[-1:])
        assert answer(honest) == 200
        assert {answer(connection) for connection in others} == {503}


@pytest.mark.exhaustive
def test_a_body_that_drips_is_cut_off(live_service: Live) -> None:
    with opened(live_service, head(live_service, "Content-Length: 200000")) as connection:
        stopped = threading.Event()

        def drip() -> None:
            with suppress(OSError):
                while not stopped.wait(0.05):
                    connection.sendall(b"x")

        thread = threading.Thread(target=drip)
        thread.start()
        assert answer(connection) in (0, 503)
        stopped.set()
        thread.join()


def poured(connection: socket.socket, piece: bytes) -> int:
    """How much goes through before the other side hangs up, of a gigabyte."""
    sent = 0
    with suppress(ConnectionError):
        while sent < GIGABYTE:
            sent += connection.send(piece)
    return sent


@pytest.mark.parametrize(
    ("line", "piece"),
    [
        (f"Content-Length: {GIGABYTE}", CHUNK),
        ("Transfer-Encoding: chunked", b"10000\r\n" + CHUNK + b"\r\n"),
    ],
)
def test_a_gigabyte_is_not_read(patient: Live, line: str, piece: bytes) -> None:
    with opened(patient, head(patient, line)) as connection:
        assert poured(connection, piece) < GIGABYTE // 10
        assert answer(connection) in (0, 411, 413)


@pytest.mark.parametrize("start", [b"POST /v1/", b"GET / HTTP/1.1\r\nX: "])
def test_an_endless_header_is_cut_off(patient: Live, start: bytes) -> None:
    with opened(patient, start) as connection:
        assert poured(connection, b"a" * 65_536) < GIGABYTE // 10


def test_a_body_shorter_than_announced_counts_nothing(patient: Live) -> None:
    before = patient.counted()
    body = sealed_reports(patient, 1)[0]
    with opened(patient, head(patient, f"Content-Length: {len(body) + 1}") + body) as connection:
        connection.shutdown(socket.SHUT_WR)
        assert answer(connection) == 400
    assert patient.counted() == before


def sealed_reports(live_service: Live, count: int) -> list[bytes]:
    with live_service.connect() as connection:
        return seal_reports(fetch_target(connection, "settings"), count)


def upload(live_service: Live, body: bytes) -> tuple[int, str]:
    found = httpx.post(
        f"{live_service.server.address}{live_service.path}",
        content=body,
        headers={"Content-Type": MEDIA_TYPE},
        timeout=PATIENCE,
    )
    return found.status_code, found.headers.get("retry-after", "")


def test_a_disk_that_hangs_gives_503_to_some_and_others_are_answered(patient: Live) -> None:
    """A lock simulates the disk: every commit waits for it, and none is lost."""
    before = patient.counted()
    reports = sealed_reports(patient, 3 * UPLOADS)
    with ThreadPoolExecutor(len(reports)) as pool:
        with closing(sqlite3.connect(patient.settings.database, isolation_level=None)) as disk:
            disk.execute("begin immediate")
            asked = [pool.submit(upload, patient, body) for body in reports]
            wait_until("503", lambda: sum(each.done() for each in asked) >= 2 * UPLOADS)
            assert httpx.get(f"{patient.server.address}/healthz", timeout=PATIENCE).is_success
            disk.execute("rollback")
        answers = [each.result() for each in asked]
    statuses = Counter(status for status, _ in answers)
    assert statuses.keys() <= {200, 503}  # to a disk gone for ten seconds, 503 to all
    assert statuses[503] >= 2 * UPLOADS
    waits = {wait for status, wait in answers if status == 503}
    assert all(5 <= int(wait) <= 10 for wait in waits)
    assert patient.counted() == before + statuses[200]


def test_of_a_burst_every_report_that_was_acknowledged_is_counted(patient: Live) -> None:
    """Those for whom there is no room come again."""
    before = patient.counted()
    reports = sealed_reports(patient, 8 * UPLOADS)

    def sent(body: bytes) -> tuple[int, str]:
        for _ in range(10_000):
            answered = upload(patient, body)
            if answered[0] != 503:
                break
        return answered

    with ThreadPoolExecutor(len(reports)) as pool:
        answers = list(pool.map(sent, reports))
    assert answers == [(200, "")] * len(reports)
    assert patient.counted() == before + len(reports)


def test_idle_connections_keep_nobody_out(patient: Live) -> None:
    with ExitStack() as stack:
        for _ in range(3 * HALF_SENT):
            idle = stack.enter_context(opened(patient, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"))
            assert answer(idle) == 200
        assert httpx.get(f"{patient.server.address}/healthz", timeout=PATIENCE).is_success


def test_a_body_of_the_greatest_size_is_read_whole(patient: Live) -> None:
    with opened(patient, head(patient, f"Content-Length: {MAX_UPLOAD_BYTES}")) as connection:
        connection.sendall(bytes(MAX_UPLOAD_BYTES))
        assert answer(connection) == 400
