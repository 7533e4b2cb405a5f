"""Which labels occur: exact tails, the two corrections, and whole families by simulation."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from deniable_estimators.inference.channel import Channel
from deniable_estimators.inference.clusters import Clusters
from deniable_estimators.inference.debias import debias
from deniable_estimators.inference.significance import (
    SupportEvidence,
    rejected_hypotheses,
    tails_under_null,
)
from deniable_shared.errors import ParameterError
from support.oracles.epoch_coverage import collected, faithful, law_of_sum
from support.oracles.message_laws import MessageLaw, chains, label, laws
from support.tiers import grid

CHANNEL = Channel(Fraction(3, 4), Fraction(1, 5))


def tails(counts: list[int], n: int, clusters: Clusters | None = None) -> list[list[float]]:
    evidence = SupportEvidence(np.array(counts), np.full(len(counts), n), clusters)
    return [side.tolist() for side in tails_under_null(CHANNEL, evidence)]


def test_tails_are_those_of_the_binomial_law() -> None:
    n, q = 12, CHANNEL.q
    pmf = [comb(n, c) * q**c * (1 - q) ** (n - c) for c in range(n + 1)]
    above, below = tails(list(range(n + 1)), n)
    assert above == pytest.approx([float(sum(pmf[c:])) for c in range(n + 1)], rel=1e-11)
    assert below == pytest.approx([float(sum(pmf[: c + 1])) for c in range(n + 1)], rel=1e-11)


def test_a_label_that_nobody_tells_of_is_never_significant() -> None:
    assert tails([0], 0) == [[1], [1]]
    assert tails([0], 0, Clusters(Fraction(1, 10), Fraction(9, 10), Fraction(3))) == [[1], [1]]


def test_a_label_is_significant_iff_its_one_sided_interval_excludes_zero() -> None:
    """At a family of one: the level is that of a tail, half of what a two-sided interval leaves."""
    counts = np.arange(0, 101)
    estimate = debias(CHANNEL, counts, 100, confidence=0.9)
    evidence = SupportEvidence(counts, np.full(101, 100))
    p_values = tails_under_null(CHANNEL, evidence)[0]
    assert ((p_values < 0.05) == (estimate.lower > 0)).all()


@pytest.mark.parametrize(
    ("p_values", "holm", "bonferroni"),
    [
        ([0.012, 0.016, 0.024, 0.9], [1, 1, 1, 0], [1, 0, 0, 0]),
        ([0.9, 0.001, 0.04, 0.02], [0, 1, 0, 0], [0, 1, 0, 0]),
        ([0.0125, 0.0125, 0.0125, 0.0125], [1, 1, 1, 1], [1, 1, 1, 1]),
        ([0.013, 0.014, 0.015, 0.016], [0, 0, 0, 0], [0, 0, 0, 0]),
        ([], [], []),
    ],
)
def test_holm_steps_down_and_bonferroni_does_not(
    p_values: list[float], holm: list[int], bonferroni: list[int]
) -> None:
    values = np.array(p_values)
    assert rejected_hypotheses(values, 0.05, "holm").tolist() == holm
    assert rejected_hypotheses(values, 0.05, "bonferroni").tolist() == bonferroni


def test_another_method_is_refused() -> None:
    with pytest.raises(ParameterError, match="significant must be one of holm, bonferroni"):
        rejected_hypotheses(np.array([0.1]), 0.05, "none")


LAWS = laws(("1",), (2, 3)) + chains(("1",), (3,))


@pytest.mark.slow
@pytest.mark.parametrize("law", grid(LAWS, by_default=LAWS[::9]), ids=label)
def test_no_family_loses_a_true_hypothesis_too_often_over_all_histograms(
    law: MessageLaw,
) -> None:
    """Exact: all people have the first value, so all other labels have no people."""
    first = law.inputs[0]
    absent = np.flatnonzero([not held for held in law.truth(first)])
    n = 6 if len(law.messages) <= 4 else 3
    chances: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for chance, tally in law.outcomes({first: Fraction(1)}, n):
        chances[tuple(tally.tolist())] += chance
    wrong = Fraction()
    for counts, chance in chances.items():
        estimate = law.estimator.estimate(np.array(counts), n, confidence=0.8)
        wrong += chance * bool(estimate.significant()[absent].any())
    assert wrong <= Fraction(1, 5)


@pytest.mark.parametrize("repeat", ["fresh", "memoized"])
@pytest.mark.parametrize("devices", [5, 300])
@pytest.mark.parametrize("level", [0.05, 1e-4])
def test_epochs_of_one_device_do_not_make_a_label_significant_more_often(
    repeat: str, devices: int, level: float
) -> None:
    """Exact law of the count from devices that answer in all of 8 epochs and never have it."""
    of = collected("grr/1", 10, "1", repeat, 8)
    counts, chances = law_of_sum(of, 0.0, faithful(of, devices))
    p, q = of.mechanism.p, of.mechanism.q
    low, kept = (
        getattr(of.mechanism, "redraw_support", q),
        getattr(of.mechanism, "keep_probability", p - q),
    )
    evidence = SupportEvidence(
        counts, np.full(len(counts), 8 * devices), Clusters(low, low + kept, Fraction(8))
    )
    above, below = tails_under_null(of.channel, evidence)
    assert chances[above <= level].sum() <= level * 1.001 + 1e-9
    assert chances[below <= level].sum() <= level * 1.001 + 1e-9
    assert devices == 5 or chances[above <= level].sum() >= level / 3


def test_base_cut_keeps_what_is_significant_and_nothing_else() -> None:
    estimate = debias(CHANNEL, np.array([500, 212, 200, 60]), 1000)
    held = estimate.significant()
    assert held.tolist() == [True, False, False, False]
    cut = estimate.projected("base-cut")
    assert cut.tolist() == [estimate.frequencies[0], 0, 0, 0]


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 4)])
def test_at_the_share_of_fakes_that_flips_a_result_the_interval_has_zero(
    share: Fraction,
) -> None:
    trials = np.full(3, 1000)
    estimate = debias(
        CHANNEL, np.array([600, 300, 200]), 4000, trials=trials, sampling_fraction=share
    )
    flips = estimate.liars_to_zero()
    assert flips[0] > flips[1] > flips[2] == 0
    for place, share in enumerate(flips[:2]):
        assert estimate.under_lies(share * 0.999)[0][place] > 0
        assert estimate.under_lies(share * 1.001)[0][place] == 0
