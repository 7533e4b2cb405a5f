"""HTTPS through real sockets: trusted certificates only, and a cut ends an encrypted exchange."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import certifi
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID

from deniable_client import HttpTransport, TransportError
from deniable_client.calls import Call
from support.doubles.loopback_listener import listening, read_request

PATIENCE = 60.0
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A file with a key and a certificate for 127.0.0.1 that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(here, critical=False)
        .sign(key, SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = tmp_path / "certificate.pem"
    path.write_bytes(private + signed.public_bytes(pem))
    return path


@pytest.fixture
def _trusted(certificate: Path, sockets: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The sockets as new ones, which have read the variable."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    return sockets


@contextmanager
def secured(certificate: Path, speak: Callable[[socket.socket], object]) -> Iterator[str]:
    """A listener that speaks TLS; its address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def converse(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as inner:
            read_request(inner)
            speak(inner)

    with listening(converse) as listener:
        yield listener.url.replace("http:", "https:")


@pytest.mark.usefixtures("_trusted")
def test_a_reply_comes_over_tls(certificate: Path) -> None:
    with secured(certificate, lambda inner: inner.sendall(WHOLE)) as url:
        reply = HttpTransport().request("POST", url, body=bytes(200_000), timeout=PATIENCE)
    assert (reply.status, reply.body) == (200, b"hello")


@pytest.mark.usefixtures("sockets")
def test_a_certificate_that_is_not_trusted_is_refused(certificate: Path) -> None:
    with (
        secured(certificate, lambda inner: inner.sendall(WHOLE)) as url,
        pytest.raises(TransportError, match="ConnectError"),
    ):
        HttpTransport().request("GET", url, timeout=PATIENCE)


@pytest.mark.usefixtures("_trusted")
def test_a_cut_ends_an_exchange_over_tls(certificate: Path) -> None:
    waiting, never = threading.Event(), threading.Event()
    call = Call(600.0)
    problems: list[TransportError] = []

    def ask(url: str) -> None:
        try:
            HttpTransport().exchange(call, "GET", url)
        except TransportError as error:
            problems.append(error)

    def wait(inner: socket.socket) -> None:
        waiting.set()
        never.wait(PATIENCE)

    with secured(certificate, wait) as url:
        thread = threading.Thread(target=ask, args=(url,), daemon=True)
        thread.start()
        assert waiting.wait(PATIENCE)
        call.cut()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        never.set()
    assert len(problems) == 1


def test_the_authorities_are_the_same_over_either_library(
    sockets: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(variable, raising=False)
    expected = ssl.create_default_context(cafile=certifi.where())
    context = sockets._ssl_context()
    assert context.get_ca_certs() == expected.get_ca_certs()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_a_folder_of_authorities_replaces_them(
    sockets: ModuleType, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(certificate.parent))
    assert sockets._ssl_context().get_ca_certs() == []  # read when a peer names one of them
