"""The pages that let people in and out: password, one-time link, and the way to a provider.

A link is used by the form's POST, not by opening it: what fetches addresses ahead uses none up.
"""

from __future__ import annotations

from flask import Blueprint, Response, render_template, request, url_for

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.access.sessions import SESSION_SECONDS
from deniable_aggregator.web.application import service
from deniable_aggregator.web.auth.guard import (
    FORM_COOKIE,
    SESSION_COOKIE,
    current_identity,
    current_session,
    see_other,
    set_cookie,
    sign_ins,
)

blueprint = Blueprint("signin", __name__)

WRONG = "This name and password do not go together."
USED = "This link was used already, or its time is over: ask for another."
SLOW = "Too many attempts: try again in a minute."


@blueprint.get("/sign-in")
def page() -> Response:
    """The form; behind a one-time link a form with one button."""
    link = request.args.get("link", "")
    if link and not service().sessions.holds(link):
        return sign_in_page(USED, 410)
    return sign_in_page(link=link)


@blueprint.post("/sign-in")
def sign_in() -> Response:
    """Begin a session, or show the form again with the reason."""
    if "link" in request.form:
        secret = service().sessions.use_link(request.form["link"])
        return sign_in_page(USED, 410) if secret is None else start_session(secret)
    name, password = request.form.get("name", ""), request.form.get("password", "")
    if not sign_ins().admits(request.remote_addr or "", name):
        return sign_in_page(SLOW, 429)
    with sign_ins().turn() as admitted:
        if not admitted:
            return sign_in_page(SLOW, 429)
        user = service().users.recognize(name, password)
    if user is None:
        _record_failure(name)
        return sign_in_page(WRONG, 403)
    secret = service().sessions.begin(user.name, user.role, user.collections, via="password")
    return sign_in_page(WRONG, 403) if secret is None else start_session(secret)


def _record_failure(name: str) -> None:
    """Write it to the audit log, within its bounds.

    A name that no user has may be a password: it is left out.
    """
    if not sign_ins().is_recorded(name):
        return
    has_user = any(user.name == name for user in service().users.list())
    actor = f"{name} (password)" if has_user else "nobody known (password)"
    entry = AuditEntry.of("sign-in-failed", actor=actor, at=service().clock())
    service().store.record_act(entry)


@blueprint.post("/sign-out")
def sign_out() -> Response:
    """End the session, here and everywhere its cookie may be."""
    session = current_session()
    if session is not None:
        entry = AuditEntry.of("sign-out", actor=str(current_identity()), at=service().clock())
        service().sessions.end(session.id, audit=entry)
    response = see_other(url_for("signin.page"))
    set_cookie(response, SESSION_COOKIE, "", seconds=0)
    return response


def start_session(secret: str, wanted: str | None = None) -> Response:
    """To the page that was wanted, with the cookie of a new session; an old one is over."""
    before = current_session()
    if before is not None:
        service().sessions.end(before.id, audit=None)
    response = see_other(local_path(request.form.get("next") if wanted is None else wanted))
    set_cookie(response, SESSION_COOKIE, secret, seconds=SESSION_SECONDS)
    set_cookie(response, FORM_COOKIE, "", seconds=0)
    return response


def sign_in_page(reason: str = "", status: int = 200, *, link: str = "") -> Response:
    """The sign-in page."""
    wanted = request.values.get("next")
    page = render_template(
        "sign-in.html",
        reason=reason,
        link=link,
        next=local_path(wanted),
        provider=bool(service().settings.oidc_issuer),
    )
    return Response(page, status=status, content_type="text/html; charset=utf-8")


def link_path(secret: str) -> str:
    """The path of a one-time link."""
    return url_for("signin.page", link=secret)


def local_path(wanted: str | None) -> str:
    """The path, if it leads to a page of this service; the first page otherwise."""
    home = url_for("dashboard.overview")
    if not wanted or not wanted.startswith("/") or not (wanted.isascii() and wanted.isprintable()):
        return home
    return home if wanted.startswith(("//", "/\\")) or "\\" in wanted else wanted
