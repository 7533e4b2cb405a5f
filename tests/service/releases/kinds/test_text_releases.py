"""Releases of texts, each mechanism by its own law: what a reading means, and exact privacy."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.releases.kinds import prepare
from deniable_central.pmf import Pmf
from support.builders.release_contexts import Vector, context, messages, tallies
from support.builders.small_readings import TEXTS
from support.oracles.message_laws import MessageLaw
from support.oracles.neighbour_pmfs import check_pure

LISTED = ("a", "z")


def asked(kind: str, name: str, n: int, **more: object) -> Any:
    arguments = {"texts": ", ".join(LISTED), "epsilon": "1", **more}
    return prepare(kind, arguments, context(TEXTS[name], n))


@cache
def shares_of_messages(name: str) -> tuple[Any, tuple[bytes, ...]]:
    """(messages, texts): what one report of each message says, and the messages."""
    law, reading = MessageLaw(TEXTS[name]), asked("texts", name, 1).reading
    sums = law.tallies @ reading.matrix.T
    return reading.offset + sums / reading.scale, tuple(law.messages)


def expected(name: str, text: str) -> Any:
    """The mean of the shares that one report of this text gives, over its law."""
    said, every = shares_of_messages(name)
    chances = TEXTS[name].pmf(tuple(text.encode()))
    return np.array([float(chances[message]) for message in every]) @ said


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_report_of_a_listed_text_is_read_as_that_text(name: str) -> None:
    for place, text in enumerate(LISTED):
        assert expected(name, text) == pytest.approx(np.eye(2)[place], abs=1e-5)


@pytest.mark.parametrize("name", sorted(TEXTS))
@pytest.mark.parametrize("epsilon", ["1", "12"])
def test_the_most_common_text_costs_no_more_than_epsilon(name: str, epsilon: str) -> None:
    """All neighbours of one report, by the law of the draw."""
    release = asked("top-k", name, 1, k=1, epsilon=epsilon)
    seen = {scores_of(release, one): one for one in messages(TEXTS[name])}

    def law(scores: Vector) -> Pmf[tuple[int, ...]]:
        pmf: Pmf[tuple[int, ...]] = release.pmf(tallies(seen[scores], 1))
        return pmf

    check_pure(law, permutations(seen, 2), release.guarantee)


def scores_of(release: Any, counts: Vector) -> Vector:
    return tuple(release.score.levels(np.array(counts)).tolist())
