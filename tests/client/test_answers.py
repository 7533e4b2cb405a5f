"""For every answer of the aggregator: no second payload, and the action of the table."""

from __future__ import annotations

import pytest

from deniable_client import Outcome, RejectedError, Reply, TransportError
from deniable_client._uploading.retry_policy import Action
from deniable_client._uploading.sender import read_reply
from deniable_client.testing import Request, accepted
from deniable_shared.wire.problems import PROBLEMS, ReportError
from deniable_shared.wire.report import MEDIA_TYPE, ReportStatus, encode_errors
from support.builders.client_world import (
    DAY,
    EVERY_ANSWER,
    OTHER,
    SETTINGS,
    Device,
    MakeDevice,
    manifest,
    nothing,
    refused,
)
from support.tiers import grid

ID = bytes(range(16))
KEEPING = {Action.BACK_OFF, Action.LATER, Action.RESEAL}


@pytest.mark.parametrize("name", grid(EVERY_ANSWER, by_default=list(EVERY_ANSWER)[::4]))
def test_after_any_answer_another_value_makes_no_new_payload(name: str, device: Device) -> None:
    device.aggregator.script.extend([EVERY_ANSWER[name]] * 3)
    client = device.granted()
    client.record("settings", SETTINGS)
    for _ in range(4):
        client.flush(early=True)
        assert client.record("settings", OTHER) is Outcome.ALREADY_ANSWERED
        device.clock.advance(DAY / 3)
    assert len(set(device.payloads)) == 1
    assert len({each.report.header.report_id for each in device.aggregator.received}) == 1
    assert client.budget().spent == 1


@pytest.mark.parametrize("name", grid(EVERY_ANSWER, by_default=list(EVERY_ANSWER)[1::8]))
def test_after_any_answer_and_a_restart_another_value_makes_no_new_payload(
    name: str, device: Device
) -> None:
    device.aggregator.script.append(EVERY_ANSWER[name])
    first = device.granted()
    first.record("settings", SETTINGS)
    first.flush(early=True)
    first.close()
    second = device.open()
    assert second.record("settings", OTHER) is Outcome.ALREADY_ANSWERED
    second.flush(early=True)
    assert len(set(device.payloads)) == 1


@pytest.mark.parametrize("name", grid(EVERY_ANSWER, by_default=list(EVERY_ANSWER)[2::4]))
def test_a_report_is_either_done_or_dropped_or_still_waiting(name: str, device: Device) -> None:
    device.aggregator.script.extend([EVERY_ANSWER[name]] * 2)
    client = device.granted()
    client.record("settings", SETTINGS)
    result = client.flush(early=True)
    assert result.accepted + result.dropped + result.waiting == 1
    assert bool(result.problems) == (result.accepted == 0)


def test_every_code_has_an_action_and_all_but_four_drop() -> None:
    expected: dict[int, Action] = {
        ReportError.OUTDATED_KEY: Action.RESEAL,
        ReportError.MANIFEST_UNKNOWN: Action.FETCH_MANIFEST,
        ReportError.TOO_EARLY: Action.LATER,
        ReportError.VOUCHER_INVALID: Action.LATER,
    }
    replies = {code: accepted(encode_errors([ReportStatus(ID, code)])) for code in range(256)}
    actions = {code: read_reply(reply, ID).action for code, reply in replies.items()}
    assert actions == {code: expected.get(code, Action.DROP) for code in range(256)}


def test_a_status_alone_takes_no_report_away() -> None:
    actions = {status: read_reply(nothing(status), ID).action for status in range(100, 600)}
    assert actions == dict.fromkeys(range(100, 600), Action.BACK_OFF)


@pytest.mark.parametrize("slug", PROBLEMS)
def test_every_problem_has_an_action_and_only_four_take_a_report_away(slug: str) -> None:
    expected = {
        "invalid-message": Action.DROP_AND_STOP,
        "too-large": Action.DROP_AND_STOP,
        "unsupported-media-type": Action.DROP_AND_STOP,
        "collection-closed": Action.DROP_COLLECTION,
    }
    assert read_reply(refused(slug), ID).action is expected.get(slug, Action.BACK_OFF)


@pytest.mark.parametrize("body", [b"<html>", b"x", bytes(16), bytes(17), bytes(17 * 2000)])
def test_a_200_that_is_not_about_this_report_is_not_believed(body: bytes) -> None:
    assert read_reply(accepted(body), ID).action is Action.BACK_OFF


def test_an_accepted_report_is_emptied_and_its_row_kept(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    result = client.flush(early=True)
    assert (result.sent, result.accepted, result.waiting) == (1, 1, 0)
    assert client.flush(early=True).sent == 0
    with client._state.reading() as db:
        rows = db.execute("SELECT state, report_id, payload FROM outbox").fetchall()
    assert [tuple(row) for row in rows] == [("done", None, None)]


def test_a_report_goes_alone_to_its_collection_in_the_media_type(
    make_device: MakeDevice,
) -> None:
    device = make_device(manifest("a"), manifest("b"))
    client = device.granted()
    client.record("a", SETTINGS)
    client.record("b", SETTINGS)
    client.flush(early=True)
    posts = [request for request in device.transport.requests if request.method == "POST"]
    assert len(posts) == 2
    assert {request.content_type for request in posts} == {MEDIA_TYPE}
    assert {each.collection for each in device.aggregator.received} == {
        manifest("a").collection,
        manifest("b").collection,
    }


def test_an_outdated_key_is_renewed_and_the_same_payload_sealed_again(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.append(ReportError.OUTDATED_KEY)
    answer = device.transport.answer

    def rotate_after_the_first(request: Request) -> Reply:
        reply = answer(request)
        if len(device.payloads) == 1 and request.method == "POST":
            device.aggregator.rotate(2)
        return reply

    device.transport.answer = rotate_after_the_first
    assert client.flush(early=True).accepted == 1
    first, second = (each.report for each in device.aggregator.received)
    assert (first.header.key_id, second.header.key_id) == (1, 2)
    assert first.header.report_id == second.header.report_id
    assert len(set(device.payloads)) == 1
    assert first.sealed != second.sealed


def test_a_key_outdated_twice_waits_for_the_next_wake_up(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.extend([ReportError.OUTDATED_KEY] * 2)
    result = client.flush(early=True)
    assert (result.sent, result.waiting) == (2, 1)
    device.clock.advance(1.5 * DAY)
    assert client.upload_due().accepted == 1


def test_an_unknown_manifest_is_fetched_and_the_report_dropped(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.append(ReportError.MANIFEST_UNKNOWN)
    result = client.flush(early=True)
    assert (result.dropped, result.waiting) == (1, 0)
    assert device.transport.requests[-1].url.endswith(f"/{manifest().collection}/manifest")


def test_a_report_that_is_too_early_waits_six_hours(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.append(ReportError.TOO_EARLY)
    client.flush(early=True)
    device.clock.advance(6 * 3600 - 1)
    assert client.flush(early=True).sent == 0
    device.clock.advance(1)
    assert client.flush(early=True).accepted == 1


def test_a_collection_that_is_closed_loses_its_queue_and_no_other_does(
    make_device: MakeDevice,
) -> None:
    device = make_device(manifest("a"), manifest("b"))
    client = device.granted()
    client.record("a", SETTINGS)
    client.record("b", SETTINGS)
    device.aggregator.script.append(refused("collection-closed"))
    result = client.flush(early=True)
    assert (result.dropped, result.accepted, result.waiting) == (1, 1, 0)


@pytest.mark.parametrize("slug", ["unknown-collection", "not-found"])
def test_404_keeps_a_report_until_the_server_knows_its_collection(
    device: Device, slug: str
) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.append(refused(slug))
    result = client.flush(early=True)
    assert (result.dropped, result.waiting) == (0, 1)
    assert slug in str(result.problems[0])
    assert client.flush(early=True).accepted == 1


@pytest.mark.parametrize("slug", ["invalid-message", "too-large", "unsupported-media-type"])
def test_a_refused_message_stops_this_process_and_no_other(
    make_device: MakeDevice, slug: str
) -> None:
    device = make_device(manifest("a"), manifest("b"))
    client = device.granted()
    client.record("a", SETTINGS)
    client.record("b", SETTINGS)
    device.aggregator.script.append(refused(slug))
    assert client.flush(early=True).waiting == 1
    stopped = client.flush(early=True)
    assert (stopped.sent, str(stopped.problems[0]).split(":")[0]) == (0, "stopped")
    client.close()
    assert device.open().flush(early=True).accepted == 1


def test_a_dropped_report_says_the_aggregator_s_reason(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.append(refused("collection-closed"))
    (problem,) = client.flush(early=True).problems
    assert isinstance(problem, RejectedError)
    assert problem.problem == "collection-closed"


@pytest.mark.slow
@pytest.mark.parametrize(
    "body", [b"", b"[", b"[" * 10_000, b'{"type": 5}', b'{"type": "urn:x"}', b"<html>"]
)
def test_a_stranger_s_problem_is_named_by_its_status(device: Device, body: bytes) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    headers = {"Content-Type": "application/problem+json", "Content-Length": str(len(body))}
    device.aggregator.script.append(Reply(410, body, headers))
    result = client.flush(early=True)
    assert (result.dropped, result.waiting) == (0, 1)
    assert "http-410" in str(result.problems[0])


def test_a_lost_reply_is_sent_again_under_the_same_id(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.append(TransportError("reply lost"))
    client.flush(early=True)
    assert client.flush(early=True).accepted == 1
    first, second = (each.report.header for each in device.aggregator.received)
    assert first == second
