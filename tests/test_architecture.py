"""The house rules that no linter holds.

Who may import whom is in pyproject.toml: `lint-imports` reads the contracts there.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from deniable_shared import mechanisms
from support.oracles.python_sources import source_of

ROOT = Path(__file__).parent.parent
MEMBERS = {
    "aggregator": "aggregator/service",
    "central": "aggregator/central",
    "client": "client",
    "estimators": "aggregator/estimators",
    "gateway": "aggregator/gateway",
    "shared": "shared",
}
"""Where each distribution lies: `deniable-central` in aggregator/central."""

LONGEST_MODULE = 400
MOST_EXCEPTIONS = 0
MECHANISMS = ROOT / "shared" / "deniable_shared" / "mechanisms"
IMPORTS_CONTEXT = re.compile(r"^\s*(from|import) contextvars\b", re.M)
COMMON = ["protocols", "memoization", "structure"]
"""Modules of mechanisms that everyone may import."""

ESTIMATORS = ROOT / "aggregator" / "estimators" / "deniable_estimators" / "mechanisms"


def package(member: str) -> str:
    return f"deniable_{Path(member).name}"


def modules(member: str) -> list[Path]:
    return sorted((ROOT / MEMBERS[member] / f"deniable_{member}").rglob("*.py"))


def single_modules(folder: Path) -> set[str]:
    """The modules of single mechanisms, or of what a few of them share."""
    return {path.stem for path in folder.glob("*.py")} - {
        *COMMON,
        "__init__",
        "base",
        "symbol_payload",
    }


def test_the_contracts_of_imports_get_no_new_exception() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    ignored = {one["id"]: one.get("ignore_imports", []) for one in tool["contracts"]}
    assert ignored.pop("mechanisms") == [f"** -> deniable_shared.mechanisms.{m}" for m in COMMON]
    exceptions = [each for one in ignored.values() for each in one]
    assert len(exceptions) <= MOST_EXCEPTIONS
    assert not any("*" in each for each in exceptions)
    assert not any("unmatched_ignore_imports_alerting" in one for one in tool["contracts"])


@pytest.mark.slow
def test_only_tracing_knows_what_is_under_way_without_being_handed_it() -> None:
    """The entry of the audit log is an argument: nothing is passed behind a caller's back."""
    users = {
        str(path.relative_to(ROOT))
        for member in MEMBERS
        for path in modules(member)
        if IMPORTS_CONTEXT.search(path.read_text())
    }
    assert users <= {"aggregator/service/deniable_aggregator/operations/tracing/tracer.py"}


def test_a_local_mechanism_is_two_files_of_one_name() -> None:
    assert single_modules(MECHANISMS) == single_modules(ESTIMATORS)


@pytest.mark.slow
def test_only_mechanisms_and_registries_decide_by_a_mechanisms_id() -> None:
    """What others need of it, a mechanism declares; an error or a help text may cite an id."""
    ids = {*mechanisms.mechanism_ids()}
    named = [
        f"{path.stem}: {text}"
        for member in MEMBERS
        for path in modules(member)
        if not {MECHANISMS, ESTIMATORS} & {*path.parents}
        if any(id in path.read_text() for id in ids)
        for text in source_of(path).strings
        if set() < {*text.replace(",", " ").split()} <= ids
    ]
    assert named == []


@pytest.mark.parametrize("member", MEMBERS)
def test_no_module_outgrows_its_room(member: str) -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in modules(member)}
    assert {name for name, lines in lengths.items() if lines > LONGEST_MODULE} == set()


@pytest.mark.parametrize("member", MEMBERS)
def test_no_module_is_a_junk_drawer(member: str) -> None:
    drawers = {"common", "helpers", "misc", "util", "utils"}
    assert {path.stem for path in modules(member)} & drawers == set()


@pytest.mark.slow
@pytest.mark.parametrize("member", MEMBERS)
def test_only_a_package_lists_names_that_it_imports(member: str) -> None:
    own = {path.name: source_of(path) for path in modules(member) if path.stem != "__init__"}
    both = {name: of.listed & of.imported_names for name, of in own.items()}
    assert {name: names for name, names in both.items() if names} == {}


@pytest.mark.slow
@pytest.mark.parametrize("member", MEMBERS)
def test_every_module_says_its_job_in_a_docstring(member: str) -> None:
    assert [str(path) for path in modules(member) if not source_of(path).documented] == []


@pytest.mark.slow
def test_importing_the_contract_loads_neither_cryptography_nor_numpy() -> None:
    names = [
        ".".join(path.relative_to(ROOT / "shared").with_suffix("").parts)
        for path in modules("shared")
        if path.stem != "__init__"
    ]
    heavy = {"cryptography", "httpx", "numpy", "ssl"}
    code = f"import sys\nfor name in {names!r}: __import__(name)\n"
    code += f"print(sorted({{m.partition('.')[0] for m in sys.modules}} & {heavy!r}))"
    run = [sys.executable, "-c", code]
    answer = subprocess.run(run, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@pytest.mark.slow
def test_no_statement_numbers_its_placeholders() -> None:
    """Python 3.12.0 to 3.12.3 warns of `?1` with a sequence. Write `?` in order, or `:name`."""
    numbered = {
        f"{path.relative_to(ROOT)}: {text}"
        for member in MEMBERS
        for path in modules(member)
        for text in source_of(path).strings
        if re.search(r"\?\d", text)
    }
    assert not numbered
