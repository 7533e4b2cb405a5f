"""Turns every error into an RFC 9457 problem document. A 500 is logged and shows no detail."""

from __future__ import annotations

import logging

import msgspec
from flask import Flask, Response, request

from deniable_aggregator.base import damage
from deniable_aggregator.base.errors import DamagedError, StoreUnavailableError
from deniable_aggregator.web.application import service
from deniable_gateway.problem import Problem
from deniable_shared.errors import DecodeError, ManifestError, SignatureError
from deniable_shared.wire.problems import PROBLEM_MEDIA_TYPE

SHOWN_CHARACTERS = 200
RETRY_SECONDS = 5

logger = logging.getLogger(__name__)


def problem_response(problem: Problem) -> Response:
    """The response of a problem; a 401 names the authentication scheme."""
    headers = problem.headers()
    if problem.status == 401:
        headers.append(("WWW-Authenticate", 'Bearer realm="deniable"'))
    return Response(
        msgspec.json.encode(problem.document()),
        status=problem.status,
        headers=headers,
        content_type=PROBLEM_MEDIA_TYPE,
    )


def register(app: Flask) -> None:
    """Make the application answer every error with a problem document."""
    app.register_error_handler(Problem, _on_problem)
    app.register_error_handler(DamagedError, _on_damage)
    app.register_error_handler(StoreUnavailableError, _on_lost_database)
    app.register_error_handler(DecodeError, _on_decode_error)
    app.register_error_handler(ManifestError, _on_refused_manifest)
    app.register_error_handler(SignatureError, _on_refused_manifest)
    app.register_error_handler(400, _on_bad_request)
    app.register_error_handler(404, on_not_found)
    app.register_error_handler(405, _on_method_not_allowed)
    app.register_error_handler(413, _on_too_large)
    app.register_error_handler(Exception, _on_anything_else)


def _on_problem(error: Problem) -> Response:
    return problem_response(error)


def _on_damage(error: DamagedError) -> Response:
    problem = damage_problem(error)
    logger.error("%s", problem.detail)
    return problem_response(problem)


def damage_problem(error: DamagedError) -> Problem:
    """The refusal, with the date of the epoch if the collection is known."""
    collection = service().registry.lookup(error.collection)
    return damage.problem_of(error, None if collection is None else collection.manifest)


def _on_lost_database(error: StoreUnavailableError) -> Response:
    logger.error("%s failed: %s", request.endpoint, error)
    detail = "the database does not answer: see /readyz and the service's log"
    return problem_response(Problem("unavailable", detail, retry_after=RETRY_SECONDS))


def _on_decode_error(error: Exception) -> Response:
    return problem_response(Problem("invalid-message", str(error)))


def _on_refused_manifest(error: Exception) -> Response:
    return problem_response(Problem("manifest-refused", str(error)))


def _on_bad_request(_error: Exception) -> Response:
    return problem_response(Problem("invalid-message", "the request could not be read"))


def on_not_found(_error: Exception) -> Response:
    """The problem for an unknown address."""
    path = request.path[:SHOWN_CHARACTERS]
    return problem_response(
        Problem("not-found", f"nothing is at {path!r}; /openapi.json lists all addresses")
    )


def _on_method_not_allowed(error: Exception) -> Response:
    allowed = ", ".join(sorted(getattr(error, "valid_methods", None) or ()))
    response = problem_response(
        Problem("method-not-allowed", f"method must be one of {allowed}, got {request.method}")
    )
    response.headers["Allow"] = allowed
    return response


def _on_too_large(_error: Exception) -> Response:
    limit = request.max_content_length
    return problem_response(Problem("too-large", f"the body must be at most {limit} bytes long"))


def _on_anything_else(error: Exception) -> Response:
    """Log the error under the name of the operation: a path may hold any text."""
    logger.error("%s failed", request.endpoint, exc_info=error)
    return problem_response(
        Problem("internal", "the server failed; its log says why. You may try again")
    )
