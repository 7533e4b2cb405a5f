"""The proxy examples in deploy/ are accepted by the programs they are written for."""

from __future__ import annotations

import datetime
import re
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from support.programs import program

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
def test_caddy_accepts_its_example(path: str) -> None:
    caddy = program("caddy")
    answer = subprocess.run(
        [
            caddy,
            "validate",
            "--config",
            str(DEPLOY / path),
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
