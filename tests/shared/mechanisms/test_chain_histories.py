"""Whole histories: all pairs over up to six epochs cost at most ε_lifetime, exactly.

Any two people are compared, for all answers and all changes of them, who recorded
something in the same epochs: that a device answers is not hidden. Devices are the small ones of
support.oracles.report_histories, which call the shipped mechanisms; known mistakes must be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest

from deniable_shared.mechanisms import Chain, Mechanism, build
from deniable_shared.mechanisms.grr import GeneralizedResponse
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.rr import BitwiseResponse
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import at_most_exp
from support.oracles.privacy_checks import (
    check_follows_pmf,
    check_private,
    largest_ratio,
    with_renewal_threshold,
)
from support.oracles.report_histories import (
    Device,
    History,
    Reports,
    Values,
    all_histories,
    fresh_device,
    fresh_law,
    law_of_device,
    memoized_device,
    memoized_law,
)
from support.tiers import grid, rows

Space = tuple[str, int, dict[str, int], int]

SPACES: list[Space] = [
    ("rr/1", 1, {}, 6),
    ("rr/1", 2, {}, 3),
    ("grr/1", 2, {}, 6),
    ("grr/1", 3, {}, 4),
    ("sue/1", 2, {}, 3),
    ("oue/1", 2, {}, 3),
    ("oue/1", 3, {}, 2),
    ("hadamard/1", 2, {}, 4),
    ("hadamard/1", 3, {}, 2),
    ("subset/1", 4, {"subset_size": 2}, 2),
    ("affine/1", 3, {"modulus": 5, "subset_size": 2}, 2),
    ("cyclic/1", 3, {"field_order": 2, "dimension": 3}, 2),
    ("projective/1", 3, {"field_order": 2, "dimension": 3}, 2),
    ("loloha/1", 3, {"field_order": 2, "dimension": 2}, 2),
    ("dbitflip/1", 2, {"sampled": 1}, 3),
    ("dbitflip/1", 3, {"sampled": 1}, 2),
    ("dbitflip/1", 3, {"sampled": 2}, 2),
    ("duchi/1", 3, {}, 3),
    ("discrete-piecewise/1", 3, {"outputs": 3, "window": 1}, 2),
    ("square-wave/1", 3, {"reach": 1}, 2),
    ("rr-sampled/1", 2, {"sampled": 1}, 3),
    ("rr-sampled/1", 3, {"sampled": 2, "distance": 2}, 2),
]


ONE_EACH = [one for n, one in enumerate(SPACES) if one[0] not in {two[0] for two in SPACES[:n]}]
"""The first of each mechanism."""


def chain_of(space: Space, epsilon: str, permanent: str) -> Chain:
    id, size, parameters, _ = space
    return build(id, domain_size=size, epsilon=epsilon, permanent=permanent, **parameters)


def plain(space: Space, epsilon: str) -> Mechanism:
    id, size, parameters, _ = space
    return build(id, domain_size=size, epsilon=epsilon, permanent=None, **parameters)


def check_lifetime(laws: list[History], lifetime: Fraction) -> None:
    """No sequence of reports separates two histories by more than e^ε_lifetime."""
    assert at_most_exp(largest_ratio(laws), lifetime)


@pytest.mark.parametrize("epsilon", grid(["0.5", "4"], by_default=["0.5"]))
@pytest.mark.parametrize("paid", grid([1, 2, 6], by_default=[2]))
@pytest.mark.parametrize("space", grid(SPACES, by_default=ONE_EACH), ids=str)
def test_all_fresh_histories_cost_at_most_what_is_paid_and_use_it(
    space: Space, paid: int, epsilon: str
) -> None:
    mechanism = plain(space, epsilon)
    every = all_histories(list(mechanism.inputs()), space[3])
    laws = [fresh_law(mechanism, values, paid=paid) for values in every]
    lifetime = Fraction(epsilon) * min(paid, space[3])
    check_lifetime(laws, lifetime)
    assert not at_most_exp(largest_ratio(laws), lifetime * Fraction(999, 1000))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hold", "phase"), rows([(1, 0), (2, 0), (2, 1), (3, 2), (6, 0)], by_default=[(2, 1)])
)
@pytest.mark.parametrize("paid", grid([1, 2, 3], by_default=[2]))
@pytest.mark.parametrize("space", grid(SPACES, by_default=ONE_EACH), ids=str)
def test_all_memoized_histories_cost_at_most_the_holds_that_are_paid(
    space: Space, paid: int, hold: int, phase: int
) -> None:
    chain = chain_of(space, "1", "2")
    every = all_histories(list(chain.inputs()), space[3])
    laws = [memoized_law(chain, each, hold=hold, paid=paid, phase=phase) for each in every]
    check_lifetime(laws, chain.epsilon_permanent * paid)


@pytest.mark.parametrize("silent", [0b000001, 0b010010, 0b101011, 0b111111])
def test_silent_epochs_change_nothing_about_that(silent: int) -> None:
    chain = chain_of(SPACES[0], "1", "2")
    every = list(all_histories([(0,), (1,)], 6, silent))
    laws = [memoized_law(chain, values, hold=2, paid=2) for values in every]
    check_lifetime(laws, Fraction(4))


@pytest.mark.parametrize("epsilon", grid(["0.01", "0.5", "10"], by_default=["0.5"]))
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_one_report_alone_costs_epsilon_wherever_it_stands_in_the_history(
    space: Space, epsilon: str
) -> None:
    chain = chain_of(space, epsilon, "20")
    check_private([chain.pmf(value) for value in chain.inputs()], chain.epsilon)


def histories_to_run(inputs: list[int | tuple[int, ...]]) -> Iterator[Values]:
    first, last = inputs[0], inputs[-1]
    yield from ([first], [first, last], [None, last, first], [last, None, first])


@pytest.mark.parametrize("space", grid(SPACES, by_default=ONE_EACH), ids=str)
def test_devices_that_run_the_shipped_code_have_exactly_these_laws(space: Space) -> None:
    chain = chain_of(space, "1", "2")
    assert isinstance(chain, MemoizedChain)
    runs = list(histories_to_run(list(chain.inputs())))
    for values in runs if len(chain.pmf(values_of(runs))) < 5 else runs[:1]:
        device = memoized_device(chain, hold=2, paid=1)
        assert law_of_device(device, values) == memoized_law(chain, values, hold=2, paid=1)
        fresh = fresh_device(chain.first, paid=2)
        assert law_of_device(fresh, values) == fresh_law(chain.first, values, paid=2)


def values_of(runs: list[Values]) -> int | tuple[int, ...]:
    value = runs[0][0]
    assert value is not None
    return value


ONE_BIT = build("rr/1", domain_size=1, epsilon="1", permanent="2")
EPOCHS, HOLD, PAID = 3, 2, 1


def costs(device: Device) -> Fraction:
    """The largest ratio over all pairs of histories of one bit over three epochs."""
    laws = [law_of_device(device, values) for values in all_histories([(0,), (1,)], EPOCHS)]
    return largest_ratio(laws)


def keyed_by_epoch(values: Values, coins: Coins) -> Reports:
    """The permanent answer is tossed again in every epoch."""
    return tuple(ONE_BIT.randomize(value, coins) for value in values if value is not None)


def tossed_when_the_value_changes(values: Values, coins: Coins) -> Reports:
    """A change inside a hold is answered by a new permanent answer."""
    reports, last = [], None
    for value in values:
        assert value is not None
        if value != last:
            permanent, last = ONE_BIT.memoize(value, coins), value
        reports.append(ONE_BIT.rerandomize(permanent, coins))
    return tuple(reports)


def one_hold_too_many(values: Values, coins: Coins) -> Reports:
    return memoized_device(ONE_BIT, hold=HOLD, paid=PAID + 1)(values, coins)


def permanent_answer_sent_as_it_is(values: Values, coins: Coins) -> Reports:
    """No second round in the first epoch: the lifetime holds, one report costs twice its ε."""
    assert values[0] is not None
    return (ONE_BIT.memoize(values[0], coins),)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "device", [keyed_by_epoch, tossed_when_the_value_changes, one_hold_too_many]
)
def test_a_device_that_tosses_too_often_is_seen(device: Device) -> None:
    shipped = memoized_device(ONE_BIT, hold=HOLD, paid=PAID)
    assert at_most_exp(costs(shipped), ONE_BIT.epsilon_permanent * PAID)
    assert not at_most_exp(costs(device), ONE_BIT.epsilon_permanent * PAID)


@pytest.mark.exhaustive
def test_a_device_that_skips_the_second_round_is_seen() -> None:
    laws = [law_of_device(permanent_answer_sent_as_it_is, [value]) for value in ((0,), (1,))]
    assert at_most_exp(largest_ratio(laws), ONE_BIT.epsilon_permanent)
    assert not at_most_exp(largest_ratio(laws), ONE_BIT.epsilon)


class AmongTheOthers(GeneralizedResponse):
    """What is not kept becomes another symbol, never the same again."""

    __slots__ = ()

    def rerandomize(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        kept, index = coins.bernoulli(keep), permanent[0]
        other = coins.below(self.domain_size - 1)
        return bytes([index if kept else other + (other >= index)])


class FlippedNotDrawn(BitwiseResponse):
    """A bit that is not kept is flipped."""

    __slots__ = ()

    def rerandomize(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        flips = coins.bernoulli_vector(2**64 - keep, self.domain_size)
        return self._payload(int.from_bytes(permanent, "big") >> self._padding ^ flips)


class AllKeptOrNone(BitwiseResponse):
    """One coin for the whole vector."""

    __slots__ = ()

    def rerandomize(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        kept, drawn = coins.bernoulli(keep), coins.bits(self.domain_size)
        return permanent if kept else self._payload(drawn)


MUTANTS: dict[str, Callable[[], Chain]] = {
    "a symbol that is not kept becomes another one, never the same": lambda: MemoizedChain(
        AmongTheOthers(3, Fraction(2)), Fraction(1)
    ),
    "a bit that is not kept is flipped, not drawn": lambda: MemoizedChain(
        FlippedNotDrawn(2, Fraction(2), 2), Fraction(1)
    ),
    "one coin decides for all bits": lambda: MemoizedChain(
        AllKeptOrNone(2, Fraction(2), 2), Fraction(1)
    ),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_second_round_is_seen_by_its_law(name: str) -> None:
    chain = MUTANTS[name]()
    with pytest.raises(AssertionError):
        check_follows_pmf(chain, chain.inputs())


@pytest.mark.exhaustive
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_a_renewal_threshold_one_higher_is_seen(space: Space) -> None:
    chain = chain_of(space, "1", "2")
    raised = with_renewal_threshold(chain, chain.renewal_threshold + 1)
    with pytest.raises(AssertionError):
        check_private([raised.pmf(value) for value in raised.inputs()], chain.epsilon)
