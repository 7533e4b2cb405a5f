"""Checks for auctions: optima, joint laws, stability."""

from __future__ import annotations

import itertools
import math
import os
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from deniable_central.accounting import delta_of
from deniable_central.auctions import (
    Allocation,
    AllocationPlan,
    Billboard,
    Buyers,
    GaussianNoise,
    GeometricNoise,
    Menu,
    PriceGrid,
    Pricing,
)
from deniable_central.auctions.demand_noise import DemandNoise
from deniable_central.pmf import Pmf
from support.oracles.central_accounting import UP, hockey_stick, renyi
from support.oracles.selection_checks import ALPHAS

_optimize = import_module("scipy.optimize")
_sparse = import_module("scipy.sparse")

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Board = tuple[float, ...]
Boards = tuple[Board, ...]
Joint = dict[tuple[Boards, tuple[int, ...]], float]
Outcome = TypeVar("Outcome", bound=Hashable)

FAR = 9
"""Noise this far out always moves a price of a tiny market to its end."""


# What could be had


def optimum(worths: Floats, menu: Menu, supply: int | Sequence[int]) -> float:
    """The largest welfare of any fractional allocation within the supply."""
    n, options = worths.shape
    each = _sparse.kron(_sparse.eye(n), np.ones((1, options)))
    goods = _sparse.kron(np.ones((1, n)), menu.options[1:].T)
    limits = np.concatenate((np.ones(n), np.broadcast_to(supply, menu.goods)))
    solution = _optimize.linprog(
        -worths.ravel(),
        A_ub=_sparse.vstack([each, goods]).tocsr(),
        b_ub=limits,
        bounds=(0, None),
        method="highs",
    )
    return -float(solution.fun)


def optimum_by_prices(worths: Floats, supply: int, *, sweeps: int = 15) -> float:
    """An upper bound on it for single goods, tight in large markets: the dual, by coordinates."""
    goods = worths.shape[1]
    prices = np.zeros(goods)
    for good in itertools.islice(itertools.cycle(range(goods)), sweeps * goods):
        others = np.delete(worths - prices, good, axis=1).max(axis=1).clip(0)
        willing = np.partition(worths[:, good] - others, -supply - 1)
        prices[good] = max(0.0, willing[-supply - 1])
    surplus = (worths - prices).max(axis=1).clip(0).sum()
    return float(surplus + supply * prices.sum())


GOODS = 5


def uniform(*shape: int) -> Floats:
    words = np.frombuffer(os.urandom(4 * math.prod(shape)), dtype=np.uint32)
    return (words / 2.0**32).reshape(shape)


def outcome(worths: Floats, supply: int, got: Allocation) -> tuple[float, float]:
    """Welfare over the best, and demand above supply over supply, as realised."""
    menu, few = Menu.singles(worths.shape[1]), len(worths) < 5_000
    best = optimum(worths, menu, supply) if few else optimum_by_prices(worths, supply)
    welfare = float(Buyers(worths, menu).welfare_of(got.choices).sum())
    over = np.maximum(menu.demand(got.choices) - supply, 0).sum()
    return welfare / best, float(over) / (supply * menu.goods)


# Who learns what


def _noise_law(noise: DemandNoise) -> list[tuple[int, float]]:
    """Noise from −FAR to FAR, its ends with all that is beyond them."""
    ks = np.arange(-20 * FAR, 20 * FAR + 1)
    if isinstance(noise, GaussianNoise):
        weights = np.exp(-(ks**2) / (2 * float(noise.sigma_squared)))
    else:
        assert isinstance(noise, GeometricNoise)
        weights = np.exp(-float(noise.decay) * np.abs(ks))
    law: dict[int, float] = defaultdict(float)
    for k, weight in zip(ks.clip(-FAR, FAR).tolist(), weights / weights.sum(), strict=True):
        law[k] += float(weight)
    return list(law.items())


Choices = tuple[int, ...]
Following = Callable[[Board, Choices], list[tuple[Board, float]]]
"""Every board that may follow one where buyers choose so, and its probability."""


def _following(billboard: Billboard) -> Following:
    return cache(partial(_next_boards, billboard))


def _next_boards(billboard: Billboard, board: Board, choices: Choices) -> list[tuple[Board, float]]:
    """Goods move independently."""
    once = replace(billboard, start=np.array(board), rounds=1)

    def choose(posted: Floats) -> npt.NDArray[np.int16]:
        assert tuple(posted.tolist()) == board
        return np.array(choices, dtype=np.int16)

    def after(drawn: int) -> Floats:
        row = np.full((1, billboard.menu.goods), drawn)
        posted: Floats = once.posted(choose, row)[1]
        return posted

    for end in (-FAR, FAR):
        assert (after(end) == after(2 * end)).all()
    prices: list[dict[float, float]] = [defaultdict(float) for _ in range(billboard.menu.goods)]
    for drawn, chance in _noise_law(billboard.noise):
        for good, price in enumerate(after(drawn).tolist()):
            prices[good][round(price, 6)] += chance
    return [
        (next_prices, math.prod(prices[g][p] for g, p in enumerate(next_prices)))
        for next_prices in itertools.product(*prices)
    ]


def board_law(
    billboard: Billboard, buyers: Buyers, following: Following | None = None
) -> dict[Boards, float]:
    """Every sequence of boards: exact, since noise beyond FAR does what FAR does."""
    following = following or _following(billboard)
    choices = cache(lambda board: tuple(buyers.choose(np.array(board)).tolist()))
    law: dict[Boards, float] = {(tuple(billboard.start.tolist()),): 1.0}
    for _ in range(billboard.rounds):
        longer: dict[Boards, float] = defaultdict(float)
        for boards, chance in law.items():
            for board, share in following(boards[-1], choices(boards[-1])):
                longer[(*boards, board)] += chance * share
        law = longer
    return law


Settle = Callable[[Buyers, Floats], Sequence[int]]
"""The options of all buyers at one board."""


def best_responses(buyers: Buyers, board: Floats) -> Sequence[int]:
    choices: list[int] = buyers.choose(board).tolist()
    return choices


def joint_law(
    billboard: Billboard,
    buyers: Buyers,
    *,
    without: int,
    settle: Settle = best_responses,
    following: Following | None = None,
) -> Joint:
    """Boards, and the options of all but one buyer at a private round of the second half each."""
    joint: Joint = defaultdict(float)
    first = billboard.rounds // 2
    rounds = range(first, billboard.rounds)
    others = [i for i in range(len(buyers)) if i != without]
    settled = cache(lambda board: settle(buyers, np.array(board)))
    for boards, chance in board_law(billboard, buyers, following).items():
        at = {t: settled(boards[t]) for t in rounds}
        for own in itertools.product(rounds, repeat=len(others)):
            taken = tuple(at[t][i] for i, t in zip(others, own, strict=True))
            joint[(boards, taken)] += chance / len(rounds) ** len(others)
    return joint


def farthest(one: dict[Outcome, float], other: dict[Outcome, float]) -> float:
    """The largest log-ratio of any outcome, either way."""
    if one.keys() != other.keys():
        return math.inf
    return max(abs(math.log(chance / other[outcome])) for outcome, chance in one.items())


WORTHS = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.9, 0.8)]


def tiny_plan(rounds: int = 2, noise: DemandNoise | None = None) -> AllocationPlan:
    """Two buyers, two goods of one unit, ε = 2."""
    menu = Menu.singles(2)
    law = noise or GeometricNoise(Fraction(2, rounds * menu.moves))
    return AllocationPlan(2, menu, np.array([1, 1]), rounds, law)


def coarse_billboard(rounds: int) -> Billboard:
    """The same market, with prices that move by two thirds: few boards, so more rounds."""
    fine = tiny_plan(rounds).billboard
    return replace(fine, update=lambda p, d: np.clip(p + (d - 1) * 2 / 3, 0, 2))


def joint_laws(billboard: Billboard, settle: Settle = best_responses) -> Iterator[list[Joint]]:
    """For each of two buyers and all the other may be: the laws of what others see and get."""
    following = _following(billboard)
    for without, theirs in itertools.product((0, 1), WORTHS[1:]):
        pairs = [(own, theirs) if without == 0 else (theirs, own) for own in WORTHS]
        tables = [Buyers(np.array(pair), billboard.menu) for pair in pairs]
        yield [
            joint_law(billboard, buyers, without=without, settle=settle, following=following)
            for buyers in tables
        ]


def check_jointly_private(
    billboard: Billboard,
    *,
    epsilon: float,
    settle: Settle = best_responses,
    tight: float = 0.0,
) -> None:
    """For all worths of one buyer, what all others see and get is within e^ε; for both."""
    worst = 0.0
    for laws in joint_laws(billboard, settle):
        worst = max(worst, *(farthest(a, b) for a, b in itertools.combinations(laws, 2)))
    assert worst <= epsilon * (1 + 1e-9)
    assert worst >= tight * epsilon


def check_jointly_concentrated(billboard: Billboard, *, rho: Fraction) -> None:
    """D_α ≤ ρα, and the hockey stick at most the δ of ρ, both ways, for what all others get."""
    for laws in joint_laws(billboard):
        for one, other in itertools.combinations(laws, 2):
            assert one.keys() == other.keys()
            p = np.array(list(one.values()))
            q = np.array([other[outcome] for outcome in one])
            for alpha in ALPHAS:
                assert renyi(p, q, alpha) <= float(rho) * alpha * UP
            for epsilon in (0, 1, 3):
                assert hockey_stick(p, q, epsilon) <= delta_of(rho, Fraction(epsilon)) * UP


# Prices

BIDS = (100, 100, 100, 401)
"""The slide's buyers, in cents."""


def neighbours(bids: Sequence[int], values: Iterable[int]) -> Iterable[tuple[int, ...]]:
    """Every replacement of one bid."""
    choices = list(values)
    for place in range(len(bids)):
        for value in choices:
            yield (*bids[:place], value, *bids[place + 1 :])


def check_price_private(
    law: Callable[[Sequence[int]], Pmf[int]], values: Sequence[int], *, epsilon: float, tight: float
) -> None:
    """All replacements in all sets of three bids: within e^ε, and near it for some."""
    worst = 0.0
    known: dict[tuple[int, ...], Floats] = {}

    def chances(bids: tuple[int, ...]) -> Floats:
        key = tuple(sorted(bids))
        if key not in known:
            known[key] = law(key).probabilities
        return known[key]

    for bids in itertools.combinations_with_replacement(values, 3):
        for other in neighbours(bids, values):
            worst = max(worst, float(np.abs(np.log(chances(bids) / chances(other))).max()))
    assert worst <= epsilon * (1 + 1e-9)
    assert worst >= tight * epsilon


def check_misreports(
    bound: float, sale: Callable[[int, int, int], float], pricing: Pricing, values: Sequence[int]
) -> None:
    """No false bid gains more than the bound; sale(price, bid, value) is the utility."""
    for others in itertools.combinations_with_replacement(values, 2):
        for value in values:
            honest = _expected(pricing, (*others, value), sale, value, value)
            for bid in values:
                assert _expected(pricing, (*others, bid), sale, bid, value) - honest <= bound


def _expected(
    pricing: Pricing,
    bids: Sequence[int],
    sale: Callable[[int, int, int], float],
    bid: int,
    value: int,
) -> float:
    law = pricing.pmf(bids)
    utilities = np.array([sale(price, bid, value) for price in law.outcomes])
    return float(law.probabilities @ utilities)


def posted_price(price: int, bid: int, value: int) -> float:
    """Sold if the bid reaches the price, at the price."""
    return float(value - price) if bid >= price else 0.0


def small_pricing(epsilon: str = "1") -> Pricing:
    return Pricing.of(PriceGrid.of([1, 2, 3]), epsilon=epsilon)


# Unit demand, and matching


def vcg(worths: Floats) -> tuple[list[int], list[float]]:
    """One unit of each good, one good a buyer: the best assignment, and the Clarke payments."""
    rows, columns = _optimize.linear_sum_assignment(-worths)
    got = dict(zip(rows.tolist(), columns.tolist(), strict=True))
    total = float(worths[rows, columns].sum())
    taken, paid = [], []
    for buyer in range(len(worths)):
        rest = np.delete(worths, buyer, axis=0)
        r, c = _optimize.linear_sum_assignment(-rest)
        own = float(worths[buyer, got[buyer]]) if buyer in got else 0.0
        taken.append(got.get(buyer, -1))
        paid.append(float(rest[r, c].sum()) - (total - own))
    return taken, paid


def justified_envy(
    likes: Floats, scores: Integers, choices: Sequence[int]
) -> list[tuple[int, int]]:
    """Students who prefer a school that took someone of a lower score; school 1 is column 0."""
    lowest: Mapping[int, int] = {
        school: min(int(scores[i, school]) for i, own in enumerate(choices) if own == school + 1)
        for school in range(likes.shape[1])
        if school + 1 in choices
    }
    envious = []
    for student, own in enumerate(choices):
        content = float(likes[student, own - 1]) if own else 0.0
        for school, least in lowest.items():
            if likes[student, school] > content and scores[student, school] > least:
                envious.append((student, school))
    return envious
