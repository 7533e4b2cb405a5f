"""Each image installs what its roles need; every file starts a role of its image."""

from __future__ import annotations

import re
import shlex
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from deniable_gateway import cli
from support.oracles.command_lines import named_command, take

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
IMAGES = {"aggregator": "aggregator/service", "gateway": "aggregator/gateway"}
"""Image → the folder of the distribution that it is for."""
FOLDERS = {
    tomllib.loads(path.read_text())["project"]["name"]: path.parent.relative_to(ROOT).as_posix()
    for path in (ROOT / "shared" / "pyproject.toml", *ROOT.glob("aggregator/*/pyproject.toml"))
}
COMPOSE = sorted((DEPLOY / "compose").glob("*.yml"))
IN_CONTAINER = re.compile(
    r"(?:run --rm (?:aggregator|processing)|exec \S+(?: --)? deniable) ([a-z].*)"
)
"""What follows the program in a line of Compose or kubectl."""
NAMED = re.compile(r"(?:[`\"]|; |  |bin/)deniable ([a-z][^`\";\n]*)")
"""Commands in backticks and quotes, after a gap, and those of units."""
RESOURCES = sorted(
    path for path in DEPLOY.glob("kubernetes/*/*.yaml") if "    image: deniable" in path.read_text()
)


def own_needs(folder: str) -> set[str]:
    """Folders of our distributions that the one in `folder` installs, with its own."""
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
    names = {Requirement(text).name for text in project["dependencies"]} & FOLDERS.keys()
    return {folder}.union(*(own_needs(FOLDERS[name]) for name in names))


def dockerfile(image: str) -> str:
    return (DEPLOY / f"{image}.Dockerfile").read_text()


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_installs_our_distributions_that_its_roles_need(image: str) -> None:
    [installed] = re.findall(r"pip install .*--no-deps (.*)$", dockerfile(image), re.M)
    assert {path.removeprefix("./") for path in shlex.split(installed)} == own_needs(IMAGES[image])


@pytest.mark.parametrize("image", IMAGES)
def test_what_an_image_copies_is_there_and_sent_to_the_builder(image: str) -> None:
    allowed = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(), re.M)
    copied = re.findall(r"^COPY (?!--from)(\S+) ", dockerfile(image), re.M)
    assert f"deploy/{image}-requirements.txt" in copied
    for path in copied:
        assert (ROOT / path).exists()
        assert any(fnmatch(path, name) or path.startswith(f"{name}/") for name in allowed), path


def require_known(program: str, words: list[str]) -> None:
    """The program knows the command; the gateway's options are checked, too."""
    if program == "aggregator":
        assert named_command(words)
    else:
        cli._parser().parse_args(words)


def services() -> list[tuple[str, str, list[str]]]:
    """(file, image, words) of what compose files and Kubernetes start of ours."""
    actual: list[tuple[str, str, list[str]]] = []
    for path in (*COMPOSE, *RESOURCES):
        document: dict[str, Any] = yaml.safe_load(path.read_text())
        if path in COMPOSE:
            started = [
                (each["image"], each.get("command")) for each in document["services"].values()
            ]
        else:
            pod = document["spec"]["template"]["spec"]
            started = [(each["image"], each["args"]) for each in pod["containers"]]
        actual += [(path.name, image, words) for image, words in started if "deniable" in image]
    return actual


@pytest.mark.parametrize(("file", "image", "words"), services(), ids=str)
def test_a_container_starts_a_command_of_its_image(file: str, image: str, words: list[str]) -> None:
    name = image.partition(":")[0].removeprefix("deniable-")
    require_known(name, words)


def sources(path: Path) -> dict[str, bool]:
    """Secret that a pod takes variables from → whether it may be missing."""
    [container] = yaml.safe_load(path.read_text())["spec"]["template"]["spec"]["containers"]
    taken = [each["secretRef"] for each in container.get("envFrom", []) if "secretRef" in each]
    return {each["name"]: each.get("optional", False) for each in taken}


def test_init_in_kubernetes_prepares_the_store_that_the_service_opens() -> None:
    folder = DEPLOY / "kubernetes"
    [needed] = sources(folder / "postgresql" / "workers.yaml")
    assert sources(folder / "init" / "job.yaml") == {needed: True}
    steps = (folder / "postgresql" / "kustomization.yaml").read_text()
    assert f"create secret generic {needed} --from-literal=DENIABLE_STORE=" in steps
    assert steps.index("create secret") < steps.index("--kustomize deploy/kubernetes/init")


@pytest.mark.parametrize(
    "path", sorted(DEPLOY.glob("systemd/*.service")), ids=lambda path: path.stem
)
def test_a_unit_starts_a_command_of_its_program(path: Path) -> None:
    [words, *_] = re.findall(r"^ExecStart=/opt/deniable/bin/(.*)$", path.read_text(), re.M)
    program, *rest = shlex.split(words)
    require_known({"deniable": "aggregator", "deniable-gateway": "gateway"}[program], rest)


def texts() -> list[tuple[str, str]]:
    """(name, text) of each file that says how something is run."""
    skipped = {"aggregator-requirements.txt", "gateway-requirements.txt", "deniable.json"}
    files = [path for path in sorted(DEPLOY.rglob("*")) if path.is_file()]
    return [(path.name, path.read_text()) for path in files if path.name not in skipped]


def test_a_line_that_runs_a_command_in_a_container_is_one_it_takes(tmp_path: Path) -> None:
    lines = [(name, line) for name, text in texts() for line in IN_CONTAINER.findall(text)]
    assert len(lines) >= 8
    for name, line in lines:
        take(name, shlex.split(line, comments=True), tmp_path)


def test_every_command_that_a_file_names_exists() -> None:
    named = [(name, words) for name, text in texts() for words in NAMED.findall(text)]
    assert len(named) > 30
    for name, words in named:
        assert named_command(words.replace(",", "").split()), (
            f"{name}: there is no `deniable {words}`"
        )


@pytest.mark.parametrize("role", ["ingest", "relay"])
def test_what_faces_the_internet_without_keys_needs_the_gateway_alone(role: str) -> None:
    unit = (DEPLOY / "systemd" / f"deniable-{role}.service").read_text()
    assert "ExecStart=/opt/deniable/bin/deniable-gateway " in unit
