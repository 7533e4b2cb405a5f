"""The shipped client for a year: all that its aggregator opened, and what that reveals at most."""

from __future__ import annotations

import secrets
from fractions import Fraction
from math import prod

import pytest

from deniable_client.testing import FakeClock
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.randomness.dyadic import at_most_exp
from support.builders.client_world import DAY, START, URL, Aggregator, Device, Operator, toml
from support.builders.manifest_text import manifest_of
from support.oracles.attacker import likelihood_by_definition
from support.oracles.report_histories import spans_of
from support.tiers import grid

DAYS, HOLD, PAID = 365, 100, 2
FIELDS = {
    "repeat": '"memoized"',
    "epsilon_lifetime": '"4"',
    "hold_epochs": str(HOLD),
    "linkable": "true",
    "valid_from": "2027-01-01",
    "expires": "2028-01-01",
}
MINUTES = 'type = "number"\nlow = "0"\nhigh = "4"\nstep = "1"'
ANSWERS = [str(minutes) for minutes in range(5)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "id",
    grid(["dbitflip/1", "grr/1", "loloha/1", "square-wave/1"], by_default=["loloha/1"]),
)
def test_a_year_of_daily_changing_answers_costs_at_most_the_lifetime(
    operator: Operator, id: str
) -> None:
    text = toml(mechanism=f'"{id}"', **FIELDS).partition('type = "bits"')[0] + MINUTES
    question = manifest_of(text, ingest=[URL])
    chain = question.chain()
    assert isinstance(chain, MemoizedChain)
    device = Device(":memory:", Aggregator(operator, FakeClock(START)), [question])
    device.clock.advance((question.first_epoch - device.clock() // DAY) * DAY)
    client, answers = device.granted(), [secrets.choice(ANSWERS) for _ in range(DAYS)]
    for answer in answers:
        client.record("settings", answer)
        client.flush(early=True)
        device.clock.advance(DAY)
    assert len(device.payloads) == DAYS
    assert client.budget().spent == 4
    device.close()
    sent, apart = iter(device.payloads), []
    for span in spans_of(list(map(int, answers)), HOLD, PAID):
        reports = [next(sent) for _ in span]
        chances = [likelihood_by_definition(chain, reports, answer) for answer in range(5)]
        apart.append(max(chances) / min(chances))
        assert at_most_exp(apart[-1], chain.epsilon_permanent)
    assert at_most_exp(prod(apart, start=Fraction(1)), question.epsilon_lifetime)
