"""The image, really built and run, where buildah and the base image are: no engine, no daemon."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.processes.installed_programs import program

ROOT = Path(__file__).parents[2]
BASE = re.findall(r"^FROM (\S+)", (ROOT / "deploy" / "aggregator.Dockerfile").read_text(), re.M)[0]
ENVIRON = os.environ | {"STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}


def buildah(*words: str | Path) -> str:
    """What it prints; the test fails with its reason if it fails."""
    command = [program("buildah"), *map(str, words)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=900, env=ENVIRON)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout.strip()


@pytest.fixture(scope="module")
def container() -> Iterator[str]:
    """A container of the image; it and the image are deleted afterwards."""
    listed = buildah("images", "--json", "--filter", f"reference={BASE}")
    if BASE not in listed:
        pytest.skip(f"the base image {BASE} is not here: `buildah pull {BASE}` to build on it")
    tag = f"deniable-test-{os.getpid()}"
    given = [f"--volume={path}:{path}:ro" for path in HOST if Path(path).exists()]
    file = f"--file={ROOT / 'deploy' / 'aggregator.Dockerfile'}"
    buildah("bud", "--pull-never", "--network=host", *given, file, "--tag", tag, ROOT)
    made = buildah("from", "--pull-never", tag)
    yield made
    buildah("rm", made)
    buildah("rmi", tag)


HOST = ("/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
"""How this machine reaches its package index."""


def inside(container: str, *command: str) -> str:
    """What the command prints, by way of a file.

    `buildah run` under chroot at times loses the whole output of a short command on a busy
    machine, and exits with 0.
    """
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)  # the image's user does not exist here
        shell = ("sh", "-c", 'exec "$@" > /said/stdout', "sh")
        shared = f"--volume={folder}:/said:rw"
        buildah("run", "--isolation", "chroot", shared, container, "--", *shell, *command)
        return (Path(folder) / "stdout").read_text().strip()


def test_it_runs_as_nobody_in_particular_and_answers(container: str) -> None:
    assert inside(container, "id", "-u") == "10001"
    assert "Learn how many of your users do something without learning who" in inside(
        container, "deniable", "-h"
    )


def test_it_prepares_and_checks_its_own_directory(container: str) -> None:
    said = inside(container, "deniable", "init")
    assert "trust" in said
    checks = inside(container, "deniable", "doctor")
    assert "schema" in checks
    assert "fail" not in checks.lower()
    assert inside(container, "stat", "-c", "%a", "/var/lib/deniable/data") == "700"


def test_it_holds_no_source_and_no_compiler(container: str) -> None:
    actual = inside(container, "sh", "-c", "ls -d /source; command -v cc gcc; true")
    assert actual == ""
    command = buildah("inspect", "--format", "{{.OCIv1.Config.Entrypoint}}", container)
    assert command == "[deniable]"
