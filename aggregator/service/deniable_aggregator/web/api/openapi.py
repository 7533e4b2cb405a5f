"""Writes the OpenAPI 3.1 document from the declarations that operations are checked by."""

from __future__ import annotations

import threading
from functools import cache
from http import HTTPStatus
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import msgspec
from flask import Blueprint, Flask, Response, current_app

from deniable_aggregator.documents.collections import ProblemDocument
from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.web.api.openapi_fragments import (
    BODY_SCHEMAS,
    PATH_PARAMETERS,
    UPLOAD_PATH,
    Document,
    problem_responses,
    upload_operation,
)
from deniable_aggregator.web.api.operations import Operation, operation, operation_of
from deniable_aggregator.web.application import JSON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

blueprint = Blueprint("description", __name__)

BEARER = "bearer"
SCHEMA_REF = "#/components/schemas/{name}"

_rendering = threading.Lock()
"""Rendering takes half a second: requests that come meanwhile wait for the one document."""


@blueprint.get("/openapi.json")
@operation(tag="operations", query=None, answers={200: {JSON: ()}})
def openapi() -> Response:
    """This document."""
    return Response(_render_document(), content_type=JSON)


def _render_document() -> bytes:
    with _rendering:
        return _render_once()


@cache  # equal for every application: it depends only on the code
def _render_once() -> bytes:
    return msgspec.json.encode(describe(current_app))


def describe(app: Flask) -> Document:
    """The document of an application: spectree's draft, completed. Needs the app's context."""
    operations = {
        endpoint: promised
        for endpoint, view in app.view_functions.items()
        if (promised := operation_of(view)) is not None
    }
    described = _draft(app, operations)
    for rule in app.url_map.iter_rules():
        if rule.endpoint in operations:
            path = rule.rule.replace("<", "{").replace(">", "}")
            for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
                _complete(described["paths"][path][method.lower()], operations[rule.endpoint])
    described["paths"][UPLOAD_PATH] = {"post": upload_operation(BEARER)}
    described["components"]["schemas"] |= _schemas(operations.values())
    described["paths"] = dict(sorted(described["paths"].items()))
    return described


def _draft(app: Flask, operations: Mapping[str, Operation]) -> Document:
    """Paths, arguments and schemas as spectree reads them off the Structs."""
    from spectree import SecurityScheme, SpecTree
    from spectree.model_adapter import get_msgspec_model_adapter
    from spectree.models import SecureType, SecuritySchemeData
    from spectree.plugins.flask_plugin import FlaskPlugin

    class Views(FlaskPlugin):
        """Describes wrapped copies, so that the application keeps its own views."""

        copies: Mapping[str, Callable[..., Any]] = {}

        def parse_func(self, route: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
            """Each method of a route, and the view that its description is made from."""
            if route.endpoint in self.copies:
                yield from ((method, self.copies[route.endpoint]) for method in route.methods)

    scheme = SecuritySchemeData(type=SecureType.HTTP, scheme="bearer", bearer_format="dn_…")
    tree = SpecTree(
        backend=Views,
        model_adapter=get_msgspec_model_adapter(),
        mode="strict",
        annotations=False,
        title="deniable aggregator",
        description="Collections, uploads of randomized reports, debiased estimates.",
        version=version("deniable-aggregator"),
        security_schemes=[SecurityScheme(name=BEARER, data=scheme)],
        naming_strategy=lambda model: model.__name__,
        nested_naming_strategy=lambda _parent, child: child,
    )
    descriptions = {name: str(p["description"]) for name, p in PATH_PARAMETERS.items()}
    Views.copies = {
        endpoint: tree.validate(
            query=None if promised.query is Arguments else promised.query,
            json=promised.body if isinstance(promised.body, type) else None,
            tags=[promised.tag],
            operation_id=endpoint.rpartition(".")[2],
            path_parameter_descriptions=descriptions,
            skip_validation=True,
        )(app.view_functions[endpoint])
        for endpoint, promised in operations.items()
    }
    draft: Document = tree.spec
    return draft


def _complete(described: Document, promised: Operation) -> None:
    """Add what spectree does not know: roles, media types, refusals."""
    described["security"] = [] if promised.role is None else [{BEARER: []}]
    if promised.role is not None:
        needs = f"Needs a token of role {promised.role} or above."
        described["description"] = f"{described['description']}\n\n{needs}".strip()
    for parameter in described["parameters"]:
        if parameter["in"] == "path":
            parameter["schema"] = PATH_PARAMETERS[parameter["name"]]["schema"]
    if isinstance(promised.body, str):
        content = {promised.body: {"schema": BODY_SCHEMAS[promised.body]}}
        described["requestBody"] = {"required": True, "content": content}
    described["responses"] = {
        **{str(status): _response(status, media) for status, media in promised.answers.items()},
        **problem_responses(promised.refusals()),
    }


def _response(status: int, media: Mapping[str, tuple[type[msgspec.Struct], ...]]) -> Document:
    answer: Document = {"description": HTTPStatus(status).phrase}
    if media:
        answer["content"] = {kind: {"schema": _schema(kind, s)} for kind, s in media.items()}
    return answer


def _schema(kind: str, structs: tuple[type[msgspec.Struct], ...]) -> Document:
    refs: list[Document] = [{"$ref": SCHEMA_REF.format(name=s.__name__)} for s in structs]
    if not refs:
        return {"type": "object"} if kind.endswith("json") else {"type": "string"}
    return refs[0] if len(refs) == 1 else {"anyOf": refs}


def _schemas(operations: Any) -> Document:
    structs: set[type[msgspec.Struct]] = {ProblemDocument}
    for promised in operations:
        for media in promised.answers.values():
            structs.update(struct for kinds in media.values() for struct in kinds)
    _, components = msgspec.json.schema_components(
        sorted(structs, key=lambda struct: struct.__name__), ref_template=SCHEMA_REF
    )
    for schema in components.values():
        _require_later_members(schema)
    return components


def _require_later_members(schema: Document) -> None:
    """Mark members with defaults as required: answers always have them."""
    properties = schema.get("properties", {})
    later = [name for name, member in properties.items() if member.pop("x-later", False)]
    for name in later:
        del properties[name]["default"]
    if later:
        sent = {*schema["required"], *later}
        schema["required"] = [name for name in properties if name in sent]
