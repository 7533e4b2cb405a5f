"""Known mistakes about linear queries and stable answers, from notes and other libraries.

Each row: the mistake in a sentence, how it was printed or done, the check, what we ship, the
mutant. The check passes on what we ship and fails on the mutant.
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
from deniable_central.samplers.noise import tail
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
class Mistake:
    mistake: str
    printed: str
    check: Callable[[Any], None]
    shipped: Any
    mutant: Any


TABLE = [
    Mistake(
        "the distance of a mode ignores that one replaced row moves two counts",
        "neighbours unstated: add/remove's distance under replace",
        lambda propose: checks.check_stable(StabilityTest(ONE, 2), propose),
        propose_mode,
        mode_by_whole_gap,
    ),
    Mistake(
        "the size of the small database lacks a square",
        "synthetic size O(log|Q|/ε): no square, and ε instead of α",
        checks.check_size,
        sampling_size,
        lambda queries, alpha: math.ceil(math.log(queries) / alpha),
    ),
    Mistake(
        "the size of the small database is not a whole number",
        "size log|Q|/α²: no whole number, 0 for one query",
        checks.check_size,
        sampling_size,
        lambda queries, alpha: math.log(queries) / alpha**2,
    ),
    Mistake(
        "the declared sensitivity reveals the number of rows",
        "sensitivity 1/‖x‖ of the score: tells n, which is private",
        checks.check_tells_no_rows,
        declared_sensitivity,
        lambda tally: Fraction(1, sum(tally)),
    ),
    Mistake(
        "the theorem is used where alpha is above 1",
        "Theorem 4.5 without α ≤ 1",
        checks.check_refuses_vacuous_alpha,
        lambda a: closed_form_rows(domain=8, queries=9, alpha=a, epsilon=1.0, beta=0.1),
        lambda a: math.ceil(8 * math.log(8) * math.log(18) / a**3),
    ),
    Mistake(
        "the exponent lacks the factor one half",
        "e^(εq) under the name of e^(εq/2Δ)",
        checks.check_small_db,
        small_db(SmallDb),
        small_db(WithoutTheHalf),
    ),
    Mistake(
        "delta of the Laplace noise forgets epsilon",
        "(ε, O(e^−t)), ε ≤ 1",
        checks.check_laplace_delta,
        lambda epsilon, t: math.exp(epsilon - t) / 2,
        lambda epsilon, t: math.exp(-t),
    ),
    Mistake(
        "the failure bound takes the wrong tail of the noise",
        "Pr[f + N ≤ 5k/8] ≤ Pr[N ≤ k/8]",
        checks.check_failure_bound,
        Subsample.failure,
        lambda m: math.exp(-m.samples / 32) + float(1 - tail(m.decay, m.samples // 8 + 1)[0]),
    ),
    Mistake(
        "the failure bound leaves nothing for the noise",
        "Chernoff at 5k/8 exactly, which leaves nothing for the noise",
        checks.check_failure_bound,
        Subsample.failure,
        lambda m: math.exp(-m.samples / 32),
    ),
    Mistake(
        "uniform convergence is misquoted",
        "uniform convergence 2(em/d)^d e^(−α²m/8)",
        checks.check_class_size,
        vc_sampling_size,
        uniform_convergence_as_misquoted,
    ),
    Mistake(
        "the answer is withheld on the wrong side of the threshold",
        "outputs ⊥ whenever N > −k/16",
        checks.check_withholds,
        lambda noise, k: noise <= k / 16,
        lambda noise, k: noise > -k / 16,
    ),
    Mistake(
        "one changed sample is said to leave a frequency of 31/32",
        "f' ≤ 31k/32",
        checks.check_frequency_after_a_change,
        lambda k: 19 * k / 32,
        lambda k: 31 * k / 32,
    ),
    Mistake(
        "a law is compared with itself",
        "Pr[SM(x) = ⊥] ≤ e^ε Pr[SM(x) = ⊥]",
        checks.check_sees_a_leak,
        lambda one, other: hockey_stick(one, other, ONE)[0],
        lambda one, other: hockey_stick(one, one, ONE)[0],
    ),
    Mistake(
        "the number of samples is a cube that forgets delta",
        "k = ε(n/m)³",
        checks.check_samples,
        planned_samples,
        lambda n, m, epsilon, delta: float(epsilon) * (n / m) ** 3,
    ),
    Mistake(
        "a row in too many samples is assumed away",
        "the row in too many samples is assumed away: δ2 alone",
        checks.check_subsample,
        lambda m: m.delta,
        lambda m: m.delta_unstable,
    ),
    Mistake(
        "the noise relies on there being many rows",
        "private as long as the database has sufficiently many rows",
        checks.check_online,
        PLAN,
        mutated(RowsMakeItPrivate),
    ),
    Mistake(
        "the distance of a median assumes an odd number of rows",
        "the median of an odd number of entries",
        checks.check_median,
        propose_quantile,
        median_of_odd_n,
    ),
    Mistake(
        "the worst database is the most likely",
        "score max_h|…| with weight e^(+qεn/2): the worst database",
        checks.check_small_db,
        small_db(SmallDb),
        small_db(FavoursTheWorst),
    ),
    Mistake(
        "a term of the number of rows is dropped",
        "km·ln 2 dropped on the way to O(d VC …)",
        checks.check_useful,
        lambda m, a, d: useful_rows(bits=3, size=m, alpha=a, epsilon=1.0, delta=d),
        lambda m, a, d: math.ceil(4 / a * math.log(1 / d)),
    ),
    Mistake(
        "the answer is right for one data set only",
        "with probability 1 − δ, for all h and every D: for one D in mind",
        checks.check_answers_every_data_set,
        released,
        lambda tally: np.array([1.0, 0.0, 0.0]),
    ),
    Mistake(
        "the size of the small database grows with the number of queries",
        "SmallDB of |Q|/α² rows",
        checks.check_size,
        sampling_size,
        lambda queries, alpha: math.ceil(queries / alpha**2),
    ),
    Mistake(
        "the sensitivity of the score is declared as 1",
        "the sensitivity of SmallDB's score is 1",
        checks.check_small_db,
        small_db(SmallDb),
        small_db(SensitivityOne),
    ),
    Mistake(
        "the noise of MWEM is divided by the dimension",
        "MWEM's noise divided by the dimension",
        checks.check_mwem,
        MWEM,
        NoisePerDimension(MWEM.workload, 1, MWEM.epsilon),
    ),
    Mistake(
        "each round of MWEM spends its share twice",
        "ε/T twice a round",
        checks.check_mwem,
        MWEM,
        AllOfEpsilonTwice(MWEM.workload, 1, MWEM.epsilon),
    ),
    Mistake(
        "the query noise ignores the number of updates",
        "query noise without c",
        checks.check_sparse_vector,
        PLAN,
        mutated(OneForAllUpdates),
    ),
    Mistake(
        "the query noise ignores that errors move both ways",
        "query noise without the 2",
        checks.check_sparse_vector,
        PLAN,
        mutated(WithoutTheTwo),
    ),
    Mistake(
        "the threshold has no noise",
        "no noise on the threshold",
        checks.check_sparse_vector,
        PLAN,
        mutated(NakedThreshold),
    ),
    Mistake(
        "answers that teach have no noise of their own",
        "answers that teach without noise of their own",
        checks.check_online,
        PLAN,
        mutated(NakedAnswers),
    ),
    Mistake(
        "the stability test passes one step too early",
        "D + N ≥ T",
        lambda test: checks.check_stable(test, propose_quantile),
        StabilityTest(ONE, 2),
        OffByOne(ONE, 2),
    ),
    Mistake(
        "the stability test decides without noise",
        "released whenever stable, without noise",
        lambda test: checks.check_stable(test, propose_mode),
        StabilityTest(ONE, 1),
        AlwaysDecided(ONE, 1),
    ),
    Mistake(
        "the distance of a median counts one side only",
        "a median that only falls",
        checks.check_median,
        propose_quantile,
        quantile_without_a_side,
    ),
    Mistake(
        "overlapping blocks are counted as if they did not overlap",
        "blocks that overlap, counted as if they did not",
        checks.check_agreement,
        lambda answers, overlap: agreement(answers, overlap=overlap),
        lambda answers, overlap: agreement(answers),
    ),
    Mistake(
        "the answer is released below the threshold",
        "the sign of the noise's threshold: released if f + N ≤ 5k/8",
        checks.check_failure_bound,
        Subsample.failure,
        lambda m: 1 - m.failure(),
    ),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.mistake)
def test_the_check_passes_on_what_we_ship_and_fails_on_the_mistake(row: Mistake) -> None:
    row.check(row.shipped)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        row.check(row.mutant)


def test_a_threshold_comparison_that_is_released_is_seen() -> None:
    """Releasing |t − P| + N of the test itself distinguishes a long run of passing queries."""
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
