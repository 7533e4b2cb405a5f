"""Parses query arguments and JSON bodies into Structs. Errors name the argument and its values."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from deniable_gateway.problem import SHOWN_CHARACTERS, Problem, refuse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flask import Request

Parsed = TypeVar("Parsed", bound=msgspec.Struct)

_FIELD_OF = re.compile(r" - at `\$\.?([^`]*)`$")
_MISSING = re.compile(r"^Object missing required field `([^`]+)`")
_UNKNOWN = re.compile(r"^Object contains unknown field `([^`]+)`")


def from_query(request: Request, model: type[Parsed]) -> Parsed:
    """The query as `model`. Raises invalid-argument if one is unknown, repeated or out of range.

    A field that is a list may be given more than once.
    """
    return from_pairs(request.args.lists(), model)


def from_pairs(pairs: Iterable[tuple[str, list[str]]], model: type[Parsed]) -> Parsed:
    """The pairs of names and values as `model`; raises as `from_query`."""
    accepted_by_name = _descriptions(model)
    values: dict[str, str | list[str]] = {}
    for name, given in pairs:
        if name not in accepted_by_name:
            raise _unknown(name, accepted_by_name)
        if name in _repeatable(model):
            values[name] = given
            continue
        if len(given) > 1:
            raise refuse(
                name, accepted="given once", given=_given_text(model, name, ", ".join(given))
            )
        values[name] = given[0]
    try:
        return msgspec.convert(values, model, strict=False)
    except msgspec.ValidationError as error:
        raise _problem_of(str(error), model, values) from error


@dataclass(frozen=True, slots=True)
class OpenBody(Generic[Parsed]):
    """A body whose Struct allows further members, and these members."""

    declared: Parsed
    undeclared: Mapping[str, object]


def from_open_json(request: Request, model: type[Parsed]) -> OpenBody[Parsed]:
    """The JSON body of a Struct that allows further members. Raises as `from_json`."""
    data = body(request, media_type="application/json")
    try:
        members = msgspec.json.decode(data, type=dict[str, Any])
        declared = {name: members.pop(name) for name in _descriptions(model) if name in members}
        return OpenBody(msgspec.convert(declared, model), members)
    except msgspec.ValidationError as error:
        raise _problem_of(str(error), model, {}) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise _no_object(model, data) from error


def from_json(request: Request, model: type[Parsed]) -> Parsed:
    """The JSON body. Raises unsupported-media-type, too-large or invalid-argument."""
    data = body(request, media_type="application/json")
    try:
        return msgspec.json.decode(data, type=model)
    except msgspec.ValidationError as error:
        raise _problem_of(str(error), model, {}) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise _no_object(model, data) from error


def body(request: Request, *, media_type: str) -> bytes:
    """The body. Raises Problem if its media type is another or its length is not announced.

    Flask refuses a body longer than `request.max_content_length`. A body without an announced
    length it would silently cut there, hence length-required.
    """
    if request.mimetype != media_type:
        raise Problem(
            "unsupported-media-type",
            f"Content-Type must be {media_type}, got {request.mimetype[:SHOWN_CHARACTERS]!r}",
        )
    if request.content_length is None:
        raise Problem("length-required", "the request must have a Content-Length header")
    return request.get_data(cache=False)


@cache
def _descriptions(model: type[msgspec.Struct]) -> dict[str, str]:
    """Argument → what it accepts, from the `description` of the Struct's fields."""
    return {name: _description(schema) for name, schema in _properties(model).items()}


@cache
def _repeatable(model: type[msgspec.Struct]) -> frozenset[str]:
    """The arguments that are lists."""
    return frozenset(
        name for name, schema in _properties(model).items() if schema.get("type") == "array"
    )


def _properties(model: type[msgspec.Struct]) -> dict[str, dict[str, Any]]:
    (_, components) = msgspec.json.schema_components([model])
    properties: dict[str, dict[str, Any]] = components[model.__name__]["properties"]
    return properties


def _description(schema: dict[str, Any]) -> str:
    choices: Iterable[dict[str, Any]] = [schema, *schema.get("anyOf", [])]
    return next((str(c["description"]) for c in choices if "description" in c), "as documented")


def _no_object(model: type[msgspec.Struct], data: bytes) -> Problem:
    accepted = f"a JSON object with {', '.join(_descriptions(model))}"
    return refuse("body", accepted=accepted, given=f"{len(data)} bytes of something else")


def _unknown(name: str, accepted_names: Iterable[str]) -> Problem:
    names = sorted(accepted_names)
    near = difflib.get_close_matches(name, names, n=1)
    accepted = f"one of {', '.join(names)}" if names else "left out: this address takes none"
    hint = f"; did you mean {near[0]}?" if near else ""
    return refuse(name[:SHOWN_CHARACTERS], accepted=accepted + hint, given=name)


def _problem_of(
    message: str, model: type[msgspec.Struct], values: Mapping[str, str | list[str]]
) -> Problem:
    accepted_by_name = _descriptions(model)
    if unknown := _UNKNOWN.match(message):
        return _unknown(unknown[1], accepted_by_name)
    if missing := _MISSING.match(message):
        return refuse(
            missing[1], accepted=accepted_by_name.get(missing[1], "given"), given="nothing"
        )
    where = _FIELD_OF.search(message)
    name = where[1] if where else ""
    if name not in accepted_by_name:
        return refuse(
            "body", accepted=f"a JSON object with {_name_list(accepted_by_name)}", given=message
        )
    given = _given_text(model, name, values[name]) if name in values else _what(message)
    return refuse(name, accepted=accepted_by_name[name], given=given)


def _given_text(model: type[msgspec.Struct], name: str, given: str | list[str]) -> object:
    """The given value for a refusal; of a password only its length."""
    if _properties(model)[name].get("format") == "password":
        return f"{len(given)} characters"
    return given


def _name_list(names: Iterable[str]) -> str:
    given: Sequence[str] = sorted(names)
    return ", ".join(given)


def _what(message: str) -> str:
    """The message of msgspec, which repeats at most one enum value of a body."""
    return _FIELD_OF.sub("", message)
