"""Ingest health: rates between two looks, rejections by reason, and what `read` hides."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from deniable_aggregator.operations.metrics import Metrics
from deniable_aggregator.operations.metrics.rates import (
    SLOT_SECONDS,
    WINDOW_SECONDS,
    CounterTotals,
    ReportRates,
)
from deniable_aggregator.web.dashboard.health_charts import (
    STATUS_MEANINGS,
    hours_chart,
    refused_requests,
)
from deniable_aggregator.web.dashboard.ingest_health import REASON_MEANINGS, anomalies_of
from deniable_shared.wire.problems import ReportError
from support.builders.api_world import TODAY, Moment, World, authored

DARK = {"dark_mode": True, "beta": False}
NARROW = "\u202f"


def tiles(service: World, query: str = "") -> dict[str, str]:
    text = service.page(f"/health{query}").text
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)<small>", text))


def reasons(service: World) -> dict[str, int]:
    text = service.page("/health").text
    return {
        reason: int(n)
        for reason, n in re.findall(r'<th scope="row">([\w-]+)</th>.*?<data value="(\d+)"', text)
    }


def minute(service: World) -> None:
    service.clock.now += 60
    service.running.tick()


def test_a_rate_is_what_came_between_two_looks() -> None:
    metrics, clock = Metrics(), Moment(1_000.0)
    rates = ReportRates(metrics, clock=clock)
    rates.sample()
    assert rates.per_minute() is None
    metrics.reports.labels("a", "counted").inc(30)
    clock.now += 30
    rates.sample()
    assert rates.per_minute() == {("a", "counted"): 60.0}


def test_what_was_long_ago_is_no_part_of_a_rate() -> None:
    metrics, clock = Metrics(), Moment(1_000.0)
    rates = ReportRates(metrics, clock=clock)
    rates.sample()
    metrics.reports.labels("a", "counted").inc(500)
    for _ in range(40):
        clock.now += WINDOW_SECONDS / 20
        rates.sample()
    assert rates.per_minute() == {}
    assert len(rates._samples) <= 22


@pytest.mark.slow
def test_history_has_a_look_at_the_start_of_each_ten_minutes_of_a_day() -> None:
    metrics, clock = Metrics(), Moment(600_000.0)
    rates = ReportRates(metrics, clock=clock)
    assert rates.history() == []
    for _ in range(2 * 144 * 2):
        rates.sample()
        clock.now += SLOT_SECONDS / 2
    history = rates.history()
    assert len(history) == 144 + 2
    assert {look.at % SLOT_SECONDS for look in history[:-1]} == {0.0}
    assert history[-1].at == clock.now


def test_the_hours_show_the_gain_of_each_ten_minutes() -> None:
    looks = [
        CounterTotals(0.0, {("a", "counted"): 5.0}, {"200": 5.0}),
        CounterTotals(
            600.0,
            {("a", "counted"): 8.0, ("a", "too-early"): 2.0, ("b", "counted"): 90.0},
            {"200": 50.0, "503": 7.0},
        ),
        CounterTotals(900.0, {("a", "counted"): 1.0}, {"200": 1.0, "503": 7.0}),
    ]
    chart = hours_chart(looks, {"a"})
    assert chart is not None
    assert [line["value"] for line in chart.drawing["lines"]] == [(3, 1), (2, 0), (7, 0)]  # type: ignore[attr-defined]  # a drawing of lines has them
    assert chart.drawing["open"] == [False, True]
    assert hours_chart(looks[:1], {"a"}) is None
    assert [(status, n) for status, n, _ in refused_requests(looks)] == [("503", 7)]


@pytest.mark.slow
def test_refused_requests_are_on_the_page_with_what_they_mean(service: World) -> None:
    collection = service.register(authored())
    minute(service)
    assert "No upload request was refused so far" in service.page("/health").text
    with_body = service.client.post(f"/v1/collections/{collection.id}/reports", data=b"nonsense")
    assert with_body.status_code >= 400
    minute(service)
    text = service.page("/health").text
    assert f'<th scope="row">{with_body.status_code}</th>' in text
    assert STATUS_MEANINGS[str(with_body.status_code)][:20] in text
    assert 'data-name="hours"' in text


def test_uploads_show_as_a_rate_and_refused_ones_by_reason(service: World) -> None:
    collection = service.register(authored())
    service.running.tick()
    service.upload(collection, service.report(collection, DARK))
    other = replace(service.report(collection, DARK), sealed=b"\0" * 80)
    service.upload(collection, other)
    minute(service)
    assert tiles(service)["Accepted a minute"] == "1.0"
    assert tiles(service)["Rejected a minute"] == "1.0"
    assert sum(reasons(service).values()) == 1
    assert set(reasons(service)) <= set(REASON_MEANINGS)


def test_before_two_looks_nothing_is_called_a_rate(service: World) -> None:
    service.register(authored())
    assert tiles(service)["Accepted a minute"] == "–"
    assert "measuring" in service.page("/health").text


@pytest.mark.slow
@pytest.mark.parametrize("read", ["closed", "releases"])
def test_rates_of_hidden_reports_are_hidden(service: World, read: str) -> None:
    collection = service.register(authored(read=read))
    service.running.tick()
    minute(service)
    before = re.sub("12:0.:..", "", service.page("/health").text)
    service.upload(collection, service.report(collection, DARK))
    minute(service)
    service.clock.now -= 60
    after = re.sub("12:0.:..", "", service.page("/health").text)
    assert after == before
    assert "1 question not included" in after


def test_rejections_of_a_collection_that_may_not_be_seen_are_in_no_sum(service: World) -> None:
    from support.doubles.browser import Browser

    here, there = service.register(authored()), service.register(authored("other"))
    service.running.store.count_rejections(here.id, {"too-early": 3})
    service.running.store.count_rejections(there.id, {"cannot-open": 5})
    assert reasons(service) == {"cannot-open": 5, "too-early": 3}
    eve = Browser.at(service.app)
    eve.use(service.running.sessions.make_link("Eve", "viewer", [here.id], audit=None))
    text = eve.client.get("/health").text
    assert "too-early" in text
    assert "cannot-open" not in text
    assert there.id not in text


def test_every_reason_of_the_wire_is_told_in_words() -> None:
    assert {reason.slug for reason in ReportError} == REASON_MEANINGS.keys()


def test_an_epoch_that_did_not_close_is_late(service: World) -> None:
    collection = service.register(authored())
    service.count(collection, [DARK], epoch=TODAY - 3)
    text = service.page("/health").text
    assert '<span class="badge bad">late</span>' in text
    assert "1 question late in closing one" in text
    service.running.tick()
    assert "none is late" in service.page("/health").text


@pytest.mark.slow
def test_reports_that_no_honest_device_sends_are_told(service: World) -> None:
    asked = authored(type="choice", labels="abcd", more='mechanism = "oue/1"\n', min_batch=10)
    collection = service.register(asked)
    assert anomalies_of(collection, service.running.store) is None
    service.count(collection, ["a"] * 10)
    assert anomalies_of(collection, service.running.store) is None
    made_up = np.full((1, collection.mechanism.payload_size), 0xF0, np.uint8)
    from deniable_aggregator.store.rows import AcceptedReport, TallyKey
    from deniable_shared.randomness.coins import Coins

    cell = TallyKey(collection.id, TODAY, 1)
    arrivals = [
        AcceptedReport(cell, Coins.system().bytes(16), made_up.tobytes()) for _ in range(500)
    ]
    service.running.store.commit(arrivals, lambda _, rows: collection.estimator.tally(rows))
    text = service.page("/health").text
    assert "reports are fake" in text
    again = service.page("/health", **{"HX-Request": "true"}).text
    assert "reports are fake" not in again  # the part that is asked for again has no such list


def test_a_paused_page_asks_for_nothing(service: World) -> None:
    service.register(authored())
    assert 'hx-trigger="every 5s"' in service.page("/health").text
    assert "hx-trigger" not in service.page("/health?live=off").text
