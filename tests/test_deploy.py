"""The examples in deploy/ are accepted by their programs, and do what they say."""

from __future__ import annotations

import datetime
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DEPLOY = Path(__file__).parent.parent / "deploy"


def program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed: apt-get install {name} to check its example")
    return found


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
    site = (DEPLOY / "nginx.conf").read_text()
    site = site.replace("/etc/ssl/certs/telemetry.example.org.pem", str(pem))
    site = site.replace("/etc/ssl/private/telemetry.example.org.key", str(private))
    site = site.replace("/var/log/nginx", str(tmp_path))
    whole = tmp_path / "nginx.conf"
    whole.write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\n{site}\n}}\n")
    answer = subprocess.run(
        [nginx, "-t", "-c", str(whole), "-e", str(tmp_path / "error.log")],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert answer.returncode == 0, answer.stderr


def test_caddy_accepts_its_example() -> None:
    caddy = program("caddy")
    answer = subprocess.run(
        [caddy, "validate", "--config", str(DEPLOY / "Caddyfile"), "--adapter", "caddyfile"],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("name", ["nginx.conf", "Caddyfile"])
def test_no_proxy_example_passes_an_address_on_or_logs_reports(name: str) -> None:
    text = (DEPLOY / name).read_text()
    assert "$remote_addr" not in text.replace("$binary_remote_addr zone", "")
    assert "X-Forwarded-For" in text
    assert "access_log off" in text or "output discard" in text


RULES = DEPLOY / "prometheus" / "deniable.rules.yml"
CASES = DEPLOY / "prometheus" / "deniable.rules.test.yml"


def alerts() -> list[str]:
    return re.findall(r"- alert: (\w+)", RULES.read_text())


def test_promtool_accepts_the_rules_and_each_fires_when_it_should() -> None:
    promtool = program("promtool")
    for command in (["check", "rules", RULES.name], ["test", "rules", CASES.name]):
        said = subprocess.run(
            [promtool, *command], cwd=RULES.parent, capture_output=True, text=True
        )
        assert said.returncode == 0, said.stdout + said.stderr


def test_of_every_alert_it_is_tested_when_it_fires_and_when_it_is_silent() -> None:
    names = re.findall(r"name: (\w+) (fires|is silent)", CASES.read_text())
    assert sorted(names) == sorted(
        (name, way) for name in alerts() for way in ("fires", "is silent")
    )


def test_the_rules_speak_of_metrics_that_there_are() -> None:
    readme = (DEPLOY.parent / "aggregator" / "README.md").read_text()
    documented = re.findall(r"^\| `(deniable_\w+)` \|", readme, re.M)
    used = set(re.findall(r"\bdeniable_\w+", RULES.read_text()))
    assert len(used) > 10
    assert {name.removesuffix("_bucket") for name in used} <= set(documented)


@pytest.mark.parametrize("name", ["nginx.conf", "Caddyfile"])
def test_no_proxy_example_passes_on_what_is_the_operators(name: str) -> None:
    text = (DEPLOY / name).read_text()
    assert re.search(r"/metrics (\{ return )?404", text)
