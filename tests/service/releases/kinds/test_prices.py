"""Prices over collections: their law, their cost and their bars."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.releases.kinds import parameters, prepare
from deniable_aggregator.releases.kinds.price import LabelPriceGrid, money
from deniable_central.guarantee import bounded_range_rho
from deniable_central.pmf import Pmf
from deniable_shared.domains import Number
from deniable_shared.errors import ParameterError
from support.builders.release_contexts import PRICES, Vector, context, neighbours, tallies
from support.builders.small_mechanisms import (
    SMALL,
    mechanism,
)
from support.doubles.chosen_coins import Fixed
from support.oracles.central_queries import binomial_tail
from support.oracles.message_laws import MessageLaw
from support.oracles.neighbour_pmfs import check_epsilon_is_reached, check_pure
from support.oracles.selection_checks import FALSE_ALARM, check_follows

GRIDS: list[dict[str, object]] = [
    {},
    {"highest": "4"},
    {"lowest": "2.50"},
    {"ratio": "1.7"},
    {"lowest": "2", "highest": "4.00", "ratio": "1.1"},
]


def priced(arguments: Mapping[str, object], n: int = 3, epsilon: str = "1") -> Any:
    given = context(SMALL["grr-4"], n, labels=PRICES)
    return prepare("price", {"epsilon": epsilon, **arguments}, given)


def law_of(release: Any, n: int) -> Callable[[Vector], Pmf[Any]]:
    return lambda counts: release.pmf(tallies(counts, n))


def called(value: object) -> str:
    return "-".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, Mapping) else ""


@pytest.mark.parametrize("arguments", GRIDS, ids=called)
@pytest.mark.parametrize("name", ["grr-4", "grr-chain"])
def test_no_report_replaced_is_told_by_a_price_by_more_than_epsilon(
    name: str, arguments: dict[str, object]
) -> None:
    built = SMALL[name]
    if name == "grr-chain" and "highest" in arguments and "lowest" in arguments:
        arguments = {"lowest": "2", "highest": "4.01"}
    given = context(built, 3, labels=PRICES[-built.domain_size :])
    for epsilon in ("0.5", "8"):
        release: Any = prepare("price", {**arguments, "epsilon": epsilon}, given)
        check_pure(law_of(release, 3), neighbours(built, 3), release.guarantee)


def test_epsilon_is_reached_and_the_smaller_rho_is_charged() -> None:
    built = SMALL["grr-2"]
    release: Any = prepare("price", {"epsilon": "12"}, context(built, 3, labels=PRICES[:2]))
    check_epsilon_is_reached(law_of(release, 3), neighbours(built, 3), release.guarantee)
    assert release.guarantee.rho == bounded_range_rho(Fraction(12))


def test_all_labels_as_prices_have_the_law_of_the_score_revenue() -> None:
    given = context(SMALL["grr-4"], 3, labels=PRICES)
    revenue: Any = prepare("exponential", {"score": "revenue", "epsilon": "1"}, given)
    counts = tallies((1, 0, 2, 0), 3)
    assert priced({}).pmf(counts) == revenue.pmf(counts)
    assert [bar.upper for bar in priced({}).expected] == [bar.upper for bar in revenue.expected]


def test_a_lower_highest_price_is_less_noise_for_the_others() -> None:
    capped, whole = priced({"highest": "4"}), priced({})
    assert capped.score.apart == 400
    assert whole.score.apart == 401
    assert capped.expected[1].upper < whole.expected[1].upper
    assert capped.score.candidates == PRICES[:3]


@pytest.mark.parametrize("arguments", GRIDS, ids=called)
def test_a_request_has_one_spelling_that_reads_back_as_itself(arguments: dict[str, object]) -> None:
    first = priced(arguments)
    assert priced(first.parameters).parameters == first.parameters
    assert json.loads(json.dumps(first.parameters)) == first.parameters
    assert {parameter.name for parameter in parameters("price")} == first.parameters.keys()
    assert priced({"lowest": "any", "highest": "any"}).parameters == priced(
        {"lowest": "0.5", "highest": "99", "ratio": "1.0"}
    ).parameters | {"lowest": "1.00", "highest": "4.01"}


@pytest.mark.parametrize("ratio", ["1", "1.1", "1.5", "3", "100"])
def test_a_thinned_grid_keeps_its_share_of_every_revenue(ratio: str) -> None:
    """All sets of four buyers with bids among the labels; some lose as much as it says."""
    cents = [0, 1, 100, 110, 121, 150, 300, 301, 999]
    worst, grid = Fraction(1), LabelPriceGrid.thinned(cents, range(len(cents)), Fraction(ratio))
    assert {grid.prices[0], grid.prices[-1]} == {cents[0], cents[-1]}
    for bids in itertools.combinations_with_replacement(cents, 4):
        earned = {r: r * sum(bid >= r for bid in bids) for r in cents}
        best = max(earned.values())
        if best:
            worst = min(worst, Fraction(max(earned[r] for r in grid.prices), best))
    assert worst == grid.share
    assert grid.share >= 1 / Fraction(ratio)


def test_what_is_shown_is_the_price_exactly_and_public_things() -> None:
    release = priced({"lowest": "2"}, n=4000, epsilon="20")
    drawn = release.draw(tallies((0, 0, 0, 4000), 4000))
    assert dict(drawn.result) == {
        "price": "4.01",
        "label": "4.01",
        "index": 3,
        "prices": ["2.50", "4.00", "4.01"],
        "grid_keeps": 1.0,
        "false_report_gains_at_most": "4.01",
    }
    assert drawn.error_bars == release.expected
    assert priced({"ratio": "1.7"}).draw(tallies((1, 1, 1, 0), 3)).result["grid_keeps"] == 0.625


def test_neighbours_give_prices_equal_in_every_field_but_the_draw() -> None:
    release, results = priced({}), dict[str, Any]()
    for pair in neighbours(SMALL["grr-4"], 3):
        for counts in pair:
            drawn = release.draw(tallies(counts, 3))
            assert results.setdefault(drawn.result["label"], drawn) == drawn


def test_a_price_reads_the_same_coins_whatever_the_tally_holds() -> None:
    release, read = priced({}, n=1000), set()
    for counts in [(1000, 0, 0, 0), (0, 0, 0, 1000), (250, 250, 250, 250)]:
        coins = Fixed(rest=0x6B)
        release.draw(tallies(counts, 1000), coins)
        read.add(coins.read)
    assert len(read) == 1


@pytest.mark.statistical
def test_drawn_prices_follow_the_stated_law() -> None:
    """2,000 draws, chi-square, rejected at 1e-6."""
    release, counts = priced({"highest": "4"}, n=12), tallies((4, 2, 3, 3), 12)
    draw = release.draw
    check_follows(lambda: draw(counts).result["index"], release.pmf(counts), draws=2000)


def test_no_false_report_gains_more_than_it_says() -> None:
    """All three buyers' worths among the prices, all reports of one of them, by the exact law."""
    cents = [100, 250, 400, 401]
    release = priced({}, epsilon="0.5")
    bound = Fraction(release.draw(tallies((1, 1, 1, 0), 3)).result["false_report_gains_at_most"])
    law = {c: release.pmf(tallies(c, 3)).probabilities for c in _all_reports()}
    largest = 0.0
    for others in itertools.combinations_with_replacement(range(4), 2):
        for worth in range(4):
            sold = np.array([max(cents[worth] - price, 0) for price in cents])
            gains = [float(law[_counted((*others, report))] @ sold) for report in range(4)]
            largest = max(largest, max(gains) - gains[worth])
    assert 0 < largest <= 100 * bound <= 401 * np.tanh(0.25) + 1


def _all_reports() -> Iterator[Vector]:
    yield from (_counted(c) for c in itertools.combinations_with_replacement(range(4), 3))


def _counted(reports: tuple[int, ...]) -> Vector:
    return tuple(reports.count(place) for place in range(4))


@pytest.mark.statistical
def test_a_price_earns_as_much_as_its_bar_says() -> None:
    """1,000 collections of 600 true answers: 5% that earn less pass but for 1e-6."""
    built, runs, held = mechanism("grr/1", 4, "1"), 1000, [150, 150, 150, 150]
    cents, law, n = [100, 250, 400, 401], MessageLaw(built), 600
    release: Any = prepare(
        "price", {"epsilon": "0.5", "ratio": "1.1"}, context(built, n, labels=PRICES)
    )
    earned = {c: c * sum(h for h, bid in zip(held, cents, strict=True) if bid >= c) for c in cents}
    best = max(earned[c] for c in release.score.prices.tolist())
    sent = sum(law.draw_tallies({v: Fraction(1)}, h, runs) for v, h in enumerate(held))
    beyond = 0
    for counts in np.asarray(sent):
        drawn = release.draw(tallies(tuple(counts.tolist()), n)).result
        price = int(Fraction(drawn["price"]) * 100)
        beyond += best - earned[price] > release.expected[-1].upper
    assert binomial_tail(runs, 0.05, beyond) > FALSE_ALARM


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ratio": "0.9"}, r"\[1, 100\]"),
        ({"ratio": 2.0}, "decimal text"),
        ({"lowest": "4.01"}, "at least 2 of the labels between them.*got 1 from 4.01 to 4.01"),
        ({"highest": "inf"}, '"any" or a price as a decimal text'),
        ({"highest": 4}, "decimal text"),
        ({"lowest": "3", "highest": "2"}, "got 0 from 3.00 to 2.00"),
    ],
)
def test_what_is_no_request_for_a_price_is_refused(
    arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        priced(arguments)


def test_a_number_has_prices_and_many_labels_need_a_ratio() -> None:
    steps = Number(Fraction(0), Fraction(999), Fraction(1))
    many = replace(context(mechanism("grr/1", 1000), 10), domain=steps)
    with pytest.raises(ParameterError, match="use price with a ratio above 1"):
        prepare("price", {"epsilon": "1"}, many)
    release: Any = prepare("price", {"epsilon": "1", "ratio": "1.05", "lowest": "1"}, many)
    assert release.score.apart == 99_900
    assert len(release.score.candidates) < 200
    assert money(5) == "0.05"
