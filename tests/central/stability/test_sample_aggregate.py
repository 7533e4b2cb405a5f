"""Sample and aggregate over blocks: agreement, overlap, black boxes, how many blocks it takes."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from deniable_central.pmf import Pmf
from deniable_central.stability import (
    Blocks,
    RowsError,
    SampleAggregate,
    StabilityTest,
    agreement,
    sample_aggregate,
)
from deniable_central.stability.sample_aggregate import ask
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import Coins
from support.oracles.selection_checks import check_follows

Table = npt.NDArray[np.generic]


def winner(block: Table) -> int:
    return int(np.bincount(block.astype(np.int64)).argmax())


def test_82_blocks_are_enough_at_epsilon_1_and_778_at_a_tenth() -> None:
    """Three quarters of the blocks agree, δ = 10^−6, released in 99.9% of cases."""
    for epsilon, blocks in (("1", 82), ("0.1", 778)):
        test = StabilityTest.of(epsilon=epsilon, delta="1e-6")
        assert SampleAggregate(test).blocks_for(0.999) == blocks


@pytest.mark.parametrize("overlap", [1, 2, 3])
@pytest.mark.parametrize("agreeing", [Fraction(3, 5), Fraction(3, 4), Fraction(1)])
def test_so_many_blocks_are_indeed_enough(overlap: int, agreeing: Fraction) -> None:
    test = StabilityTest.of(epsilon="1", delta="1e-6")
    blocks = SampleAggregate(test, overlap).blocks_for(0.999, agreeing=agreeing)
    agree = -int(-blocks * agreeing // 1)
    proposal = agreement([1] * agree + [2] * (blocks - agree), overlap=overlap)
    assert test.chance(proposal.distance)[0] >= Fraction(999, 1000)


def test_what_most_blocks_say_is_released() -> None:
    rows = np.concatenate([np.zeros(4000, dtype=int), np.ones(1000, dtype=int)])
    release = sample_aggregate(rows, winner, blocks=100, epsilon="1", delta="1e-6")
    assert release.result == 0
    assert release.epsilon == 1
    assert "100 answers" in release.law


def test_blocks_that_disagree_release_nothing() -> None:
    rows = np.arange(100)
    assert sample_aggregate(rows, winner, blocks=100, epsilon="1", delta="1e-6").result is None


def test_a_table_of_many_columns_is_cut_by_rows() -> None:
    table = np.ones((300, 4), dtype=np.int64)
    release = sample_aggregate(
        table, lambda block: str(block.shape[1]), blocks=100, epsilon="1", delta="1e-6"
    )
    assert release.result == "4"


@pytest.mark.parametrize("partitions", [1, 3])
def test_each_row_is_in_one_block_of_each_random_partition(partitions: int) -> None:
    blocks = Blocks.drawn(50, 7, partitions=partitions)
    assert blocks.overlap == partitions
    assert len(blocks) == 7 * partitions
    held = Counter(np.concatenate(blocks.members).tolist())
    assert held == dict.fromkeys(range(50), partitions)
    assert {len(block) for block in blocks.members} == {7, 8}


def test_overlap_counts_the_most_blocks_of_a_row_each_block_once() -> None:
    blocks = Blocks(3, (np.array([0, 0, 1]), np.array([1, 2]), np.array([1])))
    assert blocks.overlap == 3
    assert Blocks(1, (np.array([0, 0]),)).overlap == 1


def test_labels_make_one_block_each() -> None:
    blocks = Blocks.labelled([5, 9, 5])
    assert [block.tolist() for block in blocks.members] == [[0, 2], [1]]
    assert blocks.overlap == 1


def test_consecutive_blocks_keep_the_order() -> None:
    assert [b.tolist() for b in Blocks.consecutive(5, 2).members] == [[0, 1, 2], [3, 4]]


@pytest.mark.statistical
def test_random_blocks_pair_any_two_rows_alike() -> None:
    """6,000 partitions of 4 rows in 2 blocks, three equally likely ones; chi-square at 10^−6."""
    pmf = Pmf((1, 2, 3), *(((Fraction(1, 3),) * 3),) * 2)

    def partner() -> int:
        blocks = [set(block.tolist()) for block in Blocks.drawn(4, 2).members]
        return int(next(iter(next(block for block in blocks if 0 in block) - {0})))

    check_follows(partner, pmf, draws=6_000)


def test_overlapping_blocks_halve_the_distance() -> None:
    answers = [1] * 20 + [2] * 4
    assert agreement(answers).distance == 8
    assert agreement(answers, overlap=2).distance == 4


def test_rows_in_two_blocks_each_need_twice_the_agreement() -> None:
    """40 blocks agree: 20 rows from changing if disjoint, 10 if not, and the test asks for 14."""
    test = StabilityTest.of(epsilon="4", delta="1e-24")
    assert test.chance(20)[0] > 1 - Fraction(1, 10**9)
    assert test.chance(10)[1] < Fraction(1, 10**7)
    rows = np.zeros(60, dtype=np.int64)
    disjoint = sample_aggregate(rows, winner, blocks=40, epsilon="4", delta="1e-24")
    twice = sample_aggregate(rows, winner, blocks=20, partitions=2, epsilon="4", delta="1e-24")
    assert (disjoint.result, twice.result) == (0, None)


def test_ties_are_broken_by_a_fixed_order_of_answers() -> None:
    assert agreement(["b", "a", 3, 1]).answer == 1
    assert agreement(["b", "a"]).answer == "a"
    assert agreement([None, 1]).answer is None


def failing(block: Table) -> int:
    raise ValueError(f"saw {block}")


@pytest.mark.parametrize("query", [failing, lambda _: None, lambda _: 0.5, lambda block: block])
def test_a_query_without_an_answer_releases_nothing_and_says_nothing(query: object) -> None:
    release = sample_aggregate(np.zeros(200), query, blocks=100, epsilon="1", delta="1e-6")  # type: ignore[arg-type]  # some of the queries give no integer
    assert release.result is None


def test_a_query_that_changes_its_block_changes_no_other() -> None:
    def greedy(block: Table) -> int:
        first = int(block[0])
        block[:] = 9
        return first

    rows = np.zeros(200, dtype=np.int64)
    blocks = Blocks.drawn(200, 100, partitions=2)
    assert sample_aggregate(rows, greedy, blocks=blocks, epsilon="2", delta="1e-6").result == 0
    assert not rows.any()


def test_answers_asked_elsewhere_are_released_with_their_overlap() -> None:
    mechanism = SampleAggregate(StabilityTest.of(epsilon="1", delta="1e-6"), overlap=2)
    assert mechanism.release(["ios"] * 200).result == "ios"  # but for e^−36
    assert mechanism.release(["ios"] * 200, Coins.system()).adjacency == "replace"


def test_more_blocks_than_rows_are_refused() -> None:
    with pytest.raises(RowsError, match=r"blocks must lie in \[1, rows\], got 5 of 4 rows"):
        sample_aggregate(np.zeros(4), winner, blocks=5, epsilon="1", delta="1e-6")


def test_blocks_of_another_table_are_refused() -> None:
    with pytest.raises(RowsError, match="blocks are of 5 rows"):
        sample_aggregate(np.zeros(4), winner, blocks=Blocks.drawn(5, 2), epsilon="1", delta="1e-6")


def test_empty_blocks_and_answers_and_impossible_overlaps_are_refused() -> None:
    with pytest.raises(RowsError, match="none of them empty"):
        Blocks(2, (np.array([0]), np.array([], dtype=np.int64)))
    with pytest.raises(RowsError, match="places 0 to 1"):
        Blocks(2, (np.array([2]),))
    with pytest.raises(RowsError, match="at least 1"):
        agreement([])
    with pytest.raises(ParameterError, match="overlap"):
        agreement([1], overlap=0)
    with pytest.raises(ParameterError, match="partitions"):
        Blocks.drawn(5, 2, partitions=0)


def test_an_integer_of_numpy_is_an_integer() -> None:
    answer = ask(lambda block: np.int64(block.sum()), np.arange(4))
    assert (answer, type(answer)) == (6, int)
