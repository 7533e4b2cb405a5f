"""The page behind a read-only link: it begins a session that sees one collection.

The secret is the fragment of the address. Our script puts it into the form; without scripts people
paste it. It is sent in the body of a POST, so that no log and no Referer contains it.
"""

from __future__ import annotations

from flask import Blueprint, Response, render_template, request, url_for

from deniable_aggregator.access.changes import SHARED_PATH
from deniable_aggregator.web.application import service
from deniable_aggregator.web.auth.guard import current_identity, see_other, sign_ins
from deniable_aggregator.web.auth.signin import SLOW, start_session

blueprint = Blueprint("shared", __name__)

OVER = "This link has ended or expired. Ask the person who sent it for a new one."


@blueprint.get(SHARED_PATH)
def page() -> Response:
    """The form; our script fills and sends it."""
    return _shared_page()


@blueprint.post(SHARED_PATH)
def open_link() -> Response:
    """Begin a session that reads the collection; visitors who may read it keep their session."""
    secret = request.form.get("secret", "").strip().rpartition("#")[2]
    link = service().tokens.read_link(secret)
    if link is None or not link.collections:
        return _shared_page(OVER, 410)
    address = url_for("dashboard.collection", collection=link.collections[0])
    visitor = current_identity()
    if visitor is not None and visitor.may_see(link.collections[0]):
        return see_other(address)
    network = request.remote_addr or ""
    if not sign_ins().admits(network, f"link {link.id} {network}"):
        return _shared_page(SLOW, 429)
    cookie = service().sessions.begin_shared(link)
    return _shared_page(OVER, 410) if cookie is None else start_session(cookie, address)


def _shared_page(reason: str = "", status: int = 200) -> Response:
    html = render_template("shared.html", reason=reason)
    return Response(html, status=status, content_type="text/html; charset=utf-8")
