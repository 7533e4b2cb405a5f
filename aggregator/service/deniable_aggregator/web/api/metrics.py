"""`GET /metrics`: counters for the operator, also of reports that `read` hides from analysts."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from flask import Blueprint, Response, request
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from deniable_aggregator.web.api.operations import operation
from deniable_aggregator.web.application import service
from deniable_gateway.problem import Problem

TEXT = "text/plain"
FORWARDED = ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP")

blueprint = Blueprint("metrics", __name__)


def from_this_machine() -> bool:
    """Whether the setting allows this request without a token. No proxy may be in front."""
    if service().settings.metrics != "loopback":
        return False
    peer, host = request.remote_addr or "", urlsplit(f"//{request.host}").hostname or ""
    return (
        _is_loopback(peer)
        and (host == "localhost" or _is_loopback(host))
        and not any(name in request.headers for name in FORWARDED)
    )


@blueprint.get("/metrics")
@operation(
    tag="operations",
    role="metrics",
    exempt=from_this_machine,
    query=None,
    answers={200: {TEXT: ()}},
    problems=("not-found",),
)
def metrics() -> Response:
    """Counters and gauges in Prometheus' text format, for the operator alone.

    They count the reports of every collection, even if `read` hides counts from analysts. The
    setting `metrics` names who may read them: `admin` (a token of that role, or of role metrics),
    `loopback` (also programs on this machine, without a token) or `off`.
    """
    running = service()
    if running.settings.metrics == "off":
        raise Problem("not-found", "metrics are switched off here")
    return Response(running.metrics.exposition(running.state), content_type=CONTENT_TYPE_LATEST)


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
