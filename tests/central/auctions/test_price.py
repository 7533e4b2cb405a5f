"""Prices: the four buyers of the notes, the largest revenue, at half the textbook's noise."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from deniable_central.auctions import (
    MarketError,
    PriceGrid,
    PricesError,
    Pricing,
    price,
    revenue,
    revenue_offsets,
    revenue_queries,
)
from deniable_central.guarantee import Adjacency, Guarantee
from deniable_shared.mechanisms import build
from support.oracles.central_auctions import BIDS, check_price_private, small_pricing
from support.oracles.selection_checks import check_follows


def test_the_revenues_of_the_four_buyers() -> None:
    prices = PriceGrid.of([100, 101, 400, 401, 402])
    assert revenue(BIDS, prices).tolist() == [400, 101, 400, 401, 0]


def test_the_law_of_the_four_buyers_is_its_softmax() -> None:
    prices = PriceGrid.of([100, 101, 400, 401, 402])
    weights = np.exp(2 * np.array([400, 101, 400, 401, 0]) / 402)
    law = Pricing.of(prices, epsilon=2).pmf(BIDS)
    assert law.outcomes == prices.grid
    assert law.probabilities == pytest.approx(weights / weights.sum(), rel=1e-12)


def test_the_expected_revenue_of_the_four_buyers_is_within_the_mean_bound() -> None:
    for epsilon in ("0.5", "2", "20"):
        pricing = Pricing.of(PriceGrid.every(1, 402), epsilon=epsilon)
        revenues = revenue(BIDS, pricing.prices)
        mean = float(pricing.pmf(BIDS).probabilities @ revenues)
        assert mean >= 401 - pricing.mean_shortfall()
        assert pricing.mean_shortfall() == pytest.approx(
            402 / float(epsilon) * math.log(402), rel=1e-9
        )


def test_every_replacement_of_a_bid_is_hidden_and_no_noise_is_wasted() -> None:
    check_price_private(small_pricing().pmf, (0, 1, 2, 3), epsilon=1.0, tight=0.6)


def test_a_bid_that_decides_between_two_far_prices_reaches_epsilon() -> None:
    pricing = Pricing.of(PriceGrid.of([1, 50]), epsilon=1)
    low, high = (pricing.pmf([100] * 20 + [bid]).probabilities for bid in (1, 100))
    assert float(np.log(low[0] / high[0])) == pytest.approx(1.0, abs=0.02)


def test_a_bid_more_or_less_costs_the_same_epsilon() -> None:
    pricing = Pricing.of(PriceGrid.of([1, 2, 3]), epsilon=1, adjacency="add/remove")
    for bids in itertools.combinations_with_replacement(range(4), 3):
        more, fewer = pricing.pmf(bids).probabilities, pricing.pmf(bids[1:]).probabilities
        assert float(np.abs(np.log(more / fewer)).max()) <= 1 + 1e-9
    assert pricing.guarantee == Guarantee.bounded_range(Fraction(1), Adjacency.ADD_REMOVE)


def test_revenue_falls_short_no_more_often_than_said() -> None:
    pricing = Pricing.of(PriceGrid.geometric(1, 100, ratio=Fraction(3, 2)), epsilon=4)
    for bids in ([100] * 10, list(range(1, 101)), [5] * 40 + [90] * 3):
        revenues, chances = revenue(bids, pricing.prices), pricing.pmf(bids).probabilities
        for beta in (0.5, 0.1, 0.01):
            short = revenues < revenues.max() - pricing.shortfall(beta=beta)
            assert chances[short].sum() <= beta


@pytest.mark.parametrize("ratio", [Fraction(11, 10), Fraction(3, 2), Fraction(3)])
def test_a_geometric_grid_keeps_its_share_of_every_best_revenue(ratio: Fraction) -> None:
    grid, full = PriceGrid.geometric(1, 60, ratio=ratio), PriceGrid.every(1, 60)
    assert grid.share >= 1 / ratio
    assert len(grid.grid) <= math.log(60) / math.log(ratio) + 60 / float(ratio)
    for bids in ([59] * 5, [7, 7, 30, 60], list(range(60)), [2] * 9 + [44]):
        assert revenue(bids, grid).max() >= float(grid.share) * revenue(bids, full).max()


def test_prices_of_one_coin_are_all_that_a_fine_ratio_can_do() -> None:
    assert PriceGrid.geometric(1, 5, ratio=Fraction(101, 100)) == PriceGrid.every(1, 5)
    assert PriceGrid.every(10, 35, step=10).grid == (10, 20, 30)


def test_the_queries_of_a_collection_give_the_revenue_of_its_bids() -> None:
    prices, values = PriceGrid.of([1, 2, 3]), (0, 1, 2, 3)
    queries = revenue_queries(values, prices)
    for bids in itertools.combinations_with_replacement(values, 4):
        tally = np.bincount(bids, minlength=4)
        assert (queries @ tally == revenue(bids, prices)).all()


@pytest.mark.parametrize("epsilon", ["0.5", "3"])
def test_scores_of_randomized_bids_are_revenues_minus_other_answers(epsilon: str) -> None:
    """(p − q) · revenue on average, exactly, but for the coin that an offset is rounded by."""
    prices, values = PriceGrid.of([1, 2, 3]), (0, 1, 2, 3)
    law = build("grr/1", domain_size=4, epsilon=epsilon)
    for bids in itertools.combinations_with_replacement(values, 4):
        reported = [sum(law.p if b == v else law.q for b in bids) for v in values]
        raw = [price * sum(reported[price:]) for price in prices.grid]
        offsets = revenue_offsets(values, prices, reports=4, q=law.q)
        gap = law.p - law.q
        for score, offset, earned in zip(raw, offsets.tolist(), revenue(bids, prices), strict=True):
            assert 0 <= score - offset - gap * int(earned) < 1


def test_one_report_parts_two_revenues_by_the_highest_price() -> None:
    queries = revenue_queries((0, 1, 2, 3), PriceGrid.of([1, 2, 3]))
    moves = queries[:, :, None] - queries[:, None, :]
    assert int((moves.max(axis=0) - moves.min(axis=0)).max()) == 3


@pytest.mark.statistical
def test_prices_follow_the_law() -> None:
    """4,000 draws, rejected at 1e-6."""
    pricing = small_pricing()
    bids = [1, 2, 3, 3]
    check_follows(lambda: pricing.release(bids).result, pricing.pmf(bids), draws=4_000)


def test_a_release_is_one_of_the_prices_and_says_what_it_may_forgo() -> None:
    released = price(BIDS, PriceGrid.every(1, 402), epsilon=1)
    bar = released.error_bars[0]
    assert 1 <= released.result <= 402
    assert released.guarantee == Guarantee.bounded_range(Fraction(1), Adjacency.REPLACE)
    assert bar.quantity == "revenue below that of the best of the prices"
    assert bar.upper == pytest.approx(402 * math.log(402 / 0.05), abs=1)


def test_neighbours_get_the_same_release_but_for_the_draw() -> None:
    one, other = (price(bids, PriceGrid.of([401]), epsilon=1) for bids in (BIDS, (*BIDS[1:], 7)))
    assert one == other


def test_nobody_bidding_is_data_too() -> None:
    assert revenue([], PriceGrid.of([1, 2])).tolist() == [0, 0]
    assert price([], PriceGrid.of([1, 2]), epsilon=1).result in (1, 2)


@pytest.mark.parametrize(("lowest", "highest"), [(1, 10**12), (0, 5), (5, 4), (1, float("inf"))])
def test_an_unbounded_price_is_refused_with_the_cure(lowest: int, highest: int) -> None:
    with pytest.raises(PricesError, match="name the highest that could be asked"):
        PriceGrid.every(lowest, highest)


def test_prices_that_never_end_are_refused_too() -> None:
    with pytest.raises(PricesError, match=r"1 to 1,000,000, got more: Prices\.geometric needs few"):
        PriceGrid.of(itertools.count(100))
    with pytest.raises(PricesError, match="got none"):
        PriceGrid.of([])


def test_prices_that_are_too_many_or_out_of_order_are_refused() -> None:
    with pytest.raises(PricesError, match=r"use Prices\.geometric"):
        PriceGrid.every(1, 2 * 10**9)
    with pytest.raises(PricesError, match="ascend, and differ"):
        PriceGrid.of([2, 2])
    with pytest.raises(PricesError, match="whole coins"):
        PriceGrid.of([1.5])  # type: ignore[list-item]  # a wrong type is the point
    with pytest.raises(PricesError, match="above 1"):
        PriceGrid.geometric(1, 5, ratio=Fraction(1))


@pytest.mark.parametrize("bids", [[1.5, 2.0], [float("nan")], [[1], [2]], ["1"]])
def test_bids_that_are_not_whole_coins_are_refused_by_type(bids: list[float]) -> None:
    with pytest.raises(MarketError, match=r"like 401 for \$4\.01"):
        price(bids, PriceGrid.of([1]), epsilon=1)
    with pytest.raises(MarketError, match="values must be one vector of whole coins"):
        revenue_queries(bids, PriceGrid.of([1]))  # type: ignore[arg-type]  # a wrong type is the point
