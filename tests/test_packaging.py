"""What no resolver checks: versions move together, licences ship, the image's pins still fit."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PINS = ROOT / "deploy" / "requirements.txt"
FOLDERS = {
    "aggregator": ROOT / "aggregator",
    "central": ROOT / "aggregator" / "central",
    "client": ROOT / "client",
    "estimators": ROOT / "aggregator" / "estimators",
    "shared": ROOT / "shared",
}
PROJECTS = {
    member: tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    for member, folder in FOLDERS.items()
}


def pins() -> dict[str, list[Requirement]]:
    """The pinned requirements by name; a name may be pinned twice, for two Python versions."""
    found: dict[str, list[Requirement]] = {}
    for line in PINS.read_text().splitlines():
        if re.match(r"[a-zA-Z0-9]", line):
            requirement = Requirement(line.rstrip(" \\"))
            found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


def needed(name: str, seen: set[str]) -> set[str]:
    """Every distribution that installing `name` brings on this machine."""
    for text in distribution(name).requires or []:
        requirement = Requirement(text)
        wanted = canonicalize_name(requirement.name)
        here = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if here and wanted not in seen:
            seen.add(wanted)
            needed(wanted, seen)
    return seen


def test_members_share_one_version_and_pin_each_other_to_it() -> None:
    version = PROJECTS["shared"]["version"]
    assert {project["version"] for project in PROJECTS.values()} == {version}
    for member in PROJECTS.keys() - {"shared"}:
        assert f"deniable-shared=={version}" in PROJECTS[member]["dependencies"]


@pytest.mark.parametrize("member", sorted(PROJECTS))
def test_a_member_pins_the_siblings_that_it_needs(member: str) -> None:
    version = PROJECTS["shared"]["version"]
    siblings = [text for text in PROJECTS[member]["dependencies"] if "deniable-" in text]
    assert all(text.endswith(f"=={version}") for text in siblings)


@pytest.mark.parametrize("member", sorted(PROJECTS))
def test_every_member_ships_the_licence_as_a_file_of_its_own(member: str) -> None:
    licence = FOLDERS[member] / "LICENSE"
    assert not licence.is_symlink()
    assert licence.read_text() == (ROOT / "LICENSE").read_text()


@pytest.mark.parametrize("member", sorted(PROJECTS))
def test_every_member_tells_type_checkers_that_it_is_typed(member: str) -> None:
    assert (FOLDERS[member] / f"deniable_{member}" / "py.typed").is_file()


@pytest.mark.parametrize("member", sorted(PROJECTS))
def test_the_changelog_speaks_of_this_version(member: str) -> None:
    assert f"## {PROJECTS[member]['version']}" in (FOLDERS[member] / "CHANGELOG.md").read_text()


def test_client_depends_on_cryptography_httpx_and_shared_only() -> None:
    """httpcore comes with httpx; the client uses its network backend itself."""
    names = {Requirement(text).name for text in PROJECTS["client"]["dependencies"]}
    assert names == {"cryptography", "deniable-shared", "httpcore", "httpx"}


def test_estimators_install_six_packages_besides_themselves_and_no_web_server() -> None:
    names = {Requirement(text).name for text in PROJECTS["estimators"]["dependencies"]}
    assert names == {"cryptography", "deniable-shared", "numpy", "scipy"}
    assert needed("deniable-estimators", set()) <= names | {"cffi", "pycparser"}


def test_central_depends_on_numpy_and_shared_only() -> None:
    names = {Requirement(text).name for text in PROJECTS["central"]["dependencies"]}
    assert names == {"deniable-shared", "numpy"}
    brought = needed("deniable-central", set()) | {"deniable-central"}
    assert brought <= {*names, "cffi", "cryptography", "deniable-central", "pycparser"}


def test_every_pin_of_the_image_lies_in_the_range_the_aggregator_asks_for() -> None:
    pinned = pins()
    for text in PROJECTS["aggregator"]["dependencies"]:
        wanted = Requirement(text)
        if not wanted.name.startswith("deniable-"):
            for pin in pinned[canonicalize_name(wanted.name)]:
                version = next(iter(pin.specifier)).version
                fits = wanted.specifier.contains(version)
                assert fits, f"{pin} is not {wanted}: run deploy/export-requirements"


def test_the_image_pins_everything_that_the_aggregator_brings() -> None:
    own = {project["name"] for project in PROJECTS.values()}
    missing = needed("deniable-aggregator", set()) - own - set(pins())
    assert missing == set(), "run deploy/export-requirements: the pyprojects have moved on"


def test_every_pin_carries_hashes_and_no_address() -> None:
    text = PINS.read_text()
    assert text.count("--hash=sha256:") >= len(pins())
    assert not re.search(r"https?://|--index|--find-links", text)
