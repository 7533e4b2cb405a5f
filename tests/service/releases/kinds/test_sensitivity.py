"""Sensitivities over a collection: against brute force over all messages of the real kernels."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_aggregator.releases.kinds import point_messages, set_messages
from deniable_aggregator.releases.kinds.message_space import MessageSpace
from deniable_aggregator.releases.kinds.message_spaces import message_space_of
from deniable_aggregator.releases.kinds.sensitivity import label_sensitivity
from deniable_aggregator.releases.kinds.set_messages import SubsetMessages
from deniable_estimators.mechanisms import estimator_for
from deniable_shared import mechanisms
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.protocols import Mechanism
from support.builders.release_contexts import messages, sensitivity_of
from support.builders.small_mechanisms import (
    SMALL,
    mechanism,
)
from support.tiers import by_tier

NAMES = sorted(SMALL)


def brute(built: Mechanism, matrix: list[list[int]]) -> dict[str, int]:
    """The definitions, in Python integers."""
    answers = [
        [sum(a * s for a, s in zip(row, message, strict=True)) for row in matrix]
        for message in messages(built)
    ]
    moves = [
        [a - b for a, b in zip(one, other, strict=True)] for one, other in product(answers, answers)
    ]
    return {
        "range": max(max(move) - min(move) for move in moves),
        "l1": max(sum(map(abs, move)) for move in moves),
        "l2_squared": max(sum(d * d for d in move) for move in moves),
        "linf": max(max(map(abs, move)) for move in moves),
    }


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=by_tier(4, 100))
@given(data=st.data())
def test_every_reach_is_the_maximum_over_pairs_of_possible_messages(
    name: str, data: st.DataObject
) -> None:
    built = SMALL[name]
    row = st.lists(st.integers(-3, 3), min_size=built.tally_size, max_size=built.tally_size)
    matrix = data.draw(st.lists(row, min_size=1, max_size=4))
    computed, truth = sensitivity_of(built, np.array(matrix)), brute(built, matrix)
    assert {key: getattr(computed, key) for key in truth} == truth


@pytest.mark.parametrize("name", NAMES)
def test_the_stated_bound_of_label_sets_is_reached_and_never_exceeded(
    name: str,
) -> None:
    built = SMALL[name]
    sets = np.array(list(product((0, 1), repeat=built.domain_size)))
    rows = message_space_of(built).tally_matrix(sets)
    assert label_sensitivity(built).sets == brute(built, rows.tolist())["linf"]


@pytest.mark.parametrize("name", NAMES)
def test_label_counts_equal_the_estimators_supports(
    name: str,
) -> None:
    built = SMALL[name]
    read, tallies = message_space_of(built), np.array(messages(built))
    matrix = np.arange(3 * built.domain_size).reshape(3, -1) - 4
    each = np.array([read.label_counts(tally) for tally in tallies])
    assert (read.tally_matrix(matrix) @ tallies.T == matrix @ each.T).all()
    if not read.offset:
        assert (each == estimator_for(built).supports(tallies)).all()
        assert each.sum(axis=1).max() <= read.most_labels


@pytest.mark.parametrize("name", NAMES)
def test_the_reach_of_the_labels_readings_is_that_of_their_matrix(name: str) -> None:
    built = SMALL[name]
    rows = message_space_of(built).tally_matrix(np.eye(built.domain_size, dtype=np.int64))
    computed = label_sensitivity(built)
    assert {key: getattr(computed, key) for key in ("range", "l1", "l2_squared", "linf")} == brute(
        built, rows.tolist()
    )


@pytest.mark.parametrize("m", range(1, 6))
@pytest.mark.parametrize("sampled", range(1, 6))
def test_readings_of_told_bits_reach_what_all_messages_reach(m: int, sampled: int) -> None:
    if sampled > m:
        return
    built = mechanism("rr-sampled/1", m, "2", sampled=sampled)
    rows = message_space_of(built).tally_matrix(np.eye(m, dtype=np.int64))
    computed, truth = label_sensitivity(built), sensitivity_of(built, rows)
    assert (computed.range, computed.l1, computed.l2_squared, computed.linf) == (
        truth.range,
        truth.l1,
        truth.l2_squared,
        truth.linf,
    )


BOUNDED = [
    ("cyclic/1", {"field_order": 3, "dimension": 3}, 9),
    ("cyclic/1", {"field_order": 2, "dimension": 4}, 10),
    ("projective/1", {"field_order": 4, "dimension": 3}, 16),
    ("projective/1", {"field_order": 3, "dimension": 3}, 13),
]


@pytest.mark.parametrize(("id", "space", "labels"), BOUNDED)
def test_the_bound_of_a_geometry_holds_and_is_reached_if_d_is_k(
    id: str, space: dict[str, int], labels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = mechanisms.build(id, domain_size=labels, epsilon="1", permanent=None, **space)
    exact = label_sensitivity(built)
    monkeypatch.setattr(point_messages, "_MOST_PRODUCTS", 0)
    point_messages._apart.cache_clear()
    bound = label_sensitivity(built)
    point_messages._apart.cache_clear()
    assert exact.l1 <= bound.l1
    assert exact.sets <= bound.sets
    if labels == built.tally_size:
        assert exact == bound


@pytest.mark.parametrize(("modulus", "labels", "held"), [(7, 6, 3), (11, 11, 2), (13, 11, 9)])
def test_arcs_reach_the_bound_of_all_sets_for_ordered_rows(
    modulus: int, labels: int, held: int
) -> None:
    built = mechanism("affine/1", labels, modulus=modulus, subset_size=held)
    read, every = message_space_of(built), np.array(messages(built))
    rows = [np.arange(labels) <= v for v in range(labels)]
    rows += [3 * (np.arange(labels) >= a) - 5 * (np.arange(labels) >= 2 * a) for a in range(4)]
    matrix = read.tally_matrix(np.array(rows, dtype=np.int64))
    images = matrix @ every.T
    assert (read.row_ranges(matrix) == images.max(axis=1) - images.min(axis=1)).all()
    assert (read.row_ranges(matrix) == SubsetMessages(modulus, held).row_ranges(matrix)).all()


def test_where_not_every_multiplier_is_tried_the_bound_of_any_set_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built = mechanism("affine/1", 11, modulus=11, subset_size=3)
    row = np.array([[1, 0, 1, 0, 0, 0, 1, 0, 0, 1, 1]])
    exact = message_space_of(built).row_ranges(row)
    monkeypatch.setattr(set_messages, "MOST_STEPS", 0)
    bound = message_space_of(built).row_ranges(row)
    assert (exact <= bound).all()
    assert bound.tolist() == [3]


def test_a_report_of_many_bits_moves_as_many_counts_and_not_two() -> None:
    built = mechanism("rr/1", 40)
    computed = sensitivity_of(built, np.eye(40, dtype=np.int64))
    assert (computed.range, computed.l1, computed.l2_squared, computed.linf) == (2, 40, 40, 1)
    total = sensitivity_of(built, np.ones((2, 40), dtype=np.int64))
    assert (total.range, total.l1, total.linf) == (0, 80, 40)


def test_a_valid_one_hot_answer_does_not_make_its_messages_one_hot() -> None:
    assert label_sensitivity(mechanism("rr/1", 5, distance=2)).l1 == 5


def test_scores_that_move_together_have_no_range() -> None:
    assert sensitivity_of(SMALL["grr-4"], np.array([[1, 2, 3, 4], [2, 3, 4, 5]])).range == 0


@dataclass(frozen=True)
class Stranger:
    """A mechanism whose messages have a structure that releases do not know."""

    id: str = "stranger/1"
    tally_size: int = 2
    domain_size: int = 2
    p: Fraction = Fraction(3, 4)
    q: Fraction = Fraction(1, 4)
    releasable: bool = True
    structure: str = "a new one"


@pytest.mark.parametrize("name", NAMES)
def test_every_mechanism_has_a_whole_message_space(name: str) -> None:
    members = [member for member in vars(MessageSpace) if not member.startswith("_")]
    assert len(members) == 9
    space = message_space_of(SMALL[name])
    assert [member for member in members if not hasattr(space, member)] == []


def test_an_unknown_mechanism_is_refused_by_the_names_of_those_known() -> None:
    with pytest.raises(ParameterError, match=r"affine/1, .*, sue/1.*stranger/1.*name one of"):
        sensitivity_of(Stranger(), np.eye(2, dtype=np.int64))  # type: ignore[arg-type]  # that is the point


def test_releases_read_every_mechanism() -> None:
    assert mechanisms.mechanism_ids() == mechanisms.releasable_ids()


def test_what_is_too_dear_is_refused_and_what_is_cheap_is_still_there() -> None:
    pulls = np.ones((3, 30), dtype=np.int64)
    pulls[0, :15] = pulls[1, ::2] = -1
    computed = sensitivity_of(mechanism("rr/1", 30), pulls)
    assert computed.linf == 30
    assert computed.range == 30  # two rows of opposite signs in half of the places
    with pytest.raises(ParameterError, match="range sensitivity alone"):
        _ = computed.l1
    with pytest.raises(ParameterError, match="at most 268,435,456"):
        _ = sensitivity_of(mechanism("grr/1", 900), np.eye(900, dtype=np.int64)).range
