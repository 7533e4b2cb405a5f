"""The promise itself, in exact rationals: every pair of inputs, every payload, no sampling.

The laws are those of the shipped `randomize`, enumerated over all coins
(support.doubles.scripted_coins).
"""

from __future__ import annotations

from fractions import Fraction
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
    bits,
    by_size,
    check_follows_pmf,
    check_private,
    check_tight,
    choices,
    largest_ratio,
    laws,
    valid_inputs,
    with_threshold,
)
from support.tiers import grid

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


def title(part: object) -> str:
    if not isinstance(part, Case):
        return str(part)
    domain = part.domain
    constraint = domain.to_json().get("constraint", "") or domain.type
    limit = getattr(domain, "at_most", None) or ""
    return f"{part.id}-{domain.size}{constraint}{limit}{part.parameters.get('sampled', '')}"


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
WITH_A_PAIR = [case for case in CASES if len(valid_inputs(case.domain)) > 1]


@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=title)
@pytest.mark.parametrize("case", CASES, ids=title)
def test_no_payload_separates_two_answers_by_more_than_e_to_the_epsilon(
    case: Case, epsilon: Fraction
) -> None:
    check_private(laws(case.mechanism(epsilon), valid_inputs(case.domain)), epsilon)


@pytest.mark.parametrize(
    "epsilon", grid([e for e in EPSILONS if e <= 10], by_default=SOME), ids=title
)
@pytest.mark.parametrize("case", WITH_A_PAIR, ids=title)
def test_some_payload_uses_all_of_epsilon_but_for_a_relative_1e_15(
    case: Case, epsilon: Fraction
) -> None:
    check_tight(laws(case.mechanism(epsilon), valid_inputs(case.domain)), epsilon)


@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=title)
@pytest.mark.parametrize("case", WITH_A_PAIR, ids=title)
def test_a_threshold_one_higher_breaks_the_promise(case: Case, epsilon: Fraction) -> None:
    mechanism = case.mechanism(epsilon)
    raised = with_threshold(mechanism, mechanism.threshold + 1)
    assert not at_most_exp(largest_ratio(laws(raised, valid_inputs(case.domain))), epsilon)


@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=title)
@pytest.mark.parametrize("case", CASES, ids=title)
def test_randomize_has_exactly_the_law_that_pmf_states(case: Case, epsilon: Fraction) -> None:
    check_follows_pmf(case.mechanism(epsilon), valid_inputs(case.domain))


@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=title)
@pytest.mark.parametrize("case", CASES, ids=title)
def test_p_and_q_are_the_exact_chances_of_true_and_untrue_supports(
    case: Case, epsilon: Fraction
) -> None:
    mechanism = case.mechanism(epsilon)
    value = valid_inputs(case.domain)[0]
    for index, true in enumerate(indicator(case.domain, value)):
        result = {
            payload: supported
            for payload in mechanism.pmf(value)
            if (supported := mechanism.supports(payload, index)) is not None
        }
        share = sum(mechanism.pmf(value)[y] for y in result)
        chance = sum(mechanism.pmf(value)[y] for y, supported in result.items() if supported)
        assert chance / share == (mechanism.p if true else mechanism.q)


def indicator(domain: Domain, value: int | tuple[int, ...]) -> list[bool]:
    if isinstance(value, int):
        return [index == value for index in range(domain.size)]
    return list(map(bool, value))


SMALL = [
    mechanisms.build(id, domain_size=size, epsilon=epsilon)
    for id in by_size()
    for size in (2, 3, 4)
    for epsilon in ("0.01", "1", "20")
]
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
