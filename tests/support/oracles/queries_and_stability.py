"""Checks that linear and stable releases pass, and that known mistakes about them fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from deniable_central.queries import (
    Counts,
    Mwem,
    OnlinePlan,
    SmallDb,
    Workload,
    halfspaces,
    sampling_size,
)
from deniable_central.stability import Proposal, StabilityTest, Subsample
from deniable_central.stability.sample_aggregate import BlockAnswer
from deniable_shared.errors import ParameterError
from support.oracles.central_queries import (
    FOUR_QUERIES,
    FRACTIONS,
    Floats,
    Tally,
    enlarged_tallies,
    exchanged_tallies,
)
from support.oracles.central_stability import laplace_chance, lower_median, rows_to_change
from support.oracles.mwem_pmf import mwem_pmf
from support.oracles.neighbour_pmfs import check_approximate, check_pure, exchanged, hockey_stick
from support.oracles.online_pmf import ThresholdTest, online_pmf
from support.oracles.subsample_pmf import subsample_pmf

Rows = tuple[int, ...]
Propose = Callable[[Rows], Proposal[int]]
Size = Callable[[int, float], float]
ALPHA = 0.05
USEFUL = 0.9, 0.05


def _least(patterns: int, size: float) -> None:
    failing = [2 * patterns * math.exp(-2 * m * ALPHA**2) for m in (size - 1, size)]
    assert size == int(size) >= 1
    assert failing[0] >= 1 > failing[1]


def check_size(size: Size) -> None:
    """The least whole m ≥ 1 with 2|Q|e^(−2mα²) < 1."""
    for queries in (1, 2, 3, 20, 10**6):
        _least(queries, size(queries, ALPHA))


def check_class_size(size: Callable[[int, int, float], float]) -> None:
    """The same, |Q| being the patterns that a class of dimension d can make on a finite domain."""
    for domain, dimension in ((8, 4), (16, 5)):
        patterns = sum(math.comb(domain, i) for i in range(dimension + 1))
        _least(patterns, size(domain, dimension, ALPHA))


def check_small_db(build: Callable[[str, Workload], SmallDb]) -> None:
    """ε-DP on all small data sets, replaced or added to, and the best candidate the likeliest."""
    for workload in (FOUR_QUERIES, FRACTIONS):
        for adjacency, pairs in (
            ("replace", exchanged_tallies(3, [1, 4])),
            ("add/remove", enlarged_tallies(3, [0, 3])),
        ):
            mechanism = build(adjacency, workload)

            def law(tally: Tally, mechanism: SmallDb = mechanism) -> object:
                return mechanism.pmf(Counts(np.array(tally)))

            check_pure(law, pairs, mechanism.guarantee)  # type: ignore[arg-type]  # laws of databases, not of messages
    favoured = build("replace", FOUR_QUERIES).pmf(Counts(np.array([9, 0, 0])))
    assert favoured.outcomes[int(favoured.probabilities.argmax())] == (0, 0)


def check_tells_no_rows(declared: Callable[[Tally], Fraction]) -> None:
    """Where n is private, what a mechanism declares must not tell it."""
    assert all(declared(one) == declared(other) for one, other in enlarged_tallies(3, [1, 3]))


def check_refuses_vacuous_alpha(rows: Callable[[float], int]) -> None:
    """Theorem 4.5 holds for α ≤ 1; beyond, cubes are larger than α and the algebra turns round."""
    with pytest.raises(ParameterError, match="alpha"):
        rows(2.0)


def failing_mass(
    tally: Tally, size: int, answers: Callable[[Counts], Floats] | None = None
) -> float:
    """How likely a small database for 3-bit halfspaces is off by more than α; ε = 1."""
    planes, alpha = halfspaces(3), USEFUL[0]
    mechanism, n = SmallDb.of(planes, epsilon="1", size=size), sum(tally)
    errors = -mechanism.scores(Counts(np.array(tally))) / (n * size)
    weights = np.exp(-n * (errors - errors.min()) / 2)
    return float(weights[errors > alpha + 1e-12].sum() / weights.sum())


def check_useful(rows_for: Callable[[int, float, float], int]) -> None:
    """(α, δ)-useful for every D that is tried: with probability 1 − δ, for all h."""
    alpha, delta = USEFUL
    size = sampling_size(halfspaces(3).queries, alpha / 2)
    rows = rows_for(size, alpha, delta)
    even = tuple(rows // 8 + (v < rows % 8) for v in range(8))
    for tally in ((rows, *(0,) * 7), even):
        assert failing_mass(tally, size) <= delta


def check_answers_every_data_set(release: Callable[[Tally], Floats]) -> None:
    """For all D, with high probability, for all h: not for one D that was in mind."""
    for tally in ((1000, 0, 0), (0, 1000, 0), (300, 300, 400)):
        true = FOUR_QUERIES.values(np.array(tally) / 1000)
        assert np.abs(true - FOUR_QUERIES.values(release(tally))).max() <= 0.5


def check_laplace_delta(delta: Callable[[float, float], float]) -> None:
    """δ(ε, t) is what a changing answer, D = 1, is released with: no less, for every ε."""
    for epsilon in (0.1, 1.0, 3.0):
        for more in (0.0, 1.0, 5.0):
            released = laplace_chance(1, epsilon, epsilon + more)
            assert released <= delta(epsilon, epsilon + more) <= released / 0.9


def check_stable(test: StabilityTest, propose: Propose) -> None:
    """(ε, δ)-DP on all data sets of up to four rows of three values, one replaced."""
    pairs = list(exchanged(range(3), range(1, 5)))
    check_approximate(lambda rows: test.pmf(propose(rows)), pairs, test.guarantee)


def check_median(propose: Propose) -> None:
    """The lower median and how many rows change it, for odd and even n, by brute force."""
    for one, _ in exchanged(range(1, 4), range(1, 5)):
        proposed = propose(one)
        assert proposed.answer == lower_median(one)
        assert proposed.distance == rows_to_change(lower_median, one, range(5))


def check_agreement(propose: Callable[[Rows, int], Proposal[BlockAnswer]]) -> None:
    """One row in two of five blocks: (ε, δ)-DP for all that it can do to the answers."""
    test = StabilityTest(Fraction(1), 1)
    pairs = [(a, c) for a, b in exchanged(range(3), [4]) for c in [b, *_further(b)]]
    check_approximate(lambda rows: test.pmf(propose(rows, 2)), pairs, test.guarantee)


def _further(rows: Rows) -> list[Rows]:
    return [(*rows[:i], value, *rows[i + 1 :]) for i in range(len(rows)) for value in range(3)]


def check_failure_bound(bound: Callable[[Subsample], float]) -> None:
    """Above how often a 3/4-stable answer is missed, exactly, and of some use."""
    for epsilon, samples in ((1, 256), (8, 256), (8, 1024)):
        mechanism = Subsample(Fraction(epsilon), 64, 1, samples)
        law = subsample_pmf(mechanism, np.array([1] * 48 + [0] * 16), lambda block: int(block[0]))
        missed = 1 - float(law.probabilities[law.outcomes.index(1)])
        assert missed <= bound(mechanism) < 0.75


def check_withholds(withheld: Callable[[int, int], bool]) -> None:
    """With f ≤ 9k/16 the noise that is said to withhold does: f + N ≤ 5k/8."""
    k = 64
    for noise in range(-2 * k, 2 * k):
        if withheld(noise, k):
            assert all(f + noise <= 5 * k / 8 for f in range(9 * k // 16 + 1))
    assert withheld(0, k)
    assert withheld(-k, k)


def check_frequency_after_a_change(bound: Callable[[int], float]) -> None:
    """f' ≤ f + 2km/n for f ≤ 9k/16 and m ≤ n/64, and still below the 5k/8 that releases."""
    for k in (64, 96, 6400):
        assert 9 * k / 16 + k / 32 <= bound(k) < 5 * k / 8


def check_sees_a_leak(compare: Callable[[object, object], Fraction]) -> None:
    """Comparing x with itself makes every mechanism look private."""
    naked = StabilityTest(Fraction(20), 1)
    assert compare(naked.pmf(Proposal(0, 9)), naked.pmf(Proposal(1, 9))) > Fraction(99, 100)


def check_samples(samples: Callable[[int, int, str, str], float]) -> None:
    """A whole number, and not far more than 3(n/m) ln(2/δ)."""
    for rows, size in ((64_000, 100), (25_600, 64)):
        planned = samples(rows, size, "1", "1e-6")
        assert planned == int(planned)
        assert planned <= 3 * rows / size * math.log(2e6) + 1


def check_subsample(delta: Callable[[Subsample], Fraction]) -> None:
    """The whole mechanism on all 64 rows of yes and no, draws of rows and all: within δ."""
    mechanism = Subsample(Fraction(8), 64, 1, 32)
    laws = [
        subsample_pmf(mechanism, np.array([1] * n + [0] * (64 - n)), lambda block: int(block[0]))
        for n in range(40, 65)
    ]
    for one, other in pairwise(laws):
        assert hockey_stick(one, other, mechanism.epsilon)[1] <= delta(mechanism)
        assert hockey_stick(other, one, mechanism.epsilon)[1] <= delta(mechanism)


def check_sparse_vector(plan: OnlinePlan) -> None:
    """Errors that grow pass and errors that shrink teach: at most e^(ε1 + ε2) apart, any n."""
    test = ThresholdTest(plan)
    teaching = plan.updates

    def chance(passing: int, error: int, many: int) -> float:
        return test.chance(((passing, False),) * many + ((error, True),) * teaching)

    bound = math.exp(plan.epsilons[0] + plan.epsilons[1]) * (1 + 1e-9)
    for many in (0, 1, 10, 300):
        assert chance(0, 1, many) <= bound * chance(1, 0, many)
        assert chance(1, 0, many) <= bound * chance(0, 1, many)


def check_online(plan: OnlinePlan) -> None:
    """Whole transcripts on all data sets of three rows, few as they are: ε-DP all the same."""
    queries = [[1, 0], [0, 1]]
    check_pure(
        lambda tally: online_pmf(plan, Counts(np.array(tally)), queries, reach=6),
        exchanged_tallies(2, [plan.demand.rows]),
        plan.guarantee,
    )


def check_mwem(mechanism: Mwem) -> None:
    """All measurements of one round on all small data sets: ε-DP."""
    check_pure(
        lambda tally: mwem_pmf(mechanism, Counts(np.array(tally)), reach=6),
        [*exchanged_tallies(3, [1, 3]), ((70, 20, 30), (70, 19, 31))],
        mechanism.guarantee,
    )
