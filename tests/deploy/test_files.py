"""Every file an operator copies is accepted by the program it is for, and keeps its rules."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.base.settings_sources import PREFIX
from support.processes.installed_programs import accepted, program

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = sorted((DEPLOY / "compose").glob("*.yml"))
UNITS = sorted((DEPLOY / "systemd").iterdir())
OVERLAYS = sorted(path.parent for path in DEPLOY.glob("kubernetes/*/kustomization.yaml"))
RESOURCES = [
    path
    for path in sorted(DEPLOY.glob("kubernetes/[birs]*/*.yaml"))
    if path.stem != "kustomization"
]
GROUP = "uv sync --group deploy"


def test_hadolint_has_nothing_to_say_of_a_dockerfile() -> None:
    hadolint = program("hadolint", GROUP)
    dockerfiles = sorted(DEPLOY.glob("*Dockerfile"))
    assert dockerfiles
    assert accepted(hadolint, *dockerfiles) == ""


def test_compose_files_fit_their_schema() -> None:
    checker = program("check-jsonschema", GROUP)
    assert COMPOSE
    accepted(checker, "--builtin-schema", "vendor.compose-spec", *COMPOSE)


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.stem)
def test_compose_services_that_answer_strangers_can_write_nowhere(path: Path) -> None:
    blocks = re.split(r"^  (?=[a-z]+:$)", path.read_text(), flags=re.M)
    ours = [
        block
        for block in blocks
        if re.search(r"\n    image: deniable-(aggregator|gateway)\n", block)
    ]
    assert ours
    for rule in ("read_only: true", "cap_drop: [ALL]", "no-new-privileges:true"):
        assert all(rule in block for block in ours)


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_systemd_knows_every_line_of_a_unit(path: Path, tmp_path: Path) -> None:
    analyze = program("systemd-analyze", "apt-get install systemd")
    there = tmp_path / path.name
    text = re.sub(
        r"^(ExecStart=)/opt/deniable/bin/deniable\S*", r"\1/bin/true", path.read_text(), flags=re.M
    )
    there.write_text(text)
    for unit in UNITS:
        (tmp_path / unit.name).touch()
    assert accepted(analyze, "verify", "--man=no", there) == ""


@pytest.mark.parametrize("path", [u for u in UNITS if u.suffix == ".service"], ids=lambda u: u.stem)
def test_systemd_calls_a_service_well_confined(path: Path) -> None:
    analyze = program("systemd-analyze", "apt-get install systemd")
    said = accepted(analyze, "security", "--offline=true", "--threshold=20", path)
    assert "Overall exposure level" in said


def test_kubernetes_knows_every_field_of_a_resource() -> None:
    said = accepted(program("kubernetes-validate", GROUP), "--strict", *RESOURCES)
    passed = {line.split()[1] for line in said.splitlines() if " passed for resource " in line}
    assert passed == set(map(str, RESOURCES))


def test_kubernetes_takes_what_kustomize_makes_of_an_overlay(tmp_path: Path) -> None:
    kubectl = program("kubectl", "kubectl 1.21 or newer")
    minor = re.search(r"v1\.(\d+)", accepted(kubectl, "version", "--client"))
    if minor is None or int(minor[1]) < 21:
        pytest.skip("kubectl is older than 1.21 and has no kustomize that knows `patches`")
    assert OVERLAYS
    made = [tmp_path / f"{folder.name}.yaml" for folder in OVERLAYS]
    for folder, file in zip(OVERLAYS, made, strict=True):
        file.write_text(accepted(kubectl, "kustomize", folder))
    accepted(program("kubernetes-validate", GROUP), "--strict", *made)


@pytest.mark.parametrize("path", sorted(DEPLOY.glob("kubernetes/*/*.yaml")), ids=str)
def test_kubernetes_files_are_each_in_a_kustomization(path: Path) -> None:
    listed = (path.parent / "kustomization.yaml").read_text()
    assert path.name == "kustomization.yaml" or path.name in listed


def test_the_example_of_settings_is_written_from_the_settings() -> None:
    rendered = runpy.run_path(str(DEPLOY / "export-settings"))["rendered"]
    example = (DEPLOY / "aggregator.env.example").read_text()
    assert rendered() == example, "run deploy/export-settings"


def test_settings_that_files_here_name_exist() -> None:
    known = {PREFIX + name.upper() for name in Settings.__slots__} | {
        "DENIABLE_URL",
        "DENIABLE_TOKEN",
    }
    files = [path for path in DEPLOY.rglob("*") if path.is_file()]
    named = {name for path in files for name in re.findall(r"DENIABLE_[A-Z_]+", path.read_text())}
    assert named <= known
    assert len(named) >= 11
