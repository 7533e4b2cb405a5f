"""Who asks for a page, whether they may have it, and that forms were sent from our own pages."""

from __future__ import annotations

import secrets
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

from flask import Flask, Response, current_app, g, request, url_for

from deniable_aggregator.access.sessions import SECRET_CHARACTERS
from deniable_aggregator.collections.registry import Collection, UnknownCollection
from deniable_aggregator.web.application import service
from deniable_aggregator.web.auth import csrf
from deniable_aggregator.web.auth.provider import Provider
from deniable_aggregator.web.auth.throttle import SignInLimiter
from deniable_gateway.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.access.rows import SessionRow
    from deniable_aggregator.base.roles import Identity

API = "/v1/"
SIGN_INS, PROVIDER = "deniable_sign_ins", "deniable_provider"
"""Extensions of the application: what slows down guesses, and where else people may sign in."""

FORM_COOKIE = "form"
SESSION_COOKIE = "session"
_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})

P = ParamSpec("P")
R = TypeVar("R")


def current_identity() -> Identity | None:
    """Whoever is signed in. Under /v1/ always None: the API knows no cookie."""
    signed_in = _signed_in()
    return None if signed_in is None else signed_in[1]


def current_session() -> SessionRow | None:
    """The session of the browser that asks, while it lasts."""
    signed_in = _signed_in()
    return None if signed_in is None else signed_in[0]


def require(role: str) -> Callable[[Callable[P, R]], Callable[P, R | Response]]:
    """Let a page be seen by those whose role covers `role`.

    Nobody is sent to /sign-in, or gets 401 where the request would change something; a lesser role
    gets 403.
    """

    def decorate(view: Callable[P, R]) -> Callable[P, R | Response]:
        @wraps(view)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R | Response:
            who = current_identity()
            if who is None:
                return _to_sign_in()
            if not who.may(role):
                raise Problem(
                    "forbidden", f"this page needs role {role} or above, you have {who.role}"
                )
            return view(*args, **kwargs)

        guarded.required_role = role  # type: ignore[attr-defined]  # a function may have attributes
        return guarded

    return decorate


def csrf_token() -> str:
    """What a form must carry; for somebody who is not signed in a cookie goes with it."""
    secret = _form_secret()
    if secret is None:
        secret = g.new_form_secret = secrets.token_urlsafe(32)
    return csrf.token(secret)


def register(app: Flask) -> None:
    """Check every form, set the cookie of new ones, give templates their globals."""
    settings, clock = app.extensions["deniable"].settings, app.extensions["deniable"].clock
    by_address = not settings.trusted_proxy
    app.extensions[SIGN_INS] = SignInLimiter(clock=clock, by_address=by_address)
    app.extensions[PROVIDER] = Provider(settings, clock=clock)
    app.before_request(_check_form)
    app.after_request(_keep_form_cookie)
    app.jinja_env.globals["csrf_token"] = csrf_token
    app.jinja_env.globals["identity"] = current_identity


def see_other(address: str) -> Response:
    """Send the browser on; what it asks for there is a GET."""
    return Response(status=303, headers={"Location": address})


def cookie_name(kind: str) -> str:
    """`__Host-` makes browsers insist on Secure, Path=/ and no Domain."""
    return f"__Host-deniable-{kind}" if _is_secure() else f"deniable-{kind}"


def set_cookie(response: Response, kind: str, value: str, *, seconds: int) -> None:
    """One that no script reads and no other site's form sends; 0 seconds deletes it."""
    response.set_cookie(
        cookie_name(kind),
        value,
        max_age=seconds,
        path="/",
        secure=_is_secure(),
        httponly=True,
        samesite="Lax",
    )


def _is_secure() -> bool:
    return service().settings.public_url.startswith("https:")


def sign_ins() -> SignInLimiter:
    """What slows down those who guess passwords."""
    return cast("SignInLimiter", current_app.extensions[SIGN_INS])


def provider() -> Provider:
    """The provider that people may sign in with; it needs the extra `oidc`."""
    return cast("Provider", current_app.extensions[PROVIDER])


def _signed_in() -> tuple[SessionRow, Identity] | None:
    if _is_api():
        return None
    if "found_session" not in g:
        g.found_session = service().sessions.find(request.cookies.get(cookie_name(SESSION_COOKIE)))
    return cast("tuple[SessionRow, Identity] | None", g.found_session)


def _is_api() -> bool:
    return request.path.startswith(API)


def _form_secret() -> str | None:
    """The session's cookie, else the one of a form; None where there is neither."""
    kind = SESSION_COOKIE if _signed_in() is not None else FORM_COOKIE
    made = cast("str | None", g.get("new_form_secret"))
    given = made or request.cookies.get(cookie_name(kind))
    return given if given is not None and len(given) == SECRET_CHARACTERS else None


def _check_form() -> None:
    if request.method not in _CHANGING or request.url_rule is None or _is_api():
        return
    ours = csrf.same_origin(request.headers.get("Sec-Fetch-Site"))
    given = request.headers.get(csrf.HEADER) or request.form.get(csrf.FIELD)
    if not (ours and csrf.matches(_form_secret(), given)):
        raise Problem(
            "form-refused", "the form did not come from a page of this service: load it again"
        )


def _keep_form_cookie(response: Response) -> Response:
    made = g.get("new_form_secret")
    if made is not None:
        set_cookie(response, FORM_COOKIE, made, seconds=3_600)
    return response


def _to_sign_in() -> Response:
    if request.method in _CHANGING:
        raise Problem("unauthorized", "sign in first: /sign-in")
    wanted = request.full_path.rstrip("?")
    return see_other(url_for("signin.page", next=wanted))


def collection_of(name: str) -> Collection:
    """The collection of an id or a name; UnknownCollection, too, for one that is not theirs."""
    collection = service().registry.get(name)
    visitor = current_identity()
    if visitor is not None and not visitor.may_see(collection.id):
        raise UnknownCollection(f"no collection {name[:100]!r} is among those you may see")
    return collection


def visitor_may(role: str) -> bool:
    """Whether the visitor's role covers `role`."""
    visitor = current_identity()
    return visitor is not None and visitor.may(role)
