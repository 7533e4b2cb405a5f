"""A public prior weighs candidates: it costs nothing, and the law is that of the base measure."""

from __future__ import annotations

import math
from typing import Any

import pytest

from deniable_aggregator.releases.kinds import prepare
from deniable_central.pmf import Pmf
from deniable_shared.errors import ParameterError
from support.builders.release_contexts import Vector, context, neighbours, tallies
from support.builders.small_mechanisms import SMALL
from support.oracles.neighbour_pmfs import check_pure

GRR = SMALL["grr-4"]


def weighed(prior: object, epsilon: str = "1") -> Any:
    return prepare("exponential", {"prior": prior, "epsilon": epsilon}, context(GRR, 2))


@pytest.mark.parametrize("epsilon", ["0.5", "8"])
def test_no_report_replaced_is_told_by_more_than_epsilon(epsilon: str) -> None:
    release = weighed("5, 1, 0.25, 1", epsilon)

    def law(counts: Vector) -> Pmf[int]:
        pmf: Pmf[int] = release.pmf(tallies(counts, 2))
        return pmf

    check_pure(law, neighbours(GRR, 2), release.guarantee)


def test_chances_are_those_of_the_prior_where_scores_tie() -> None:
    release = weighed(["5", "1", "0.25", "1"])
    pmf = release.pmf(tallies((1, 1, 1, 1), 4))
    assert pmf.probabilities == pytest.approx([5 / 7.25, 1 / 7.25, 0.25 / 7.25, 1 / 7.25])
    assert release.guarantee == prepare("exponential", {"epsilon": "1"}, context(GRR, 2)).guarantee


def test_a_prior_is_kept_in_one_spelling_and_an_even_one_not_at_all() -> None:
    assert weighed("5,1, 0.50,1").parameters["prior"] == "5, 1, 0.5, 1"
    assert "prior" not in weighed("even").parameters
    assert weighed("even").typical
    assert weighed("5, 1, 1, 1").typical == ()


def test_the_bound_allows_for_the_least_likely_label() -> None:
    even, uneven = weighed("even").expected[1].upper, weighed("5, 1, 1, 1").expected[1].upper
    assert uneven / even == pytest.approx(math.log(8 / 0.025) / math.log(4 / 0.025))


@pytest.mark.parametrize("prior", ["1, 1, 1", "0, 1, 1, 1", "a, 1, 1, 1", 5, [1, 1, 1, -1], ""])
def test_what_is_no_prior_says_what_would_be_one(prior: object) -> None:
    with pytest.raises(ParameterError, match="prior must be a number above 0 for each of 4"):
        weighed(prior)
