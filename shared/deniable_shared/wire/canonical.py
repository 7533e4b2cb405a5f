"""JSON with one spelling: read strictly, written canonically."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from deniable_shared.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_JSON_BYTES = 1 << 20
MAX_DEPTH = 8

_MAX_DIGITS = 19
_MAX_SHOWN = 80
# A string without an end is matched as a whole too, so that nothing is scanned twice.
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)


def canonical_json(document: object) -> bytes:
    """Return the one spelling of a document: sorted keys, no spaces, UTF-8 unescaped."""
    text = json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def strict_json(data: bytes) -> object:
    """Return the document in `data`. Raises DecodeError if it is refused.

    Refused besides bad JSON: more than 1 MiB, duplicate keys, any float, NaN or Infinity, integers
    of more than 19 digits, nesting deeper than 8, text that is not UTF-8 or has lone surrogates.
    """
    if len(data) > MAX_JSON_BYTES:
        raise DecodeError(f"JSON must be at most {MAX_JSON_BYTES} bytes, got {len(data)}")
    try:
        text = data.decode()
        _check_depth(text)
        document = _DECODER.decode(text)
        if "\\u" in text:
            canonical_json(document)
    except DecodeError:
        raise
    except ValueError as error:
        raise DecodeError(f"not JSON in UTF-8: {error}") from error
    return document


def quote(value: object) -> str:
    """Return a short, JSON-like form of a value for error messages."""
    if isinstance(value, int) and value.bit_length() > _MAX_SHOWN:
        return f"a number of {value.bit_length()} bits"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    if isinstance(value, dict | list):
        text = json.dumps(value, ensure_ascii=False, default=str)
    text = {"True": "true", "False": "false", "None": "null"}.get(text, text)
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def _check_depth(text: str) -> None:
    depth = 0
    for token in _BRACKETS.finditer(text):
        character = text[token.start()]
        depth += (character in "[{") - (character in "]}")
        if depth > MAX_DEPTH:
            raise DecodeError(f"JSON must nest at most {MAX_DEPTH} deep")


def _unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise DecodeError(f"field {quote(_first_repeated(pairs))} is given twice")
    return document


def _first_repeated(pairs: Sequence[tuple[str, object]]) -> str:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            return name
        seen.add(name)
    return ""


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise DecodeError(f"integers must have at most {_MAX_DIGITS} digits, got {len(digits)}")
    return int(digits)


def _no_number(text: str) -> object:
    raise DecodeError(f"only integers are accepted, got {quote(text)[1:-1]}: write it as a string")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=_no_number, parse_constant=_no_number
)
