"""What no resolver checks: versions move together, licences ship, the image's pins still fit."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
MOST = 55
"""How many distributions the first `uv run` may install."""

ROLES = {"aggregator": "aggregator-requirements.txt", "gateway": "gateway-requirements.txt"}
"""Each image, and the file of its pins."""

WORKSPACE = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["workspace"]
NAMES = {member: Path(member).name for member in WORKSPACE["members"]} | {
    "aggregator/service": "aggregator"
}
"""Each member's folder, and its distribution without `deniable-`."""

FOLDERS = {name: ROOT / member for member, name in NAMES.items()}
PROJECTS = {
    name: tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    for name, folder in FOLDERS.items()
}


def pins(role: str) -> dict[str, list[Requirement]]:
    """The pinned requirements by name; a name may be pinned twice, for two Python versions."""
    by_name: dict[str, list[Requirement]] = {}
    for line in (ROOT / "deploy" / ROLES[role]).read_text().splitlines():
        if re.match(r"[a-zA-Z0-9]", line):
            requirement = Requirement(line.rstrip(" \\"))
            by_name.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return by_name


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


def test_members_share_one_version_and_pin_their_siblings_to_it() -> None:
    version = PROJECTS["shared"]["version"]
    assert {project["version"] for project in PROJECTS.values()} == {version}
    for member in PROJECTS.keys() - {"shared"}:
        siblings = [text for text in PROJECTS[member]["dependencies"] if "deniable-" in text]
        assert f"deniable-shared=={version}" in siblings
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


def test_client_depends_on_cryptography_httpx_platformdirs_and_shared_only() -> None:
    """certifi and httpcore come with httpx; the client uses both itself."""
    names = {Requirement(text).name for text in PROJECTS["client"]["dependencies"]}
    assert names == {
        "certifi",
        "cryptography",
        "deniable-shared",
        "httpcore",
        "httpx",
        "platformdirs",
    }


def test_the_benchmarks_take_every_member_of_the_workspace() -> None:
    benchmarks = ROOT / "tests" / "benchmarks"
    sources = tomllib.loads((benchmarks / "pyproject.toml").read_text())["tool"]["uv"]["sources"]
    folders = {name: (benchmarks / source["path"]).resolve() for name, source in sources.items()}
    assert folders == {PROJECTS[member]["name"]: path for member, path in FOLDERS.items()}


def test_estimators_install_six_other_packages_and_no_web_server() -> None:
    names = {Requirement(text).name for text in PROJECTS["estimators"]["dependencies"]}
    assert names == {"cryptography", "deniable-shared", "numpy", "scipy"}
    assert needed("deniable-estimators", set()) <= names | {"cffi", "pycparser"}


def test_central_depends_on_numpy_and_shared_only() -> None:
    names = {Requirement(text).name for text in PROJECTS["central"]["dependencies"]}
    assert names == {"deniable-shared", "numpy"}
    brought = needed("deniable-central", set()) | {"deniable-central"}
    assert brought <= {*names, "cffi", "cryptography", "deniable-central", "pycparser"}


def test_gateway_depends_on_granian_and_shared_only() -> None:
    names = {Requirement(text).name for text in PROJECTS["gateway"]["dependencies"]}
    assert names == {"deniable-shared", "granian"}


@pytest.mark.slow
def test_the_first_run_installs_few_distributions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = {*project["project"]["dependencies"], *project["dependency-groups"]["dev"]}
    names = {Requirement(text).name for text in wanted}
    assert len(names.union(*(needed(name, set()) for name in names))) <= MOST


@pytest.mark.parametrize("role", sorted(ROLES))
def test_every_pin_of_an_image_lies_in_the_range_its_distribution_asks_for(role: str) -> None:
    pinned = pins(role)
    for text in PROJECTS[role]["dependencies"]:
        wanted = Requirement(text)
        if wanted.name.removeprefix("deniable-") not in PROJECTS:
            for pin in pinned[canonicalize_name(wanted.name)]:
                version = next(iter(pin.specifier)).version
                fits = wanted.specifier.contains(version)
                assert fits, f"{pin} is not {wanted}: run deploy/export-requirements"


@pytest.mark.parametrize("role", sorted(ROLES))
def test_an_image_pins_everything_that_its_distribution_brings(role: str) -> None:
    own = {f"deniable-{member}" for member in PROJECTS}
    missing = needed(f"deniable-{role}", set()) - own - set(pins(role))
    assert missing == set(), "run deploy/export-requirements: the pyprojects have moved on"


def test_the_image_of_the_gateway_has_no_numpy() -> None:
    assert not pins("gateway").keys() & {"flask", "numpy", "scipy", "sqlalchemy"}


@pytest.mark.parametrize("role", sorted(ROLES))
def test_every_pin_carries_hashes_and_no_address(role: str) -> None:
    text = (ROOT / "deploy" / ROLES[role]).read_text()
    assert text.count("--hash=sha256:") >= len(pins(role))
    assert not re.search(r"https?://|--index|--find-links", text)


ALONE = {
    "tests/client": {"client", "shared"},
    "tests/shared": {"client", "shared"},
    "tests/estimators": {"estimators", "shared"},
    "tests/central": {"central", "shared"},
    "tests/gateway": {"gateway", "shared"},
}
"""Folder of tests → the distributions that are installed where a wheel alone is tested."""


@pytest.mark.slow
@pytest.mark.parametrize("folder", ALONE)
def test_tests_of_a_wheel_alone_import_only_what_it_brings(folder: str) -> None:
    others = {
        path.relative_to(ROOT).as_posix(): sorted(_distributions(path) - ALONE[folder])
        for path in (ROOT / folder).rglob("*.py")
    }
    assert {path: names for path, names in others.items() if names} == {}


@pytest.mark.slow
def test_the_benchmarks_install_what_the_support_that_they_import_needs() -> None:
    benchmarks = ROOT / "tests" / "benchmarks"
    project = tomllib.loads((benchmarks / "pyproject.toml").read_text())["project"]
    names = {Requirement(text).name for text in project["dependencies"]}
    here = {name for name in names if any(Distribution.discover(name=name))}
    brought = names.union(*(needed(name, set()) for name in here))
    imported = {name.partition(".")[0] for path in _support(benchmarks) for name in _imported(path)}
    distributions = packages_distributions()
    missing = {
        name
        for name in imported - set(sys.stdlib_module_names) - {"support"}
        if not brought & {canonicalize_name(each) for each in distributions.get(name, [name])}
    }
    assert missing == set()


def _support(folder: Path) -> set[Path]:
    """The modules of `tests/support` that those of a folder import, and what these import."""
    reached: set[Path] = set()
    waiting = list(folder.glob("*.py"))
    while waiting:
        for name in _imported(waiting.pop()):
            path = ROOT / "tests" / f"{name.replace('.', '/')}.py"
            if name.startswith("support.") and path.is_file() and path not in reached:
                reached.add(path)
                waiting.append(path)
    return reached


@cache
def _distributions(path: Path) -> frozenset[str]:
    """What a module and the support that it imports need, whenever it is imported."""
    needed: set[str] = set()
    for name in _imported(path):
        if name.startswith("deniable_"):
            needed.add(name.partition(".")[0].removeprefix("deniable_"))
        for file in (f"{name.replace('.', '/')}.py", f"{name.replace('.', '/')}/__init__.py"):
            if name.startswith("support") and (ROOT / "tests" / file).is_file():
                needed |= _distributions(ROOT / "tests" / file)
    return frozenset(needed)


@cache
def _imported(path: Path) -> tuple[str, ...]:
    names: list[str] = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
            names += (f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(names)


def test_the_web_client_is_a_package_of_its_own_and_names_no_registry() -> None:
    tool = tomllib.loads((FOLDERS["client"] / "pyproject.toml").read_text())["tool"]
    assert tool["hatch"]["build"]["targets"]["sdist"]["exclude"] == ["/web"]
    lock = (ROOT / "client" / "web" / "package-lock.json").read_text()
    assert '"resolved"' not in lock
    assert "registry" not in lock
