"""Reports that devices bring to a relay."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from deniable_aggregator.collections.registry import Collection
from deniable_shared.wire.report import Report
from support.builders.relay_world import RelayWorld

YES = {"dark_mode": True, "beta": False}


def sent(world: RelayWorld, collection: Collection, count: int, **how: Any) -> list[Report]:
    """So many devices upload, and get replies that all is well."""
    reports = [world.aggregator.report(collection, YES, **how) for _ in range(count)]
    for report in reports:
        assert world.upload(collection.id, report).codes == []
    return reports


def with_header(report: Report, **changed: object) -> Report:
    return Report(replace(report.header, **changed), report.sealed)  # type: ignore[arg-type]  # one dict has values of many types
