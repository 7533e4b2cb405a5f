"""Allocations over collections: their law, their cost, their bars, and the course of prices."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.releases.kinds import allocate, parameters, prepare
from deniable_aggregator.releases.kinds.allocation_rounds import DemandRound, limits
from deniable_aggregator.releases.kinds.contract import ReleaseContext, Tallies, TallyPart
from deniable_aggregator.releases.kinds.label_counts import LabelCounts
from deniable_central.auctions import Buyers, Menu, PriceUpdates
from deniable_central.guarantee import pure_rho
from deniable_central.pmf import Pmf
from deniable_central.samplers.noise import two_sided_geometric
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import Coins
from support.builders.release_contexts import Vector, context, messages, neighbours, tallies
from support.builders.small_mechanisms import (
    SMALL,
    chain,
    mechanism,
)
from support.doubles.chosen_coins import Fixed
from support.oracles.central_auctions import GOODS, optimum_by_prices, uniform
from support.oracles.central_queries import binomial_tail
from support.oracles.message_laws import MessageLaw, Population
from support.oracles.neighbour_pmfs import (
    check_epsilon_is_exact,
)
from support.oracles.selection_checks import FALSE_ALARM
from support.tiers import grid

TINY = {"none": "label 0", "supply": 1}


def shared(built: Any, counted: int, *, epochs: int = 1, read: str = "live", **more: Any) -> Any:
    given = replace(context(built, counted, epochs=epochs), read=read, repeat="once")
    return prepare("allocate", {"epsilon": "1", **TINY, **more}, given)


def parts(*epochs: Vector) -> Tallies:
    return Tallies(
        tuple(TallyPart(t, 0, sum(c), np.array(c, dtype=np.int64)) for t, c in enumerate(epochs))
    )


@pytest.mark.parametrize("name", grid(["grr-2", "grr-chain"], by_default=["grr-2"]))
def test_a_report_replaced_in_any_epoch_is_told_by_epsilon_and_no_more(name: str) -> None:
    """Two epochs of two reports: all neighbours of all tallies, all noise within 1."""
    built = SMALL[name]
    release = shared(built, 4, epochs=2)
    others = [tuple(np.sum(m, axis=0).tolist()) for m in _pairs(built)]

    def law(epochs: tuple[Vector, Vector]) -> Pmf[Any]:
        pmf: Pmf[Any] = release.pmf(parts(*epochs), farthest=1)
        return pmf

    pairs = [
        pair
        for one, other in neighbours(built, 2)
        for still in others[:3]
        for pair in (((one, still), (other, still)), ((still, one), (still, other)))
    ]
    check_epsilon_is_exact(law, pairs, release.guarantee)
    assert release.guarantee.rho == pure_rho(Fraction(1))


def _pairs(built: Any) -> Iterator[tuple[Vector, ...]]:
    return itertools.combinations_with_replacement(messages(built), 2)


@pytest.mark.exhaustive
def test_allocations_of_neighbours_differ_only_in_the_noisy_counts() -> None:
    """144 draws: fewer than 1 run in a million has no two alike."""
    built, documents = SMALL["grr-chain"], dict[str, Any]()
    release = shared(built, 2, epochs=1)
    seen = 0
    for pair in list(neighbours(built, 2)) * 4:
        for counts in pair:
            drawn = release.draw(tallies(counts, 2))
            key = json.dumps([round_document["noisy"] for round_document in drawn.result["rounds"]])
            assert documents.setdefault(key, drawn) == drawn
            seen += 1
    assert len(documents) < seen


def test_rounds_are_the_same_whatever_may_be_read() -> None:
    """Which epochs a release reads, and n of each, is public in every collection."""
    built = mechanism("grr/1", 3, "2")
    release, full = (shared(built, 400, epochs=3, read=read) for read in ("releases", "live"))
    counted, coins = parts((50, 100, 50), (0, 0, 0), (80, 60, 60)), b"rounds"
    assert release.draw(counted, Coins.derive(coins)) == full.draw(counted, Coins.derive(coins))


def test_prices_follow_the_noisy_demand_and_skip_empty_epochs() -> None:
    built = mechanism("grr/1", 3, "2")
    release = shared(built, 500, epochs=3, supply=[60, 90], buyers=300, rounds=40)
    counted = parts((50, 100, 50), (0, 0, 0), (200, 50, 50))
    result = release.draw(counted, Coins.derive(b"course")).result
    noise = two_sided_geometric(Fraction(1, 2), 6, Coins.derive(b"course"))
    gap, z = float(built.p - built.q), np.exp(-0.5)
    variance = 300**2 * (1 / 2 / 200 + 2 * z / (1 - z) ** 2 / 200**2) / gap**2
    course = PriceUpdates(Menu.singles(2), np.array([60, 90]), 300, 40, variance)
    price, round_document = np.zeros(2), result["rounds"]
    assert [each["epoch"] for each in round_document] == [0, 2]
    for each, exact, drawn in zip(
        round_document, [(50, 100, 50), (200, 50, 50)], noise.reshape(2, 3), strict=True
    ):
        assert each["noisy"] == (np.array(exact) + drawn).tolist()
        assert [float(p) for p in each["prices"]] == price.tolist()
        demand = 300 * (np.array(each["noisy"][1:]) / sum(exact) - float(built.q)) / gap
        assert each["demand"] == pytest.approx(demand)
        price = course.next(price, demand).round(6)
    assert [float(p) for p in result["next"]] == price.tolist()
    settled = round_document[1]
    assert [row["demand"] for row in result["allocation"]] == pytest.approx(settled["demand"])


@pytest.mark.slow
def test_epoch_by_epoch_gives_the_same_prices_as_all_at_once() -> None:
    built, coins = mechanism("grr/1", 3, "2"), Coins.derive(b"posted")
    more: dict[str, Any] = {"buyers": 600, "rounds": 9, "supply": 100}
    counted = [(50, 100, 50), (80, 90, 30), (70, 70, 60)]
    whole = shared(built, 600, epochs=3, **more).draw(parts(*counted), Coins.derive(b"posted"))
    start: list[str] | str = "0"
    for counts, round_document in zip(counted, whole.result["rounds"], strict=True):
        alone = shared(built, 200, start=start, **more).draw(parts(counts), coins).result
        assert alone["rounds"][0]["noisy"] == round_document["noisy"]
        assert alone["rounds"][0]["prices"] == round_document["prices"]
        start = alone["next"]
    assert start == whole.result["next"]


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["1", "0.05"])
def test_average_demand_is_covered_as_often_as_its_interval_says(epsilon: str) -> None:
    """1,000 allocations of eight epochs of 500 reports: a miss rate of 5% passes but for 1e-6.

    Measured: 3.2% and 3.4%. Of 3% fewer than 6 of 1,000 miss with a chance below 1e-8.
    """
    built, runs, n, epochs = mechanism("grr/1", 4, "2"), 1000, 500, 8
    law = MessageLaw(built)
    truth: Population = {0: Fraction(2, 5), 1: Fraction(3, 10), 2: Fraction(3, 10)}
    release = shared(built, n * epochs, epochs=epochs, epsilon=epsilon)
    sent = law.draw_tallies(truth, n, runs * epochs).reshape(runs, epochs, -1)
    ends = [_limits_of_first(release, every) for every in np.array_split(sent, 4)]
    lower, upper = np.concatenate(ends, axis=1)
    misses = int(((lower > 0.3) | (upper < 0.3)).sum())
    assert binomial_tail(runs, 0.05, misses) > FALSE_ALARM
    assert misses >= 6


def _limits_of_first(release: Any, sent: Any) -> Any:
    """(2, runs): of the first good in each allocation, solved for at most 256 at once.

    What is shown of the last one is drawn whole, and has these very limits.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(release), "expected", ())  # it takes longer than a draw
        whole = release.draw(parts(*map(tuple, sent[-1].tolist()))).result
        patch.setattr(allocate, "limits", lambda rounds, *_, **__: 2 * (rounds[0].shares,))
        results = [release.draw(parts(*map(tuple, each.tolist()))).result for each in sent]
    noisy = [[each["noisy"][1] for each in result["rounds"]] for result in [*results, whole]]
    given = [LabelCounts.of(replace(release.context, n=int(n), epochs=(0,)))
             for n in sent[0].sum(axis=1)]  # fmt: skip
    rounds = list(map(DemandRound, itertools.count(), given, np.array(noisy).T))
    lower, upper = limits(rounds[len(rounds) // 2 :], release.decay, alone=True)
    shown = whole["allocation"][0]
    assert (lower[-1], upper[-1]) == pytest.approx((shown["lower"], shown["upper"]), abs=1e-9)
    return np.array([lower[:-1], upper[:-1]])


@pytest.mark.parametrize("many", grid([2, 3, 8, 30], by_default=[2, 8]))
def test_the_noise_of_several_rounds_has_lighter_tails_than_laplace(
    many: int,
) -> None:
    """Exactly: the sum of `many` two-sided geometrics, convolved, beyond √many·ln 20/rate."""
    for rate in (0.05, 0.5, 2.0):
        ks = np.arange(-int(60 / rate) - 20, int(60 / rate) + 21)
        one = np.tanh(rate / 2) * np.exp(-rate * np.abs(ks))
        law = np.array([1.0])
        for _ in range(many):
            law = np.convolve(law, one)
        reached = np.abs(np.arange(len(law)) - len(law) // 2)
        far = many**0.5 * np.log(20) / rate + many / 2  # half a step a round
        assert law[reached > far].sum() <= 0.05


def test_devices_that_answer_in_several_epochs_widen_the_average() -> None:
    built = mechanism("grr/1", 3, "2")
    given = replace(context(built, 800, epochs=4), read="live")
    counted, widths = parts(*[(50, 100, 50), (80, 60, 60)] * 2), {}
    for repeat in ("once", "fresh"):
        release = prepare("allocate", {"epsilon": "1", **TINY}, replace(given, repeat=repeat))
        drawn: Any = release.draw(counted, Coins.derive(b"wide")).result
        row = drawn["allocation"][0]
        widths[repeat] = row["upper"] - row["lower"]
    assert widths["fresh"] > 1.2 * widths["once"]


@pytest.mark.statistical
def test_the_prices_lead_to_an_allocation_of_about_the_best_welfare() -> None:
    """50,000 buyers in 50 epochs, ε 2 of each answer and 1 of the release; supply a tenth each.

    Measured over 60 runs: welfare of the average demand 0.997 ± 0.012 of the best, over-demand
    1.6% ± 0.8% of supply. The limits are more than seven standard deviations away.
    """
    n, rounds = 50_000, 50
    built = mechanism("grr/1", GOODS + 1, "2")
    worths, menu, law = uniform(n, GOODS), Menu.singles(GOODS), MessageLaw(built)
    buyers, supply = Buyers(worths, menu), n // 10
    given: ReleaseContext = replace(context(built, n // rounds), read="live")
    prices: list[str] | str = "0"
    boards, each = [], n // rounds
    for t in range(rounds):
        arguments = {"epsilon": "1", "supply": supply, "buyers": n}
        arguments |= {"rounds": rounds, "start": prices}
        release = prepare("allocate", {**arguments, "none": "label 0"}, given)
        posted = np.zeros(GOODS) if prices == "0" else np.array([float(p) for p in prices])
        boards.append(posted)
        wanted = np.bincount(
            buyers.choose(posted, only=np.arange(t * each, (t + 1) * each)), minlength=GOODS + 1
        )
        sent = sum(
            law.draw_tallies({v: Fraction(1)}, int(count), 1)[0] for v, count in enumerate(wanted)
        )
        drawn: Any = release.draw(tallies(tuple(np.asarray(sent).tolist()), each)).result
        prices = drawn["next"]
    settled = np.array(boards[rounds // 2 :])
    own = np.arange(n) % len(settled)
    choices = buyers.choose_at(settled, own)
    welfare = float(buyers.welfare_of(choices).sum()) / optimum_by_prices(worths, supply)
    over = float(np.maximum(menu.demand(choices) - supply, 0).sum()) / (supply * GOODS)
    assert welfare == pytest.approx(1, abs=0.09)
    assert over <= 0.08


REFUSED: list[tuple[dict[str, object], str]] = [
    ({"none": "nothing"}, "none must not be 'nothing'"),
    ({"supply": "-1"}, r"whole number in \[0, 1,000,000,000\]"),
    ({"supply": [1]}, "one for all 3 goods or a list of 3"),
    ({"supply": [1, 2, 0.5]}, "whole number"),
    ({"rounds": 1}, r"\[2, 100,000\]"),
    ({"buyers": "many"}, "whole number"),
    ({"start": "2.5"}, r"\[0, 2\]"),
    ({"start": 0.5}, "decimal texts"),
    ({"start": ["0", "1"]}, "a list of 3"),
    ({"epsilon": "0"}, "epsilon"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=str)
def test_what_is_no_request_for_an_allocation_is_refused(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        shared(SMALL["grr-4"], 4, epochs=2, **arguments)


def test_bits_wide_choices_and_too_many_numbers_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"needs a choice of goods.*bits answered"):
        shared(SMALL["rr-2"], 4)
    with pytest.raises(ParameterError, match="at most 1,000,000,000 reports, these epochs have"):
        shared(SMALL["grr-4"], 10**9 + 1)
    with pytest.raises(ParameterError, match="2 to 1,024 labels"):
        shared(mechanism("grr/1", 2000), 4)
    with pytest.raises(ParameterError, match=r"epochs times goods.*with start"):
        shared(mechanism("grr/1", 1001), 4, epochs=66)


def test_an_allocation_has_one_spelling_that_reads_back_as_itself() -> None:
    first = shared(SMALL["grr-4"], 4, supply="7", rounds="12", start="0.50")
    decimal_text = {"supply": [7, 7, 7], "start": ["0.5"] * 3, "buyers": "reports", "rounds": 12}
    assert first.parameters == {"none": "label 0", "epsilon": "1", **decimal_text}
    again = shared(SMALL["grr-4"], 4, **first.parameters)
    assert again.parameters == first.parameters
    assert {parameter.name for parameter in parameters("allocate")} == first.parameters.keys()


@pytest.mark.slow
def test_an_allocation_reads_the_same_coins_whatever_the_tally_holds() -> None:
    release, read = shared(SMALL["grr-4"], 900, epochs=2), set()
    for counts in [(450, 0, 0, 0), (0, 0, 0, 450), (150, 100, 100, 100)]:
        coins = Fixed(rest=0x6B)
        release.draw(parts(counts, counts), coins)
        read.add(coins.read)
    assert len(read) == 1


def test_results_are_json_and_the_expected_bar_is_finite() -> None:
    release = shared(chain("grr/1", 3), 900, epochs=2, read="releases")
    drawn = release.draw(parts((450, 0, 0), (150, 150, 150)))
    json.dumps(dict(drawn.result), allow_nan=False)
    assert drawn.error_bars == release.expected
    assert 0 < release.expected[0].upper < 10


def test_a_law_of_too_many_outcomes_of_all_epochs_is_refused() -> None:
    release = shared(SMALL["grr-2"], 4, epochs=2)
    with pytest.raises(ParameterError, match="farthest must allow at most 65,536 outcomes"):
        release.pmf(parts((1, 1), (1, 1)), farthest=10)
