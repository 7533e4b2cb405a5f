"""Pages of the sign-in with a provider. `provider` implements the protocol.

State, nonce and PKCE verifier are computed from one random cookie of the browser. Nothing is
stored, so any process can finish a sign-in that another process began.
"""

from __future__ import annotations

import logging
import math
import secrets

from flask import Blueprint, Response, request

from deniable_aggregator.base.errors import ProviderUnavailableError, SignInError
from deniable_aggregator.web.application import service
from deniable_aggregator.web.auth.guard import (
    cookie_name,
    provider,
    see_other,
    set_cookie,
    sign_ins,
)
from deniable_aggregator.web.auth.signin import SLOW, local_path, sign_in_page, start_session
from deniable_aggregator.web.auth.throttle import WINDOW_SECONDS
from deniable_gateway.problem import Problem

blueprint = Blueprint("oidc", __name__)

COOKIE = "provider"
WAY_SECONDS = 600
"""Seconds that a person may take to sign in at the provider."""

UNREACHED = "The provider cannot be reached at the moment: try again in a minute."
FAILED = "The provider did not confirm who you are: try again."
STRANGER = "You are known to the provider, but none of your groups has a role here."

logger = logging.getLogger(__name__)


@blueprint.get("/sign-in/provider")
def begin() -> Response:
    """Send the browser to the provider."""
    _require_provider()
    if not _admitted():
        return _later(SLOW, 429, seconds=WINDOW_SECONDS)
    secret = secrets.token_urlsafe(32)
    try:
        address = provider().address(secret, local_path(request.args.get("next")))
    except ProviderUnavailableError as error:
        return _unreached(error)
    except SignInError as error:
        logger.warning("sign-in with the provider could not begin: %s", error)
        return sign_in_page(FAILED, 503)
    response = see_other(address)
    set_cookie(response, COOKIE, secret, seconds=WAY_SECONDS)
    return response


@blueprint.get("/sign-in/provider/done")
def done() -> Response:
    """Check the provider's answer and begin a session."""
    _require_provider()
    if not _admitted():
        return _later(SLOW, 429, seconds=WINDOW_SECONDS)
    secret = request.cookies.get(cookie_name(COOKIE), "")
    try:
        person, wanted = provider().redeem(secret, request.args)
    except ProviderUnavailableError as error:
        response = _unreached(error)
    except SignInError as error:
        logger.warning("sign-in with the provider failed: %s", error)
        response = sign_in_page(FAILED, 403)
    else:
        response = _session(person.name, person.role, wanted)
    set_cookie(response, COOKIE, "", seconds=0)
    return response


def _admitted() -> bool:
    return sign_ins().admits_to_provider(request.remote_addr or "")


def _unreached(error: ProviderUnavailableError) -> Response:
    logger.warning("the sign-in provider is unavailable: %s", error)
    return _later(UNREACHED, 503, seconds=error.retry_after_seconds)


def _later(reason: str, status: int, *, seconds: float) -> Response:
    """The sign-in page with the reason, and a Retry-After header."""
    response = sign_in_page(reason, status)
    response.headers["Retry-After"] = str(math.ceil(seconds))
    return response


def _session(name: str, role: str | None, wanted: str) -> Response:
    if role is None:
        return sign_in_page(STRANGER, 403)
    secret = service().sessions.begin(name, role, None, via="oidc")
    return sign_in_page(FAILED, 403) if secret is None else start_session(secret, wanted)


def _require_provider() -> None:
    if not service().settings.oidc_issuer:
        raise Problem("not-found", "sign-in with a provider is not set up: see oidc_issuer")
