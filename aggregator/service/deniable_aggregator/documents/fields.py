"""The fields that several documents and arguments share.

An argument's `description` is the `accepted` of its error.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

EpochOrDate = Annotated[
    str,
    Meta(
        pattern="^([0-9]{1,10}|[0-9]{4}-[0-9]{2}-[0-9]{2})$",
        description="an epoch index (0 to 4294967295) or a date (YYYY-MM-DD, UTC)",
    ),
]
Confidence = Annotated[float, Meta(ge=0.5, le=0.9999, description="a number from 0.5 to 0.9999")]
Family = Annotated[
    Literal["each", "all"],
    Meta(description="each (an interval a label) or all (intervals that hold together)"),
]
Tables = Annotated[
    list[str],
    Meta(
        max_length=64,
        description="names of attributes of a record, with commas: the table of these; repeatable",
    ),
]
Candidates = Annotated[
    list[str],
    Meta(
        max_length=1000,
        description="up to 1,000 texts that an answer may be, of a collection of texts; repeatable",
    ),
]
Identifier = Annotated[
    str, Meta(description="id of the collection, which names its exact definition")
]


LATER = {"x-later": True}
"""Marks a later member: answers always have it; its default is for answers of older services."""


class Arguments(Struct, forbid_unknown_fields=True, frozen=True):
    """No argument at all; the base of those that take some."""
