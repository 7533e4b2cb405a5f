"""Keys: those that reports are sealed to, how long their list holds, and the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Response, request

from deniable_aggregator.documents.collections import RotateArguments
from deniable_aggregator.keys.rotation import PENDING_SECONDS
from deniable_aggregator.web.application import service
from deniable_aggregator.web.auth.guard import see_other
from deniable_aggregator.web.dashboard.admin_forms import administrator, perform, read_form
from deniable_aggregator.web.dashboard.page import Context, Page, Post

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.access.audit import AuditEntry
    from deniable_aggregator.documents.fields import Arguments

SUITES: Mapping[int, str] = {1: "X25519", 2: "MLKEM768-X25519"}


def view(query: Arguments) -> Context:  # noqa: ARG001  (every view takes the query)
    """The keys of the current list, the newest first."""
    administrator()
    keys = service().keys
    return {
        "keys": keys,
        "standings": sorted(keys.listed_keys, key=lambda each: (-each.since, -each.key.id)),
        "suites": SUITES,
        "pending_seconds": PENDING_SECONDS,
        "rotate_days": service().settings.rotate_keys_days,
    }


def act() -> Response:
    """Make the next key of a suite, or show the one that is pending."""
    perform({"key-rotated": _rotate})
    return see_other(request.path)


def _rotate(audit: AuditEntry) -> Context:
    rotation = read_form(RotateArguments)
    service().rotate_key(rotation.suite, at_once=rotation.now, audit=audit)
    return {}


PAGE = Page(
    path="/keys",
    title="Keys",
    view=view,
    role="admin",
    menu=80,
    operates=True,
    post=Post("admin", act),
)
