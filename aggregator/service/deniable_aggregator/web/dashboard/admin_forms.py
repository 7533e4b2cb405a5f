"""What an administrator's form does: who may, what was filled in, and the entry of the audit log.

Like the API's operations: the entry is made here, and written by the transaction that does the act.
An identity that is limited to some collections administers nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec
from flask import request
from msgspec import Meta

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.web.application import service
from deniable_aggregator.web.arguments import from_pairs
from deniable_aggregator.web.auth.csrf import FIELD
from deniable_aggregator.web.auth.guard import current_identity
from deniable_aggregator.web.dashboard.page import Context
from deniable_gateway.problem import Problem, refuse

if TYPE_CHECKING:
    from deniable_aggregator.base.roles import Identity

ACT = "act"
"""The field of a form that says which of the page's acts it is for."""

_NOT_OF_A_FORM = ("forbidden", "unauthorized", "unavailable", "internal")
_NEVER_SHOWN = (FIELD, ACT, "password")
_WRITTEN = ("label", "expires_days", "name", "password", "day", "text", "url", "risk", "periods")
"""Fields that people write; a refusal of one is said there."""


class Identifier(Arguments, frozen=True):
    """What an act is about, as the list shows it."""

    id: Annotated[str, Meta(max_length=64, description="what the list shows")]


Form = TypeVar("Form", bound=msgspec.Struct)
Action = Callable[[AuditEntry], Context]
"""Does it with this entry, and says what the page shows of it this once."""


def administrator() -> Identity:
    """The visitor, if they may see every collection; else Problem("forbidden")."""
    visitor = current_identity()
    if visitor is None or visitor.collections is not None:
        raise Problem(
            "forbidden", "this page covers all questions, and your access is limited to some"
        )
    return visitor


def read_form(model: type[Form]) -> Form:
    """The form as a Struct; fields left empty were not filled in. Problem("invalid-argument")."""
    given = [
        (name, [each for each in values if each])
        for name, values in request.form.lists()
        if name not in (FIELD, ACT)
    ]
    return from_pairs([(name, values) for name, values in given if values], model)


@dataclass(frozen=True, slots=True)
class FormRefusal:
    """A form that did nothing: its act, what was filled in, and what is wrong with which field.

    `text` is about none of its fields; empty where one is marked.
    """

    act: str
    filled: Mapping[str, str]
    wrong: Mapping[str, str]
    text: str


def refused_form(problem: Problem) -> Context:
    """What a page shows of a refusal next to its form; raises what is not about the form."""
    if problem.slug in _NOT_OF_A_FORM:
        raise problem
    name, _, rest = problem.detail.partition(" ")
    marked = name in _WRITTEN
    text = f"{problem.detail[:1].upper()}{problem.detail[1:]}"
    refusal = FormRefusal(
        act=request.form.get(ACT, ""),
        filled={field: text for field, text in request.form.items() if field not in _NEVER_SHOWN},
        wrong={name: f"{rest[:1].upper()}{rest[1:]}"} if marked else {},
        text="" if marked else text,
    )
    return {"refusal": refusal, "status": problem.status}


def perform(actions: Mapping[str, Action]) -> Context:
    """Do what the form asks for, as an act of the audit log."""
    return _perform(administrator(), actions)


def perform_in(actions: Mapping[str, Action], roles: Mapping[str, str]) -> Context:
    """The same on a page of one collection; `roles` has the acts that need more than the page."""
    visitor = current_identity()
    needed = roles.get(request.form.get(ACT, ""), "analyst")
    if visitor is None or not visitor.may(needed):
        raise Problem("forbidden", f"this needs role {needed} or above")
    return _perform(visitor, actions)


def _perform(visitor: Identity, actions: Mapping[str, Action]) -> Context:
    name = request.form.get(ACT, "")
    if name not in actions:
        raise refuse(ACT, accepted=f"one of {', '.join(actions)}", given=name)
    return actions[name](AuditEntry.of(name, actor=str(visitor), at=service().clock()))
