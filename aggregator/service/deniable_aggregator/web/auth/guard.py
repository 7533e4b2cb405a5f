"""The identity of a visitor, access to pages, and the check that forms come from our pages."""

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
"""Extensions of the application: the limiter of guesses, and the sign-in provider."""

FORM_COOKIE = "form"
SESSION_COOKIE = "session"
_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})

P = ParamSpec("P")
R = TypeVar("R")


def current_identity() -> Identity | None:
    """The person who is signed in. Always None under /v1/: the API ignores cookies."""
    signed_in = _signed_in()
    return None if signed_in is None else signed_in[1]


def current_session() -> SessionRow | None:
    """The session of the browser; None without a valid one."""
    signed_in = _signed_in()
    return None if signed_in is None else signed_in[0]


def require(role: str) -> Callable[[Callable[P, R]], Callable[P, R | Response]]:
    """Restrict a page to people whose role covers `role`.

    A visitor who is not signed in is sent to /sign-in, or gets 401 if the request changes
    something. A person with a lower role gets 403.
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
    """The token that a form must contain. It sets a cookie if no one is signed in."""
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
    """Redirect the browser to an address with GET."""
    return Response(status=303, headers={"Location": address})


def cookie_name(kind: str) -> str:
    """A cookie's name. `__Host-` makes browsers require Secure, Path=/ and no Domain."""
    return f"__Host-deniable-{kind}" if _is_secure() else f"deniable-{kind}"


def set_cookie(response: Response, kind: str, value: str, *, seconds: int) -> None:
    """Set a cookie that scripts cannot read and other sites' forms do not send; 0 s deletes it."""
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
    """The limiter of password guesses."""
    return cast("SignInLimiter", current_app.extensions[SIGN_INS])


def provider() -> Provider:
    """The provider that people may sign in with; it needs the extra `oidc`."""
    return cast("Provider", current_app.extensions[PROVIDER])


def _signed_in() -> tuple[SessionRow, Identity] | None:
    if _is_api():
        return None
    if "session_and_identity" not in g:
        secret = request.cookies.get(cookie_name(SESSION_COOKIE))
        g.session_and_identity = service().sessions.find(secret)
    return cast("tuple[SessionRow, Identity] | None", g.session_and_identity)


def _is_api() -> bool:
    return request.path.startswith(API)


def _form_secret() -> str | None:
    """The session's cookie, else that of a form, else None."""
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
    """The collection of an id or name. Raises UnknownCollection if the visitor may not see it."""
    collection = service().registry.get(name)
    visitor = current_identity()
    if visitor is not None and not visitor.may_see(collection.id):
        raise UnknownCollection(f"you may see no collection {name[:100]!r}")
    return collection


def visible_collections() -> list[Collection]:
    """Collections that the visitor may see, also archived ones; without sign-in all."""
    visitor, all_of_them = current_identity(), service().registry.all()
    return [each for each in all_of_them if visitor is None or visitor.may_see(each.id)]


def visitor_may(role: str) -> bool:
    """Whether the visitor's role covers `role`."""
    visitor = current_identity()
    return visitor is not None and visitor.may(role)
