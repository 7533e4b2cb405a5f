"""A year of daily reports, and what a reader of all 365 of them learns: never above ε_lifetime.

Devices toss real coins and their answers change; the likelihood of all that they sent is exact, so
the bound must hold on every path and no statistics are needed. Spaces small enough for all pairs of
histories are in test_chain_histories.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod

import pytest

from deniable_shared.mechanisms import build, mechanism_ids
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import at_most_exp
from support.oracles.attacker import likelihood, likelihood_by_definition, likelihood_of_vectors
from support.oracles.privacy_checks import Encoded
from support.oracles.report_histories import Values, fresh_device, memoized_device, spans_of
from support.tiers import by_tier, grid

DAYS = 365
HOLD, PAID = 91, 2
EPSILON, PERMANENT = Fraction(1), Fraction(2)
Shape = dict[str, object]

SMALL: dict[str, tuple[int, Shape]] = {
    "affine/1": (5, {}),
    "cms/1": (1, {"tables": 1, "cells": 8}),
    "cyclic/1": (7, {"field_order": 2, "dimension": 3}),
    "dbitflip/1": (5, {"sampled": 2}),
    "discrete-piecewise/1": (5, {"outputs": 7, "window": 3}),
    "duchi/1": (5, {}),
    "fourier/1": (8, {"radices": (2, 2, 2)}),
    "grr/1": (5, {}),
    "haar/1": (5, {}),
    "hadamard/1": (5, {}),
    "hcms/1": (1, {"tables": 1, "cells": 8}),
    "loloha/1": (5, {"field_order": 3, "dimension": 2}),
    "optimal-mean/1": (5, {"odds": 200_000, "outputs": 5, "window": 2}),
    "oue/1": (4, {}),
    "pairs/1": (12, {"radices": (2, 2, 3)}),
    "prefix-hash/1": (1, {"base": 3, "digits": 2, "tables": 1, "step": 1}),
    "projective/1": (7, {"field_order": 2, "dimension": 3}),
    "rappor/1": (1, {"tables": 1, "cells": 8, "hashes": 2}),
    "rr-sampled/1": (4, {"sampled": 2}),
    "rr/1": (3, {}),
    "square-wave/1": (5, {"reach": 1}),
    "subset/1": (5, {"subset_size": 2}),
    "sue/1": (4, {}),
    "tree/1": (6, {"fan_out": 2}),
}
VECTORS = ("cms/1", "rappor/1")
"""Of 256 permanent answers and as many payloads."""
FEW = [id for id in SMALL if id not in VECTORS]
LARGE: dict[str, int] = {
    "affine/1": 1_000,
    "cyclic/1": 1_000,
    "dbitflip/1": 100,
    "grr/1": 1_000,
    "hadamard/1": 1_000,
    "loloha/1": 10_000,
    "oue/1": 12,
    "projective/1": 1_000,
    "rr-sampled/1": 64,
    "rr/1": 16,
    "subset/1": 32,
    "sue/1": 12,
}


def chain_of(id: str, size: int, shape: Shape, permanent: Fraction = PERMANENT) -> MemoizedChain:
    chain = build(id, domain_size=size, epsilon=EPSILON, permanent=permanent, **shape)
    assert isinstance(chain, MemoizedChain)
    return chain


def answers_of(chain: MemoizedChain) -> list[Encoded]:
    """All answers, or some of very many."""
    if chain.domain_types == {"text"}:
        return [b"a", b"b", b"c", b"d"]  # type: ignore[list-item]  # a list of bytes is one of Encoded, too
    if chain.domain_types == {"bits"} and chain.domain_size > 4:
        return [tuple(secrets.randbelow(2) for _ in range(chain.domain_size)) for _ in range(6)]
    if chain.domain_size > 100:
        return [secrets.randbelow(chain.domain_size) for _ in range(12)]
    return list(chain.inputs())


def changing(answers: Sequence[Encoded]) -> Values:
    """Another answer most days, and now and then none."""
    return [None if secrets.randbelow(10) == 0 else secrets.choice(answers) for _ in range(DAYS)]


def sent_in(chain: MemoizedChain, values: Values) -> list[list[bytes]]:
    """What a device sends, by the permanent answer behind it."""
    device = memoized_device(chain, hold=HOLD, paid=PAID)
    reports = iter(device(values, Coins.system()))
    return [[next(reports) for _ in span] for span in spans_of(values, HOLD, PAID)]


def check_year(
    chain: MemoizedChain, values: Values, answers: Sequence[Encoded], of: object
) -> None:
    """Each hold separates any two answers by at most its ε, all of the year by the lifetime."""
    assert callable(of)
    spans = sent_in(chain, values)
    assert len(spans) == PAID
    assert sum(map(len, spans)) == sum(value is not None for value in values)
    apart = []
    for reports in spans:
        chances = [of(chain, reports, answer) for answer in answers]
        assert min(chances) > 0
        apart.append(max(chances) / min(chances))
        assert at_most_exp(apart[-1], PERMANENT)
    assert at_most_exp(
        prod(apart, start=Fraction(1)), PERMANENT * PAID
    )  # answers may change between holds


def test_every_mechanism_has_its_year() -> None:
    assert set(SMALL) == set(mechanism_ids())


@pytest.mark.parametrize("id", grid(SMALL, by_default=list(SMALL)[::4]))
def test_a_year_of_daily_reports_tells_at_most_the_lifetime(id: str) -> None:
    chain = chain_of(id, *SMALL[id])
    answers = answers_of(chain)
    of = likelihood_of_vectors if id in VECTORS else likelihood_by_definition
    check_year(chain, changing(answers), answers, of)


@pytest.mark.exhaustive
@pytest.mark.parametrize("id", grid(LARGE, by_default=list(LARGE)[::2], long=LARGE))
def test_so_does_one_of_a_large_domain_or_a_wide_vector(id: str) -> None:
    chain = chain_of(id, LARGE[id], {})
    answers = answers_of(chain)
    check_year(chain, changing(answers), answers, likelihood)


@pytest.mark.parametrize("id", grid(LARGE, by_default=["grr/1", "rr/1"]))
def test_the_attacker_of_large_domains_is_the_one_of_the_definition(id: str) -> None:
    chain = chain_of(id, *SMALL[id])
    answers = answers_of(chain)
    for reports in sent_in(chain, changing(answers)):
        few = reports[:20]
        by_definition = [likelihood_by_definition(chain, few, answer) for answer in answers]
        quick = [likelihood(chain, few, answer) for answer in answers]
        assert [one * quick[0] for one in by_definition] == [
            one * by_definition[0] for one in quick
        ]


@pytest.mark.slow
@pytest.mark.parametrize("id", VECTORS)
def test_the_attacker_of_vectors_is_the_one_of_the_definition(id: str) -> None:
    chain = chain_of(id, *SMALL[id])
    few = sent_in(chain, [answers_of(chain)[0]] * DAYS)[0][:3]
    one, other = answers_of(chain)[:2]
    slow, quick = (
        [of(chain, few, one), of(chain, few, other)]
        for of in (likelihood_by_definition, likelihood_of_vectors)
    )
    assert slow[0] * quick[1] == slow[1] * quick[0]


@pytest.mark.deeper
@pytest.mark.parametrize("id", grid(FEW, by_default=FEW[::4]))
def test_the_definition_is_that_of_the_law_of_histories(id: str) -> None:
    chain = chain_of(id, *SMALL[id])
    for answer in answers_of(chain)[:2]:
        law = chain.pmf_history([answer, answer])
        for reports in sorted(law)[: by_tier(20, 50)]:
            assert likelihood_by_definition(chain, reports, answer) == law[reports]


@pytest.mark.parametrize("paid", grid([1, 3], by_default=[3]))
@pytest.mark.parametrize("id", SMALL)
def test_a_fresh_collection_stops_when_its_lifetime_is_spent(id: str, paid: int) -> None:
    chain = chain_of(id, *SMALL[id])
    answers, mechanism = answers_of(chain), chain.first
    reports = fresh_device(mechanism, paid=paid)([answers[0]] * DAYS, Coins.system())
    assert len(reports) == paid
    laws = [mechanism.pmf(answer) for answer in answers]
    apart = [max(law[sent] for law in laws) / min(law[sent] for law in laws) for sent in reports]
    assert at_most_exp(prod(apart, start=Fraction(1)), mechanism.epsilon * paid)


@pytest.mark.statistical
@pytest.mark.parametrize("id", ["grr/1", "loloha/1", "dbitflip/1"])
def test_a_device_that_tosses_anew_each_day_is_found_out_in_a_year(id: str) -> None:
    """365 fresh reports at ε = 2 of one answer, and how much better than another they fit it.

    The logarithm lies in [−2, 2] a day and has a mean of 0.37 or more in these three, 135 in all
    where the lifetime is 4: below it once in 300 devices at most (Hoeffding), so four of five
    devices or more in less than one run of 10^9.
    """
    chain = chain_of(id, *SMALL[id])
    answers, first = answers_of(chain), chain.first
    laws = {answer: first.pmf(answer) for answer in (answers[0], answers[-1])}
    own, other = laws[answers[0]], laws[answers[-1]]
    beyond = 0
    for _ in range(5):
        coins = Coins.system()
        sent = [first.randomize(answers[0], coins) for _ in range(DAYS)]
        beyond += not at_most_exp(
            prod((own[y] / other[y] for y in sent), start=Fraction(1)), PERMANENT * PAID
        )
    assert beyond >= 2


@pytest.mark.parametrize("id", ["grr/1", "loloha/1", "dbitflip/1"])
def test_even_odds_become_e_to_the_lifetime_at_most(id: str) -> None:
    """The posterior of one of two histories, of which both were as likely before."""
    chain = chain_of(id, *SMALL[id])
    one, other = answers_of(chain)[0], answers_of(chain)[-1]
    spans = sent_in(chain, [one] * 182 + [other] * 183)
    chances = {
        pair: prod(
            (
                likelihood_by_definition(chain, reports, answer)
                for reports, answer in zip(spans, pair, strict=True)
            ),
            start=Fraction(1),
        )
        for pair in product((one, other), repeat=PAID)
    }
    posterior = max(chances.values()) / (max(chances.values()) + min(chances.values()))
    assert at_most_exp(posterior / (1 - posterior), PERMANENT * PAID)
