"""While there is a reason, uploads get 503 with every reason and Retry-After; nothing is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_gateway.suspension import RETRY_SECONDS
from deniable_shared.wire.report import MEDIA_TYPE
from support.builders.api_world import World, authored, opened


@pytest.fixture
def service(tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path) as service:
        service.register(authored())
        yield service


def upload(service: World) -> int:
    path = "/v1/collections/settings/reports"
    return service.client.post(path, data=b"", content_type=MEDIA_TYPE).status_code


def test_uploads_are_refused_until_the_last_reason_is_gone(service: World) -> None:
    suspension = service.running.suspension
    accepted = upload(service)
    suspension.suspend("clock", "the clock is wrong")
    suspension.suspend("database", "the database is another")
    assert upload(service) == 503
    suspension.resume("clock")
    assert suspension.reason("clock") is None
    assert upload(service) == 503
    suspension.resume("database")
    assert upload(service) == accepted != 503


def test_a_refusal_names_every_reason_and_when_to_come_back(service: World) -> None:
    service.running.suspension.suspend("clock", "the clock is wrong")
    service.running.suspension.suspend("database", "the database is another")
    answer = service.client.post(
        "/v1/collections/no-such/reports", data=b"", content_type=MEDIA_TYPE
    )
    assert answer.status_code == 503
    document = answer.get_json(force=True)
    assert document["type"] == "urn:deniable:problem:unavailable"
    assert document["detail"] == "the clock is wrong; the database is another"
    assert RETRY_SECONDS <= int(answer.headers["Retry-After"]) <= 2 * RETRY_SECONDS + 1


def test_a_second_reason_of_the_same_name_replaces_the_first(service: World) -> None:
    suspension = service.running.suspension
    suspension.suspend("clock", "400 days ahead")
    suspension.suspend("clock", "10 days ahead")
    assert suspension.reason("clock") == "10 days ahead"
    suspension.resume("clock")
    suspension.require_none()
