"""The promise itself, in exact rationals: every pair of inputs, every payload, no sampling.

The laws are those of the shipped `randomize`, enumerated over all coins
(support.doubles.scripted_coins).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import NamedTuple

import pytest

from deniable_shared import mechanisms
from deniable_shared.domains import Domain, Number
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import Mechanism, for_domain
from deniable_shared.randomness.dyadic import at_most_exp
from support.oracles.privacy_checks import (
    EACH_EPSILON,
    EPSILONS,
    SOME,
    Law,
    bits,
    by_size,
    check_private,
    choices,
    is_tight,
    largest_ratio,
    laws,
    valid_inputs,
    with_threshold,
)
from support.tiers import by_tier, grid, thorough

DOMAINS: list[Domain] = [domain for m in range(1, 5) for domain in bits(m)]
DOMAINS += [choices(d) for d in range(2, 9)]


MOST_PAYLOADS = 64


def buckets(d: int) -> Number:
    return Number(Fraction(0), Fraction(d - 1), Fraction(1))


def takes(id: str, domain: Domain) -> bool:
    """Whether the mechanism answers for the domain, with few enough payloads to go through all."""
    try:
        mechanism = for_domain(id, domain, Fraction(1))
    except ParameterError:
        return False
    return len(mechanism.pmf(valid_inputs(domain)[0])) <= MOST_PAYLOADS


class Case(NamedTuple):
    """A mechanism for a domain."""

    id: str
    domain: Domain
    parameters: dict[str, object]

    def mechanism(self, epsilon: Fraction) -> Mechanism:
        return for_domain(self.id, self.domain, epsilon, parameters=self.parameters)

    def __str__(self) -> str:
        domain, parameters = self.domain, ", ".join(f"{k} {v}" for k, v in self.parameters.items())
        constraint = domain.to_json().get("constraint", "") or domain.type
        limit = getattr(domain, "at_most", None) or ""
        return f"{self.id} {domain.size} {constraint}{limit} {parameters}".strip()


GEOMETRIC = ("cyclic/1", "loloha/1", "projective/1")
"""Pinned: which space is the best depends on ε."""
CASES = [
    Case(id, d, {})
    for id in mechanisms.mechanism_ids()
    for d in DOMAINS
    if id not in GEOMETRIC and takes(id, d)
]
CASES += [
    Case(id, choices(d), {"field_order": q, "dimension": t})
    for id in ("cyclic/1", "projective/1")
    for d, q, t in ((2, 2, 3), (7, 2, 3), (8, 3, 3), (5, 4, 3), (8, 2, 4), (8, 5, 3))
]
CASES += [
    Case("loloha/1", choices(d), {"field_order": g, "dimension": t})
    for d, g, t in ((2, 2, 2), (4, 2, 2), (5, 2, 3), (8, 2, 3), (7, 3, 2), (8, 4, 2), (3, 5, 2))
]
CASES += [Case("dbitflip/1", buckets(d), {"sampled": t}) for d in (2, 3, 4) for t in range(1, d)]
CASES += [
    Case("rr-sampled/1", domain, {"sampled": t})
    for m in range(1, 4)
    for domain in bits(m)
    for t in range(1, m + 1)
]
BY_ID = {id: [case for case in CASES if case.id == id] for id in mechanisms.mechanism_ids()}
BY_ID = {id: cases for id, cases in BY_ID.items() if cases}
"""One test takes all sizes of a mechanism: by default every second of them."""


def sizes(id: str) -> list[Case]:
    return BY_ID[id][:: by_tier(2, 1)]


@cache
def laws_of(id: str, epsilon: Fraction) -> dict[str, list[Law]]:
    """The enumerated laws of each size, which several tests read."""
    return {
        str(case): laws(case.mechanism(epsilon), valid_inputs(case.domain)) for case in sizes(id)
    }


def test_each_case_has_a_name_of_its_own() -> None:
    assert len(set(map(str, CASES))) == len(CASES)


@pytest.mark.slow
@pytest.mark.deeper
@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=str)
@pytest.mark.parametrize("id", BY_ID)
def test_no_payload_separates_two_answers_by_more_than_e_to_the_epsilon(
    id: str, epsilon: Fraction
) -> None:
    broken = {name for name, of in laws_of(id, epsilon).items() if not is_kept(of, epsilon)}
    assert broken == set()


@pytest.mark.deeper
@pytest.mark.parametrize(
    "epsilon", grid([e for e in EPSILONS if e <= 10], by_default=SOME), ids=str
)
@pytest.mark.parametrize("id", BY_ID)
def test_some_payload_uses_all_of_epsilon_but_for_a_relative_1e_15(
    id: str, epsilon: Fraction
) -> None:
    with_a_pair = {name: of for name, of in laws_of(id, epsilon).items() if len(of) > 1}
    assert {name for name, of in with_a_pair.items() if not is_tight(of, epsilon)} == set()


def is_kept(of: list[Law], epsilon: Fraction) -> bool:
    return at_most_exp(largest_ratio(of), epsilon)


@pytest.mark.deeper
@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=str)
@pytest.mark.parametrize("id", BY_ID)
def test_a_threshold_one_higher_breaks_the_promise(id: str, epsilon: Fraction) -> None:
    """By the law that `pmf` states, which is that of `randomize` (below)."""
    kept = set()
    for case in sizes(id):
        mechanism, inputs = case.mechanism(epsilon), valid_inputs(case.domain)
        raised = with_threshold(mechanism, mechanism.threshold + 1)
        if len(inputs) > 1 and is_kept([raised.pmf(v) for v in inputs], epsilon):
            kept.add(str(case))
    assert kept == set()


@pytest.mark.deeper
@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=str)
@pytest.mark.parametrize("id", BY_ID)
def test_randomize_has_exactly_the_law_that_pmf_states(id: str, epsilon: Fraction) -> None:
    stated = {
        str(case): [case.mechanism(epsilon).pmf(value) for value in valid_inputs(case.domain)]
        for case in sizes(id)
    }
    assert laws_of(id, epsilon) == stated


@pytest.mark.deeper
@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=str)
@pytest.mark.parametrize("id", BY_ID)
def test_p_and_q_are_the_exact_chances_of_true_and_untrue_supports(
    id: str, epsilon: Fraction
) -> None:
    stated, exact = {}, {}
    for case in sizes(id):
        mechanism, value = case.mechanism(epsilon), valid_inputs(case.domain)[0]
        law = mechanism.pmf(value)
        for index, true in enumerate(indicator(case.domain, value)):
            supports = {y: mechanism.supports(y, index) for y in law}
            share = sum(law[y] for y, supported in supports.items() if supported is not None)
            chance = sum(law[y] for y, supported in supports.items() if supported)
            exact[str(case), index] = chance / share
            stated[str(case), index] = mechanism.p if true else mechanism.q
    assert exact == stated


def indicator(domain: Domain, value: int | tuple[int, ...]) -> list[bool]:
    if isinstance(value, int):
        return [index == value for index in range(domain.size)]
    return list(map(bool, value))


SMALL = [
    mechanisms.build(id, domain_size=size, epsilon=epsilon)
    for id in by_size()
    for size in (2, 3, 4)
    for epsilon in ("0.01", "1", "20")
    if thorough() or (size, epsilon) == (3, "1")
]
"""Only those that the tier takes: some need half a second to be made, at every collection."""
USUAL = [each for each in SMALL if each.domain_size == 3 and each.epsilon == 1]
SMALL += [mechanisms.build("rr/1", domain_size=4, epsilon="1", distance=k) for k in (1, 2, 3)]


@pytest.mark.parametrize("mechanism", grid(SMALL, by_default=USUAL), ids=str)
def test_every_mechanism_of_the_registry_keeps_epsilon_on_its_inputs(
    mechanism: Mechanism,
) -> None:
    check_private(laws(mechanism, mechanism.inputs()), mechanism.epsilon)


@pytest.mark.parametrize("mechanism", grid(SMALL, by_default=USUAL), ids=str)
def test_probabilities_of_all_payloads_add_up_to_exactly_one(mechanism: Mechanism) -> None:
    for value in mechanism.inputs():
        assert sum(mechanism.pmf(value).values()) == 1
