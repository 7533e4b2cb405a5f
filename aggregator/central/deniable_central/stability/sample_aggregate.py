"""Sample and aggregate: any query, run on every block; the answer is released if the blocks agree.

    D = ⌈(f1 − f2)/(2c0)⌉     f1, f2 how many blocks give the first and the second answer
                              c0 the most blocks that any one row is in

A row changes at most c0 answers. So the test of propose-test-release makes it (ε, δ)-DP for every
query, every n and every size of blocks.

The query is a black box: a heavy-hitter argmax, a decoded winner, a model's choice. It must depend
only on its block. If it raises, or returns no int or str, the block has no answer. "No answer"
counts as a further answer, which is never released.

Nissim, Raskhodnikova, Smith 2007; in this form Dwork, Roth 2014, §7.
Source: docs/mathematics/stability.md, A stable mode.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_central.errors import RowsError
from deniable_central.stability.blocks import Blocks
from deniable_central.stability.proposals import Proposal
from deniable_central.stability.stability_test import StabilityTest
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from deniable_central.release import Release
    from deniable_central.stability.parameters import Delta, Epsilon
    from deniable_shared.randomness.coins import Coins

BlockAnswer = int | str
Table = npt.NDArray[np.generic]
Query = Callable[[Table], object]


def ask(query: Query, block: Table) -> BlockAnswer | None:
    """Return the query's answer to one block; None, without a reason, if it has none."""
    try:
        answer = query(block)
    except Exception:  # the type and text of an error would depend on the data
        return None
    if isinstance(answer, np.integer):
        return int(answer)
    return answer if isinstance(answer, int | str) else None


def agreement(answers: Sequence[BlockAnswer | None], *, overlap: int = 1) -> Proposal[BlockAnswer]:
    """Return what the blocks agree on, and a lower bound of the rows needed to change that.

    overlap: c0, the most of these answers that depend on any one row. Among equally frequent
    answers, "none" comes first, then the least int, then the least str.
    """
    if not answers:
        raise RowsError("answers must be at least 1, got none")
    if overlap < 1:
        raise ParameterError(f"overlap must be at least 1, got {overlap}")
    counts = Counter(answers)
    first, *others = sorted(counts, key=lambda answer: (-counts[answer], _order(answer)))
    gap = counts[first] - (counts[others[0]] if others else 0)
    return Proposal(first, -(-gap // (2 * overlap)))


def _order(answer: BlockAnswer | None) -> tuple[int, int, str]:
    if answer is None:
        return 0, 0, ""
    return (1, answer, "") if isinstance(answer, int) else (2, 0, answer)


@dataclass(frozen=True, slots=True)
class SampleAggregate:
    """The mechanism without data: `test.guarantee` is its cost."""

    test: StabilityTest
    overlap: int = 1

    def blocks_for(self, confidence: float, *, agreeing: Fraction = Fraction(3, 4)) -> int:
        """Return how many blocks a release needs if this share of them gives one answer."""
        if not Fraction(1, 2) < agreeing <= 1:
            raise ParameterError(f"agreeing must lie in (1/2, 1], got {agreeing}")
        gap = 2 * self.overlap * (self.test.distance_for(confidence) - 1) + 1
        return math.ceil(gap / (2 * agreeing - 1))

    def release(
        self, answers: Sequence[BlockAnswer | None], coins: Coins | None = None
    ) -> Release[BlockAnswer | None]:
        """Release from the answers of blocks computed elsewhere, like one cohort's tally each."""
        proposal = agreement(answers, overlap=self.overlap)
        law = f"sample and aggregate, {len(answers)} answers"
        return self.test.release(proposal, coins, of=law)


def sample_aggregate(
    table: Table,
    query: Query,
    *,
    blocks: int | Blocks,
    epsilon: Epsilon,
    delta: Delta,
    partitions: int = 1,
) -> Release[BlockAnswer | None]:
    """Release what `query` returns for most blocks of rows, (ε, δ)-DP for replace; n is public.

    table: one row of any shape an entry. blocks: how many, drawn at random, or `Blocks`.
    `SampleAggregate(StabilityTest.of(…)).blocks_for(0.999)` says how many are useful.
    """
    test = StabilityTest.of(epsilon=epsilon, delta=delta)
    if not isinstance(blocks, Blocks):
        blocks = Blocks.drawn(len(table), blocks, partitions=partitions)
    if blocks.rows != len(table):
        raise RowsError(f"blocks are of {blocks.rows} rows, got a table of {len(table)}")
    answers = [ask(query, table[members]) for members in blocks.members]
    return SampleAggregate(test, blocks.overlap).release(answers)
