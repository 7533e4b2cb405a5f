"""Releases where a report supports several labels: what moves, what bars say, what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.collections.authoring.recommendation import recommend_for_domain
from deniable_aggregator.releases.kinds import error_simulation, prepare
from deniable_aggregator.releases.kinds.label_counts import LabelCounts
from deniable_aggregator.releases.kinds.ordered_scores import Quantile, Revenue, widest_share
from deniable_aggregator.releases.kinds.sample_aggregate import PreparedSampleAggregate
from deniable_aggregator.releases.kinds.scores import Mode
from deniable_shared.domains import Choice
from deniable_shared.errors import ParameterError
from support.builders.release_contexts import PRICES, context, messages, tallies
from support.builders.small_mechanisms import CHOICES, mechanism
from support.oracles.message_laws import MessageLaw
from support.tiers import by_tier, grid

LABELS = tuple(str(v + 1) for v in range(16))
SIXTEEN = {
    "affine/1": mechanism("affine/1", 16),
    "cyclic/1": mechanism("cyclic/1", 16),
    "hadamard/1": mechanism("hadamard/1", 16),
    "projective/1": mechanism("projective/1", 16),
    "subset/1": mechanism("subset/1", 16, subset_size=4),
}
REQUESTS: list[tuple[str, dict[str, object]]] = [
    ("exponential", {"score": "mode"}),
    ("exponential", {"score": "quantile"}),
    ("exponential", {"score": "revenue"}),
    ("exponential", {"score": "threshold", "level": "0.1"}),
    ("noisy-max", {"noise": "gumbel"}),
    ("top-k", {"k": 3}),
    ("histogram", {}),
    ("median", {"delta": "1e-6"}),
    ("sample-aggregate", {"delta": "1e-2"}),
    ("small-db", {"workload": "points", "alpha": "0.6"}),
    ("mwem", {"workload": "prefixes"}),
    ("queries", {}),
    ("price", {"ratio": "1.5"}),
]


def simulated(id: str, n: int, times: int) -> Any:
    """Tallies of n people of whom 17 in 32 hold the third label and 1 in 32 each other one."""
    law = MessageLaw(SIXTEEN[id])
    return sum(
        law.draw_tallies({v: Fraction(1)}, n * (17 if v == 2 else 1) // 32, times)
        for v in range(16)
    )


@pytest.mark.deeper
@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: "-".join([each[0], *each[1]]))
@pytest.mark.parametrize("id", grid(sorted(SIXTEEN), by_default=["affine/1"]))
def test_every_family_that_needs_no_goods_releases(
    id: str, request_: tuple[str, dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = by_tier(error_simulation.FEWEST_RUNS, error_simulation.MOST_RUNS)
    monkeypatch.setattr(error_simulation, "MOST_RUNS", runs)
    name, arguments = request_
    n = 2_000_000
    given = context(SIXTEEN[id], n, labels=LABELS, cohorts=64)
    (counts,) = simulated(id, n, 1)
    release = prepare(name, {**arguments, "epsilon": "4"}, given)
    drawn = release.draw(tallies(tuple(counts.tolist()), n))
    assert drawn.result
    assert drawn.error_bars
    if arguments.get("score") == "mode":
        assert drawn.result["label"] == "3"


def test_allocation_names_the_mechanism_that_it_reads() -> None:
    with pytest.raises(ParameterError, match=r'answered by "grr/1", got choice answered by "aff'):
        prepare("allocate", {"supply": 1, "none": "1", "epsilon": "1"},
             context(SIXTEEN["affine/1"], 9, labels=LABELS))  # fmt: skip


def test_a_list_of_sixteen_labels_is_still_answered_by_sets() -> None:
    assert recommend_for_domain(Choice(LABELS), Fraction(2)).id == "affine/1"


@pytest.mark.parametrize("name", sorted(CHOICES))
def test_a_share_up_to_a_label_is_moved_as_far_as_any_two_messages_move_it(name: str) -> None:
    built, law = CHOICES[name], MessageLaw(CHOICES[name])
    shares = np.cumsum(law.supports(np.array(messages(built))), axis=1)
    widest = int((shares.max(axis=0) - shares.min(axis=0)).max())
    given = context(built, 3, labels=PRICES[: built.domain_size])
    assert Quantile.of(given, Fraction(1, 2)).width == widest
    assert widest_share(LabelCounts.of(given)) == widest


@pytest.mark.statistical
@pytest.mark.parametrize("id", grid(sorted(SIXTEEN), by_default=["affine/1"], long=["subset/1"]))
def test_the_local_part_of_a_bar_holds_for_sums_of_many_labels(id: str) -> None:
    """At β = 0.05 of 4,000 collections 273 or more miss with a chance below 1e-6."""
    n, beta = 3200, 0.05
    given = context(SIXTEEN[id], n, labels=LABELS)
    truth = np.array([1 / 32] * 2 + [17 / 32] + [1 / 32] * 13)
    off = np.array([LabelCounts.of(given).frequencies(LabelCounts.of(given)(tally)) for tally in
                    simulated(id, n, 4000)]) - truth  # fmt: skip
    shares, tails = np.cumsum(off, axis=1), np.cumsum(off[:, ::-1], axis=1)[:, ::-1]
    prices = np.array([100 * (v + 1) for v in range(16)])
    half = Quantile.of(given, Fraction(1, 2))
    for score, error in (
        (Mode.of(given), 2 * np.abs(off).max(axis=1)),
        (half, np.abs(shares).max(axis=1)),
        (Revenue.of(given), 2 * np.abs(prices * tails).max(axis=1)),
    ):
        assert (error * n > score.local(beta)).sum() < 273
    narrow = half.label_counts.deviation(1, sums=16, beta=beta)
    assert narrow < half.local(beta)


def test_a_bar_that_took_reports_for_one_label_would_miss() -> None:
    """Of a unary encoding a share is a sum of 16 coins: half the bars of one coin would miss."""
    built, n = mechanism("oue/1", 16, "0.5"), 40_000
    score = Quantile.of(context(built, n, labels=LABELS), Fraction(1, 2))
    deviation = (16 * float(built.q * (1 - built.q)) * n) ** 0.5 / float(score.label_counts.gain)
    assert score.label_counts.deviation(1, sums=1, beta=0.05) < deviation
    assert score.local(0.05) > 3 * deviation


@pytest.mark.parametrize("id", sorted(SIXTEEN))
def test_cohorts_that_agree_on_a_quantile_allow_for_the_width_of_a_share(id: str) -> None:
    given = context(SIXTEEN[id], 640_000, labels=LABELS, cohorts=64)
    of = {
        answer: prepare(
            "sample-aggregate", {"answer": answer, "epsilon": "4", "delta": "0.01"}, given
        )
        for answer in ("mode", "quantile")
    }
    mode, quantile = of["mode"], of["quantile"]
    assert isinstance(mode, PreparedSampleAggregate)
    assert isinstance(quantile, PreparedSampleAggregate)
    assert quantile._off() > mode._off()
