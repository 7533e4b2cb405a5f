"""Alerts: a bounded chance of any false one, calls that are kept, retried and audited."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.operations.alerts import MOST_ALERTS, PAUSES_SECONDS
from deniable_aggregator.operations.webhooks import WebhookError
from deniable_aggregator.queries.alerts import look_confidence, most_looks, next_look
from deniable_aggregator.store.rows import AcceptedReport, AlertRow, EpochRow, KeyedTally, TallyKey
from deniable_estimators.inference.difference import PeriodEstimate, difference
from deniable_estimators.simulation import generator, simulated_tally
from support.builders.api_world import DAY, TODAY, World, authored
from support.builders.manifests import next_version
from support.doubles.browser import Browser
from support.oracles.read_surfaces import by_command
from support.tiers import grid

YES, NO = ({"dark_mode": value, "beta": value} for value in (True, False))
BOTH, NEITHER = b"\xc0", b"\x00"
"""What a report says: both settings are on, or neither is."""

REPORTS = 20_000
"""Of each simulated day: so many that intervals are as narrow as they get."""

URL = "https://hook.example.org/change"


class Hook:
    """Takes calls, or refuses as many as it is set to."""

    def __init__(self) -> None:
        self.calls: list[dict[str, object]] = []
        self.refusing = 0
        self.breaking: set[object] = set()

    def send(self, url: str, body: bytes, *, secret: bytes, now: float) -> None:
        if json.loads(body)["alert"] in self.breaking:
            raise UnicodeError("label empty or too long")
        assert url == URL
        assert len(secret) == 32
        if self.refusing:
            self.refusing -= 1
            raise WebhookError("hook.example.org answered 500")
        self.calls.append(json.loads(body))


@pytest.fixture
def hook(service: World) -> Hook:
    double = Hook()
    service.running.alerts.sender = double  # type: ignore[assignment]  # a double of a sender
    return double


def asked(service: World, **how: object) -> Collection:
    return service.register(authored("settings", **how))  # type: ignore[arg-type]  # one dict has values of many types


def made(service: World, **body: object) -> dict[str, object]:
    answer = service.send(
        "POST", "/v1/collections/settings/alerts", "admin", json={"url": URL, **body}
    )
    document = answer.get_json()
    assert isinstance(document, dict)
    return {"status": answer.status_code, **document}


def day(service: World, collection: Collection, epoch: int, *, yes: int, no: int) -> None:
    """A finished day on which every bit is reported as often as is expected; then a look."""
    people, mechanism = yes + no, collection.mechanism
    reported = round(mechanism.q * people + (mechanism.p - mechanism.q) * yes)
    cell = TallyKey(collection.id, epoch, collection.manifest.version)
    payloads = [BOTH] * reported + [NEITHER] * (people - reported)
    arrivals = [
        AcceptedReport(cell, (epoch << 16 | number).to_bytes(16, "big"), payload)
        for number, payload in enumerate(payloads)
    ]
    service.running.store.commit(arrivals, lambda _, rows: collection.estimator.tally(rows))
    service.running.store.close_epoch(collection.id, epoch, service.clock(), audit=None)
    look(service)


def look(service: World) -> None:
    service.running.alerts.run(service.clock())


def acts(service: World) -> list[str]:
    entries = service.get("/v1/audit", "admin").get_json()["entries"]
    return [each["act"] for each in entries if each["act"].startswith("alert-")]


@pytest.mark.slow
def test_a_change_calls_the_webhook_once_and_no_change_calls_nothing(
    service: World, hook: Hook
) -> None:
    collection = asked(service)
    made(service)
    day(service, collection, TODAY - 3, yes=20, no=180)
    day(service, collection, TODAY - 2, yes=22, no=178)
    assert hook.calls == []
    day(service, collection, TODAY - 1, yes=190, no=10)
    look(service)
    [call] = hook.calls
    assert [row["label"] for row in call["changes"]] == ["dark_mode", "beta"]  # type: ignore[attr-defined]  # an object of JSON
    assert call["before"] == {"epochs": [TODAY - 2], "n": 200, "provisional": False}
    page = str(call["page"]).removeprefix(service.running.settings.public_url)
    assert service.page(page, "viewer").status_code == 200
    assert acts(service) == ["alert-made", "alert-sent"]
    assert service.running.store.charges(collection.id) == []


def test_periods_are_compared_with_as_many_before(service: World, hook: Hook) -> None:
    collection = asked(service)
    made(service, periods=2)
    for place, yes in enumerate((10, 10, 90, 90)):
        day(service, collection, TODAY - 6 + place, yes=yes, no=100 - yes)
    [call] = hook.calls
    assert call["before"]["epochs"] == [TODAY - 6, TODAY - 5]  # type: ignore[index]  # an object of JSON
    assert call["after"]["epochs"] == [TODAY - 4, TODAY - 3]  # type: ignore[index]  # an object of JSON


def test_what_was_finished_before_the_alert_is_not_looked_at(service: World, hook: Hook) -> None:
    collection = asked(service)
    day(service, collection, TODAY - 3, yes=10, no=190)
    day(service, collection, TODAY - 2, yes=190, no=10)
    made(service)
    look(service)
    assert hook.calls == []
    day(service, collection, TODAY - 1, yes=10, no=190)
    assert len(hook.calls) == 1


def test_open_days_and_days_of_too_few_reports_are_not_looked_at(
    service: World, hook: Hook
) -> None:
    collection = asked(service, min_batch=50)
    made(service)
    day(service, collection, TODAY - 3, yes=10, no=190)
    day(service, collection, TODAY - 2, yes=49, no=0)
    service.count(collection, [YES] * 200, epoch=TODAY)
    look(service)
    assert hook.calls == []


def test_a_call_is_tried_six_times_and_then_given_up(service: World, hook: Hook) -> None:
    collection = asked(service)
    made(service)
    hook.refusing = 6
    day(service, collection, TODAY - 3, yes=10, no=190)
    day(service, collection, TODAY - 2, yes=190, no=10)
    for pause in PAUSES_SECONDS:
        assert hook.refusing > 0
        left = hook.refusing
        service.clock.now += pause - 1
        look(service)
        assert hook.refusing == left
        service.clock.now += 1
        look(service)
        assert hook.refusing == left - 1
    service.clock.now += 30 * DAY
    look(service)
    assert (hook.calls, hook.refusing) == ([], 0)
    assert acts(service) == ["alert-made", "alert-failed"]


def test_a_call_that_breaks_is_a_failed_attempt_and_blocks_no_other(
    service: World, hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    collection = asked(service)
    broken, other = made(service), made(service)
    hook.breaking = {broken["id"]}
    day(service, collection, TODAY - 3, yes=10, no=190)
    day(service, collection, TODAY - 2, yes=190, no=10)
    look(service)
    assert [call["alert"] for call in hook.calls] == [other["id"]]
    for pause in PAUSES_SECONDS:
        service.clock.now += pause
        look(service)
    assert service.running.store.due_deliveries(service.clock() + 30 * DAY, 9) == []
    assert acts(service).count("alert-failed") == 1
    logged = [each for each in caplog.records if broken["id"] in (each.args or ())]
    assert len(logged) == 1 + len(PAUSES_SECONDS)
    assert all(each.exc_info for each in logged)


def test_a_call_that_failed_is_made_again_with_the_same_id(service: World, hook: Hook) -> None:
    collection = asked(service)
    made(service)
    hook.refusing = 1
    day(service, collection, TODAY - 3, yes=10, no=190)
    day(service, collection, TODAY - 2, yes=190, no=10)
    waiting = service.running.store.due_deliveries(service.clock() + DAY, 9)
    service.clock.now += PAUSES_SECONDS[0]
    look(service)
    assert [call["id"] for call in hook.calls] == [each.id for each in waiting]
    assert service.running.store.due_deliveries(service.clock() + DAY, 9) == []


def test_an_ended_alert_looks_no_more_and_its_calls_are_dropped(service: World, hook: Hook) -> None:
    collection = asked(service)
    alert = made(service)
    hook.refusing = 1
    day(service, collection, TODAY - 3, yes=10, no=190)
    day(service, collection, TODAY - 2, yes=190, no=10)
    path = f"/v1/collections/settings/alerts/{alert['id']}"
    assert service.send("DELETE", path, "admin").status_code == 204
    assert service.send("DELETE", path, "admin").status_code == 404
    service.clock.now += DAY
    day(service, collection, TODAY - 1, yes=10, no=190)
    assert hook.calls == []


def test_releases_are_not_looked_at_either(service: World) -> None:
    asked(service, read="releases")
    assert made(service)["status"] == 403


@pytest.mark.parametrize(
    "body",
    [{"url": "http://a.org/"}, {"url": "https://a..org/"}, {"risk": 0.5}, {"periods": 0}],
)
def test_what_an_alert_cannot_be_made_of_is_refused(
    service: World, body: dict[str, object]
) -> None:
    asked(service)
    problem = made(service, **body)
    assert (problem["status"], problem["argument"]) == (400, next(iter(body)))


def test_a_question_that_was_narrowed_to_releases_is_not_looked_at(
    service: World, hook: Hook
) -> None:
    collection = asked(service)
    made(service)
    day(service, collection, TODAY - 3, yes=10, no=190)
    service.register(next_version(collection.manifest, {"read": "releases"}))
    day(service, service.running.registry.get(collection.id), TODAY - 2, yes=190, no=10)
    assert hook.calls == []


def test_a_collection_has_so_many_alerts_and_no_more(service: World) -> None:
    asked(service)
    statuses = Counter(made(service)["status"] for _ in range(MOST_ALERTS + 1))
    assert statuses == {201: MOST_ALERTS, 409: 1}


def test_the_key_of_the_signatures_is_shown_once(service: World) -> None:
    collection = asked(service)
    secret = made(service)["secret"]
    listed = service.get(f"/v1/collections/{collection.id}/alerts", "admin")
    assert len(str(secret)) == 64
    assert str(secret) not in listed.text
    assert str(secret) not in service.get("/v1/audit", "admin").text
    assert [each["url"] for each in listed.get_json()["alerts"]] == [URL]


@pytest.mark.slow
def test_the_page_and_the_commands_make_list_and_end_alerts(
    service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = asked(service)
    admin = Browser.signed_in(service.app, service.running, "admin")
    page = f"/collections/{collection.id}/share"
    shown = admin.post(page, act="alert-made", url=URL)
    [alert] = service.running.store.alerts(collection.id)
    assert alert.secret.hex() in shown.text
    wrong = admin.post(page, act="alert-made", url="http://hook.example.org/")
    assert (wrong.status_code, "an https address" in wrong.text) == (400, True)
    assert admin.post(page, act="alert-ended", id=alert.id).status_code == 303
    words = ["collections", "alerts"]
    new = by_command(service, monkeypatch, [*words, "new", collection.id, URL, "--json"])
    listed = by_command(service, monkeypatch, [*words, "list", collection.id])
    assert json.loads(new.text)["id"] in listed.text
    ended = by_command(
        service, monkeypatch, [*words, "end", collection.id, json.loads(new.text)["id"]]
    )
    assert ended.status == 0


@pytest.mark.parametrize("risk", ["0.05", "0.001", "0.2", "0.123456"])
@pytest.mark.parametrize("looks", [1, 7, 365, 730, 17_520])
def test_all_looks_together_miss_with_the_chance_that_was_chosen(risk: str, looks: int) -> None:
    """Σ of the chances of all looks, exactly: at most the risk, and hardly less."""
    together = looks * (1 - Fraction(look_confidence(risk, looks)))
    assert Fraction(99, 100) * Fraction(risk) < together <= Fraction(risk)


@pytest.mark.exhaustive
@pytest.mark.parametrize("tail", grid([5e-9, 5e-7, 5e-6], by_default=[5e-9]))
def test_at_the_chances_of_looks_compare_misses_no_more_often_than_asked(
    service: World, tail: float
) -> None:
    """Every pair of counts of two days without a change, summed with its exact chance."""
    labels = [str(number) for number in range(500)]
    collection = asked(service, labels=labels)
    n, support = 5_000, 0.3
    low = round(n * support) - len(labels) // 2
    counts = np.arange(low, low + len(labels))
    chance = binom.pmf(counts, n, support)

    def period(tally: np.ndarray[Any, Any]) -> PeriodEstimate:
        sure = 1 - 2 * tail
        return PeriodEstimate.of(
            collection.estimator, tally, n, confidence=sure, epochs=1, family="each"
        )

    after = period(counts)
    missed = 1 - chance.sum() ** 2
    for count, one in zip(counts, chance, strict=True):
        changed = difference(period(np.full(len(labels), count)), after).changed
        missed += one * chance[changed].sum()
    assert tail < missed <= 2 * tail


def test_there_are_never_more_looks_than_were_planned_for(service: World) -> None:
    """Every day from the first to a year past the first version's last, each of them finished."""
    collection = asked(service)
    first, expires = collection.first_epoch, collection.last_epoch + 1
    assert most_looks(collection, 0) == expires - first + 365
    assert most_looks(collection, TODAY) == expires + 364 - TODAY
    assert most_looks(collection, expires + 500) == 1


@pytest.mark.exhaustive
def test_daily_checks_keep_the_promised_risk_and_naive_ones_do_not(
    service: World,
) -> None:
    """Simulated with seeds: nothing changes for many days; each course is looked at every day."""
    collection = asked(service)
    days, courses, risk = 60, 20, "0.2"
    alert = AlertRow("a", URL, b"", "", 0, 1, risk, most_looks(collection, TODAY), 0)
    naive = AlertRow("a", URL, b"", "", 0, 1, "0.05", 1, 0)
    alarms = {alert: 0, naive: 0}
    for number in range(courses):
        course = _Course(collection, days, seed=number)
        for each in alarms:
            alarms[each] += course.alarms(each)
    assert alarms[alert] / courses <= float(Fraction(risk)) / 2
    assert alarms[naive] / courses > 0.3


class _Course:
    """Days in which nothing changes, as a store has them."""

    def __init__(self, collection: Collection, days: int, *, seed: int) -> None:
        self.collection, draws = collection, generator(seed)
        encoded = np.array([collection.manifest.domain.encode(value) for value in (YES, NO)])
        people = np.array([3 * REPORTS // 10, 7 * REPORTS // 10])
        self.tally_of = {
            TODAY + day: simulated_tally(collection.mechanism, encoded, people, draws=draws)
            for day in range(days)
        }

    def epochs(self, collection: str) -> list[EpochRow]:
        return [EpochRow(epoch, REPORTS, 1) for epoch in self.tally_of]

    def tallies(self, collection: str, first: int, last: int) -> list[KeyedTally]:
        return [
            KeyedTally(TallyKey(collection, epoch, 1), REPORTS, np.asarray(tally))
            for epoch, tally in self.tally_of.items()
            if first <= epoch <= last
        ]

    def alarms(self, alert: AlertRow) -> bool:
        """Whether any look of the course finds a change."""
        for epoch in self.tally_of:
            look = next_look(self, self.collection, replace(alert, compared=epoch - 1))  # type: ignore[arg-type]  # a double of a store
            if look is not None and look.document is not None and look.document.changed:
                return True
        return False
