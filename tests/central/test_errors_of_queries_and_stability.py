"""The errors of the notes and of the peers about linear queries and stable answers, as mutants.

Each row: its number in the reference, what was printed, the check, what we ship, the mutant. The
check passes on what we ship and fails on the mutant.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable_central.queries import (
    SmallDb,
    closed_form_rows,
    sampling_size,
    useful_rows,
    vc_sampling_size,
)
from deniable_central.samplers.geometric_tails import tail
from deniable_central.stability import (
    StabilityTest,
    Subsample,
    agreement,
    propose_mode,
    propose_quantile,
)
from support.mutants.queries_and_stability import (
    MWEM,
    ONE,
    PLAN,
    AllOfEpsilonTwice,
    AlwaysDecided,
    FavoursTheWorst,
    NakedAnswers,
    NakedThreshold,
    NoisePerDimension,
    OffByOne,
    OneForAllUpdates,
    RowsMakeItPrivate,
    SensitivityOne,
    WithoutTheHalf,
    WithoutTheTwo,
    declared_sensitivity,
    median_of_odd_n,
    mode_by_whole_gap,
    mutated,
    planned_samples,
    quantile_without_a_side,
    released,
    small_db,
    uniform_convergence_as_misquoted,
)
from support.oracles import queries_and_stability as checks
from support.oracles.neighbour_pmfs import hockey_stick

pytestmark = pytest.mark.exhaustive


@dataclass(frozen=True)
class SeedError:
    number: str
    printed: str
    check: Callable[[Any], None]
    shipped: Any
    mutant: Any


TABLE = [
    SeedError(
        "E06",
        "neighbours unstated: add/remove's distance under replace",
        lambda propose: checks.check_stable(StabilityTest(ONE, 2), propose),
        propose_mode,
        mode_by_whole_gap,
    ),
    SeedError(
        "E07",
        "synthetic size O(log|Q|/ε): no square, and ε instead of α",
        checks.check_size,
        sampling_size,
        lambda queries, alpha: math.ceil(math.log(queries) / alpha),
    ),
    SeedError(
        "E08",
        "size log|Q|/α²: no whole number, 0 for one query",
        checks.check_size,
        sampling_size,
        lambda queries, alpha: math.log(queries) / alpha**2,
    ),
    SeedError(
        "E09",
        "sensitivity 1/‖x‖ of the score: tells n, which is private",
        checks.check_tells_no_rows,
        declared_sensitivity,
        lambda tally: Fraction(1, sum(tally)),
    ),
    SeedError(
        "E10",
        "Theorem 4.5 without α ≤ 1",
        checks.check_refuses_vacuous_alpha,
        lambda a: closed_form_rows(domain=8, queries=9, alpha=a, epsilon=1.0, beta=0.1),
        lambda a: math.ceil(8 * math.log(8) * math.log(18) / a**3),
    ),
    SeedError(
        "E11, E30, RelM",
        "e^(εq) under the name of e^(εq/2Δ)",
        checks.check_small_db,
        small_db(SmallDb),
        small_db(WithoutTheHalf),
    ),
    SeedError(
        "E20",
        "(ε, O(e^−t)), ε ≤ 1",
        checks.check_laplace_delta,
        lambda epsilon, t: math.exp(epsilon - t) / 2,
        lambda epsilon, t: math.exp(-t),
    ),
    SeedError(
        "E21",
        "Pr[f + N ≤ 5k/8] ≤ Pr[N ≤ k/8]",
        checks.check_failure_bound,
        Subsample.failure,
        lambda m: math.exp(-m.samples / 32) + float(1 - tail(m.decay, m.samples // 8 + 1)[0]),
    ),
    SeedError(
        "E21",
        "Chernoff at 5k/8 exactly, which leaves nothing for the noise",
        checks.check_failure_bound,
        Subsample.failure,
        lambda m: math.exp(-m.samples / 32),
    ),
    SeedError(
        "E22",
        "uniform convergence 2(em/d)^d e^(−α²m/8)",
        checks.check_class_size,
        vc_sampling_size,
        uniform_convergence_as_misquoted,
    ),
    SeedError(
        "E23",
        "outputs ⊥ whenever N > −k/16",
        checks.check_withholds,
        lambda noise, k: noise <= k / 16,
        lambda noise, k: noise > -k / 16,
    ),
    SeedError(
        "E24",
        "f' ≤ 31k/32",
        checks.check_frequency_after_a_change,
        lambda k: 19 * k / 32,
        lambda k: 31 * k / 32,
    ),
    SeedError(
        "E25",
        "Pr[SM(x) = ⊥] ≤ e^ε Pr[SM(x) = ⊥]",
        checks.check_sees_a_leak,
        lambda one, other: hockey_stick(one, other, ONE)[0],
        lambda one, other: hockey_stick(one, one, ONE)[0],
    ),
    SeedError(
        "E26",
        "k = ε(n/m)³",
        checks.check_samples,
        planned_samples,
        lambda n, m, epsilon, delta: float(epsilon) * (n / m) ** 3,
    ),
    SeedError(
        "E27",
        "the row in too many samples is assumed away: δ2 alone",
        checks.check_subsample,
        lambda m: m.delta,
        lambda m: m.delta_unstable,
    ),
    SeedError(
        "E28",
        "private as long as the database has sufficiently many rows",
        checks.check_online,
        PLAN,
        mutated(RowsMakeItPrivate),
    ),
    SeedError(
        "E29",
        "the median of an odd number of entries",
        checks.check_median,
        propose_quantile,
        median_of_odd_n,
    ),
    SeedError(
        "E33",
        "score max_h|…| with weight e^(+qεn/2): the worst database",
        checks.check_small_db,
        small_db(SmallDb),
        small_db(FavoursTheWorst),
    ),
    SeedError(
        "E34",
        "km·ln 2 dropped on the way to O(d VC …)",
        checks.check_useful,
        lambda m, a, d: useful_rows(bits=3, size=m, alpha=a, epsilon=1.0, delta=d),
        lambda m, a, d: math.ceil(4 / a * math.log(1 / d)),
    ),
    SeedError(
        "E35",
        "with probability 1 − δ, for all h and every D: for one D in mind",
        checks.check_answers_every_data_set,
        released,
        lambda tally: np.array([1.0, 0.0, 0.0]),
    ),
    SeedError(
        "RelM",
        "SmallDB of |Q|/α² rows",
        checks.check_size,
        sampling_size,
        lambda queries, alpha: math.ceil(queries / alpha**2),
    ),
    SeedError(
        "mbi",
        "the sensitivity of SmallDB's score is 1",
        checks.check_small_db,
        small_db(SmallDb),
        small_db(SensitivityOne),
    ),
    SeedError(
        "SmartNoise #472",
        "MWEM's noise divided by the dimension",
        checks.check_mwem,
        MWEM,
        NoisePerDimension(MWEM.workload, 1, MWEM.epsilon),
    ),
    SeedError(
        "MWEM",
        "ε/T twice a round",
        checks.check_mwem,
        MWEM,
        AllOfEpsilonTwice(MWEM.workload, 1, MWEM.epsilon),
    ),
    SeedError(
        "SVT",
        "query noise without c",
        checks.check_sparse_vector,
        PLAN,
        mutated(OneForAllUpdates),
    ),
    SeedError(
        "SVT",
        "query noise without the 2",
        checks.check_sparse_vector,
        PLAN,
        mutated(WithoutTheTwo),
    ),
    SeedError(
        "SVT",
        "no noise on the threshold",
        checks.check_sparse_vector,
        PLAN,
        mutated(NakedThreshold),
    ),
    SeedError(
        "SVT",
        "answers that teach without noise of their own",
        checks.check_online,
        PLAN,
        mutated(NakedAnswers),
    ),
    SeedError(
        "PTR",
        "D + N ≥ T",
        lambda test: checks.check_stable(test, propose_quantile),
        StabilityTest(ONE, 2),
        OffByOne(ONE, 2),
    ),
    SeedError(
        "PTR",
        "released whenever stable, without noise",
        lambda test: checks.check_stable(test, propose_mode),
        StabilityTest(ONE, 1),
        AlwaysDecided(ONE, 1),
    ),
    SeedError(
        "PTR",
        "a median that only falls",
        checks.check_median,
        propose_quantile,
        quantile_without_a_side,
    ),
    SeedError(
        "SA",
        "blocks that overlap, counted as if they did not",
        checks.check_agreement,
        lambda answers, overlap: agreement(answers, overlap=overlap),
        lambda answers, overlap: agreement(answers),
    ),
    SeedError(
        "SA",
        "the sign of the noise's threshold: released if f + N ≤ 5k/8",
        checks.check_failure_bound,
        Subsample.failure,
        lambda m: 1 - m.failure(),
    ),
]


@pytest.mark.parametrize("error", TABLE, ids=lambda e: f"{e.number}: {e.printed}")
def test_what_we_ship_passes_and_what_was_printed_does_not(error: SeedError) -> None:
    error.check(error.shipped)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        error.check(error.mutant)


def test_a_threshold_comparison_that_is_released_is_seen() -> None:
    """Releasing |t − P| + N of the test itself tells a long run of passing queries apart."""
    plan = dataclasses.replace(PLAN, updates=1)
    first, second, _ = map(float, plan.decays)

    def chance(passing: int, teaching: int, released: int, many: int) -> float:
        noise = np.arange(-200, 201)
        thresholds = plan.threshold + noise
        below = 1 - np.array([float(tail(plan.decays[1], int(t) - passing)[0]) for t in thresholds])
        allowed = thresholds <= released
        drawn = np.exp(-first * np.abs(noise)) * below**many
        return float(drawn[allowed].sum() * math.exp(-second * abs(released - teaching)))

    ratio = chance(0, 0, -5, 20) / chance(1, 0, -5, 20)
    assert math.log(ratio) > plan.epsilons[0] + plan.epsilons[1] + plan.epsilons[2]
