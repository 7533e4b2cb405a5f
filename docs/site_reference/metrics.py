"""What `/metrics` shows, from the metrics themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.metrics import MetricWrapperBase

from site_reference.markdown import code, table
from site_reference.service import empty_service

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.operations.service import Service

SUFFIXES = {"counter": "_total", "info": "_info"}
"""What Prometheus' text format adds to the name of a kind."""


def every_metric() -> str:
    """A row for each: name, labels, kind, meaning."""
    with empty_service() as service:
        return table(["metric", "labels", "kind", "is"], list(_rows(service)))


def _rows(service: Service) -> Iterator[Sequence[str]]:
    measures = [each for each in vars(service.metrics).values() if _is_metric(each)]
    for collector in (*measures, service.state):
        for family in collector.collect():
            labels = getattr(collector, "_labelnames", ()) or sorted(
                {name for sample in family.samples for name in sample.labels if name != "le"}
            )
            name = family.name + SUFFIXES.get(family.type, "")
            yield code(name), ", ".join(map(code, labels)), family.type, family.documentation


def _is_metric(value: object) -> bool:
    return isinstance(value, MetricWrapperBase)
