"""Facts that cannot be, and work that is too much, are refused where they are stated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.releases.kinds import (
    message_spaces,
    ordered_scores,
    point_messages,
    randomized_counts,
)
from deniable_aggregator.releases.kinds.contract import Tallies
from deniable_aggregator.releases.kinds.error_simulation import Population
from deniable_aggregator.releases.kinds.label_counts import LabelCounts
from deniable_aggregator.releases.kinds.norms import norms_of_images
from deniable_aggregator.releases.kinds.tally_spaces import check_releasable
from deniable_estimators.mechanisms import estimator_for
from deniable_shared.errors import ParameterError
from support.builders.release_contexts import context, tallies
from support.builders.small_mechanisms import SMALL, mechanism
from support.builders.small_readings import READINGS
from support.doubles.toy_mechanism import Toy

GRR = SMALL["grr-4"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epochs": ()}, "epochs must have at least one number, each once, in order"),
        ({"epochs": (2, 1)}, "epochs must have at least one number, each once, in order"),
        ({"n": 0}, "n must be at least 1, got 0"),
    ],
)
def test_a_context_without_epochs_or_reports_is_refused(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        replace(context(GRR, 3), **changes)


def test_tallies_of_two_lengths_are_refused() -> None:
    parts = tallies((1, 2), 3).parts + tallies((1, 2, 0), 3).parts
    with pytest.raises(
        ParameterError, match="tallies must have at least one part, all of one length"
    ):
        Tallies(parts)
    with pytest.raises(
        ParameterError, match="tallies must have at least one part, all of one length"
    ):
        Tallies(())


def test_more_reports_than_exact_integers_hold_are_refused() -> None:
    with pytest.raises(ParameterError, match="n must be below 1,152,921,504,606,846,976"):
        LabelCounts.of(context(GRR, 1 << 60))


def test_integers_whose_squares_do_not_fit_are_refused() -> None:
    with pytest.raises(ParameterError, match="matrix must hold smaller integers"):
        norms_of_images(np.array([[1 << 40], [0]]))


def test_a_mechanism_without_a_structure_is_told_what_can_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Toy, "structure", None)
    toy = Toy(3, GRR.epsilon)
    with pytest.raises(ParameterError, match="not available for toy/1: read its estimates instead"):
        message_spaces.message_space_of(toy)
    with pytest.raises(ParameterError, match="not available for toy/1"):
        check_releasable(toy)
    for name in ("duchi-3", "hcms-1"):
        check_releasable(READINGS[name])


def test_messages_that_no_estimator_sums_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point_messages, "estimator_for", lambda form: object())
    with pytest.raises(ParameterError, match=r"the messages of .* must be summed by its estimator"):
        point_messages._decoder(SMALL["hadamard-3"])


def test_a_share_of_very_many_labels_is_bounded_by_that_of_any_set() -> None:
    many = mechanism("grr/1", ordered_scores.MOST_ORDERED + 1)
    label_counts = LabelCounts.of(context(many, 3))
    sets = label_counts.messages.label_sensitivity.sets
    assert ordered_scores.widest_share(label_counts) == sets


def test_queries_are_read_block_by_block_until_one_moves_as_far_as_any_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queries = np.eye(4, dtype=np.int64)
    at_once = randomized_counts.workload_sensitivity(GRR, queries)
    monkeypatch.setattr(randomized_counts, "_AT_ONCE", 1)
    assert randomized_counts.workload_sensitivity(GRR, queries) == at_once == 1


def test_a_range_below_the_bound_of_any_set_is_that_of_all_messages() -> None:
    row = np.array([[2, 3, -2, -1, 3, -1, 0]])
    built = mechanism("affine/1", 6, modulus=7, subset_size=3)
    held = list(estimator_for(built).held_blocks(row))  # type: ignore[attr-defined]  # an estimator of sets
    sums = np.concatenate(held, axis=1)
    ranges = message_spaces.message_space_of(built).row_ranges(row)
    assert ranges.tolist() == [sums.max() - sums.min()] == [11]


def test_several_reports_a_device_spread_more_than_one() -> None:
    chain, noise = SMALL["grr-chain"], np.ones((1, 3))
    even = Population.steep(3, 0)
    once = even.signals(LabelCounts.of(context(chain, 300, repeat="once")), noise)
    often = even.signals(LabelCounts.of(context(chain, 300, epochs=4)), noise)
    assert (often > once).all()
