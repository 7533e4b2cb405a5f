"""The page that `deniable report` writes."""

from __future__ import annotations

import httpx

from deniable_aggregator.client.connection import Argument
from deniable_aggregator.client.service_client import ServiceClient
from deniable_aggregator.web.report.contents import ReportContents, read_contents
from deniable_aggregator.web.report.page import page
from support.builders.api_world import NOON, World

__all__ = ["facts_of", "report_of"]


def facts_of(world: World, name: str, **asked: Argument) -> ReportContents:
    client = httpx.Client(
        base_url="http://deniable.test",
        headers=world.authorization("viewer"),
        transport=httpx.WSGITransport(app=world.app.wsgi_app),
    )
    with ServiceClient(client, address="http://deniable.test") as connection:
        return read_contents(connection, name, asked)


def report_of(world: World, name: str, **asked: Argument) -> str:
    return page(facts_of(world, name, **asked), now=NOON)
