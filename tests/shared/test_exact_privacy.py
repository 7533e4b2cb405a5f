"""The promise itself, in exact rationals: every pair of inputs, every payload, no sampling.

The laws are those of the shipped `randomize`, enumerated over all coins (support.scripted).
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from deniable_shared import mechanisms
from deniable_shared.domain import Domain
from deniable_shared.dyadic import at_most_exp
from deniable_shared.mechanisms import Mechanism, for_domain
from support.privacy import (
    EPSILONS,
    bits,
    check_follows_pmf,
    check_private,
    check_tight,
    choices,
    largest_ratio,
    laws,
    valid_inputs,
    with_threshold,
)

DOMAINS: list[Domain] = [domain for m in range(1, 5) for domain in bits(m)]
DOMAINS += [choices(d) for d in range(2, 9)]


def title(part: object) -> str:
    if not isinstance(part, Domain):
        return str(part)
    constraint = part.to_json().get("constraint", "")
    return f"{part.type}-{part.size}{constraint}{getattr(part, 'at_most', None) or ''}"


def mechanism_for(domain: Domain, epsilon: Fraction) -> Mechanism:
    return for_domain(mechanisms.default_id(domain), domain, epsilon)


WITH_A_PAIR = [domain for domain in DOMAINS if len(valid_inputs(domain)) > 1]


@pytest.mark.parametrize("epsilon", EPSILONS, ids=title)
@pytest.mark.parametrize("domain", DOMAINS, ids=title)
def test_no_payload_tells_any_two_answers_apart_by_more_than_e_to_the_epsilon(
    domain: Domain, epsilon: Fraction
) -> None:
    check_private(laws(mechanism_for(domain, epsilon), valid_inputs(domain)), epsilon)


@pytest.mark.parametrize("epsilon", [e for e in EPSILONS if e <= 10], ids=title)
@pytest.mark.parametrize("domain", WITH_A_PAIR, ids=title)
def test_some_payload_uses_all_of_epsilon_but_for_a_relative_1e_15(
    domain: Domain, epsilon: Fraction
) -> None:
    check_tight(laws(mechanism_for(domain, epsilon), valid_inputs(domain)), epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=title)
@pytest.mark.parametrize("domain", WITH_A_PAIR, ids=title)
def test_a_threshold_one_higher_breaks_the_promise(domain: Domain, epsilon: Fraction) -> None:
    mechanism = mechanism_for(domain, epsilon)
    raised = with_threshold(mechanism, mechanism.threshold + 1)
    assert not at_most_exp(largest_ratio(laws(raised, valid_inputs(domain))), epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=title)
@pytest.mark.parametrize("domain", DOMAINS, ids=title)
def test_randomize_has_exactly_the_law_that_pmf_states(domain: Domain, epsilon: Fraction) -> None:
    check_follows_pmf(mechanism_for(domain, epsilon), valid_inputs(domain))


@pytest.mark.parametrize("epsilon", EPSILONS, ids=title)
@pytest.mark.parametrize("domain", DOMAINS, ids=title)
def test_p_and_q_are_the_exact_chances_of_supporting_what_is_true_and_what_is_not(
    domain: Domain, epsilon: Fraction
) -> None:
    mechanism = mechanism_for(domain, epsilon)
    value = valid_inputs(domain)[0]
    supports = {payload: supported(domain, payload) for payload in mechanism.pmf(value)}
    for index, true in enumerate(indicator(domain, value)):
        chance = sum(mechanism.pmf(value)[y] for y, told in supports.items() if told[index])
        assert chance == (mechanism.p if true else mechanism.q)


def indicator(domain: Domain, value: int | tuple[int, ...]) -> list[bool]:
    if isinstance(value, int):
        return [index == value for index in range(domain.size)]
    return list(map(bool, value))


def supported(domain: Domain, payload: bytes) -> list[bool]:
    number = int.from_bytes(payload, "big")
    if domain.type == "choice":
        return indicator(domain, number)
    top = 8 * len(payload) - 1
    return [bool(number >> (top - place) & 1) for place in range(domain.size)]


SMALL = [
    mechanisms.build(id, domain_size=size, epsilon=epsilon)
    for id in mechanisms.known()
    for size in (2, 3, 4)
    for epsilon in ("0.01", "1", "20")
]
SMALL += [mechanisms.build("rr/1", domain_size=4, epsilon="1", distance=k) for k in (1, 2, 3)]


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_whatever_the_registry_builds_keeps_epsilon_on_all_the_inputs_it_names(
    mechanism: Mechanism,
) -> None:
    check_private(laws(mechanism, mechanism.inputs()), mechanism.epsilon)


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_probabilities_of_all_payloads_add_up_to_exactly_one(mechanism: Mechanism) -> None:
    for value in mechanism.inputs():
        assert sum(mechanism.pmf(value).values()) == 1
