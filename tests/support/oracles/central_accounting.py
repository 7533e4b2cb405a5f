"""Checks for accounts: exact laws written from the definitions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from deniable_central.guarantee import Adjacency, Guarantee

Law = npt.NDArray[np.float64]
Pair = tuple[Law, Law]

REPLACE, ADD_REMOVE = Adjacency.REPLACE, Adjacency.ADD_REMOVE
MICRO = Fraction(1, 10**6)
UP = 1 + 1e-9
"""Floats of a test against rationals of an account."""


def hockey_stick(p: Law, q: Law, epsilon: float) -> float:
    """The least δ for which p and q are (ε, δ)-close, both ways."""
    e = math.exp(epsilon)
    return float(max(np.maximum(p - e * q, 0).sum(), np.maximum(q - e * p, 0).sum()))


def renyi(p: Law, q: Law, alpha: float) -> float:
    """D_α(p‖q), the larger way."""
    logs = np.log(p), np.log(q)
    return max(_renyi(*logs, alpha), _renyi(*logs[::-1], alpha))


def _renyi(log_p: Law, log_q: Law, alpha: float) -> float:
    terms = alpha * log_p + (1 - alpha) * log_q
    top = float(terms.max())
    return (top + math.log(float(np.exp(terms - top).sum()))) / (alpha - 1)


def randomized_response(epsilon: float) -> Pair:
    p = 1 / (1 + math.exp(-epsilon))
    return np.array([p, 1 - p]), np.array([1 - p, p])


def approximate_response(epsilon: float, delta: float) -> Pair:
    """What every (ε, δ) pair is computed from: with probability δ the truth, else a response."""
    p, q = randomized_response(epsilon)
    rest = 1 - delta
    return np.array([delta, *(rest * p), 0.0]), np.array([0.0, *(rest * q), delta])


def range_pair(epsilon: float, shift: float) -> Pair:
    """Two laws whose log-ratios are `shift` and shift − ε: of bounded range ε."""
    chance = math.expm1(shift) / (math.expm1(shift) - math.expm1(shift - epsilon))
    q = np.array([1 - chance, chance])
    return q * np.array([math.exp(shift), math.exp(shift - epsilon)]), q


def product(pairs: Sequence[Pair]) -> Pair:
    """Independent releases together."""
    p, q = np.ones(1), np.ones(1)
    for one, other in pairs:
        p, q = np.outer(p, one).ravel(), np.outer(q, other).ravel()
    return p, q


def repeated_response(epsilon: float, times: int) -> Pair:
    """So many answers of randomized response, by how many of them lie."""
    lies = np.arange(times + 1)
    ways = np.array([math.comb(times, m) for m in lies.tolist()], dtype=float)
    p = 1 / (1 + math.exp(-epsilon))
    return ways * p ** (times - lies) * (1 - p) ** lies, ways * p**lies * (1 - p) ** (times - lies)


Composed = Callable[[Fraction, int, Fraction], Fraction]


def check_composes(composed: Composed, *, tight: float = 0.0) -> None:
    """ε' of k answers of ε at δ: their hockey stick is at most δ, and at least so much of it."""
    for epsilon, times in itertools.product(
        (Fraction(1, 10), Fraction(1, 2), Fraction(2)), (1, 2, 7, 40)
    ):
        for delta in (MICRO, Fraction(1, 100)):
            bound = composed(epsilon, times, delta)
            reached = hockey_stick(*repeated_response(float(epsilon), times), float(bound))
            assert reached <= float(delta) * UP
            assert reached >= tight * float(delta) or bound == 0


def check_group(group: Callable[[Guarantee, int], Guarantee]) -> None:
    """A chain of laws, each (ε, δ) from the next and reaching it: its ends are as is said."""
    for rows, epsilon, delta in itertools.product((2, 3, 5), (0.1, 0.7), (1e-6, 1e-3)):
        chances = [0.0]
        for _ in range(rows):
            chances.append(math.exp(epsilon) * chances[-1] + delta)
        laws = [np.array([chance, 1 - chance]) for chance in chances]
        for one, other in itertools.pairwise(laws):
            assert hockey_stick(one, other, epsilon) <= delta * UP
        exact = Guarantee.approximate(Fraction(epsilon), Fraction(delta), REPLACE)
        together = group(exact, rows)
        assert together.epsilon is not None
        reached = hockey_stick(laws[0], laws[-1], float(together.epsilon))
        assert 0.999999 * float(together.delta) <= reached <= float(together.delta) * UP


def check_group_rho(group: Callable[[Guarantee, int], Guarantee]) -> None:
    """Gaussians k apart: D_α = k²α/(2σ²), reached."""
    for rows, sigma in itertools.product((1, 2, 5), (1, 3)):
        rho = group(Guarantee.concentrated(Fraction(1, 2 * sigma**2), REPLACE), rows).rho
        assert rho is not None
        assert float(rho) == rows**2 / (2 * sigma**2)


def check_replacement(stated: Callable[[Guarantee], Guarantee]) -> None:
    """Remove, then add: two steps of randomized response in one direction reach 2ε."""
    for epsilon, delta in itertools.product((0.3, 1.0), (0.0, 1e-4)):
        far, near = delta * (1 + math.exp(epsilon)), delta
        laws = [np.array([chance, 1 - chance]) for chance in (far, near, 0.0)]
        if not delta:
            laws = [np.array([c, 1 - c]) for c in (0.01 * math.exp(2 * epsilon), 0.01)]
        claimed = Guarantee.approximate(Fraction(epsilon), Fraction(delta), ADD_REMOVE)
        under = stated(claimed)
        assert under.adjacency is REPLACE
        assert under.epsilon is not None
        reached = hockey_stick(laws[0], laws[-1], float(under.epsilon))
        assert reached <= float(under.delta) * UP + 1e-12


def after(local: Pair, central: Pair) -> Pair:
    """One bit through `local`, then the release of it."""
    (p, q), (one, zero) = local, central
    return p[0] * one + p[1] * zero, q[0] * one + q[1] * zero


Contracted = Callable[[Guarantee, Fraction], Guarantee]
LOCALS, CENTRALS = ("0.5", "1", "4"), ("0.1", "0.5", "2")


def check_contracts(contracted: Contracted) -> None:
    """Randomized response, then an (ε, δ) release of it: the bound holds, and is reached."""
    for local, central in itertools.product(map(Fraction, LOCALS), map(Fraction, CENTRALS)):
        for delta in (0.0, 1e-3):
            claimed = Guarantee.approximate(central, Fraction(delta), REPLACE)
            bound = contracted(claimed, local)
            assert bound.epsilon is not None
            pair = after(
                randomized_response(float(local)), approximate_response(float(central), delta)
            )
            reached = hockey_stick(*pair, float(bound.epsilon))
            assert reached <= float(bound.delta) * UP + 1e-15
            assert reached >= 0.999999 * float(bound.delta)
            assert hockey_stick(*pair, float(bound.epsilon) * 0.999) > reached


def crowd_pair(local: float, reports: int) -> Pair:
    """The pair that dominates every shuffled randomizer: all (a, b), from the definition."""
    e = math.exp(local)
    hide, truth = 2 / (e + 1), e / (e + 1)
    p: dict[tuple[int, int], float] = {}
    q: dict[tuple[int, int], float] = {}
    for hiding in range(reports):
        weight = (
            math.comb(reports - 1, hiding) * hide**hiding * (1 - hide) ** (reports - 1 - hiding)
        )
        for a in range(hiding + 1):
            chance = weight * math.comb(hiding, a) / 2**hiding
            for own, honest in ((1, truth), (0, 1 - truth)):
                key = (a + own, hiding + 1 - a - own)
                p[key] = p.get(key, 0.0) + chance * honest
                q[key] = q.get(key, 0.0) + chance * (1 - honest)
    return np.array(list(p.values())), np.array([q[key] for key in p])


Shuffled = Callable[[float, Fraction, int], float]


def check_shuffles(delta: Shuffled) -> None:
    """δ(ε) of small crowds is that of the pair, and never below it."""
    for local, reports in itertools.product(("0.1", "1", "4"), (1, 2, 5, 30)):
        pair = crowd_pair(float(local), reports)
        for epsilon in (0.0, 0.05, 0.5, 2.0):
            exact = hockey_stick(*pair, epsilon)
            assert exact * (1 - 1e-12) <= delta(epsilon, Fraction(local), reports) + 1e-15
            assert delta(epsilon, Fraction(local), reports) <= exact * (1 + 1e-9) + 1e-15


def closed_form_2021(local: float, reports: int, delta: float) -> float | None:
    """Feldman, McMillan, Talwar 2021, Theorem 3.1; None where it does not hold."""
    if local > math.log(reports / (16 * math.log(2 / delta))):
        return None
    e = math.exp(local)
    spread = 8 * math.sqrt(e * math.log(4 / delta) / reports) + 8 * e / reports
    return math.log1p((e - 1) / (e + 1) * spread)


def closed_form_2023(local: float, reports: int, delta: float) -> float | None:
    """Feldman, McMillan, Talwar 2023; None where it does not hold."""
    if local > math.log(reports / (8 * math.log(2 / delta)) - 1):
        return None
    e = math.exp(local)
    spread = 4 * math.sqrt(2 * math.log(4 / delta) / ((e + 1) * reports)) + 4 / reports
    return math.log1p((e - 1) * spread)


def check_curve(
    divergence: Callable[[float, float], float], pairs: Callable[[float], Iterator[Pair]]
) -> None:
    """D_α of every pair is at most the curve, and reaches it but for 0.1%."""
    for epsilon, alpha in itertools.product((0.05, 1.0, 4.0), (1.1, 2.0, 8.0, 64.0)):
        bound = divergence(epsilon, alpha)
        worst = max(renyi(p, q, alpha) for p, q in pairs(epsilon))
        assert 0.999 * bound <= worst <= bound * UP


def range_pairs(epsilon: float) -> Iterator[Pair]:
    for shift in np.linspace(0, epsilon, 1002)[1:-1].tolist():
        yield range_pair(epsilon, shift)


def response_pairs(epsilon: float) -> Iterator[Pair]:
    yield randomized_response(epsilon)


def gaussian_delta(sigma: float, epsilon: float) -> float:
    """The exact δ of N(0, σ²) and N(1, σ²) at ε."""
    a, b = 1 / (2 * sigma) - epsilon * sigma, -1 / (2 * sigma) - epsilon * sigma
    return _phi(a) - math.exp(epsilon) * _phi(b)


def _phi(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def check_converts(epsilon_of: Callable[[Fraction, Fraction], Fraction]) -> None:
    """ρ of a Gaussian as an ε at δ: its exact δ there is at most that."""
    for rho, delta in itertools.product(("0.001", "0.1", "2"), ("1e-9", "1e-6", "0.01")):
        sigma = 1 / math.sqrt(2 * float(rho))
        bound = float(epsilon_of(Fraction(rho), Fraction(delta)))
        assert gaussian_delta(sigma, bound) <= float(delta)
