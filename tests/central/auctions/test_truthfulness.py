"""What a lie gains: next to nothing under a private outcome, nothing at all with payments."""

from __future__ import annotations

import itertools
import math
import os
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from deniable_central.auctions import MarketError, WelfareLottery, misreport_gain
from deniable_central.guarantee import Adjacency, Guarantee
from deniable_shared.randomness.coins import Coins
from support.oracles.central_auctions import check_misreports, posted_price, small_pricing
from support.oracles.selection_checks import check_follows
from support.tiers import by_tier, grid

Integers = npt.NDArray[np.int64]
ONE = Guarantee.pure(Fraction(1), Adjacency.REPLACE)
TINY = Fraction(1, 1 << 63)


@pytest.mark.parametrize("epsilon", grid(["0.2", "1", "4"], by_default=["1"]))
def test_no_false_bid_gains_more_than_privacy_lets_it(epsilon: str) -> None:
    pricing = small_pricing(epsilon)
    bound = misreport_gain(pricing.guarantee, lowest=0, highest=3)
    check_misreports(float(bound), posted_price, pricing, (0, 1, 2, 3))


@pytest.mark.parametrize("epsilon", grid([0.5, 1.0, 2.0], by_default=[1.0]))
def test_a_draw_of_bounded_range_moves_by_tanh_of_a_quarter_at_most(epsilon: float) -> None:
    """Two outcomes of log ratio a and a − ε, for all a on a grid; the gain is 0.3% to 6% above."""
    ratios = np.linspace(0, epsilon, 4_001)[1:-1]
    above, below = np.exp(ratios), np.exp(ratios - epsilon)
    widest = float(((above - 1) * (1 - below) / (above - below)).max())
    drawn = Guarantee.bounded_range(Fraction(str(epsilon)), Adjacency.REPLACE)
    gain = float(misreport_gain(drawn, lowest=0, highest=1))
    assert widest == pytest.approx(math.tanh(epsilon / 4), rel=1e-6)
    assert widest < gain < 1.06 * widest
    assert gain == pytest.approx(math.sqrt(float(drawn.rho or 0) / 2))


def test_a_gain_is_bounded_by_the_range_times_tanh() -> None:
    assert float(misreport_gain(ONE, lowest=-1, highest=1)) == pytest.approx(2 * math.tanh(0.5))
    assert float(misreport_gain(ONE, lowest=0, highest=1)) == pytest.approx(math.tanh(0.5))
    assert misreport_gain(ONE, lowest=0, highest=1) < Fraction(1 - math.exp(-1))


def test_colluders_gain_as_much_as_a_group_is_hidden() -> None:
    three = misreport_gain(ONE, lowest=-1, highest=1, colluders=3)
    assert float(three) == pytest.approx(2 * math.tanh(1.5))
    added = Guarantee.pure(Fraction(1), Adjacency.ADD_REMOVE)
    assert misreport_gain(added, lowest=0, highest=1) == misreport_gain(
        ONE, lowest=0, highest=1, colluders=2
    )


def test_a_delta_lets_a_lie_gain_that_much_more() -> None:
    loose = Guarantee.approximate(Fraction(1), Fraction(1, 100), Adjacency.REPLACE)
    expected = 0.99 * math.tanh(0.5) + 0.01
    assert float(misreport_gain(loose, lowest=0, highest=1)) == pytest.approx(expected)


def test_a_rho_bounds_a_gain_too() -> None:
    boards = Guarantee.concentrated(Fraction(1, 200), Adjacency.REPLACE)
    assert float(misreport_gain(boards, lowest=0, highest=1)) == pytest.approx(0.05)


def test_utilities_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(MarketError, match="lowest must be at most highest"):
        misreport_gain(ONE, lowest=1, highest=0)


SAID = list(itertools.product(range(3), repeat=2))
"""All that a bidder can say of two outcomes, in halves."""


@pytest.mark.parametrize(("epsilon", "largest"), list(itertools.product(("0.2", "1", "4"), (1, 5))))
def test_no_lie_about_utilities_from_minus_b_to_b_gains_more_than_2b_tanh(
    epsilon: str, largest: int
) -> None:
    """Every truth, every lie, for all reports of the other; utility of one is B(2v − 1)."""
    lottery = WelfareLottery.of(epsilon=epsilon, scale=2)
    bound = misreport_gain(lottery.guarantee, lowest=-largest, highest=largest)
    assert bound <= 2 * largest * math.tanh(float(epsilon) / 2)  # less: range is bounded as well
    for others in SAID:
        laws = {said: lottery.pmf([said, others]).probabilities for said in SAID}
        for truth in SAID:
            utility = largest * (np.array(truth) - 1)
            honest = float(laws[truth] @ utility)
            assert max(float(law @ utility) for law in laws.values()) - honest <= bound


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", grid(["0.1", "2", "20"], by_default=["2"]))
def test_no_lie_gains_one_of_two_bidders_anything_with_payments(
    epsilon: str,
) -> None:
    lottery = WelfareLottery.of(epsilon=epsilon, scale=2)
    for others in SAID:
        tables = {said: np.array([said, others]) for said in SAID}
        paid = {said: lottery.payments(table)[0] for said, table in tables.items()}
        for truth in SAID:
            surplus = {
                said: lottery.expected_value(table, np.array(truth)) - paid[said]
                for said, table in tables.items()
            }
            assert max(surplus.values()) - surplus[truth] <= TINY < 1e-12


def tables(bidders: int, outcomes: int, scale: int) -> list[Integers]:
    """A few value tables, both extremes among them."""
    drawn = np.frombuffer(os.urandom(6 * bidders * outcomes), dtype=np.uint8) % (scale + 1)
    random = list(drawn.astype(np.int64).reshape(6, bidders, outcomes))
    ends = [np.zeros((bidders, outcomes), dtype=np.int64)]
    ends.append(np.full((bidders, outcomes), scale, dtype=np.int64))
    return [*random, *ends]


@pytest.mark.slow
@pytest.mark.deeper
@pytest.mark.parametrize("epsilon", grid(["0.1", "2", "20"], by_default=["2"]))
def test_with_payments_no_report_beats_the_truth(epsilon: str) -> None:
    lottery = WelfareLottery.of(epsilon=epsilon, scale=2)
    for values in tables(3, 3, 2)[by_tier(3, 0) :]:
        truth, lie = values[0], values.copy()
        honest = lottery.expected_value(values, truth) - lottery.payments(values)[0]
        assert honest >= -TINY
        for report in itertools.product(range(3), repeat=3):
            lie[0] = report
            gain = lottery.expected_value(lie, truth) - lottery.payments(lie)[0] - honest
            assert gain <= TINY


def test_payments_are_those_of_the_formula() -> None:
    lottery = WelfareLottery.of(epsilon=3, scale=10)
    for values in tables(4, 5, 10):
        welfare, rate = values.sum(axis=0) / 10, 1.5
        for i, paid in enumerate(lottery.payments(values)):
            others = welfare - values[i] / 10
            law = np.exp(rate * welfare) / np.exp(rate * welfare).sum()
            entropy = float(-(law * np.log(law)).sum())
            formula = -law @ others - entropy / rate + np.log(np.exp(rate * others).sum()) / rate
            assert float(paid) == pytest.approx(float(formula), abs=1e-12)


@pytest.mark.parametrize("epsilon", grid(["0.1", "2", "20"], by_default=["2"]))
def test_payments_are_never_negative_and_at_most_a_sixteenth_of_epsilon(epsilon: str) -> None:
    lottery = WelfareLottery.of(epsilon=epsilon, scale=4)
    paid = [p for values in tables(3, 4, 4) for p in lottery.payments(values)]
    assert min(paid) >= 0
    assert max(paid) <= lottery.largest_payment == Fraction(epsilon) / 16


def test_the_lottery_is_private_for_all_that_one_bidder_says() -> None:
    lottery = WelfareLottery.of(epsilon=1, scale=1)
    base, worst = np.array([[0, 0, 0], [1, 0, 1]]), 0.0
    laws = []
    for report in itertools.product((0, 1), repeat=3):
        base[0] = report
        laws.append(lottery.pmf(base).probabilities)
    for one, other in itertools.combinations(laws, 2):
        worst = max(worst, float(np.abs(np.log(one / other)).max()))
    assert 0.6 <= worst <= 1 + 1e-9


def test_the_lottery_gives_nearly_the_best_welfare() -> None:
    lottery = WelfareLottery.of(epsilon=4, scale=5)
    for values in tables(6, 8, 5):
        welfare = values.sum(axis=0) / 5
        mean = float(lottery.pmf(values).probabilities @ welfare)
        assert mean >= welfare.max() - 2 / 4 * math.log(8) - 1e-9


def test_a_payment_is_an_exact_function_of_what_others_said() -> None:
    lottery = WelfareLottery.of(epsilon=1, scale=1)
    one, other = (lottery.payments([[1, 0], [said, 0]])[0] for said in (0, 1))
    assert one != other  # so it is no part of what the outcome's epsilon covers


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", grid(["0.5", "8"], by_default=["0.5"]))
def test_nobody_moves_the_payment_of_another_by_more_than_its_noise_hides(epsilon: str) -> None:
    lottery = WelfareLottery.of(epsilon=epsilon, scale=1)
    for own, others in itertools.product(itertools.product((0, 1), repeat=3), repeat=2):
        paid = [
            lottery.payments([own, others, said])[0] for said in ((0, 0, 0), (1, 0, 0), (0, 1, 1))
        ]
        assert max(paid) - min(paid) <= lottery.largest_payment


@pytest.mark.statistical
def test_noisy_payments_have_the_mean_of_the_exact_ones() -> None:
    """4,000 draws, six standard errors: fewer than one false alarm in 10^8 runs."""
    lottery, values = WelfareLottery.of(epsilon=2, scale=1), [[1, 0], [0, 1]]
    exact = float(lottery.payments(values)[0])
    noisy = [float(lottery.noisy_payments(values, epsilon=1)[0]) for _ in range(4_000)]
    spread = float(lottery.largest_payment) * math.sqrt(2)
    assert abs(float(np.mean(noisy)) - exact) <= 6 * spread / math.sqrt(4_000)
    assert float(np.std(noisy)) == pytest.approx(spread, rel=0.2)


def test_values_beyond_the_scale_are_moved_to_its_ends_and_floats_refused() -> None:
    lottery = WelfareLottery.of(epsilon=1, scale=2)
    assert lottery.pmf([[9, -9]]) == lottery.pmf([[2, 0]])
    assert lottery.pmf(np.array([[9, -9]], dtype=np.int8)) == lottery.pmf([[2, 0]])
    with pytest.raises(MarketError, match="whole numbers of 1/scale"):
        lottery.release([[0.5, 1.0]])
    with pytest.raises(MarketError, match="scale must lie in"):
        WelfareLottery.of(epsilon=1, scale=0)


@pytest.mark.statistical
def test_outcomes_follow_the_lottery() -> None:
    """3,000 draws, rejected at 1e-6."""
    lottery, values = WelfareLottery.of(epsilon=2, scale=1), [[1, 0, 0], [1, 1, 0]]
    check_follows(lambda: lottery.release(values).result, lottery.pmf(values), draws=3_000)


def test_noisy_payments_are_multiples_of_the_grid_around_the_payments() -> None:
    lottery, values = WelfareLottery.of(epsilon=2, scale=2), np.array([[2, 0], [0, 2], [1, 1]])
    exact = lottery.payments(values)
    noisy = lottery.noisy_payments(values, epsilon=20, coins=Coins.derive(b"payments"))
    assert all((each * 2**32).denominator == 1 for each in noisy)
    assert all(abs(a - b) < 1 for a, b in zip(exact, noisy, strict=True))
    assert len(lottery.noisy_payments(values, epsilon=20)) == 3
