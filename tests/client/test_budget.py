"""The ledger: exact, by name, never split, bounded by manifest and ceiling."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from deniable_client import Budget, Ceiling, Outcome
from support.builders.client_world import SETTINGS, MakeDevice, manifest


def test_a_report_charges_its_name_exactly_once(make_device: MakeDevice) -> None:
    client = make_device(manifest(epsilon='"0.123456"', epsilon_lifetime='"0.5"')).granted()
    assert client.record("settings", SETTINGS) is Outcome.QUEUED
    assert client.record("settings", SETTINGS) is Outcome.ALREADY_ANSWERED
    spent, lifetime = Fraction("0.123456"), Fraction("0.5")
    inner = Budget.of(lifetime, spent, Fraction(8))
    whole = Budget.of(Fraction(8), spent, Fraction(8))
    assert client.budget() == replace(whole, collections={"settings": inner})
    assert (inner.left.exact, whole.left.exact) == (lifetime - spent, 8 - spent)


def test_the_ceiling_bounds_the_sum_over_the_app(make_device: MakeDevice) -> None:
    names = ["a", "b", "c"]
    client = make_device(*map(manifest, names)).granted(ceiling=Ceiling(1, 1, 2))
    outcomes = [client.record(name, SETTINGS) for name in names]
    assert outcomes == [Outcome.QUEUED, Outcome.QUEUED, Outcome.BUDGET_EXHAUSTED]
    assert client.budget().spent == 2
    assert client.budget().left == 0


def test_what_is_left_of_a_name_minds_what_is_left_of_the_app(make_device: MakeDevice) -> None:
    client = make_device(manifest("a"), manifest("b")).granted(ceiling=Ceiling(1, 1, "1.25"))
    client.record("a", SETTINGS)
    assert client.budget().collections["b"].left == Fraction(1, 4)


def test_a_ledger_group_shares_one_lifetime(make_device: MakeDevice) -> None:
    pair = [manifest(name, ledger_group='"ui"') for name in ("a", "b")]
    client = make_device(*pair).granted()
    outcomes = [client.record(name, SETTINGS) for name in ("a", "b")]
    assert outcomes == [Outcome.QUEUED, Outcome.BUDGET_EXHAUSTED]
    assert client.budget().collections["b"].spent == 1
    assert client.budget().spent == 1


def test_a_new_collection_of_the_same_name_gets_no_new_budget(make_device: MakeDevice) -> None:
    make_device(manifest()).granted().record("settings", SETTINGS)
    later = manifest(epsilon='"0.5"', epsilon_lifetime='"1"')
    client = make_device(manifest(), later).open()
    assert client.record(later.collection, SETTINGS) is Outcome.BUDGET_EXHAUSTED


def test_a_new_collection_of_the_same_name_may_use_what_is_left(make_device: MakeDevice) -> None:
    make_device(manifest()).granted().record("settings", SETTINGS)
    later = manifest(epsilon='"0.5"', epsilon_lifetime='"1.5"')
    client = make_device(later).open()
    assert client.record(later.collection, SETTINGS) is Outcome.QUEUED
    assert client.budget().collections["settings"] == Budget.of(
        Fraction(3, 2), Fraction(3, 2), Fraction(0)
    )


@pytest.mark.parametrize("second", ["own", "other"])
def test_names_once_merged_are_never_split(make_device: MakeDevice, second: str) -> None:
    first = [manifest(name, ledger_group='"ui"') for name in ("a", "b")]
    make_device(*first).granted().record("a", SETTINGS)
    later = manifest("b", ledger_group=f'"{second}"', purpose='"Another question"')
    client = make_device(later).open()
    assert client.record(later.collection, SETTINGS) is Outcome.BUDGET_EXHAUSTED


def test_a_group_named_like_a_collection_shares_its_budget(make_device: MakeDevice) -> None:
    pair = (manifest("a"), manifest("b", ledger_group='"a"'))
    client = make_device(*pair).granted()
    outcomes = [client.record(name, SETTINGS) for name in ("b", "a")]
    assert outcomes == [Outcome.QUEUED, Outcome.BUDGET_EXHAUSTED]


def test_a_budget_before_anything_was_recorded_is_whole(make_device: MakeDevice) -> None:
    budget = make_device().open().budget()
    assert budget.spent == 0
    assert budget.left == budget.lifetime == 8
    assert list(budget.collections) == ["settings"]


def test_a_name_whose_manifest_is_gone_still_shows_what_it_cost(make_device: MakeDevice) -> None:
    make_device(manifest("old")).granted().record("old", SETTINGS)
    client = make_device(manifest("new")).open()
    assert client.budget().collections["old"].spent == 1
