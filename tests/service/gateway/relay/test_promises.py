"""What a relay in front adds, as estimates and pages say it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deniable_aggregator.web.dashboard.guarantees import relay_guarantees
from deniable_shared.wire.report import decode_errors
from support.builders import api_world
from support.builders.relay_reports import YES

RELAYED: dict[str, Any] = {"relay_batch": 1_000}
BUSY = ("503 Service Unavailable", [("Retry-After", "120")])


@pytest.mark.parametrize(("role", "code"), [(None, 0x81), ("viewer", 0x82), ("relay", None)])
def test_where_relays_pass_on_batches_only_they_may_send(
    tmp_path: Path, role: str | None, code: int | None
) -> None:
    with api_world.opened(tmp_path, **RELAYED) as world:
        found = world.register(api_world.authored())
        answer = world.upload(found, world.report(found, YES), role=role)
        codes = [status.error for status in decode_errors(answer.data)]
        assert codes == ([] if code is None else [code])


@pytest.mark.parametrize(("query", "honest"), [("", 500), ("&liars=0.1", 900)])
def test_estimates_say_what_the_relay_adds_and_on_which_conditions(
    tmp_path: Path, query: str, honest: int
) -> None:
    with api_world.opened(tmp_path, **RELAYED) as world:
        found = world.register(api_world.authored())
        world.count(found, [YES] * 10)
        document = world.get(f"/v1/collections/settings/estimates?confidence=0.9{query}").json
        assert document is not None
        shuffled = document["shuffled"]
        assert (shuffled["batch"], shuffled["reports"]) == (1_000, honest)
        assert 0 < shuffled["epsilon"] == shuffled["epsilon_all"] < 0.6
        assert len(shuffled["conditions"]) == 4


def test_without_relays_estimates_claim_nothing_of_the_kind(tmp_path: Path) -> None:
    with api_world.opened(tmp_path) as world:
        found = world.register(api_world.authored())
        world.count(found, [YES] * 10)
        assert "shuffled" not in (world.get("/v1/collections/settings/estimates").json or {})


def test_with_vouchers_a_relay_adds_nothing_for_they_say_whose_a_report_is(tmp_path: Path) -> None:
    with api_world.opened(tmp_path, **RELAYED) as world:
        found = world.register(api_world.authored(more='requires = ["voucher/1"]\n'))
        world.count(found, [YES] * 10)
        assert "shuffled" not in (world.get("/v1/collections/settings/estimates").json or {})
        assert list(relay_guarantees(found, 1_000)) == []


def test_the_page_of_a_collection_says_what_the_relay_adds(tmp_path: Path) -> None:
    with api_world.opened(tmp_path, **RELAYED) as world:
        found = world.register(api_world.authored())
        [sentence] = relay_guarantees(found, 1_000)
        assert "A relay mixes at least 1\u202f000 reports" in sentence
        assert "one report then has ε = 0.585 at δ = 1e-06," in sentence
        assert "an honest relay and at most 50" in sentence
        assert list(relay_guarantees(found, 0)) == []
