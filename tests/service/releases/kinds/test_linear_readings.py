"""Linear statistics with public weights: their sensitivities, against all pairs of messages."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_aggregator.releases.kinds import prepare
from deniable_aggregator.releases.kinds.linear_reading import LinearReading
from deniable_aggregator.releases.kinds.message_spaces import message_space_of
from deniable_aggregator.releases.kinds.tally_spaces import (
    LabelSpace,
    OneOfMessages,
    l1_of,
    tally_space_of,
)
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.protocols import Mechanism
from deniable_shared.mechanisms.structure import IndependentBits, OneOfParts
from support.builders.record_domains import record
from support.builders.release_contexts import context, messages
from support.builders.small_mechanisms import CHOICES, mechanism
from support.builders.small_readings import NUMBERS, READINGS, TABLES
from support.doubles.toy_mechanism import Toy
from support.tiers import by_tier, grid, rows

REQUESTS: dict[str, list[tuple[str, dict[str, object]]]] = {
    "mean": [("mean", {})],
    "ranges": [("mean", {}), ("shares", {"ranges": "2"}), ("shares", {"ranges": "0..1"})],
    "tables": [
        ("table", {"attributes": "a"}),
        ("table", {"attributes": "b, a"}),
        ("table", {"attributes": "a, b", "cell": "l1, l0"}),
    ],
    "texts": [("texts", {"texts": "a"}), ("texts", {"texts": "a, z"})],
}


def is_usual(name: str) -> bool:
    """One of each mechanism, and two that answer again from a permanent answer."""
    many = name.endswith("chain") or name == "pairs-2-2-3"
    return not many or name in {"haar-3-chain", "loloha-3-chain"}


@cache
def messages_of(built: Mechanism) -> npt.NDArray[np.int64]:
    return np.array(messages(built))


def moved(built: Mechanism, matrix: Any) -> Any:
    """(pairs, rows): what any message less any other adds to the rows."""
    added = messages_of(built) @ matrix.T
    return (added[:, None, :] - added[None, :, :]).reshape(-1, len(matrix))


@pytest.mark.slow
@pytest.mark.parametrize("name", grid(sorted(READINGS), by_default=is_usual))
@settings(max_examples=by_tier(4, 100))
@given(data=st.data())
def test_no_two_messages_move_rows_further_than_is_stated_and_some_do(
    name: str, data: st.DataObject
) -> None:
    built = READINGS[name]
    row = st.lists(st.integers(-3, 3), min_size=built.tally_size, max_size=built.tally_size)
    matrix = np.array(data.draw(st.lists(row, min_size=1, max_size=3)))
    space, truth = tally_space_of(built), moved(built, matrix)
    assert space.row_ranges(matrix).tolist() == truth.max(axis=0).tolist()
    assert l1_of(space, matrix) == np.abs(truth).sum(axis=1).max() <= space.l1_bound(matrix)


@pytest.mark.slow
@pytest.mark.parametrize("name", grid(sorted(READINGS), by_default=is_usual))
def test_the_bound_of_many_rows_is_above_all_pairs(name: str) -> None:
    built = READINGS[name]
    matrix = np.arange(14 * built.tally_size).reshape(14, -1) ** 2 % 11 - 5
    truth = np.abs(moved(built, matrix)).sum(axis=1).max()
    assert truth <= l1_of(tally_space_of(built), matrix)


@pytest.mark.parametrize("name", sorted(CHOICES))
def test_the_bound_of_labels_is_above_all_pairs(name: str) -> None:
    built = CHOICES[name]
    messages_of = message_space_of(built)
    rows = np.arange(14 * built.domain_size).reshape(14, -1) ** 2 % 5
    matrix = messages_of.tally_matrix(rows)
    truth = np.abs(moved(built, matrix)).sum(axis=1).max()
    assert truth <= l1_of(LabelSpace(messages_of, rows), matrix)


def test_many_messages_are_bounded_by_way_of_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.array([[0, 4, 1], [2, -2, 0]])
    exact = OneOfMessages().l1_bound(matrix)
    monkeypatch.setattr("deniable_aggregator.releases.kinds.tally_spaces.MOST_STEPS", 1)
    assert exact == 8
    assert OneOfMessages().l1_bound(matrix) == 8


def kinds_of(name: str) -> list[tuple[str, dict[str, object]]]:
    if name in TABLES:
        return REQUESTS["tables"]
    if name not in NUMBERS:
        return REQUESTS["texts"]
    return REQUESTS["mean" if not name.startswith(("wave", "tree", "haar")) else "ranges"]


CASES = [(name, *request) for name in sorted(READINGS) for request in kinds_of(name)]
CASES += [
    ("grr-4", "mean", {}),
    ("subset-2-of-4", "shares", {"ranges": "0..1, 1..2"}),
    ("loloha-3-chain", "mean", {}),
]
EACH_READING = pytest.mark.parametrize(
    ("name", "kind", "arguments"), rows(CASES, by_default=lambda row: is_usual(row[0]))
)


def built_of(name: str) -> Mechanism:
    return READINGS.get(name) or CHOICES[name]


@EACH_READING
def test_the_noise_is_set_by_what_one_report_moves_in_all(
    name: str, kind: str, arguments: dict[str, object]
) -> None:
    built = built_of(name)
    release = prepare(kind, {**arguments, "epsilon": "1"}, context(built, 5, numbers=True))
    far = np.abs(moved(built, release.reading.matrix)).sum(axis=1).max()  # type: ignore[attr-defined]  # sums
    assert release.decay * int(far) == 1  # type: ignore[attr-defined]  # sums
    assert release.reading.rows == len(release.reading.matrix)  # type: ignore[attr-defined]  # sums


@EACH_READING
def test_raw_sums_are_those_of_reports_one_by_one(
    name: str, kind: str, arguments: dict[str, object]
) -> None:
    """So are their ends: no integer leaves what fits."""
    built = built_of(name)
    release = prepare(kind, {**arguments, "epsilon": "1"}, context(built, 1, numbers=True))
    reading: LinearReading = release.reading  # type: ignore[attr-defined]  # sums
    said = np.array([reading.shares(reading(np.array(message))) for message in messages(built)])
    near = 1e-5 * (reading.high - reading.low)
    assert (said >= reading.low - near).all()
    assert (said <= reading.high + near).all()


def test_a_cell_alone_is_moved_less_than_the_table() -> None:
    given = context(TABLES["pairs-2-2-3"], 100)
    whole = prepare("table", {"attributes": "a, c", "epsilon": "1"}, given)
    one = prepare("table", {"attributes": "a, c", "cell": "l1, l2", "epsilon": "1"}, given)
    assert one.expected[0].upper < whole.expected[0].upper  # type: ignore[operator]  # both have ends


def test_a_product_of_labels_tells_its_tables() -> None:
    """A record whose combinations are labels."""
    built = mechanism("grr/1", 6)
    given = replace(context(built, 600), domain=record(2, 3))
    release = prepare("table", {"attributes": "b, a", "epsilon": "1"}, given)
    counts = np.array([600, 0, 0, 0, 0, 0])
    reading: LinearReading = release.reading  # type: ignore[attr-defined]  # sums
    assert reading(counts).tolist() == [600, 0, 0, 0, 0, 0]
    assert reading(counts[[5, 4, 0, 3, 2, 1]]).tolist() == [0, 0, 0, 0, 600, 0]


@pytest.mark.parametrize(("name", "times"), [("haar-4", 1), ("haar-3-chain", 2)])
def test_the_weights_of_a_permanent_answer_are_computed_for_chains_alone(
    name: str, times: int
) -> None:
    """They may take seconds: those of many texts."""
    rows, asked = np.eye(READINGS[name].domain_size)[:1], []

    def scores_of(estimator: Any) -> Any:
        asked.append(estimator)
        return estimator.public_scores(rows)

    LinearReading.of_scores(context(READINGS[name], 10), scores_of)
    assert len(asked) == times


@pytest.mark.parametrize("repeat", ["once", "fresh"])
def test_reports_of_one_device_vary_together(repeat: str) -> None:
    built = READINGS["haar-4"]
    arguments = {"ranges": "2", "epsilon": "1"}
    given = context(built, 900, repeat=repeat, epochs=3)
    reading: LinearReading = prepare("shares", arguments, given).reading  # type: ignore[attr-defined]  # sums
    single: LinearReading = prepare("shares", arguments, context(built, 900)).reading  # type: ignore[attr-defined]  # sums
    shares = np.array([0.3, 0.7])
    more = reading.variances(shares) - single.variances(shares)
    assert more == pytest.approx(0.21 * 2 / 900 if repeat == "fresh" else 0)
    assert (reading.largest_variances() >= reading.variances(shares) - 1e-12).all()


def test_permanent_answers_vary_less_than_reports() -> None:
    built = READINGS["tree-4-chain"]
    given = context(built, 900, epochs=3)
    reading: LinearReading = prepare("shares", {"ranges": "2", "epsilon": "1"}, given).reading  # type: ignore[attr-defined]  # sums
    own = np.array([each.variance(0.5) for each in reading.ceilings]) / 900
    variances = reading.variances(np.full(2, 0.5))
    assert (own < variances).all()
    assert (variances < 3 * own).all()
    assert (variances <= reading.largest_variances() + 1e-12).all()


def test_more_reports_than_exact_integers_hold_are_refused() -> None:
    given = context(READINGS["haar-4"], 1 << 40)
    with pytest.raises(ParameterError, match=r"n must be below .*: release fewer epochs"):
        prepare("mean", {"epsilon": "1"}, given)


@pytest.mark.parametrize(
    "structure",
    [
        OneOfParts((IndependentBits(2), IndependentBits(3))),
        OneOfParts((OneOfParts((IndependentBits(2),)),)),
        IndependentBits(3),
    ],
)
def test_messages_of_no_known_kind_are_refused(
    monkeypatch: pytest.MonkeyPatch, structure: object
) -> None:
    monkeypatch.setattr(Toy, "structure", structure)
    with pytest.raises(ParameterError, match="central releases are not available for toy/1"):
        tally_space_of(Toy(3, CHOICES["grr-4"].epsilon))
