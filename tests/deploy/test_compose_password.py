"""How the container of compose/postgresql.yml gets its password: its entrypoint, run by a shell."""

from __future__ import annotations

import shlex
import stat
import subprocess
from pathlib import Path

import pytest
import yaml

FILE = Path(__file__).parents[2] / "deploy" / "compose" / "postgresql.yml"
SERVICE = yaml.safe_load(FILE.read_text())["services"]["aggregator"]


def started(folder: Path) -> subprocess.CompletedProcess[str]:
    """The entrypoint with `store backup -`; its `deniable` prints the words that it gets."""
    program = folder / "deniable"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    shell, option, script, name = SERVICE["entrypoint"]
    script = script.replace("$$", "$").replace("/run/secrets", str(folder))
    script = script.replace("/tmp/", f"{folder}/")  # noqa: S108  (a path of the container)
    return subprocess.run(
        [shell, option, script, name, "store", "backup", "-"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": f"{folder}:/usr/bin:/bin"},
    )


@pytest.mark.parametrize(
    ("password", "written"), [("0badcafe", "0badcafe"), (r"a:b\c&$d", r"a\:b\\c&$d")]
)
def test_every_process_of_the_container_finds_the_password(
    tmp_path: Path, password: str, written: str
) -> None:
    (tmp_path / "postgres-password").write_text(f"{password}\n")
    assert started(tmp_path).stdout.split() == ["store", "backup", "-"]
    made = tmp_path / "pgpass"
    assert made.read_text() == f"database:*:deniable:deniable:{written}\n"
    assert stat.S_IMODE(made.stat().st_mode) == 0o600  # libpq ignores a file that others may read
    environment = SERVICE["environment"]
    assert environment["PGPASSFILE"] == "/tmp/pgpass"  # noqa: S108  (a path of the container)
    assert environment["DENIABLE_STORE"] == "postgresql://deniable@database/deniable"
    assert "/tmp" in SERVICE["tmpfs"]  # noqa: S108  (a path of the container)


def test_nothing_starts_without_the_password(tmp_path: Path) -> None:
    done = started(tmp_path)
    assert done.returncode != 0
    assert done.stdout == ""
    assert "postgres-password" in done.stderr


def test_the_password_file_is_made_for_the_user_of_the_image() -> None:
    dockerfile = (FILE.parents[1] / "aggregator.Dockerfile").read_text()
    [user] = [line.split()[1] for line in dockerfile.splitlines() if line.startswith("USER ")]
    [line] = [line for line in FILE.read_text().splitlines() if "openssl rand" in line]
    words = shlex.split(line.partition("| ")[2])
    assert words[:4] == ["sudo", "install", "-o", user]
