"""Addresses of the service: the operations of its OpenAPI document, and its pages."""

from __future__ import annotations

import inspect
import json
import re
from functools import cache
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any

from deniable_aggregator.web.api.openapi import describe
from deniable_aggregator.web.api.operations import operation_of
from deniable_aggregator.web.app import create_app
from deniable_aggregator.web.dashboard.pages import pages
from deniable_shared.wire.problems import PROBLEM_MEDIA_TYPE
from site_reference.markdown import code, table
from site_reference.service import empty_service

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from flask import Flask

Row = tuple[str, str, str, str]
"""Path, method, role, what it answers."""

UPLOAD_ROLE = "public, or relay"


def table_of_all() -> str:
    """A row for each address: operations first, then pages."""
    return table(
        ["address", "role", "answers"],
        [[code(f"{method} {path}"), role, said] for path, method, role, said in sorted(rows())],
    )


@cache
def rows() -> tuple[Row, ...]:
    """Every address that is no static file."""
    with empty_service() as service:
        app = create_app(service)
        with app.app_context():
            paths = describe(app)["paths"]
        return tuple(_rows(app, paths))


def _rows(app: Flask, paths: Mapping[str, Any]) -> Iterator[Row]:
    for rule in app.url_map.iter_rules():
        path = rule.rule.replace("<path:", "<").replace("<", "{").replace(">", "}")
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            described = paths.get(path, {}).get(method.lower())
            if described is not None:
                role = _role(app.view_functions[rule.endpoint], path)
                yield path, method, role, described["summary"]
            elif not rule.endpoint.endswith(".static"):
                yield path, method, *_page(app, rule.endpoint)


def _role(view: object, path: str) -> str:
    declared = operation_of(view)
    if declared is None:
        return UPLOAD_ROLE if path.endswith("/reports") else "public"
    return declared.role or "public"


def _page(app: Flask, endpoint: str) -> tuple[str, str]:
    """The role and the purpose of a page, or of its form."""
    name = endpoint.rpartition(".")[2]
    page = pages().get(name.removesuffix("_post"))
    if page is None:
        return "public", _first_sentence(app.view_functions[endpoint])
    if page.post is not None and name.endswith("_post"):
        return page.post.role, f"The forms of the page “{page.title}”"
    return page.role or "public", f"Page. {_purpose(name)}"


def _purpose(page: str) -> str:
    """The first line of the module of a page."""
    said = inspect.getdoc(import_module(f"{pages.__module__}.{page}")) or ""
    return said.partition("\n")[0].rstrip(".")


def _first_sentence(view: object) -> str:
    text = (view.__doc__ or "the chart of a public question, for frames of other sites").strip()
    return text.partition("\n")[0].rstrip(".")


@cache
def openapi() -> Mapping[str, Any]:
    """The document at /openapi.json."""
    with empty_service() as service:
        app = create_app(service)
        with app.app_context():
            return describe(app)


def operations() -> str:
    """A section for each operation, by the tag of its readers."""
    each = [
        (method.upper(), path, described)
        for path, methods in openapi()["paths"].items()
        for method, described in methods.items()
    ]
    each.sort(key=lambda entry: entry[2]["tags"][0])
    return "\n".join(
        f"## For {tag}\n\n" + "\n".join(map(_operation, group))
        for tag, group in groupby(each, key=lambda entry: entry[2]["tags"][0])
    )


def _operation(entry: tuple[str, str, Mapping[str, Any]]) -> str:
    method, path, described = entry
    parts = [
        f"### `{method} {path}`",
        described["summary"],
        described.get("description", ""),
        _parameters(described.get("parameters", [])),
        f"Body: {_content(described['requestBody'])}." if "requestBody" in described else "",
        _answers(described["responses"]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _parameters(parameters: list[Mapping[str, Any]]) -> str:
    rows = [
        [code(each["name"]), each["in"], _default(each["schema"]), each.get("description", "")]
        for each in parameters
    ]
    return table(["parameter", "in", "default", "is"], rows) if rows else ""


def _default(schema: Mapping[str, Any]) -> str:
    return code(json.dumps(schema["default"])) if schema.get("default") not in (None, []) else ""


def _answers(responses: Mapping[str, Any]) -> str:
    """A row for each answer; problems are one line."""
    said = " ".join(a["description"] for a in responses.values() if _is_problem(a))
    problems = [f"[`{slug}`](problems.md)" for slug in re.findall(r"problem:([a-z-]+)", said)]
    rows = [[s, _content(a)] for s, a in responses.items() if not _is_problem(a)]
    return f"{table(['status', 'answer'], rows)}\nProblems: {', '.join(problems)}"


def _is_problem(answer: Mapping[str, Any]) -> bool:
    return PROBLEM_MEDIA_TYPE in answer.get("content", {})


def _content(holder: Mapping[str, Any]) -> str:
    """Media types with the documents that they hold."""
    content = holder.get("content", {})
    return "; ".join(
        f"`{media}` {_names(each.get('schema', {}))}".rstrip() for media, each in content.items()
    )


def _names(schema: Mapping[str, Any]) -> str:
    refs = [each["$ref"] for each in [schema, *schema.get("anyOf", [])] if "$ref" in each]
    names = [ref.rpartition("/")[2] for ref in refs]
    return " or ".join(f"[{name}](documents.md#{name.lower()})" for name in names)


def documents() -> str:
    """A section for each schema: its fields, their types and meanings."""
    schemas = openapi()["components"]["schemas"]
    return "\n".join(_document(name, schema) for name, schema in sorted(schemas.items()))


def _document(name: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [
        [code(field), _type(of), "yes" if field in required else "", of.get("description", "")]
        for field, of in schema.get("properties", {}).items()
    ]
    fields = table(["field", "type", "always there", "is"], rows) if rows else ""
    return "\n\n".join(p for p in (f"## {name}", schema.get("description", ""), fields) if p) + "\n"


def _type(schema: Mapping[str, Any]) -> str:
    """In words: a list of, one of, null."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(code(str(each)) for each in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {})) or 'anything'}"
    return str(schema.get("type", ""))
