"""The pages for sign-in and sign-out: password, one-time link, and the link to a provider.

Opening a one-time link does not use it; only the form's POST does. A mail program that fetches
links in advance therefore uses none up.
"""

from __future__ import annotations

from urllib.parse import urlsplit

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

WRONG = "Wrong name or password."
USED = "This link was used already, or it has expired: ask for another."
SLOW = "Too many attempts: try again in a minute."


@blueprint.get("/sign-in")
def page() -> Response:
    """The sign-in form; for a one-time link a form with one button."""
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
    """Write a failed sign-in to the audit log, up to the limit.

    A name that no user has is left out: it may be a password.
    """
    if not sign_ins().is_recorded(name):
        return
    has_user = any(user.name == name for user in service().users.list())
    actor = f"{name} (password)" if has_user else "nobody known (password)"
    entry = AuditEntry.of("sign-in-failed", actor=actor, at=service().clock())
    service().store.record_act(entry)


@blueprint.post("/sign-out")
def sign_out() -> Response:
    """End the session, also for copies of its cookie."""
    session = current_session()
    if session is not None:
        entry = AuditEntry.of("sign-out", actor=str(current_identity()), at=service().clock())
        service().sessions.end(session.id, audit=entry)
    response = see_other(url_for("signin.page"))
    set_cookie(response, SESSION_COOKIE, "", seconds=0)
    return response


def start_session(secret: str, wanted: str | None = None) -> Response:
    """Redirect to the wanted page with the cookie of a new session; ends the old session."""
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
        passwords=bool(service().users.list()),
        host=urlsplit(service().settings.public_url).netloc,
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
