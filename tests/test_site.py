"""The site: what is written from the sources is complete, and every link leads somewhere."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import click
import pytest

import site_reference
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.cli import main
from deniable_aggregator.collections.authoring.toml_keys import KEYS
from deniable_aggregator.operations.service import Service
from deniable_aggregator.releases.kinds import RELEASE_KINDS
from deniable_aggregator.web.app import create_app
from deniable_client.outcome import Outcome
from deniable_shared.manifest.fields import FIELDS
from deniable_shared.wire.problems import PROBLEMS, ReportError
from site_pages import ITEM, LISTED, as_rst, for_site
from support.builders.api_world import prepared
from support.oracles.markdown_pages import PAGES, ROOT, headings, links, slugs

REFERENCE = ROOT / "docs" / "reference"


@cache
def reference(name: str) -> str:
    """A page with what is written from the sources."""
    return site_reference.expanded((REFERENCE / f"{name}.md").read_text())


def rows(page: str) -> dict[str, list[str]]:
    """The name in the first cell → the other cells, of every table."""
    lines = re.findall(r"^\| \[?`(.+?)`(?:\]\(.+?\))? \| (.*) \|$", reference(page), re.M)
    return {name: rest.split(" | ") for name, rest in lines}


def commands(group: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command that does something, as its words; the kinds of `releases quote` once."""
    if isinstance(group, click.Group) and path != ("releases", "quote"):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield from commands(command, (*path, name))
    else:
        yield path


def test_every_command_has_a_row_and_a_section() -> None:
    summaries = rows("commands")
    names = [f"deniable {' '.join(path)}" for path in commands(main)]
    assert len(names) > 60
    for name in names:
        [summary] = summaries[name]
        assert len(summary) > 8, name
        assert f"\n## `{name}`\n\n" in reference("commands")


def test_a_section_of_a_command_has_its_options_and_examples() -> None:
    section = reference("commands").split("\n## `deniable estimates`\n")[1].split("\n## ")[0]
    assert "| `--candidate TEXT` | " in section
    assert "```sh\ndeniable estimates settings\n" in section


def test_every_setting_has_its_default_and_a_meaning() -> None:
    documented = rows("settings")
    for name in Settings.__dataclass_fields__:
        default, meaning = documented[f"DENIABLE_{name.upper()}"]
        value = getattr(Settings(), name)
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        assert default == (f"`{shown}`" if shown else "empty"), name
        assert meaning.endswith("."), name


@pytest.mark.slow
def test_every_address_is_in_the_reference_and_no_other(tmp_path: Path) -> None:
    prepared(tmp_path)
    service = Service.open(Settings(data=tmp_path / "data"))
    rules = list(create_app(service).url_map.iter_rules())
    service.close()
    routes = {
        f"{method} " + re.sub(r"<(?:int:)?(.*?)>", r"{\1}", rule.rule)
        for rule in rules
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if "static" not in rule.endpoint
    }
    assert {name for name in rows("http") if re.match(r"[A-Z]+ /", name)} == routes


@pytest.mark.slow
def test_an_operation_links_to_its_documents_and_problems() -> None:
    section = reference("http").split("### `GET /v1/collections/{collection}/estimates`")[1]
    section = section.split("\n### ")[0]
    assert "[EstimatesDocument](documents.md#estimatesdocument)" in section
    assert "[`too-few-reports`](problems.md)" in section
    assert "| `confidence` | query | `0.95` |" in section


def test_every_problem_is_in_the_reference() -> None:
    documented = rows("problems")
    expected = {
        slug: [str(kind.status), "yes" if kind.retry else "no", kind.title]
        for slug, kind in PROBLEMS.items()
    }
    assert {slug: documented.get(slug) for slug in expected} == expected


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("problems", [f"0x{error:02X}" for error in ReportError]),
        ("toml", KEYS),
        ("toml", [field.path for field in FIELDS]),
        ("outcomes", [f"Outcome.{outcome.name}" for outcome in Outcome]),
        ("release-kinds", RELEASE_KINDS),
    ],
    ids=["errors", "keys", "fields", "outcomes", "kinds"],
)
def test_every_name_has_a_row_with_a_meaning(page: str, names: Iterable[str]) -> None:
    assert [name for name in names if not rows(page)[name][0]] == []


def test_every_part_is_on_one_page() -> None:
    used = chain.from_iterable(site_reference.BLOCK.findall(page.read_text()) for page in PAGES)
    assert sorted(used) == sorted(site_reference.PARTS)


def test_a_part_that_is_none_is_an_error() -> None:
    with pytest.raises(KeyError, match="settigns"):
        site_reference.expanded("```{generated} settigns\n```")


def test_a_library_shows_what_others_call_and_no_single_mechanism() -> None:
    shared = reference("python/shared")
    assert ".. automodule:: deniable_shared.mechanisms\n" in shared
    assert ".. automodule:: deniable_shared.wire.problems\n" in shared
    assert "mechanisms.grr" not in shared
    assert ".. automodule:: deniable_central.accounting\n" in reference("python/central")


def test_only_the_group_docs_installs_sphinx() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    tools = {"furo", "myst-parser", "sphinx", "sphinx-copybutton"}
    asked = {
        name: {re.split(r"[\[<>=]", each)[0] for each in group if isinstance(each, str)}
        for name, group in groups.items()
    }
    assert asked.pop("docs") == tools
    assert {name for name, wanted in asked.items() if wanted & tools} == set()
    assert {"include-group": "docs"} not in [each for group in groups.values() for each in group]


def test_a_docstring_is_shown_as_it_is_written() -> None:
    assert as_rst(["*All* of `a_b`s."]) == [r"\*All\* of `a_b`\ s."]
    shown = as_rst(["As:", "", "    a   b", "", "End."])
    assert shown == ["As:", "", "", "::", "", "    a   b", "", "", "End."]


def test_a_page_for_the_host_becomes_a_page_of_the_site() -> None:
    page = ROOT / "docs" / "index.md"
    pages = {ROOT / "client" / "README.md", ROOT / "docs" / "tutorials" / "index.md"}
    text = "[a](../client) [b](../client/pyproject.toml) [c](tutorials/index.md) [d](nowhere.md)"
    shown = "[a](../client/README.md) b [c](tutorials/index.md) [d](nowhere.md)"
    assert for_site(text, page, pages) == shown


def test_a_picture_follows_the_theme() -> None:
    source, image = '<source media="(x)" srcset="d.png">', '<img alt="A" src="l.png">'
    text = f"<picture>\n  {source}\n  {image}\n</picture>"
    shown = "![A](l.png){.only-light}\n![A](d.png){.only-dark}"
    assert for_site(text, ROOT / "docs" / "index.md", set()) == shown


INDICES = [page for page in PAGES if LISTED in page.read_text()]


@pytest.mark.parametrize("page", INDICES, ids=lambda page: page.parent.name)
def test_an_index_lists_every_page_of_its_folder_once(page: Path) -> None:
    listed = [link for link in ITEM.findall(page.read_text()) if "/" not in link]
    assert sorted(listed) == sorted(each.stem for each in page.parent.glob("*.md") if each != page)


def test_the_menu_of_an_index_has_the_pages_of_its_lists() -> None:
    page = ROOT / "docs" / "how-to" / "index.md"
    text = f"See [a](a.md).\n\n- [b](b.md): more\n- [c](../../deploy/c.md)\n\n{LISTED}"
    menu = "```{toctree}\n:hidden:\n\n/docs/how-to/b\n/deploy/c\n```"
    assert for_site(text, page, set()).endswith(f"\n\n{menu}")


@pytest.mark.slow
def test_every_link_leads_to_a_page_and_to_a_heading() -> None:
    dead = {str(page.relative_to(ROOT)): dead_links(page, page.read_text()) for page in PAGES}
    assert len(dead) > 200
    assert {page: links for page, links in dead.items() if links} == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "planted", ["nowhere.md", "settings.md#nothing", "#nothing", "../python/", "x.png"]
)
def test_a_link_that_leads_nowhere_is_seen(planted: str) -> None:
    page = REFERENCE / "http.md"
    text = f"# A\n\n[`a`]({planted}), [b](http.md#addresses), [c](#a) and [d](https://e.org)."
    assert dead_links(page, text) == [planted]


def dead_links(page: Path, text: str) -> list[str]:
    """Those that lead to no file, and those to no heading of a page."""
    whole = site_reference.expanded(text)
    own = set(slugs(headings(whole)))
    return [
        f"{path}{heading}"
        for path, heading in links(whole)
        if not (leads_on(page.parent / path, heading) if path else heading[1:] in own)
    ]


def leads_on(target: Path, heading: str) -> bool:
    """Whether the file is there, and the heading in it if it is a page."""
    if not target.exists() or not heading or target.suffix != ".md":
        return target.exists()
    return heading[1:] in anchors(target.resolve())


@cache
def anchors(page: Path) -> set[str]:
    return set(slugs(headings(site_reference.expanded(page.read_text()))))
