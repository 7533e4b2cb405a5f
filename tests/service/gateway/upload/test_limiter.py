"""The limiter: which network an address is of, what it may send, what is remembered of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from deniable_gateway.problem import Problem
from deniable_gateway.upload.limiter import CollectionLimiter, PrefixLimiter, network_prefix
from support.builders import service_world
from support.builders.data_directory import prepared
from support.builders.service_world import Moment


def admitted(limiter: PrefixLimiter, prefix: str, reports: int = 1) -> bool:
    try:
        limiter.admit(prefix, reports)
    except Problem:
        return False
    return True


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("192.0.2.1", "192.0.2.254"),
        ("2001:db8:7::1", "2001:db8:7:ffff::"),
        ("::ffff:192.0.2.1", "192.0.2.9"),
        ("fe80::1%eth0", "fe80::2%eth1"),
        ("", "somewhere"),
        ("not:an:address", "nowhere"),
    ],
)
def test_neighbours_share_a_prefix(one: str, other: str) -> None:
    assert network_prefix(one) == network_prefix(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("192.0.2.1", "192.0.3.1"),
        ("2001:db8:7::1", "2001:db8:8::1"),
        ("::ffff:192.0.2.1", "::ffff:192.0.3.1"),
        ("192.0.2.1", "::1"),
    ],
)
def test_strangers_do_not(one: str, other: str) -> None:
    assert network_prefix(one) != network_prefix(other)


def test_a_network_may_send_a_sixth_of_its_minute_in_ten_seconds() -> None:
    clock = Moment()
    limiter = PrefixLimiter(60, clock=clock)
    assert [admitted(limiter, "192.0.2") for _ in range(12)] == [True] * 10 + [False] * 2
    clock.now += 10
    assert admitted(limiter, "192.0.2", 10)
    assert not admitted(limiter, "192.0.2")


def test_networks_do_not_share_a_limit() -> None:
    limiter = PrefixLimiter(60, clock=Moment())
    assert admitted(limiter, "192.0.2", 10)
    assert admitted(limiter, "192.0.3", 10)


def test_the_least_limit_still_lets_one_through() -> None:
    limiter = PrefixLimiter(1, clock=Moment())
    assert admitted(limiter, "192.0.2")
    assert not admitted(limiter, "192.0.2")


def test_a_refusal_says_when_to_come_back() -> None:
    limiter = PrefixLimiter(6, clock=Moment())
    with pytest.raises(Problem, match="1 reports in 10 s") as refusal:
        limiter.admit("192.0.2", 2)
    assert refusal.value.headers()[0][0] == "Retry-After"
    assert 10 <= int(refusal.value.headers()[0][1]) <= 20


def test_what_is_remembered_names_no_network_and_is_gone_after_the_window() -> None:
    clock = Moment()
    limiter = PrefixLimiter(60, clock=clock)
    limiter.admit("192.0.2")
    limiter.admit("192.0.3")
    counts = limiter._limiter._counts
    assert len(counts) == 2
    assert not any("192.0" in name for name in counts)
    clock.now += 10
    limiter.admit("192.0.4")
    assert len(limiter._limiter._counts) == 1


def test_a_network_has_another_pseudonym_every_hour() -> None:
    clock = Moment()
    limiter = PrefixLimiter(60, clock=clock)
    first = limiter._limiter._pseudonym("192.0.2", clock.now)
    assert limiter._limiter._pseudonym("192.0.2", clock.now) == first
    clock.now += 3_600
    assert limiter._limiter._pseudonym("192.0.2", clock.now) != first
    assert PrefixLimiter(60, clock=clock)._limiter._pseudonym("192.0.2", clock.now) != first


def test_a_collection_takes_its_share_whoever_sends_and_others_theirs() -> None:
    clock = Moment()
    limiter = CollectionLimiter(60, clock=clock)
    limiter.admit("one", 10)
    limiter.admit("other", 10)
    with pytest.raises(Problem, match="one collection takes 10 reports in 10 s") as refused:
        limiter.admit("one", 1)
    assert refused.value.slug == "too-many-requests"
    assert 10 <= (refused.value.retry_after or 0) <= 20
    clock.now += 10
    limiter.admit("one", 10)


def test_a_collection_without_a_limit_takes_everything() -> None:
    limiter = CollectionLimiter(0, clock=Moment())
    for _ in range(5):
        limiter.admit("one", 10**9)


def test_uploads_over_a_collections_limit_are_refused_and_counted_nowhere(tmp_path: Path) -> None:
    settings = replace(prepared(tmp_path), reports_per_minute_per_collection=12)
    with service_world.opened(tmp_path, settings) as world:
        assert world.upload(world.report(), world.report(), relay=True) == []
        with pytest.raises(Problem, match="one collection"):
            world.upload(world.report(), relay=True)
        with pytest.raises(Problem, match="one collection"):
            world.upload(world.report())
        assert world.n() == 2
