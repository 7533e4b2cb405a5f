"""Webhooks: https to public addresses only, one resolution, no redirect, bounded, signed."""

from __future__ import annotations

import hmac
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from socket import create_connection, create_server, socket
from typing import Self

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from deniable_aggregator.operations import webhooks
from deniable_aggregator.operations.webhooks import WebhookError, WebhookSender, is_public, place_of

NAME = "hook.example.org"
PUBLIC = "93.184.215.14"
SECRET = bytes(range(32))
PRIVATE = [
    *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
    *("0.0.0.0", "224.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "240.0.0.1"),  # noqa: S104  (none is listened on)
    *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1", "2001:db8::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "64:ff9b:1::1"),
    "2001:0:53aa:64c:0:fbff:f5fe:fffe",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_of_the_internet_is_private(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", [PUBLIC, "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "ftp://example.org/",
        "https://",
        "https:///path",
        "https://ana:pw@example.org/",
        "https://example.org/#part",
        "https://exämple.org/",
        "https://example.org/a b",
        "https://example.org/\r\nX: y",
        "https://example.org:99999/",
        "https://example.org/" + "a" * 500,
    ],
)
def test_what_is_no_plain_https_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        place_of(url)


BAD_HOSTS = ["hooks..example.org", ".example.org", f"{'a' * 64}.example.org"]
"""Names that getaddrinfo refuses with UnicodeError."""


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_a_host_name_with_an_empty_or_too_long_part_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match="host name has 1 to 63 characters between its dots"):
        place_of(f"https://{host}/")


@pytest.mark.parametrize("host", ["example.org.", "a" * 63 + ".org", "my_hook.example.org"])
def test_a_host_name_that_can_be_resolved_is_accepted(host: str) -> None:
    assert place_of(f"https://{host}/").host == host


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_a_host_name_that_cannot_be_resolved_is_a_failed_call(host: str) -> None:
    with pytest.raises(WebhookError, match="has no address"):
        webhooks.resolved(host, 443)
    with pytest.raises(WebhookError, match="url must be an https address whose host name"):
        WebhookSender().send(f"https://{host}/", b"", secret=SECRET, now=0)


def refused(*addresses: str) -> str:
    def connect(address: str, port: int, seconds: float) -> socket:
        raise AssertionError(f"connected to {address}")

    sender = WebhookSender(resolve=lambda host, port: addresses, connect=connect)
    with pytest.raises(WebhookError) as error:
        sender.send(f"https://{NAME}/", b"{}", secret=SECRET, now=0)
    return str(error.value)


@pytest.mark.parametrize("address", PRIVATE)
def test_a_name_with_any_private_address_is_never_called(address: str) -> None:
    for given in ([address], [PUBLIC, address], [address, PUBLIC]):
        assert refused(*given) == f"{NAME} has an address that is not public"


def test_an_address_written_as_a_number_is_checked_too() -> None:
    with pytest.raises(WebhookError, match="not public"):
        WebhookSender().send("https://127.0.0.1/", b"", secret=SECRET, now=0)


@contextmanager
def answering(
    folder: Path, answer: bytes
) -> Iterator[tuple[WebhookSender, list[str], list[bytes]]]:
    """A sender, the names it resolved, and what a server that it reaches was sent."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "hook.pem"
    pem.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(pem)
    client_side = ssl.create_default_context(cafile=pem)
    names: list[str] = []
    received: list[bytes] = []
    listener = create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    def serve() -> None:
        with suppress(OSError):  # a client that refuses the certificate goes away
            answer_one(listener.accept()[0])

    def answer_one(plain: socket) -> None:
        with server_side.wrap_socket(plain, server_side=True) as connection:
            request = connection.recv(65_536)
            while b"\r\n\r\n" not in request or not request.endswith(b"}"):
                request += connection.recv(65_536)
            received.append(request)
            connection.sendall(answer)

    def resolve(host: str, port: int) -> list[str]:
        names.append(host)
        return [PUBLIC]

    def connect(address: str, asked: int, seconds: float) -> socket:
        assert (address, asked, seconds) == (PUBLIC, 443, webhooks.SECONDS)
        return create_connection(("127.0.0.1", port), timeout=seconds)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield WebhookSender(resolve=resolve, connect=connect, context=client_side), names, received
    finally:
        listener.close()
        thread.join(5)


def test_a_call_is_signed_and_goes_to_the_address_that_was_checked(tmp_path: Path) -> None:
    body = b'{"changed": 1}'
    with answering(tmp_path, b"HTTP/1.1 204 No Content\r\n\r\n") as (sender, names, received):
        sender.send(f"https://{NAME}/a?b=c", body, secret=SECRET, now=1_234.9)
    assert names == [NAME]
    head, _, sent = received[0].partition(b"\r\n\r\n")
    assert sent == body
    assert head.startswith(b"POST /a?b=c HTTP/1.1\r\nHost: hook.example.org\r\n")
    digest = hmac.new(SECRET, b"1234." + body, sha256).hexdigest()
    assert f"Deniable-Signature: t=1234,v1={digest}".encode() in head


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1/\r\n\r\n", "answered 302"),
        (b"HTTP/1.1 500 no\r\n\r\n", "answered 500"),
        (b"HTTP/1.1 100 wait\r\n\r\n", "answered 100"),
        (b"SSH-2.0-x\r\n", "did not answer: ValueError"),
        (b"x" * 5_000, "did not answer: ValueError"),
        (b"", "did not answer: ValueError"),
    ],
)
def test_only_a_2xx_is_taken_and_a_redirect_leads_nowhere(
    tmp_path: Path, answer: bytes, reason: str
) -> None:
    with (
        answering(tmp_path, answer) as (sender, names, _),
        pytest.raises(WebhookError, match=reason),
    ):
        sender.send(f"https://{NAME}/", b"{}", secret=SECRET, now=0)
    assert names == [NAME]


def test_a_certificate_of_another_name_is_refused(tmp_path: Path) -> None:
    with (
        answering(tmp_path, b"") as (sender, _, received),
        pytest.raises(WebhookError, match="SSLCertVerificationError"),
    ):
        sender.send("https://other.example.org/", b"{}", secret=SECRET, now=0)
    assert received == []


class Dripping:
    """A server that sends a byte whenever it is asked; its clock goes on meanwhile."""

    def __init__(self) -> None:
        self.now = 0.0

    def settimeout(self, seconds: float) -> None:
        assert seconds > 0

    def recv(self, most: int) -> bytes:
        self.now += 3
        return b"H"


def test_a_server_that_drips_is_given_up() -> None:
    slow = Dripping()
    sender = WebhookSender(monotonic=lambda: slow.now)
    with pytest.raises(TimeoutError):
        sender._status(slow, webhooks.SECONDS)  # type: ignore[arg-type]  # a double of a socket
    assert slow.now <= webhooks.SECONDS + 3


@dataclass
class Stepwise:
    """A connection, its TLS context and its clock: each step takes seconds, or all it is given."""

    takes: dict[str, float]
    now: float = 0.0
    timeout: float = webhooks.SECONDS

    def step(self, name: str) -> None:
        seconds = self.takes[name]
        self.now += min(seconds, self.timeout)
        if seconds > self.timeout:
            raise TimeoutError

    def connect(self, address: str, port: int, seconds: float) -> Self:
        self.timeout = seconds
        self.step("connect")
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Closing takes no time."""

    def settimeout(self, seconds: float) -> None:
        assert seconds > 0
        self.timeout = seconds

    def wrap_socket(self, plain: Self, *, server_hostname: str) -> Self:
        self.step("handshake")
        return self

    def sendall(self, data: bytes) -> None:
        self.step("send")

    def recv(self, most: int) -> bytes:
        self.step("answer")
        return b"HTTP/1.1 204 No Content\r\n"


STEPS = ("connect", "handshake", "send", "answer")


def send_by_steps(**takes: float) -> Stepwise:
    """Send one call whose steps take so many seconds, by default two each."""
    hook = Stepwise(dict.fromkeys(STEPS, 2.0) | takes)
    sender = WebhookSender(
        resolve=lambda host, port: [PUBLIC],
        connect=hook.connect,  # type: ignore[arg-type]  # a double of a socket
        context=hook,  # type: ignore[arg-type]  # a double of a context
        monotonic=lambda: hook.now,
    )
    if sum(hook.takes.values()) < webhooks.SECONDS:
        sender.send(f"https://{NAME}/", b"{}", secret=SECRET, now=0)
    else:
        with pytest.raises(WebhookError, match="did not answer: TimeoutError"):
            sender.send(f"https://{NAME}/", b"{}", secret=SECRET, now=0)
    return hook


def test_a_call_whose_steps_take_less_than_the_limit_together_is_sent() -> None:
    assert send_by_steps().now == 8


@pytest.mark.parametrize("hanging", STEPS)
def test_one_limit_holds_for_all_steps_together(hanging: str) -> None:
    hook = send_by_steps(**{hanging: 1e9})
    assert hook.now == webhooks.SECONDS
