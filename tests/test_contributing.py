"""What contributors read and run agrees: justfile, hooks, CI, workflow, changelogs, pages."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.processes.installed_programs import accepted, program

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MEMBERS = PROJECT["tool"]["uv"]["workspace"]["members"]
GROUPS = PROJECT["dependency-groups"]
MARKERS = {each.partition(":")[0] for each in PROJECT["tool"]["pytest"]["ini_options"]["markers"]}
SCRIPTS = sorted((ROOT / ".ci").iterdir())
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
FORMS = ROOT / ".github" / "ISSUE_TEMPLATE"
PAGES = ["CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "README.md", "RELEASING.md", "SECURITY.md"]
SHIPPED_BY = {
    "deniable": "deniable-aggregator",
    "lint-imports": "import-linter",
    "sphinx-build": "sphinx",
}
"""Commands that are not called like the distribution that has them."""


def recipes() -> dict[str, list[str]]:
    """The commands of each recipe, as they are in the justfile."""
    text = (ROOT / "justfile").read_text()
    found = re.findall(r"^# .+\n@?(\w+)[^:\n]*:\n((?: {4}.+\n)+)", text, re.M)
    heads = re.findall(r"^@?(\w+)[^:\n]*:$", text, re.M)
    assert [name for name, _ in found] == heads, "a recipe has no comment: `just` would not say it"
    return {name: [line.strip() for line in body.splitlines()] for name, body in found}


RECIPES = recipes()
LINES = [(name, line) for name, body in RECIPES.items() for line in body]
CI = (ROOT / ".ci" / "run").read_text()
CHECKED = {
    name for each in re.findall(r"uv run --no-sync just ([a-z ]+)", CI) for name in each.split()
}
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]


def declared() -> set[str]:
    """Every distribution that a group or the root of the workspace names."""
    named = [*PROJECT["project"]["dependencies"], *(r for group in GROUPS.values() for r in group)]
    return {re.split(r"[\[<>=!~; ]", each)[0] for each in named if isinstance(each, str)}


def workflow() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text())
    return document


def named_recipes(text: str) -> set[str]:
    return set(re.findall(r"(?:^|[`( ])just ((?!--)[a-z]+)(?= |`|$)", text, re.M))


def test_a_recipe_calls_what_is_there() -> None:
    assert LINES
    for recipe, line in LINES:
        words = shlex.split(line)
        if words[:2] == ["uv", "run"]:
            tool = next(word for word in words[2:] if not word.startswith("-"))
            assert SHIPPED_BY.get(tool, tool) in declared(), f"no dependency group brings {tool}"
        elif words[:2] == ["npm", "--prefix"]:
            scripts = json.loads((ROOT / words[2] / "package.json").read_text())["scripts"]
            assert words[3] == "ci" or words[4] in scripts, f"just {recipe}: no such script"
        elif words[0] not in {"just", "uv"}:
            can_be_run = os.access(ROOT / words[0], os.X_OK)
            assert can_be_run, f"just {recipe} calls {words[0]}, which cannot be run"


def test_a_recipe_names_groups_markers_and_paths_that_exist() -> None:
    assert LINES
    for recipe, line in LINES:
        groups = set(re.findall(r"--group (\S+)", line))
        assert groups <= GROUPS.keys(), f"just {recipe}: no such group in pyproject.toml"
        for expression in re.findall(r"-m [\"'](.+?)[\"']|-m (\w+)", line):
            words = set(re.findall(r"\w+", "".join(expression))) - {"and", "not", "or"}
            assert words <= MARKERS, f"just {recipe}: no such marker in pyproject.toml"
        paths = [word for word in shlex.split(line) if "/" in word]
        assert [path for path in paths if not (ROOT / path).exists()] == [], f"just {recipe}"


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_is_a_recipe_that_ci_runs_too(hook: dict[str, Any]) -> None:
    assert hook["entry"] == f"uv run --no-sync just {hook['id']}"
    assert hook["language"] == "system", "another language would bring other versions than uv's"
    assert hook["id"] in CHECKED, f".ci/run does not check {hook['id']}"


def test_ci_runs_recipes_and_no_checker_of_its_own() -> None:
    assert RECIPES.keys() >= CHECKED
    assert {"alone", "imports", "lint", "types"} <= CHECKED
    assert not re.search(r"\b(?:ruff|mypy|lint-imports)\b", CI), "put it into the justfile"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_of_ci_can_be_run_and_stops_at_the_first_error(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert "\nset -euo pipefail\n" in script.read_text()
    subprocess.run(["bash", "-n", script], check=True)  # noqa: S607  (bash is on every PATH)


@pytest.mark.slow
def test_the_workflow_fits_its_schema() -> None:
    checker = program("check-jsonschema", "uv sync --group deploy")
    accepted(checker, "--builtin-schema", "vendor.github-workflows", WORKFLOW)


@pytest.mark.slow
def test_issue_forms_fit_their_schemas() -> None:
    checker = program("check-jsonschema", "uv sync --group deploy")
    config = FORMS / "config.yml"
    forms = sorted({*FORMS.glob("*.yml")} - {config})
    assert forms
    accepted(checker, "--builtin-schema", "vendor.github-issue-config", config)
    accepted(checker, "--builtin-schema", "vendor.github-issue-forms", *forms)


def test_the_workflow_runs_ci_and_recipes_that_exist() -> None:
    jobs = workflow()["jobs"]
    runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert any(run.endswith(".ci/run") for run in runs)
    assert named_recipes("\n".join(runs)) <= RECIPES.keys()
    paths = re.findall(r"tests/\S+", "\n".join(runs))
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_workflow_begins_with_the_oldest_python_that_is_supported() -> None:
    pythons = workflow()["jobs"]["all"]["strategy"]["matrix"]["python"]
    assert pythons == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["project"]["requires-python"] == f">={pythons[0]}"
    assert workflow()["jobs"]["oldest"]["env"]["UV_PYTHON"] == pythons[0]


def test_the_workflow_can_write_nothing() -> None:
    assert workflow()["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_recipes_and_paths_that_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    unknown = named_recipes(text) - RECIPES.keys()
    assert unknown == set(), f"{page}: `just` has no such recipe"
    paths = re.findall(r"`((?:\.?[a-z_]+/)[\w./-]*)`", text)
    new = [path for path in paths if "/changelog.d/" not in path and path != "x/"]
    assert [path for path in new if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", ["changelog", "sbom"])
def test_a_script_over_all_distributions_leaves_none_out(name: str) -> None:
    listed = re.search(r"^for \w+ in (.+); do", (ROOT / ".ci" / name).read_text(), re.M)
    projects = [tomllib.loads((ROOT / each / "pyproject.toml").read_text()) for each in MEMBERS]
    names = [project["project"]["name"].removeprefix("deniable-") for project in projects]
    wanted = MEMBERS if name == "changelog" else names
    assert listed
    assert sorted(listed[1].split()) == sorted(wanted)


@pytest.mark.parametrize("member", MEMBERS)
def test_a_changelog_takes_fragments_of_the_known_types(member: str) -> None:
    settings = PROJECT["tool"]["towncrier"]
    assert (ROOT / member / settings["filename"]).read_text().count(settings["start_string"]) == 1
    types = "|".join(each["directory"] for each in settings["type"])
    names = [path.name for path in (ROOT / member / settings["directory"]).iterdir()]
    assert ".gitkeep" in names, "git would forget the folder after a release"
    wrong = [name for name in names if not re.fullmatch(rf"\.gitkeep|[\w+-]+\.({types})\.md", name)]
    assert wrong == [], f"name a fragment NUMBER.TYPE.md or +WORDS.TYPE.md, TYPE one of {types}"


def test_the_present_version_is_supported() -> None:
    project = tomllib.loads((ROOT / "shared" / "pyproject.toml").read_text())["project"]
    series = project["version"].rpartition(".")[0]
    assert f"| {series}.x | yes |" in (ROOT / "SECURITY.md").read_text()
