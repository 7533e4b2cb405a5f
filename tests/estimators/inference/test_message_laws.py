"""Maximum likelihood where the tally holds messages: the channel, the conditions, the refusals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deniable_estimators.inference.message_laws import (
    counts_messages,
    law_of_messages,
    maximum_likelihood,
)
from deniable_estimators.inference.set_laws import estimate_label_set
from deniable_estimators.mechanisms import estimator_for
from deniable_shared import mechanisms
from deniable_shared.errors import ParameterError
from support.oracles.message_laws import MessageLaw, law_of

LIKELIHOODS = ("cyclic/1", "grr/1", "hadamard/1", "loloha/1", "projective/1")


def test_of_these_mechanisms_a_tally_counts_messages_whose_law_is_known() -> None:
    ids = mechanisms.ids_for_domain_type("choice")
    built = (mechanisms.build(id, domain_size=3, epsilon="1") for id in ids)
    counted = [of.id for of in built if counts_messages(estimator_for(of))]
    assert tuple(counted) == LIKELIHOODS


def matrix(law: MessageLaw) -> np.ndarray:
    """(tally places, values) by the mechanism's own pmf."""
    columns = []
    for value in law.inputs:
        pmf = law.mechanism.pmf(value)
        chances = np.array([float(pmf.get(message, 0)) for message in law.messages])
        columns.append(chances @ law.tallies)
    return np.array(columns).T


def built(id: str, size: int, *, chain: bool) -> MessageLaw:
    permanent = Fraction(2) if chain else None
    return MessageLaw(mechanisms.build(id, domain_size=size, epsilon="1", permanent=permanent))


@pytest.mark.parametrize("chain", [False, True])
@pytest.mark.parametrize("size", [3, 9])
@pytest.mark.parametrize("id", LIKELIHOODS)
def test_the_channel_is_that_of_the_mechanism(id: str, size: int, *, chain: bool) -> None:
    law = built(id, size, chain=chain)
    channel, exact = law_of_messages(law.estimator), matrix(law)
    for value in range(size):
        one = np.eye(size)[value]
        assert channel.messages(one) == pytest.approx(exact[:, value], abs=1e-13)
    scores = np.arange(1.0, len(exact) + 1)
    assert channel.back(scores) == pytest.approx(exact.T @ scores, rel=1e-12)
    assert channel.back_squares(scores) == pytest.approx((exact**2).T @ scores, rel=1e-12)


@pytest.mark.parametrize("id", LIKELIHOODS)
def test_the_likelihood_is_as_near_its_most_as_it_says(id: str) -> None:
    """Against 3,000 plain steps of EM from there; and it is a distribution."""
    law = law_of(id, "1", 9)
    (tally,) = law.draw_tallies({0: Fraction(4, 5), 5: Fraction(1, 5)}, 3000, 1)
    exact, actual = matrix(law), maximum_likelihood(law.estimator, tally)
    assert actual.distribution.min() >= 0
    assert actual.distribution.sum() == pytest.approx(1)
    best = actual.distribution.copy()
    for _ in range(3000):
        best *= exact.T @ (tally / 3000 / (exact @ best))
    gain = tally @ np.log(exact @ best) - tally @ np.log(exact @ actual.distribution)
    assert -1e-6 <= gain <= actual.short + 1e-6


@pytest.mark.parametrize("id", LIKELIHOODS)
def test_inside_the_simplex_it_is_near_the_raw_estimate(id: str) -> None:
    """All three labels at a third, 30,000 reports: nothing is cut off.

    The two part by less than half a standard error, one standard deviation over 3,000 runs of
    each: four standard errors are eight of them.
    """
    law = law_of(id, "4", 3)
    (tally,) = law.draw_tallies(dict.fromkeys(range(3), Fraction(1, 3)), 30_000, 1)
    raw = law.estimator.estimate(tally, 30_000)
    actual = maximum_likelihood(law.estimator, tally).distribution
    assert (np.abs(actual - raw.frequencies) <= 4 * raw.std_errors).all()


@pytest.mark.parametrize("id", ["affine/1", "oue/1", "rr/1", "subset/1", "sue/1"])
def test_tallies_of_supports_have_no_likelihood(id: str) -> None:
    mechanism = mechanisms.build(id, domain_size=9, epsilon="1")
    with pytest.raises(ParameterError, match="which of them came together"):
        maximum_likelihood(estimator_for(mechanism), np.zeros(mechanism.tally_size, dtype=np.int64))


def test_without_messages_nothing_is_likeliest() -> None:
    law = law_of("grr/1", "1", 3)
    with pytest.raises(ParameterError, match="at least one message"):
        maximum_likelihood(law.estimator, np.zeros(3, dtype=np.int64))
    assert (
        estimate_label_set(law.estimator, law.mechanism, np.zeros(3, dtype=np.int64), 0, (0,)).upper
        == 1
    )


@pytest.mark.parametrize("chain", [False, True])
@pytest.mark.parametrize(
    ("id", "more"), [("subset/1", {}), ("affine/1", {"modulus": 11}), ("affine/1", {})]
)
def test_sets_of_one_code_have_a_likelihood_and_it_is_that_of_the_tally(
    id: str, more: dict[str, int], *, chain: bool
) -> None:
    permanent = Fraction(2) if chain else None
    given = {"subset_size": 1, **more}
    law = MessageLaw(mechanisms.build(id, domain_size=9, epsilon="1", permanent=permanent, **given))
    channel, exact = law_of_messages(law.estimator), matrix(law)
    assert pytest.approx(exact) == np.array([channel.messages(one) for one in np.eye(9)]).T
    scores = np.arange(1.0, len(exact) + 1)
    assert channel.back(scores) == pytest.approx(exact.T @ scores)
