"""The privacy blanket: never below the exact divergence, and as low as published figures."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from deniable_aggregator.collections.planning import Blanket
from deniable_central.accounting.shuffle import shuffled_epsilon
from deniable_shared import mechanisms
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import Mechanism
from support.tiers import grid, rows

Histogram = tuple[bytes, ...]
SMALL = [
    ("grr/1", 2, "1", 4),
    ("grr/1", 3, "2", 4),
    ("subset/1", 4, "0.5", 3),
    ("affine/1", 5, "0.5", 3),
    ("hadamard/1", 3, "1", 3),
    ("oue/1", 3, "1", 3),
    ("sue/1", 2, "3", 3),
]


def of_design(epsilon: float, codes: int, size: int, common: float) -> Blanket:
    """Of K = codes messages, of which w = size support a value and λ = common two values."""
    return Blanket(epsilon, size / codes, common / codes)


def shuffled(mechanism: Mechanism, values: tuple[int, ...]) -> dict[Histogram, float]:
    """The exact law of the reports in sorted order."""
    law: dict[Histogram, float] = {(): 1.0}
    for value in values:
        after: dict[Histogram, float] = {}
        for (seen, chance), (message, likely) in product(law.items(), mechanism.pmf(value).items()):
            more = tuple(sorted((*seen, message)))
            after[more] = after.get(more, 0.0) + chance * float(likely)
        law = after
    return law


def divergence(one: dict[Histogram, float], other: dict[Histogram, float], epsilon: float) -> float:
    factor = math.exp(epsilon)
    return sum(max(chance - factor * other[seen], 0.0) for seen, chance in one.items())


@pytest.mark.slow
@pytest.mark.parametrize(("id", "size", "epsilon", "n"), rows(SMALL, by_default=SMALL[::6]))
def test_it_is_never_below_the_exact_divergence_of_any_neighbours(
    id: str, size: int, epsilon: str, n: int
) -> None:
    mechanism = mechanisms.build(id, domain_size=size, epsilon=epsilon)
    blanket = Blanket.of(mechanism)
    assert blanket is not None
    local = blanket.local
    bounds = {at: blanket.delta(at, n) for at in (0.0, 0.3 * local, 0.6 * local, 0.9 * local)}
    laws = {
        values: shuffled(mechanism, values)
        for values in combinations_with_replacement(range(size), n)
    }
    for others in combinations_with_replacement(range(size), n - 1):
        neighbours = [laws[tuple(sorted((value, *others)))] for value in range(size)]
        for one, other in product(neighbours, neighbours):
            for at, bound in bounds.items():
                assert divergence(one, other, at) <= bound + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reports", "local", "told"),
    rows(
        [
            (10**4, 1, (".0432", ".0091", ".0297")),
            (10**4, 4, (".411", ".270", ".279")),
            (10**5, 1, (".0124", ".0026", ".0085")),
            (10**5, 4, (".118", ".079", ".081")),
        ],
        by_default=lambda row: row[:2] == (10**4, 1),
    ),
)
def test_published_figures_are_met(reports: int, local: int, told: tuple[str, ...]) -> None:
    """At δ = 1e-6: of a bit, of one of 64 labels, of sets of the best size."""
    design = mechanisms.build("affine/1", domain_size=5000, epsilon=local)
    blankets = [
        of_design(local, 2, 1, 0),
        of_design(local, 64, 1, 0),
        Blanket.of(design),
    ]
    for blanket, figure in zip(blankets, told, strict=True):
        assert blanket is not None
        unit = 10.0 ** -len(figure[1:])
        assert blanket.epsilon(reports, 1e-6) == pytest.approx(float(figure), abs=0.6 * unit)


def test_one_bit_of_a_thousand_is_what_the_literature_says() -> None:
    """ε = .1250 for n = 1,000, ε0 = 1, δ = 1e-5, where the exact value is .1054."""
    found = of_design(1, 2, 1, 0).epsilon(1000, 1e-5)
    assert 0.1250 <= found < 0.1253


@pytest.mark.slow
@pytest.mark.parametrize("reports", grid([10**3, 10**4, 10**6], by_default=[10**3]))
def test_for_one_bit_it_agrees_with_the_bound_of_every_randomizer(reports: int) -> None:
    every = float(shuffled_epsilon(local=1, reports=reports, delta="0.000001"))
    assert of_design(1, 2, 1, 0).epsilon(reports, 1e-6) == pytest.approx(every, rel=0.01)


@pytest.mark.parametrize("id", ["grr/1", "subset/1", "affine/1", "hadamard/1"])
def test_shares_follow_from_p_and_q(id: str) -> None:
    mechanism = mechanisms.build(id, domain_size=7, epsilon="0.7")
    blanket = Blanket.of(mechanism)
    assert blanket is not None
    every = [
        {label for label in range(7) if mechanism.supports(message, label)}
        for message in mechanism.pmf(0)
    ]
    assert blanket.share == pytest.approx(sum(3 in result for result in every) / len(every))
    both = sum({2, 5} <= result for result in every) / len(every)
    assert blanket.both == pytest.approx(both, abs=1e-9)


def test_a_chain_is_wrapped_as_its_one_report() -> None:
    chain = mechanisms.build("subset/1", domain_size=9, epsilon="1", permanent="3")
    once = mechanisms.build("subset/1", domain_size=9, epsilon="1")
    one, other = Blanket.of(chain), Blanket.of(once)
    assert one is not None
    assert other is not None
    assert (one.share, one.local) == (other.share, other.local)
    assert one.both == pytest.approx(other.both)


def test_delta_falls_with_epsilon_and_reports_to_zero_at_the_local_one() -> None:
    blanket = of_design(2, 13, 4, 1)
    deltas = [blanket.delta(epsilon, 500) for epsilon in (0.0, 0.1, 0.2, 0.4, 1.0)]
    assert deltas == sorted(deltas, reverse=True)
    assert blanket.delta(0.2, 5000) < blanket.delta(0.2, 500)
    assert blanket.delta(2.0, 1) == 0
    assert blanket.epsilon(1, 1e-6) <= 2


@pytest.mark.parametrize("reports", [50, 500, 20_000])
@pytest.mark.parametrize("local", [0.1, 2.0, 8.0])
def test_epsilon_is_the_least_that_keeps_delta(local: float, reports: int) -> None:
    blanket = of_design(local, 13, 4, 1)
    least = blanket.epsilon(reports, 1e-6)
    assert blanket.delta(least, reports) <= 1e-6
    assert blanket.delta(least * (1 - 2e-4), reports) > 1e-6


def test_a_coarse_grid_only_raises_the_bound() -> None:
    blanket = of_design(1, 64, 17, 4)
    fine = blanket.delta(0.05, 2000, places=1 << 17)
    assert fine < blanket.delta(0.05, 2000, places=1 << 10) < 1.5 * fine


def test_bits_and_means_have_no_blanket_of_this_form() -> None:
    assert Blanket.of(mechanisms.build("rr/1", domain_size=3, epsilon="1")) is None
    assert Blanket.of(mechanisms.build("duchi/1", domain_size=3, epsilon="1")) is None


def test_what_is_no_design_is_refused() -> None:
    for share, both in ((0.0, 0.0), (1.0, 1.0), (0.2, 0.3), (0.8, 0.5)):
        with pytest.raises(ParameterError, match=r"share|both"):
            Blanket(1.0, share, both)
    with pytest.raises(ParameterError, match="local must be in"):
        Blanket(0.0, 0.5, 0.25)
    blanket = of_design(1, 2, 1, 0)
    with pytest.raises(ParameterError, match="reports must be at least 1"):
        blanket.delta(0.1, 0)
    with pytest.raises(ParameterError, match="delta must be in"):
        blanket.epsilon(10, 1e-11)
    with pytest.raises(ParameterError, match="epsilon must be at least 0"):
        blanket.delta(float(Fraction(-1)), 10)
