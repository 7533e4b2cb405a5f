"""From the list of pages to routes: who may, what was asked, the view, its template, its errors.

Everything that can go wrong in a page is a page, too. The markup has no script and no style:
the headers let a page load what is ours and nothing else.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from flask import Blueprint, Response, make_response, render_template, request

from deniable_aggregator.base.errors import DamagedError
from deniable_aggregator.web.application import service
from deniable_aggregator.web.arguments import from_pairs
from deniable_aggregator.web.auth.guard import current_identity, require
from deniable_aggregator.web.dashboard import assets, embed, formatting, release_charts
from deniable_aggregator.web.dashboard.pages import menu, operator_menu, pages
from deniable_aggregator.web.dashboard.plain_words import plain_words
from deniable_aggregator.web.errors import damage_problem, on_not_found
from deniable_gateway.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.web.dashboard.page import Page, View
    from deniable_aggregator.web.dashboard.pages import Menu

logger = logging.getLogger(__name__)

HTML = "text/html; charset=utf-8"


def blueprint() -> Blueprint:
    """Every page under its name, and the files."""
    pages_blueprint = Blueprint("dashboard", __name__, template_folder="templates")
    pages_blueprint.add_url_rule("/static/<path:path>", "static", assets.serve)
    pages_blueprint.add_url_rule(embed.PATH, "embed", _guard(embed.serve, None))
    for name, page in pages().items():
        pages_blueprint.add_url_rule(page.path, name, get_route(name, page))
        if page.post is not None:
            act = post_route(name, page, page.post.role, page.post.act)
            pages_blueprint.add_url_rule(page.path, f"{name}_post", act, methods=["POST"])
    pages_blueprint.app_context_processor(_for_every_template)
    pages_blueprint.add_app_template_global(assets.address, "asset")
    for template_filter in (*formatting.FILTERS, *release_charts.FILTERS, plain_words):
        pages_blueprint.add_app_template_filter(template_filter)
    return pages_blueprint


def get_route(name: str, page: Page) -> Callable[..., Response]:
    """The route of GET."""

    def ask(**path: str) -> Response:
        return _render(name, page, page.view, **path, query=_page_query(page))

    return _guard(ask, page.role)


def post_route(name: str, page: Page, role: str, act: View) -> Callable[..., Response]:
    """The route of POST; its form carries a token, which is checked before."""

    def submit(**path: str) -> Response:
        return _render(name, page, act, **path)

    return _guard(submit, role)


def _guard(view: Callable[..., Response], role: str | None) -> Callable[..., Response]:
    """For those whose role covers `role`, and with errors that are pages."""
    admitted = view if role is None else require(role)(view)

    def answer(**path: str) -> Response:
        try:
            return admitted(**path)
        except Problem as problem:
            return _problem_page(problem)
        except DamagedError as error:
            return _problem_page(damage_problem(error))
        except Exception:  # a page that fails is a page; the log says why
            logger.exception("%s failed", request.endpoint)
            return _problem_page(Problem("internal", "the server failed; its log says why"))

    if role is not None:
        answer.required_role = role  # type: ignore[attr-defined]  # a function may have attributes
    return answer


def _render(name: str, page: Page, view: View, **arguments: object) -> Response:
    context = view(**arguments)
    if isinstance(context, Response):
        return context
    response = _html_response("pages/" + name + ".html", title=page.title, current=name, **context)
    response.status_code = context.get("status", 200)  # type: ignore[assignment]  # a context has values of many types
    return response


def _page_query(page: Page) -> object:
    """The query; a field that a form left empty was not asked for."""
    given = [(name, [one for one in values if one]) for name, values in request.args.lists()]
    return from_pairs([(name, values) for name, values in given if values], page.query)


def not_found_page(error: Exception) -> Response:
    """A page for who asks for pages; programs, and all under /v1/, get the problem document."""
    accepted = request.accept_mimetypes
    asks_for_pages = accepted["text/html"] > accepted["application/json"]
    if not asks_for_pages or request.path.startswith("/v1/"):
        return on_not_found(error)
    response = _problem_page(
        Problem("not-found", "the address is misspelt, or what it named is gone")
    )
    response.headers["Vary"] = "Accept"
    return response


def _problem_page(problem: Problem) -> Response:
    response = _html_response(
        "problem.html", title=plain_words(problem.type.title), current="", problem=problem
    )
    response.status_code = problem.status
    response.headers.extend(problem.headers())
    return response


def _html_response(template: str, **context: object) -> Response:
    response = make_response(render_template(template, **context))
    response.headers["Content-Type"] = HTML
    return response


def _allowed(entries: Menu) -> Menu:
    """Those whose role the visitor has."""
    visitor = current_identity()
    return tuple(
        (name, page)
        for name, page in entries
        if page.role is None or (visitor is not None and visitor.may(page.role))
    )


def _for_every_template() -> dict[str, object]:
    """Also of those that other rooms render with our layout."""
    return {
        "menu": _allowed(menu()),
        "operator_menu": _allowed(operator_menu()),
        "now": service().clock(),
        "visitor": current_identity(),
        "simulated": service().demo is not None,
    }
