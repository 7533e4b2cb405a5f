"""One decorator declares an operation and checks each request against the declaration.

It checks role, scope, arguments and body before the view runs. `openapi` writes its document from
the same declaration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, cast

from flask import Response, g, request

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.base.roles import Identity, allows
from deniable_aggregator.collections.registry import UnknownCollection
from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.web import arguments
from deniable_aggregator.web.application import Answers, service
from deniable_gateway.problem import Problem
from deniable_gateway.upload.bearer import presented_hash

if TYPE_CHECKING:
    from deniable_aggregator.base.spans import SpanName

MAX_JSON_BYTES = 16_384
"""Bytes of the longest JSON body; the description of a token needs 200."""

SHOWN_CHARACTERS = 80

View = Callable[..., Response]


@dataclass(frozen=True, slots=True)
class Operation:
    """The declaration of a view: its arguments, answers and refusals."""

    role: str | None
    query: type[Arguments] | None
    body: type[Arguments] | str | None
    max_body: int
    answers: Answers
    problems: frozenset[str]
    tag: str
    act: str | None = None
    narrows: bool = False

    def refusals(self) -> frozenset[str]:
        """Slugs of every problem that the operation may answer, including those of its checks."""
        implied = {"internal"}
        if self.role is not None:
            implied |= {"unauthorized", "forbidden", "damaged"}
        if self.query is not None or isinstance(self.body, type):
            implied.add("invalid-argument")
        if self.body is not None:
            implied |= {"unsupported-media-type", "too-large", "invalid-message", "length-required"}
        return self.problems | implied


def operation(  # noqa: PLR0913  (a declaration: each use names a few)
    *,
    tag: str,
    role: str | None = None,
    query: type[Arguments] | None = Arguments,
    body: type[Arguments] | str | None = None,
    max_body: int = MAX_JSON_BYTES,
    answers: Answers,
    problems: tuple[str, ...] = (),
    act: str | None = None,
    narrows: bool = False,
    exempt: Callable[[], bool] | None = None,
    span: SpanName | None = None,
) -> Callable[[View], View]:
    """Check role and arguments, then call the view, with `query=` and `body=` if it takes them.

    `query`: a Struct; None ignores the query string, the default refuses any argument.
    `body`: a Struct for JSON, `arguments.Open` of it to allow further members, or the media type
    of bytes. A body longer than `max_body` bytes is refused unread.
    `act`: the name of the action in the audit log. The view gets the entry as `audit=` and passes
    it to the function that does the action.
    `narrows`: the view itself shows less to a token that is limited to collections. Without it
    such a token may only call operations on one of its collections.
    `exempt`: a request for which it returns True needs no role. `span`: the name in traces.
    """
    declared = Operation(
        role, query, body, max_body, answers, frozenset(problems), tag, act, narrows
    )

    def decorate(view: View) -> View:
        def check_and_call(**path: str) -> Response:
            if declared.role is None or (exempt is not None and exempt()):
                return view(**path, **_parse_arguments(declared))
            who = require(declared.role)
            path = _restrict_path(who, path, narrows=declared.narrows)
            given = _parse_arguments(declared)
            if declared.act is None:
                return view(**path, **given)
            entry = AuditEntry.of(declared.act, actor=str(who), at=service().clock(), **path)
            return view(**path, **given, audit=entry)

        decorated = wraps(view)(
            check_and_call if span is None else _with_span(span, check_and_call)
        )
        decorated.operation = declared  # type: ignore[attr-defined]  # a function may have attributes
        return decorated

    return decorate


def _with_span(act: SpanName, view: View) -> View:
    """Wrap the view in a span, which also covers refusals of its checks."""

    def call_in_span(**path: str) -> Response:
        with service().tracer.span(act) as span:
            registered = service().registry.lookup(path["collection"])
            span.collection = None if registered is None else registered.id
            response = view(**path)
            span.outcome = "answered"
            return response

    return call_in_span


def operation_of(view: object) -> Operation | None:
    """The declaration of a decorated view; None for other views."""
    return cast("Operation | None", getattr(view, "operation", None))


def require(role: str) -> Identity:
    """The identity of the token. Raises unauthorized or forbidden unless it covers `role`."""
    header = request.headers.get("Authorization")
    token = service().tokens.authenticate(header)
    if token is None:
        wanted = f"this needs a valid token of role {role} or above"
        raise Problem(
            "unauthorized",
            f"{wanted}: send the header “Authorization: Bearer dn_…”"
            if presented_hash(header) is None
            else f"{wanted}, and the one that was sent is unknown here, was revoked or has expired",
        )
    if not allows(token.role, role):
        raise Problem("forbidden", f"this needs role {role} or above, the token has {token.role}")
    g.caller = token.identity
    return token.identity


def caller() -> Identity:
    """The identity that made this request, in an operation that needs a role."""
    return cast("Identity", g.caller)


def require_collection(collection: str) -> None:
    """Raises forbidden unless the caller's token may see the collection of this id."""
    if not caller().may_see(collection):
        raise Problem("forbidden", f"this token may not see {collection[:SHOWN_CHARACTERS]!r}")


def _restrict_path(who: Identity, path: dict[str, str], *, narrows: bool) -> dict[str, str]:
    """The path's arguments; for a limited caller a name becomes the id that was checked.

    The name could move to another collection before the view looks it up.
    """
    if who.collections is None or narrows:
        return path
    if "collection" not in path:
        raise Problem(
            "forbidden", "this needs a token for all collections, the token is limited to some"
        )
    try:
        collection_id = service().registry.get(path["collection"]).id
    except UnknownCollection:
        collection_id = path["collection"]
    require_collection(collection_id)
    return {**path, "collection": collection_id}


def _parse_arguments(declared: Operation) -> dict[str, object]:
    view_arguments: dict[str, object] = {}
    if declared.query is not None:
        query = arguments.from_query(request, declared.query)
        if declared.query is not Arguments:
            view_arguments["query"] = query
    if declared.body is not None:
        request.max_content_length = declared.max_body
        view_arguments["body"] = _body(declared.body)
    return view_arguments


def _body(expected: type[Arguments] | str) -> object:
    if isinstance(expected, str):
        return arguments.body(request, media_type=expected)
    if not expected.__struct_config__.forbid_unknown_fields:
        return arguments.from_open_json(request, expected)
    return arguments.from_json(request, expected)
