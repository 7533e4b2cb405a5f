"""Spans: four acts, how they ended, and nothing about any person."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from opentelemetry.trace import StatusCode

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.base.spans import NO_TRACER
from deniable_aggregator.web.app import create_app
from deniable_shared.wire.problems import PROBLEMS
from deniable_shared.wire.report import MEDIA_TYPE, encode_upload
from support.builders.api_world import NOON, TODAY, World, authored, opened
from support.doubles.memory_tracer import Traced, length

MINUTE = 60_000_000_000
FROM = "203.0.113.77"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
STRANGE = {
    "X-Forwarded-For": FROM,
    "User-Agent": "device-of-mallory",
    "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01",
    "tracestate": "person=mallory",
    "baggage": "person=mallory",
}
BUDGET = 'central = { per_epoch = "1", per_installation = "1", delta = "0.00001" }\n'
OUTCOMES = {"accepted", "turned-away", "durable", "answered", "made", "repeated", "priced"}


@dataclass
class Day:
    """What was seen while all was asked well and badly, and what no span may hold."""

    traced: Traced = field(default_factory=Traced)
    secrets: dict[str, bytes] = field(default_factory=dict)
    collections: set[str] = field(default_factory=set)


@pytest.fixture(scope="module")
def traced_day(tmp_path_factory: pytest.TempPathFactory) -> Day:
    found = Day()
    with opened(tmp_path_factory.mktemp("spans"), tracer=found.traced.tracer()) as world:
        uploads(world, found)
        estimates(world, found)
        releases(world, found)
        found.secrets |= {role: token.encode() for role, token in world.tokens.items()}
    return found


def uploads(service: World, traced_day: Day) -> None:
    """Good, repeated, late, several at once, torn, of a made-up collection, from 203.0.113.77."""
    found = service.register(authored())
    traced_day.collections.add(found.id)
    value = {"dark_mode": True, "beta": False}
    reports = [service.report(found, value) for _ in range(3)]
    late = service.report(found, value, epoch=TODAY - 10)
    for number, report in enumerate((*reports, late)):
        traced_day.secrets[f"id {number}"] = report.header.report_id
        traced_day.secrets[f"sealed {number}"] = report.sealed[:16]
    whole = encode_upload(reports[:1])
    bodies = [*(encode_upload([each]) for each in reports), whole, encode_upload([late])]
    for body in (*bodies, encode_upload(reports), whole[:-9], secrets.token_bytes(60), b""):
        send(service, found.id, body)
        send(service, "made-up-by-mallory", body)
    for role in service.tokens:
        send(service, found.id, encode_upload(reports[:2]), role)
    send(service, found.id, whole, media_type="text/mallory")


def send(
    service: World,
    collection: str,
    body: bytes,
    role: str | None = None,
    media_type: str = MEDIA_TYPE,
) -> None:
    service.client.post(
        f"/v1/collections/{collection}/reports",
        data=body,
        content_type=media_type,
        headers=STRANGE | service.authorization(role),
        environ_base={"REMOTE_ADDR": FROM},
    )


def estimates(service: World, traced_day: Day) -> None:
    """With every token, also of nothing, and with what may not be asked."""
    [collection] = traced_day.collections
    for path in (f"{collection}/estimates", f"{collection}/series", "made-up-by-mallory/estimates"):
        for role in (None, *service.tokens):
            for query in ("", "?set=dark_mode", f"?who={FROM}", "?candidate=mallory"):
                service.get(f"/v1/collections/{path}{query}", role, **STRANGE)


def releases(service: World, traced_day: Day) -> None:
    """Priced, made, repeated, refused by the budget, malformed, of an open epoch."""
    found = service.register(
        authored("votes", type="choice", labels=("mallory-1", "mallory-2"), more=BUDGET)
    )
    traced_day.collections.add(found.id)
    service.count(found, ["mallory-1"] * 5)
    service.running.store.close_epoch(found.id, TODAY, service.clock(), audit=None)
    wanted = {"mechanism": "histogram", "epsilon": "0.5", "epochs": [TODAY]}
    bad = ({**wanted, "epsilon": "mallory"}, {"mechanism": "mallory"}, {**wanted, "epochs": [1]})
    address = f"/v1/collections/{found.id}/releases"
    for body in ({**wanted, "cost": True}, wanted, wanted, {**wanted, "epsilon": "0.9"}, *bad):
        for role in ("viewer", "analyst"):
            service.send("POST", address, role, json=body)


@pytest.mark.slow
def test_every_kind_of_outcome_was_seen(traced_day: Day) -> None:
    seen = set(traced_day.traced.names)
    assert {
        "upload accepted",
        "upload turned-away",
        "upload invalid-message",
        "upload unknown-collection",
        "upload unsupported-media-type",
        "commit durable",
        "estimate answered",
        "estimate invalid-argument",
        "estimate unauthorized",
        "estimate forbidden",
        "estimate unknown-collection",
        "release priced",
        "release made",
        "release repeated",
        "release budget-exhausted",
        "release invalid-argument",
    } <= seen
    assert len(traced_day.traced.spans) > 100


@pytest.mark.slow
def test_a_name_is_an_act_and_an_outcome_of_closed_lists(traced_day: Day) -> None:
    for span in traced_day.traced.spans:
        act, outcome = span.name.split(" ")
        assert act in {"upload", "commit", "estimate", "release"}
        assert outcome in OUTCOMES | PROBLEMS.keys()
        assert (span.attributes or {})["deniable.outcome"] == outcome


@pytest.mark.slow
def test_no_span_has_another_attribute_an_event_a_link_or_a_message(
    traced_day: Day,
) -> None:
    attributes = {"deniable.outcome", "deniable.collection", "deniable.reports"}
    for span in traced_day.traced.spans:
        assert set(span.attributes or {}) <= attributes
        assert (span.events, span.links, span.status.description) == ((), (), None)
    assert {
        name for span in traced_day.traced.spans for name in span.attributes or {}
    } == attributes


def test_the_collection_of_a_span_is_a_registered_one(traced_day: Day) -> None:
    reply = [(span.attributes or {}).get("deniable.collection") for span in traced_day.traced.spans]
    assert set(reply) == traced_day.collections | {None}


def test_no_span_has_a_person_an_address_a_value_or_foreign_text(
    traced_day: Day,
) -> None:
    text = traced_day.traced.text().lower()
    for word in ("mallory", FROM, TRACE, "127.0.0.1", "dark_mode", "dn_"):
        assert word not in text


def test_no_span_holds_a_token_an_id_or_a_byte_of_a_report(traced_day: Day) -> None:
    assert len(traced_day.secrets) >= 12
    text = traced_day.traced.text()
    for name, secret in traced_day.secrets.items():
        spellings = (
            secret.hex(),
            repr(secret)[2:-1],
            base64.b64encode(secret).decode().rstrip("="),
        )
        assert not [each for each in spellings if each in text], name


def test_a_trace_begins_at_a_full_minute_and_lasts_as_long_as_it_took(traced_day: Day) -> None:
    roots = [span for span in traced_day.traced.spans if span.parent is None]
    assert {span.start_time for span in roots} == {NOON * 1_000_000_000}
    assert NOON * 1_000_000_000 % MINUTE == 0
    assert all(0 < length(span) < MINUTE for span in traced_day.traced.spans)


def test_every_span_begins_a_trace_of_its_own(traced_day: Day) -> None:
    """Commits, too: one holds reports of many uploads."""
    assert [span for span in traced_day.traced.spans if span.name.startswith("commit")]
    spans = traced_day.traced.spans
    assert all(span.parent is None for span in spans)
    assert len({span.context.trace_id for span in spans if span.context}) == len(spans)


def test_by_the_view_a_commit_lies_in_its_upload(tmp_path: Path) -> None:
    found = Day()
    with opened(tmp_path, tracer=found.traced.tracer()) as world:
        collection = world.register(authored())
        world.app = create_app(world.running)
        report = world.report(collection, {"dark_mode": True, "beta": False})
        send(world, collection.id, encode_upload([report]))
    commit, upload = found.traced.spans
    assert (commit.name, upload.name) == ("commit durable", "upload accepted")
    assert commit.parent is not None
    assert upload.context is not None
    assert commit.parent.span_id == upload.context.span_id
    assert (commit.start_time or 0) > (upload.start_time or 0)
    assert (commit.end_time or 0) < (upload.end_time or 0)


@pytest.fixture
def traced() -> Traced:
    return Traced()


@pytest.fixture
def service(tmp_path: Path, traced: Traced) -> Iterator[World]:
    with opened(tmp_path, tracer=traced.tracer()) as service:
        yield service


@pytest.mark.slow
def test_what_the_service_could_not_do_is_an_error_without_its_words(
    service: World, traced: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = service.register(authored())

    def full(*arguments: object) -> None:
        raise StoreError("the database refuses: row of mallory")

    monkeypatch.setattr(service.running.store, "commit", full)
    report = service.report(found, {"dark_mode": True, "beta": False})
    assert service.upload(found, report).status_code == 503
    assert traced.names == ["commit failed", "upload unavailable"]
    assert {span.status.status_code for span in traced.spans} == {StatusCode.ERROR}
    assert "mallory" not in traced.text()


def test_a_request_that_is_refused_is_no_error_of_the_service(
    service: World, traced: Traced
) -> None:
    found = service.register(authored())
    send(service, found.id, b"torn")
    assert traced.names == ["upload invalid-message"]
    assert [span.status.status_code for span in traced.spans] == [StatusCode.UNSET]


def test_a_commit_says_how_many_reports_it_held(service: World, traced: Traced) -> None:
    found = service.register(authored())
    reports = [service.report(found, {"dark_mode": True, "beta": False}) for _ in range(7)]
    assert service.upload(found, *reports, role="relay").status_code == 200
    assert [dict(span.attributes or {}) for span in traced.spans] == [
        {"deniable.outcome": "durable", "deniable.reports": 7},
        {"deniable.outcome": "accepted", "deniable.collection": found.id},
    ]


@pytest.mark.slow
def test_answers_are_the_same_with_tracing(service: World, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with opened(tmp_path / "plain") as plain:
        for path in ("/openapi.json", "/v1/collections/none/estimates", "/v1/collections/none/x"):
            assert service.get(path).data == plain.get(path).data


def test_without_a_tracer_every_part_has_the_one_that_makes_no_spans(tmp_path: Path) -> None:
    with opened(tmp_path) as plain:
        assert plain.running.tracer is NO_TRACER
        assert plain.running.ingest._tracer is NO_TRACER
        assert plain.running.releases._tracer is NO_TRACER


def test_the_tracer_that_makes_no_spans_lets_exceptions_pass() -> None:
    with pytest.raises(StoreError), NO_TRACER.span("commit"):
        raise StoreError("the database refuses")
