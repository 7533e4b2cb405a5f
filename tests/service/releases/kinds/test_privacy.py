"""Exact privacy over collections: all neighbours of all tiny tallies, through the plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.releases.kinds import prepare
from deniable_aggregator.releases.kinds.contract import Tallies
from deniable_aggregator.releases.kinds.histogram import PreparedHistogram
from deniable_aggregator.releases.kinds.median import PreparedMedian
from deniable_aggregator.releases.kinds.selection import PreparedSelection
from deniable_central.accounting import contracted_guarantee
from deniable_central.guarantee import Guarantee, bounded_range_rho, pure_rho
from deniable_central.pmf import Pmf
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.protocols import Mechanism
from support.builders.release_contexts import PRICES, Vector, context, messages, neighbours, tallies
from support.builders.small_mechanisms import (
    CHOICES,
    SMALL,
)
from support.oracles.message_laws import MessageLaw
from support.oracles.neighbour_pmfs import (
    check_approximate,
    check_delta_is_reached,
    check_epsilon_is_exact,
    check_epsilon_is_reached,
    check_pure,
    hockey_stick,
)
from support.tiers import grid, rows

Planned = PreparedSelection[Any] | PreparedMedian | PreparedHistogram

SOME = ("grr-2", "grr-chain", "hadamard-3", "rr-2")
"""A choice and bits, once and kept, of one message a label and of fewer."""

EVERYWHERE: list[tuple[str, dict[str, object]]] = [
    ("exponential", {"score": "mode"}),
    ("exponential", {"score": "threshold", "level": "0.4"}),
    ("noisy-max", {"noise": "gumbel"}),
    ("noisy-max", {"noise": "exponential"}),
    ("top-k", {"k": 2}),
]
ORDERED: list[tuple[str, dict[str, object]]] = [
    ("exponential", {"score": "quantile"}),
    ("exponential", {"score": "quantile", "quantile": "0.9"}),
    ("exponential", {"score": "revenue"}),
    ("noisy-max", {"noise": "exponential", "score": "revenue"}),
]


def planned(
    built: Mechanism, n: int, name: str, arguments: Mapping[str, object], epsilon: str
) -> Any:
    labels = PRICES[: built.domain_size]
    return prepare(name, {**arguments, "epsilon": epsilon}, context(built, n, labels=labels))


def law_of(release: Any, n: int) -> Callable[[Vector], Pmf[Any]]:
    return lambda counts: release.pmf(tallies(counts, n))


def called(case: object) -> str:
    name, arguments = case if isinstance(case, tuple) else (case, {})
    return "-".join([str(name), *(str(value) for value in arguments.values())])


@pytest.mark.parametrize("name", grid(sorted(SMALL), by_default=SOME))
@pytest.mark.parametrize("case", EVERYWHERE, ids=called)
def test_no_report_replaced_is_told_by_more_than_epsilon(
    case: tuple[str, dict[str, object]], name: str
) -> None:
    built = SMALL[name]
    for epsilon in ("0.5", "8"):
        release = planned(built, 2, *case, epsilon)
        check_pure(law_of(release, 2), neighbours(built, 2), release.guarantee)


@pytest.mark.parametrize("name", grid(sorted(CHOICES), by_default=SOME))
@pytest.mark.parametrize("case", ORDERED, ids=called)
def test_nor_by_a_selection_over_labels_in_order(
    case: tuple[str, dict[str, object]], name: str
) -> None:
    built = CHOICES[name]
    n = 3 if built.id == "grr/1" else 2
    for epsilon in ("0.5", "8"):
        release = planned(built, n, *case, epsilon)
        check_pure(law_of(release, n), neighbours(built, n), release.guarantee)


@pytest.mark.slow
@pytest.mark.parametrize("name", grid(["grr-2", "rr-2", "rr-chain"], by_default=["rr-2"]))
def test_geometric_noisy_max_keeps_epsilon_over_tiny_collections(name: str) -> None:
    built = SMALL[name]
    release = planned(built, 2, "noisy-max", {"noise": "geometric"}, "1")
    check_pure(law_of(release, 2), neighbours(built, 2), release.guarantee)


@pytest.mark.parametrize(
    ("case", "n"),
    [
        (("exponential", {"score": "mode"}), 3),
        (("exponential", {"score": "revenue"}), 3),
        (("noisy-max", {"noise": "gumbel"}), 3),
        (("noisy-max", {"noise": "exponential"}), 3),
    ],
    ids=called,
)
def test_epsilon_is_reached_so_no_noise_is_wasted(
    case: tuple[str, dict[str, object]], n: int
) -> None:
    release = planned(SMALL["grr-2"], n, *case, "12")
    check_epsilon_is_reached(law_of(release, n), neighbours(SMALL["grr-2"], n), release.guarantee)


@pytest.mark.parametrize(
    "case",
    [
        ("exponential", {"score": "quantile"}),
        ("exponential", {"score": "threshold", "level": "0.5"}),
    ],
    ids=called,
)
def test_scores_with_best_0_reach_the_bounded_range_of_the_charge(
    case: tuple[str, dict[str, object]],
) -> None:
    release = planned(SMALL["grr-2"], 3, *case, "1")
    ranges = []
    for one, other in neighbours(SMALL["grr-2"], 3):
        p, q = (release.pmf(tallies(counts, 3)).probabilities for counts in (one, other))
        ranges.append(float(np.ptp(np.log(p / q))))
    assert max(ranges) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    "name",
    ["rr-2", "sampled-1-of-2", "sampled-2-of-2-chain", "hadamard-3", "subset-2-of-4"],
)
def test_epsilon_is_reached_over_bits_and_sets_too(name: str) -> None:
    release = planned(SMALL[name], 3, "exponential", {"score": "mode"}, "12")
    check_epsilon_is_reached(law_of(release, 3), neighbours(SMALL[name], 3), release.guarantee)


@pytest.mark.parametrize("quantile", ["0.1", "0.5", "0.9"])
@pytest.mark.parametrize("name", grid(sorted(CHOICES), by_default=SOME))
def test_a_stable_quantile_costs_epsilon_and_at_most_delta(name: str, quantile: str) -> None:
    built = CHOICES[name]
    for n in (1, 2, 3) if len(messages(built)) < 6 else (1, 2):
        release = planned(built, n, "median", {"quantile": quantile, "delta": "0.01"}, "1")
        check_approximate(law_of(release, n), neighbours(built, n), release.guarantee)


@pytest.mark.parametrize("name", ["grr-2", "grr-4", "grr-chain", "hadamard-3"])
def test_delta_is_reached_by_a_stable_median(name: str) -> None:
    built = SMALL[name]
    release = planned(built, 3, "median", {"quantile": "0.5", "delta": "0.01"}, "1")
    check_delta_is_reached(law_of(release, 3), neighbours(built, 3), release.guarantee)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    grid(
        ["grr-2", "grr-chain", "rr-2", "rr-3-one-hot", "rr-chain", "subset-2-of-3-chain", "oue-3",
         "affine-3-chain", "hadamard-3"],
        by_default=SOME[::2],
    ),
)  # fmt: skip
def test_a_histogram_costs_exactly_epsilon(name: str) -> None:
    built = SMALL[name]
    release = planned(built, 2, "histogram", {}, "1")

    def law(counts: Vector) -> Pmf[tuple[int, ...]]:
        result: Pmf[tuple[int, ...]] = release.pmf(tallies(counts, 2), farthest=2)
        return result

    check_epsilon_is_exact(law, neighbours(built, 2), release.guarantee)


@pytest.mark.parametrize("name", sorted(SMALL))
def test_the_noise_of_a_histogram_is_set_by_what_a_report_moves_in_all(name: str) -> None:
    built = SMALL[name]
    release = planned(built, 1, "histogram", {}, "0.5")
    moved = max(
        np.abs(release.label_counts(np.array(one)) - release.label_counts(np.array(other))).sum()
        for one, other in neighbours(built, 1)
    )
    assert release.decay * int(moved) == Fraction(1, 2)


def test_only_exponential_and_gumbel_draws_have_the_smaller_rho() -> None:
    given, half = context(SMALL["grr-4"], 3), Fraction(1, 2)
    prices = {
        noise: prepare("noisy-max", {"epsilon": "0.5", "noise": noise}, given).guarantee.rho
        for noise in ("geometric", "exponential", "gumbel")
    }
    assert prices["gumbel"] == bounded_range_rho(half)
    assert prices["geometric"] == prices["exponential"] == pure_rho(half)
    assert prepare("exponential", {"epsilon": "0.5"}, given).guarantee.rho == bounded_range_rho(
        half
    )
    assert prepare(
        "top-k", {"epsilon": "0.5", "k": 2}, given
    ).guarantee.rho == 2 * bounded_range_rho(half / 2)
    assert prepare("histogram", {"epsilon": "0.5"}, given).guarantee.rho == pure_rho(half)
    assert prepare("median", {"epsilon": "0.5", "delta": "1e-6"}, given).guarantee.rho is None


def released(release: Any, law: MessageLaw, values: tuple[Any, ...]) -> Pmf[Any]:
    """The law of local randomizer and release together, for these true values."""
    rows = [law.mechanism.pmf(value) for value in values]
    bounds: dict[Any, list[Fraction]] = {}
    for drawn in product(range(len(law.messages)), repeat=len(values)):
        chance = Fraction(1)
        for row, message in zip(rows, drawn, strict=True):
            chance *= row[law.messages[message]]
        counts = tuple(law.tallies[list(drawn)].sum(axis=0).tolist())
        pmf = release.pmf(tallies(counts, len(values)))
        for outcome, low, high in zip(pmf.outcomes, pmf.lower, pmf.upper, strict=True):
            total = bounds.setdefault(outcome, [Fraction(0), Fraction(0)])
            total[0] += chance * low
            total[1] += chance * high
    lower, upper = zip(*bounds.values(), strict=True)
    return Pmf(tuple(bounds), lower, upper)


def worst_delta(release: Any, law: MessageLaw, n: int, claimed: Guarantee) -> Fraction:
    """The largest hockey stick over all exchanges of one true value, others fixed."""
    assert claimed.epsilon is not None
    worst = Fraction(0)
    for others in product(law.inputs, repeat=n - 1):
        laws = [released(release, law, (value, *others)) for value in law.inputs]
        for one, other in product(laws, laws):
            worst = max(worst, hockey_stick(one, other, claimed.epsilon)[1])
    return worst


CONTRACTED = [
    ("grr-2", "exponential", {"score": "mode"}, 1),
    ("grr-2", "exponential", {"score": "mode"}, 2),
    ("grr-chain", "exponential", {"score": "quantile"}, 2),
    ("grr-chain", "median", {"delta": "0.1"}, 2),
    ("rr-2", "exponential", {"score": "mode"}, 2),
    ("sampled-1-of-2", "noisy-max", {"noise": "exponential"}, 2),
    ("subset-2-of-3-chain", "exponential", {"score": "quantile"}, 2),
    ("affine-3-chain", "exponential", {"score": "mode"}, 2),
    ("hadamard-3", "exponential", {"score": "mode"}, 2),
    ("cyclic-4-of-7", "exponential", {"score": "revenue"}, 1),
]


@pytest.mark.parametrize(
    ("name", "family", "arguments", "n"), rows(CONTRACTED, by_default=CONTRACTED[::3])
)
def test_a_true_value_is_visible_by_at_most_the_contraction(
    name: str, family: str, arguments: dict[str, object], n: int
) -> None:
    law, release = MessageLaw(SMALL[name]), planned(SMALL[name], n, family, arguments, "1")
    claimed = contracted_guarantee(release.guarantee, local=SMALL[name].epsilon)
    assert claimed.epsilon is not None
    assert claimed.epsilon < min(release.guarantee.epsilon, SMALL[name].epsilon)
    assert worst_delta(release, law, n, claimed) <= claimed.delta + Fraction(1, 10**30)


def test_the_contraction_is_reached_but_for_a_hundredth_by_a_stable_answer() -> None:
    law = MessageLaw(SMALL["grr-2"])
    release = planned(SMALL["grr-2"], 1, "median", {"delta": "0.5"}, "0.01")
    claimed = contracted_guarantee(release.guarantee, local=SMALL["grr-2"].epsilon)
    assert worst_delta(release, law, 1, claimed) >= Fraction(99, 100) * claimed.delta


def test_what_was_one_report_in_two_parts_is_read_as_their_sum() -> None:
    release = planned(SMALL["grr-4"], 3, "exponential", {"score": "mode"}, "1")
    whole = tallies((1, 0, 2, 0), 3)
    parts = Tallies(tallies((1, 0, 0, 0), 1).parts + tallies((0, 0, 2, 0), 2).parts)
    assert whole.n == parts.n == 3
    assert release.pmf(whole) == release.pmf(parts)


def test_a_law_of_too_many_outcomes_is_refused() -> None:
    release = planned(SMALL["grr-4"], 2, "histogram", {}, "1")
    with pytest.raises(ParameterError, match="farthest must allow at most 65,536 outcomes"):
        release.pmf(tallies((1, 1, 0, 0), 2), farthest=8)
