"""A relay before an intake: batches are taken and refused there as an aggregator does."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deniable_aggregator.operations.process.serving import free_port
from deniable_gateway.cli import run_intake
from deniable_gateway.errors import SettingsError, SpoolError
from deniable_gateway.relay.asgi import MIRROR_SECONDS, Relay
from deniable_gateway.relay.options import RelayOptions
from deniable_gateway.serving import Listening
from deniable_gateway.spool.intake import KeylessIntake
from deniable_gateway.spool.options import IntakeOptions
from deniable_gateway.spool.relay_tokens import NO_RELAYS, RelayToken, RelayTokens
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import Report, decode_errors, encode_upload
from support.builders import api_world, split_service
from support.builders.data_directory import DAY, TODAY
from support.builders.databases import KINDS
from support.builders.relay_world import Answer, Wiretap, sender_to, tell
from support.builders.split_service import Split
from support.doubles.asgi_as_wsgi import as_wsgi

LIMITS = {"reports_per_minute_per_prefix": 60, "reports_per_minute_per_collection": 120}
BATCH = 5


@pytest.fixture(params=KINDS)
def split(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Split]:
    with split_service.opened(tmp_path, request.param) as split:
        yield split


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Split]:
    with split_service.opened(tmp_path) as split:
        yield split


def reports(split: Split, count: int) -> list[Report]:
    return [split.report() for _ in range(count)]


def asked_of_both(split: Split, sent: list[Report], role: str | None) -> list[list[ReportError]]:
    """What the intake and the service answer to one and the same body."""
    there = split.world.upload(split.collection, *sent, role=role)
    assert there.status_code == 200
    codes = [ReportError(each.error) for each in decode_errors(there.data)]
    return [split.upload(*sent, role=role).codes, codes]


@pytest.mark.slow
def test_a_batch_with_a_relay_token_is_one_block_counted_once(
    split: Split,
) -> None:
    batch = reports(split, 20)
    assert split.upload(*batch, role="relay").codes == []
    assert len(split.waiting()) == 1
    assert split.upload(*batch, role="relay").codes == []  # the answer was lost
    split.consumer.run_once()
    assert (split.n(), split.waiting()) == (20, [])


@pytest.mark.parametrize(
    ("role", "code"),
    [
        (None, ReportError.TOKEN_REQUIRED),
        ("admin", ReportError.TOKEN_INVALID),
        ("revoked", ReportError.TOKEN_INVALID),
        ("expired", ReportError.TOKEN_INVALID),
    ],
)
def test_a_batch_without_a_relay_token_is_refused_as_by_the_service(
    one: Split, role: str | None, code: ReportError
) -> None:
    assert asked_of_both(one, reports(one, 2), role) == [[code] * 2] * 2
    assert one.waiting() == []


def test_wrong_reports_of_a_batch_are_named_and_the_others_are_kept(
    one: Split,
) -> None:
    good, early, late, keyless = reports(one, 4)
    early = Report(replace(early.header, epoch=TODAY + 2), early.sealed)
    late = Report(replace(late.header, epoch=TODAY - 4), late.sealed)
    keyless = Report(replace(keyless.header, key_id=9), keyless.sealed)
    wrong = [ReportError.TOO_EARLY, ReportError.EPOCH_CLOSED, ReportError.OUTDATED_KEY]
    assert asked_of_both(one, [early, good, late, keyless], "relay") == [wrong, wrong]
    one.world.running.store.close_epoch(one.collection.id, TODAY - 1, 0, audit=None)
    assert one.consumer.run_once() == 1
    assert one.n() == 1


def test_a_token_for_another_collection_is_no_token_here(one: Split) -> None:
    other = one.world.register(api_world.authored("other"))
    there = one.world.limit("relay", other.id)
    here = one.world.limit("relay", one.collection.id)
    one.publish()
    assert one.upload(*reports(one, 2), role=there).codes == [ReportError.TOKEN_INVALID] * 2
    assert one.upload(*reports(one, 2), role=here).codes == []


def test_a_revoked_token_is_refused_once_the_consumer_has_said_so(one: Split) -> None:
    for token in one.world.running.tokens.list():
        one.world.running.tokens.revoke(token.id, audit=None)
    one.consumer.run_once()
    one.intake.tick()
    assert one.upload(*reports(one, 2), role="relay").codes == [ReportError.TOKEN_INVALID] * 2


def test_an_intake_with_relays_only_takes_no_single_report_without_a_token(tmp_path: Path) -> None:
    with split_service.opened(tmp_path, relay_batch=100) as split:
        [report] = reports(split, 1)
        assert asked_of_both(split, [report], None) == [[ReportError.TOKEN_REQUIRED]] * 2
        assert split.upload(report, role="relay").codes == []
        assert split.consumer.run_once() == 1


@pytest.mark.slow
def test_limits_count_reports_and_spare_a_relay_that_of_its_network(tmp_path: Path) -> None:
    with split_service.opened(tmp_path, intake_options=LIMITS) as split:
        assert [split.upload(*reports(split, 1)).status for _ in range(11)] == [200] * 10 + [429]
        assert split.upload(*reports(split, 10), role="relay").status == 200
        refused = split.upload(*reports(split, 1), role="relay")
        assert (refused.status, "Retry-After" in refused.headers) == (429, True)


def test_a_batch_too_long_or_for_nothing_is_refused_as_a_whole(one: Split) -> None:
    found = one.world.authorization("relay")

    def answer(path: str, body: bytes) -> Answer:
        return tell(one.intake.app, "POST", path, body=body, headers=found)

    one_report = encode_upload(reports(one, 1))
    assert answer(one.path, one_report * 1_001).status == 400
    assert answer(one.path, bytes(262_145)).status == 413
    assert answer("/v1/collections/nothing/reports", one_report * 2).status == 404
    one.clock.now += 300 * DAY
    assert answer(one.path, one_report * 2).status == 410
    assert one.waiting() == []


def test_a_relay_before_an_intake_hides_devices_and_loses_nothing(
    tmp_path: Path,
) -> None:
    with split_service.opened(tmp_path, relay_batch=BATCH) as split:
        (tmp_path / "relay").mkdir()
        token = tmp_path / "relay.token"
        token.write_text(split.world.tokens["relay"])
        wiretap = Wiretap(as_wsgi(split.intake.app), split.clock)
        options = RelayOptions(
            "https://door.example.org", str(token), str(tmp_path / "relay"), BATCH
        )
        relay = Relay(options, clock=split.clock, send=sender_to(wiretap))
        try:
            relay.tick()
            sent = reports(split, BATCH)
            for report in sent:
                split.clock.now += 7
                answer = tell(relay.app, "POST", split.path, body=encode_upload([report]))
                assert answer.codes == []
            wiretap.outage = ("503 Service Unavailable", [])
            relay.tick()
            wiretap.outage = None
            split.clock.now += 1_000
            relay.tick()
        finally:
            relay.close()
        first, second = wiretap.posts
        assert {*first.reports} == {*second.reports} == {*sent}
        assert second.at == split.clock()
        assert "198.51.100.7" not in f"{second.headers}{second.address}"
        assert [(split.spool / name).stat().st_mtime for name in split.waiting()] == [0]
        assert split.consumer.run_once(at_once=True) == BATCH
        assert split.n() == BATCH
        assert MIRROR_SECONDS < 1_000


def test_an_intake_that_can_read_a_key_does_not_start(one: Split) -> None:
    options = IntakeOptions(str(one.spool), data=str(one.world.running.settings.data))
    with pytest.raises(SpoolError, match=r"must not be able to read keys.*cohorts\.key"):
        KeylessIntake(options)


def test_an_intake_gets_its_options_and_no_other_variable_of_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A store's password or a provider's secret may stand in the environment of its starter."""
    monkeypatch.setenv("DENIABLE_STORE", "postgresql://me:password@db/x")
    monkeypatch.setenv("DENIABLE_OIDC_CLIENT_SECRET", "secret")
    monkeypatch.setenv("AWS_REGION", "kept")
    calls: list[dict[str, str]] = []
    monkeypatch.setattr(os, "execve", lambda path, arguments, environ: calls.append(environ))
    monkeypatch.setattr(os, "chdir", lambda path: None)
    options = IntakeOptions(str(tmp_path), block_format="parquet", trusted_proxy=True)
    run_intake(options, Listening(port=free_port()))
    [environ] = calls
    assert IntakeOptions.load(environ) == options
    assert environ["AWS_REGION"] == "kept"
    assert [name for name in environ if name.startswith("DENIABLE_")] == ["DENIABLE_SPOOL"]


@pytest.mark.parametrize("changed", [{"block_format": "csv"}, {"wait_ms": -1}, {"wait_ms": 10_001}])
def test_an_option_out_of_range_is_named(changed: dict[str, Any]) -> None:
    [name] = changed
    with pytest.raises(SettingsError, match=f"{name} must be"):
        IntakeOptions("spool", **changed)
    with pytest.raises(SettingsError, match="DENIABLE_SPOOL is not set"):
        IntakeOptions.load({})


def test_the_intake_is_told_hashes_of_tokens_and_no_token(one: Split) -> None:
    written = (one.spool / "notices.json").read_text()
    assert not any(token in written for token in one.world.tokens.values())
    relays = RelayTokens(True, (RelayToken(bytes(32), 5, ("a",)), RelayToken(bytes(32))))
    assert RelayTokens.decode(relays.encode()) == relays
    assert not NO_RELAYS.accept(one.world.authorization("relay")["Authorization"], "settings", 0)
    for damaged in (b"", b"[]", b"{}", json.dumps({"only": 0, "tokens": [{}]}).encode()):
        with pytest.raises(SpoolError, match="cannot be read"):
            RelayTokens.decode(damaged)
