"""The proxy examples in deploy/, run by the programs they are written for."""

from __future__ import annotations

import datetime
import os
import re
import select
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from deniable_aggregator.operations.process.serving import free_port
from support.processes.deniable_command import wait_until
from support.processes.installed_programs import accepted, program

DEPLOY = Path(__file__).parents[2] / "deploy"
CADDYFILES = ["proxy/Caddyfile", "compose/Caddyfile", "compose/Caddyfile.relay"]


def self_signed(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "telemetry.example.org")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem, private = folder / "site.pem", folder / "site.key"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return pem, private


def for_installed_caddy(text: str) -> str:
    """The text as the Caddy here reads it: before 2.6.4 buffering had another name."""
    actual = re.search(r"(\d+)\.(\d+)\.(\d+)", accepted(program("caddy"), "version"))
    assert actual is not None
    assert "request_buffers 256KB" in text
    if tuple(map(int, actual.groups())) >= (2, 6, 4):
        return text
    return text.replace("request_buffers 256KB", "buffer_requests")


def test_nginx_accepts_its_example(tmp_path: Path) -> None:
    nginx = program("nginx")
    pem, private = self_signed(tmp_path)
    site = (DEPLOY / "proxy" / "nginx.conf").read_text()
    site = site.replace("/etc/ssl/certs/telemetry.example.org.pem", str(pem))
    site = site.replace("/etc/ssl/private/telemetry.example.org.key", str(private))
    site = site.replace("/var/log/nginx", str(tmp_path))
    whole = tmp_path / "nginx.conf"
    whole.write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\n{site}\n}}\n")
    answer = subprocess.run(
        [nginx, "-t", "-c", str(whole), "-e", str(tmp_path / "error.log")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("path", CADDYFILES)
def test_caddy_accepts_its_example(path: str, tmp_path: Path) -> None:
    caddy = program("caddy")
    (tmp_path / "Caddyfile").write_text(for_installed_caddy((DEPLOY / path).read_text()))
    answer = subprocess.run(
        [
            caddy,
            "validate",
            "--config",
            str(tmp_path / "Caddyfile"),
            "--adapter",
            "caddyfile",
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("path", ["proxy/nginx.conf", *CADDYFILES])
def test_no_proxy_example_passes_an_address_on_or_logs_reports(path: str) -> None:
    text = (DEPLOY / path).read_text()
    assert "$remote_addr" not in text.replace("$binary_remote_addr zone", "")
    assert "X-Forwarded-For" in text
    assert "access_log off" in text or "output discard" in text


def test_compose_has_the_same_caddyfile_but_for_the_name_behind_it() -> None:
    plain, inside = ((DEPLOY / each / "Caddyfile").read_text() for each in ("proxy", "compose"))
    rules = plain.replace("127.0.0.1:8000", "aggregator:8000").splitlines()[1:]
    assert inside.splitlines()[1:] == rules


@pytest.mark.parametrize("path", ["proxy/nginx.conf", "proxy/Caddyfile", "compose/Caddyfile"])
def test_no_proxy_example_passes_on_what_is_the_operators(path: str) -> None:
    assert re.search(r"/metrics (\{ return )?404", (DEPLOY / path).read_text())


@dataclass
class Seen:
    """What reached the service behind the proxy."""

    port: int
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def behind() -> Iterator[Seen]:
    """A service that notes each request as soon as its head is there."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            begun = len(seen.requests)
            headers = {name.lower(): value for name, value in self.headers.items()}
            seen.requests.append((self.path, headers, b""))
            body = self.rfile.read(int(headers.get("content-length", "0")))
            seen.requests[begun] = (self.path, headers, body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST  # noqa: N815  (the name that http.server calls)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    seen = Seen(server.server_port)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield seen
    server.shutdown()
    thread.join()
    server.server_close()


def plain_nginx(folder: Path, port: int, behind: int, *, cut: str) -> list[str]:
    """The shipped file on loopback, with bodies cut after `cut` instead of 10 s."""
    pem, private = self_signed(folder)
    site = (DEPLOY / "proxy" / "nginx.conf").read_text()
    for old, new in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{port};"),
        ("/etc/ssl/certs/telemetry.example.org.pem", str(pem)),
        ("/etc/ssl/private/telemetry.example.org.key", str(private)),
        ("/var/log/nginx", str(folder)),
        ("127.0.0.1:8000", f"127.0.0.1:{behind}"),
        ("client_body_timeout  10s", f"client_body_timeout {cut}"),
    ):
        assert old in site
        site = site.replace(old, new)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = folder / "nginx.conf"
    whole.write_text(
        f"pid {folder}/pid;\ndaemon off;\nmaster_process off;\n"
        f"events {{}}\nhttp {{\n{temporary}{site}\n}}\n"
    )
    return [program("nginx"), "-c", str(whole), "-e", str(folder / "error.log")]


def plain_caddy(folder: Path, port: int, behind: int, *, cut: str) -> list[str]:
    """The shipped file on loopback without TLS, with bodies cut after `cut` instead of 10 s."""
    caddy = program("caddy")
    site = for_installed_caddy((DEPLOY / "proxy" / "Caddyfile").read_text())
    for old, new in (
        ("telemetry.example.org {", f"http://:{port} {{"),
        ("127.0.0.1:8000", f"127.0.0.1:{behind}"),
        ("\tservers {", "\tadmin off\n\tauto_https off\n\tservers {"),
        ("read_body 10s", f"read_body {cut}"),
    ):
        assert old in site
        site = site.replace(old, new)
    whole = folder / "Caddyfile"
    whole.write_text(site)
    return [caddy, "run", "--config", str(whole), "--adapter", "caddyfile"]


@contextmanager
def proxied(kind: str, folder: Path, behind: Seen, *, cut: str = "600s") -> Iterator[int]:
    """The port of a proxy that runs."""
    port = free_port()
    made = {"nginx": plain_nginx, "caddy": plain_caddy}[kind](folder, port, behind.port, cut=cut)
    home = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    process = subprocess.Popen(made, env=home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        wait_until(f"{kind} listens", lambda: listens(port) or process.poll() is not None)
        assert process.poll() is None, process.communicate()[0].decode()
        yield port
    finally:
        process.terminate()
        process.communicate(timeout=120)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


BOTH = pytest.mark.parametrize("kind", ["nginx", "caddy"])


@BOTH
def test_a_slow_body_ends_at_the_proxy(kind: str, tmp_path: Path, behind: Seen) -> None:
    head = b"POST /v1/collections/x/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\nab"
    with (
        proxied(kind, tmp_path, behind, cut="1s") as port,
        socket.create_connection(("127.0.0.1", port)) as slow,
    ):
        slow.settimeout(120)
        slow.sendall(head)
        while slow.recv(4096):
            pass  # until the proxy ends the connection
    assert behind.requests == []


@BOTH
def test_a_body_in_pieces_arrives_whole_and_not_before(
    kind: str, tmp_path: Path, behind: Seen
) -> None:
    body = bytes(range(256)) * 200
    head = b"POST /v1/collections/x/reports HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    with (
        proxied(kind, tmp_path, behind) as port,
        socket.create_connection(("127.0.0.1", port)) as slow,
    ):
        slow.settimeout(120)
        slow.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body[:40_000])
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as other:
            assert other.get("/healthz").status_code == 200
        assert [path for path, _, _ in behind.requests] == ["/healthz"]
        slow.sendall(body[40_000:])
        assert slow.recv(4096).startswith(b"HTTP/1.1 200")
    assert behind.requests[-1][2] == body


@BOTH
def test_no_header_says_who_asked_and_metrics_stay_inside(
    kind: str, tmp_path: Path, behind: Seen
) -> None:
    forged = {"X-Forwarded-For": "203.0.113.9", "X-Real-IP": "203.0.113.9", "Forwarded": "for=x"}
    with (
        proxied(kind, tmp_path, behind) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=forged, timeout=120) as client,
    ):
        assert client.get("/healthz").status_code == 200
        assert client.get("/v1/keys").status_code == 200
        for path in ("/metrics", "/%6detrics"):
            assert client.get(path).status_code == 404
    assert [path for path, _, _ in behind.requests] == ["/healthz", "/v1/keys"]
    for _, headers, _ in behind.requests:
        assert not {"x-forwarded-for", "x-real-ip", "forwarded"} & headers.keys()


@pytest.mark.parametrize(("path", "most"), [("/v1/keys", 41), ("/", 51), ("/sign-in", 21)])
def test_nginx_answers_429_over_its_rates(
    path: str, most: int, tmp_path: Path, behind: Seen
) -> None:
    """On a slow machine more come through while time goes on: the bound holds for the first."""
    with (
        proxied("nginx", tmp_path, behind) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client,
    ):
        actual = [client.get(path).status_code for _ in range(4 * most)]
    assert actual[:most] == [200] * most
    assert 429 in actual


def test_nginx_bounds_the_connections_of_an_address(tmp_path: Path, behind: Seen) -> None:
    head = b"POST /v1/collections/x/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\na"
    with proxied("nginx", tmp_path, behind) as port, ExitStack() as opened:
        answers = []
        for _ in range(80):
            one = opened.enter_context(socket.create_connection(("127.0.0.1", port)))
            one.settimeout(120)
            one.sendall(head)
            answers.append(one)
        answered, _, _ = select.select(answers, [], [], 120)
        first = {one.recv(12) for one in answered}
    assert first == {b"HTTP/1.1 429"}
