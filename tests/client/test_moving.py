"""A service moves: devices follow the operator's word, within the list their app was built with."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from deniable_client import Client, ConfigurationError, Reply, TransportError
from deniable_client.address import parse_addresses, route
from deniable_client.errors import RefusedError
from deniable_client.testing import FakeClock, RecordingTransport, Request
from deniable_shared.manifest.model import Manifest
from support.builders.client_world import (
    CEILING,
    SETTINGS,
    START,
    URL,
    Aggregator,
    Operator,
    manifest,
    refused,
    toml,
)
from support.builders.manifest_text import manifest_of
from support.oracles.vectors import vectors
from support.tiers import grid

OLD = URL
NEW = "https://new.example.net"
RELAY = "https://relay.example.com"


def moved(*origins: str) -> Manifest:
    """The next version of the settings collection, at other origins."""
    return manifest_of(toml(), ingest=origins, previous=manifest(), move=True)


@dataclass
class Network:
    """Addresses of one aggregator: `up` answer, `lost` do what is asked and lose the answer."""

    aggregator: Aggregator
    up: set[str]
    lost: set[str] = field(default_factory=set)
    requests: list[str] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        origin = "/".join(request.url.split("/")[:3])
        self.requests.append(f"{request.method} {origin}")
        if origin not in self.up | self.lost:
            raise TransportError("nobody is there")
        reply = self.aggregator(replace(request, url=request.url.replace(origin, URL)))
        if origin in self.lost:
            raise TransportError("the answer was lost")
        return reply

    @property
    def posts(self) -> list[str]:
        """Where reports were sent to, in order."""
        return [each.removeprefix("POST ") for each in self.requests if each.startswith("POST ")]

    @property
    def counted(self) -> int:
        """Different reports that arrived: the database counts an id once."""
        return len({each.report.header.report_id for each in self.aggregator.received})


def parked() -> Reply:
    """What a dealer in names answers."""
    return Reply(503, b"<html>This name is for sale</html>", {"Retry-After": "60"})


@pytest.fixture
def network(operator: Operator) -> Network:
    aggregator = Aggregator(operator, FakeClock(START))
    aggregator.add(manifest())
    return Network(aggregator, {OLD, NEW})


def start(network: Network, state: Path, *urls: str, shipped: Manifest | None = None) -> Client:
    """An app built with these addresses, of someone who agreed."""
    operator = network.aggregator.operator
    client = Client(
        urls if len(urls) > 1 else urls[0],
        trust=operator.trust,
        manifests=[operator.sign(shipped or manifest())],
        state=state,
        ceiling=CEILING,
        transport=RecordingTransport(network),
        clock=network.aggregator.clock,
        background=False,
    )
    client.consent("granted")
    return client


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


def test_the_first_address_is_todays(network: Network, state: Path) -> None:
    with start(network, state, OLD, NEW) as client:
        client.record("settings", SETTINGS)
        assert client.flush(early=True).accepted == 1
    assert {each.split()[1] for each in network.requests} == {OLD}


def test_a_report_that_waited_goes_where_the_collection_moved(
    network: Network, state: Path
) -> None:
    with start(network, state, OLD, NEW) as client:
        client.record("settings", SETTINGS)
        network.aggregator.add(moved(NEW))
        assert not client.refresh().problems
        assert client.flush(early=True).accepted == 1
    assert network.posts == [NEW]
    assert network.counted == 1


def test_a_device_that_missed_the_move_finds_the_new_address(network: Network, state: Path) -> None:
    with start(network, state, OLD, NEW) as client:
        client.record("settings", SETTINGS)
        network.aggregator.add(moved(NEW))
        network.up = {NEW}
        assert client.flush(early=True).waiting == 1
        assert network.requests[-2:] == [f"POST {OLD}", f"GET {NEW}"]
        network.aggregator.clock.advance(120)
        assert client.flush(early=True).accepted == 1
    assert network.posts == [OLD, NEW]
    assert network.counted == 1


def test_an_answer_lost_at_the_old_address_counts_nothing_twice(
    network: Network, state: Path
) -> None:
    with start(network, state, OLD, NEW) as client:
        client.record("settings", SETTINGS)
        network.aggregator.add(moved(NEW))
        network.up, network.lost = {NEW}, {OLD}
        assert client.flush(early=True).waiting == 1
        network.aggregator.clock.advance(120)
        assert client.flush(early=True).accepted == 1
    assert network.posts == [OLD, NEW]
    assert len(network.aggregator.received) == 2
    assert network.counted == 1


def test_of_two_addresses_that_a_version_names_a_retry_takes_the_other(
    network: Network, state: Path
) -> None:
    both = moved(OLD, NEW)
    network.aggregator.add(both)
    network.up = {NEW}
    with start(network, state, OLD, NEW, shipped=both) as client:
        client.record("settings", SETTINGS)
        assert client.flush(early=True).waiting == 1
        network.aggregator.clock.advance(120)
        assert client.flush(early=True).accepted == 1
    assert network.posts == [OLD, NEW]


def test_no_operator_moves_a_device_from_a_relay_past_it(network: Network, state: Path) -> None:
    behind = manifest_of(toml(), ingest=[RELAY])
    direct = manifest_of(toml(), ingest=[OLD], previous=behind, move=True)
    network.up = {RELAY, OLD}
    network.aggregator.add(behind)
    with start(network, state, RELAY, shipped=behind) as client:
        client.record("settings", SETTINGS)
        network.aggregator.add(direct)
        [problem] = client.refresh().problems
        assert isinstance(problem, RefusedError)
        assert f"ingest must be {RELAY}, the origin this app was built with" in str(problem)
        assert client.flush(early=True).accepted == 1
    assert {each.split()[1] for each in network.requests} == {RELAY}


def test_a_second_relay_of_the_list_is_followed(network: Network, state: Path) -> None:
    with start(network, state, OLD, RELAY) as client:
        network.aggregator.add(moved(NEW))
        assert "the origin this app was built with" in str(client.refresh().problems[0])
        network.aggregator.add(moved(RELAY))
        assert not client.refresh().problems
        client.record("settings", SETTINGS)
        network.up = {RELAY}
        assert client.flush(early=True).accepted == 1
    assert NEW not in " ".join(network.requests)


def test_an_app_with_one_address_asks_nobody_else(network: Network, state: Path) -> None:
    network.up = set()
    with start(network, state, OLD) as client:
        client.record("settings", SETTINGS)
        assert client.flush(early=True).waiting == 1
    assert network.requests == [f"GET {OLD}"]


@pytest.mark.parametrize("slug", ["unavailable", "too-many-requests"])
def test_a_busy_aggregator_is_not_asked_for_more(network: Network, state: Path, slug: str) -> None:
    with start(network, state, OLD, NEW) as client:
        client.record("settings", SETTINGS)
        network.aggregator.script.append(refused(slug))
        assert client.flush(early=True).waiting == 1
    assert network.requests == [f"GET {OLD}", f"POST {OLD}"]


def test_whoever_has_the_old_address_now_does_not_hide_the_new_one(
    network: Network, state: Path
) -> None:
    with start(network, state, OLD, NEW) as client:
        client.record("settings", SETTINGS)
        network.aggregator.add(moved(NEW))
        network.aggregator.script.append(parked())
        assert client.flush(early=True).waiting == 1
        network.aggregator.clock.advance(7 * 3600)
        assert client.flush(early=True).accepted == 1
    assert network.posts == [OLD, NEW]


def test_the_move_is_known_after_a_restart(network: Network, state: Path) -> None:
    with start(network, state, OLD, NEW) as client:
        network.aggregator.add(moved(NEW))
        assert not client.refresh().problems
    with start(network, state, OLD, NEW) as client:
        client.record("settings", SETTINGS)
        assert client.flush(early=True).accepted == 1
    assert network.posts == [NEW]


@pytest.mark.parametrize("case", vectors("moves.json"), ids=lambda case: case["name"])
def test_reports_go_where_the_published_moves_say(
    network: Network, state: Path, case: dict[str, Any]
) -> None:
    """The device knew the first version of its list; the next one may move it."""
    first = manifest_of(toml(), ingest=case["addresses"])
    following = manifest_of(
        toml(purpose='"Which settings?"'), ingest=case["ingest"], previous=first, move=True
    )
    network.up = set()
    with start(network, state, *case["addresses"], shipped=first) as client:
        client.record("settings", SETTINGS)
        network.up = set(case["addresses"])
        network.aggregator.add(first)
        network.aggregator.add(following)
        problems = client.refresh().problems
        network.aggregator.script.extend([TransportError("nobody is there")] * 4)
        for _ in range(4):
            client.flush(early=True)
    if case["attempts"] is None:
        assert "the origin this app was built with" in str(problems[0])
        assert set(network.posts) <= set(case["addresses"])
    else:
        assert not problems
        assert network.posts == case["attempts"]


def test_explain_names_every_address(network: Network, state: Path) -> None:
    with start(network, state, OLD, NEW) as client:
        assert client.explain().url == f"{OLD} or {NEW}"


@pytest.mark.parametrize(
    ("urls", "reason"),
    [
        ([], "a list of 1…8, got 0"),
        ([f"https://t{number}.example.org" for number in range(9)], "a list of 1…8, got 9"),
        ([OLD, f"{OLD}/base"], "each origin once"),
        ([OLD, "http://new.example.net"], "url must be https"),
        ([OLD, 5], "url must be like"),
        ({OLD}, "url must be like"),
    ],
)
def test_a_list_that_cannot_be_meant_is_refused(urls: object, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        parse_addresses(urls)


def test_a_route_keeps_the_apps_order_and_names_every_address_once() -> None:
    old, new, relay = parse_addresses([OLD, NEW, RELAY])
    addresses = (old, new, relay)
    assert route(addresses, [OLD]) == (old, new, relay)
    assert route(addresses, [RELAY, NEW]) == (new, relay, old)
    assert route(addresses, [RELAY, NEW], 1) == (relay, new, old)
    assert route(addresses, [RELAY, NEW], 2) == (new, relay, old)
    assert route(addresses, []) == (old, new, relay)


@pytest.mark.parametrize("seed", grid(range(40), by_default=range(3)))
def test_whatever_fails_on_the_way_a_move_loses_and_doubles_nothing(
    network: Network, tmp_path: Path, seed: int
) -> None:
    """Addresses come and go and lose answers at random, and the move falls somewhere between."""
    chance = random.Random(seed)
    addresses = (OLD, NEW) if chance.random() < 0.5 else (NEW, OLD)
    clients = [start(network, tmp_path / f"{number}.db", *addresses) for number in range(3)]
    for client in clients:
        assert client.record("settings", SETTINGS) == "queued"
    moment = chance.randrange(6)
    for turn in range(8):
        if turn == moment:
            network.aggregator.add(moved(NEW, *((OLD,) if chance.random() < 0.3 else ())))
        network.up = {origin for origin in addresses if chance.random() < 0.4}
        network.lost = {origin for origin in addresses if chance.random() < 0.4} - network.up
        chance.choice(clients).flush(early=True)
    network.up, network.lost = {NEW}, set()
    for _ in range(4):
        for client in clients:
            client.flush(early=True)
    assert [client.flush(early=True).waiting for client in clients] == [0, 0, 0]
    assert network.counted == 3
    assert {each.split()[1] for each in network.requests} <= {OLD, NEW}
    for client in clients:
        client.close()
