"""The two-round chain: its integers, its law, and what one report and many of them cost."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.domains import Domain
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms import Chain, build, for_domain
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import at_most_exp, renewal_threshold, threshold
from support.doubles.scripted_coins import exact_law
from support.oracles.privacy_checks import (
    Encoded,
    Law,
    bits,
    check_follows_pmf,
    choices,
    is_tight,
    largest_ratio,
    valid_inputs,
    with_renewal_threshold,
)
from support.oracles.vectors import FOLDER, domain_of, value_of
from support.tiers import rows

RENEWALS = json.loads((FOLDER / "dyadic.json").read_text())["renewals"]
VECTORS = json.loads((FOLDER / "chains.json").read_text())
SIXTY_DIGITS = Context(prec=60)

EPSILONS = [
    *(("0.01", "0.010001"), ("0.01", "0.02"), ("0.01", "20"), ("0.5", "1"), ("1", "2")),
    *(("1", "20"), ("4", "8"), ("10", "20"), ("19.999999", "20")),
]
SOME = [("0.5", "1"), ("4", "8")]
OF_CHOICES = [
    "affine/1",
    "cyclic/1",
    "grr/1",
    "hadamard/1",
    "loloha/1",
    "oue/1",
    "projective/1",
    "subset/1",
    "sue/1",
]
OF_BITS = ["rr/1", "rr-sampled/1"]
ENUMERATED = [*OF_BITS, *OF_CHOICES]
DOMAINS: list[tuple[str, Domain]] = [(id, choices(d)) for id in OF_CHOICES for d in (2, 3)]
DOMAINS += [("affine/1", choices(4)), ("subset/1", choices(5)), ("subset/1", choices(7))]
DOMAINS += [("grr/1", choices(8)), ("hadamard/1", choices(5)), ("oue/1", choices(4))]
DOMAINS += [(id, domain) for id in OF_BITS for m in (1, 2, 3) for domain in bits(m)]
INPUTS = {str(domain): valid_inputs(domain) for _, domain in DOMAINS}

epsilons = st.integers(10**4, 20 * 10**6 - 1).map(lambda micro: Fraction(micro, 10**6))


def chain_of(id: str, size: int, epsilon: str = "1", permanent: str = "2") -> Chain:
    return build(id, domain_size=size, epsilon=epsilon, permanent=permanent)


def reported(t: int, a: int, messages: int, scale: int = 2**64) -> Fraction:
    """How much likelier one report makes the true symbol than another one, from T and A alone."""
    drawn = Fraction(scale - a, scale * messages)
    true, other = Fraction(t, scale), Fraction(scale - t, scale * (messages - 1))
    kept = Fraction(a, scale)
    return (kept * true + drawn) / (kept * other + drawn)


@pytest.mark.slow
@given(epsilons, st.data(), st.integers(2, 65_536), st.sampled_from([16, 64, 128]))
def test_renewal_threshold_keeps_epsilon_and_one_more_would_not(
    epsilon: Fraction, data: st.DataObject, messages: int, size: int
) -> None:
    t = threshold(
        data.draw(epsilons.filter(lambda e: e > epsilon)), alphabet_size=messages, bits=size
    )
    try:
        a = renewal_threshold(t, epsilon, alphabet_size=messages, bits=size)
    except ParameterError:  # so near that T, rounded down, costs no more than one report
        assert at_most_exp(reported(t, 2**size, messages, 2**size), epsilon)
    else:
        assert 0 <= a < 2**size
        assert at_most_exp(reported(t, a, messages, 2**size), epsilon)
        assert not at_most_exp(reported(t, a + 1, messages, 2**size), epsilon)


@pytest.mark.parametrize("vector", RENEWALS, ids=lambda v: "{epsilon}-{messages}".format(**v))
def test_renewal_thresholds_are_canonical_and_confirmed_independently(
    vector: dict[str, str | int],
) -> None:
    t, messages = int(str(vector["permanent_threshold"]), 16), int(vector["messages"])
    a = renewal_threshold(t, Fraction(str(vector["epsilon"])), alphabet_size=messages)
    e = Fraction(SIXTY_DIGITS.exp(Decimal(str(vector["epsilon"]))))
    gap = Fraction(messages * t - 2**64, (messages - 1) * 2**64)
    assert a == math.floor(2**64 * (e - 1) / (e - 1 + messages) / gap)
    assert f"0x{a:016x}" == vector["renewal_threshold"]


@pytest.mark.parametrize("epsilon", ["1", "2", "2.000001"])
def test_a_permanent_answer_that_costs_no_more_than_a_report_is_refused(epsilon: str) -> None:
    t = threshold(Fraction(1))
    with pytest.raises(ParameterError, match="permanent must cost more than one report"):
        renewal_threshold(t, Fraction(epsilon))
    with pytest.raises(ParameterError, match="permanent must be more than epsilon"):
        chain_of("rr/1", 1, epsilon, "1")


def test_permanent_is_checked_like_any_epsilon() -> None:
    with pytest.raises(ParameterError, match=r"permanent must lie in \[0.01, 20\], got 21"):
        chain_of("grr/1", 3, "1", "21")
    with pytest.raises(ParameterError, match="permanent must be a decimal"):
        chain_of("grr/1", 3, "1", "much")


@cache
def chains(id: str, epsilon: str, permanent: str) -> dict[str, tuple[Chain, list[Law]]]:
    """The chain of each domain, and its laws of one report: several tests read them."""
    made: dict[str, tuple[Chain, list[Law]]] = {}
    for domain in (domain for of, domain in DOMAINS if of == id):
        chain = for_domain(id, domain, Fraction(epsilon), permanent=Fraction(permanent))
        made[str(domain)] = chain, [chain.pmf(value) for value in INPUTS[str(domain)]]
    assert len(made) == [of for of, _ in DOMAINS].count(id)
    return made


@pytest.mark.parametrize(("epsilon", "permanent"), rows(EPSILONS, by_default=SOME))
@pytest.mark.parametrize("id", ENUMERATED)
def test_one_report_costs_epsilon_and_any_number_the_permanent_one(
    id: str, epsilon: str, permanent: str
) -> None:
    costs = {}
    for name, (chain, laws) in chains(id, epsilon, permanent).items():
        assert isinstance(chain, MemoizedChain)
        answers = [chain.first.pmf(value) for value in INPUTS[name]]
        costs[name] = (
            at_most_exp(largest_ratio(laws), Fraction(epsilon)),
            at_most_exp(largest_ratio(answers), Fraction(permanent)),
        )
    assert costs == dict.fromkeys(costs, (True, True))


@pytest.mark.parametrize(
    ("epsilon", "permanent"),
    rows([e for e in EPSILONS if Fraction(e[0]) <= 10], by_default=SOME),
)
@pytest.mark.parametrize("id", ENUMERATED)
def test_one_report_uses_all_of_epsilon_but_for_a_relative_1e_15(
    id: str, epsilon: str, permanent: str
) -> None:
    pairs = {name: of for name, (_, of) in chains(id, epsilon, permanent).items() if len(of) > 1}
    assert pairs
    assert {name for name, of in pairs.items() if not is_tight(of, Fraction(epsilon))} == set()


@pytest.mark.parametrize(("epsilon", "permanent"), rows(EPSILONS, by_default=SOME))
@pytest.mark.parametrize("id", ENUMERATED)
def test_a_renewal_threshold_one_higher_breaks_the_promise(
    id: str, epsilon: str, permanent: str
) -> None:
    kept = set()
    for name, (chain, laws) in chains(id, epsilon, permanent).items():
        raised = with_renewal_threshold(chain, chain.renewal_threshold + 1)
        ratio = largest_ratio([raised.pmf(value) for value in INPUTS[name]])
        if len(laws) > 1 and at_most_exp(ratio, Fraction(epsilon)):
            kept.add(name)
    assert kept == set()


def is_long(case: tuple[str, int, str]) -> bool:
    """Designs of thousands of messages, a minute each: those of two labels are half as large."""
    return case[0] in {"cyclic/1", "projective/1"} and case[1:] == (3, "10")


@pytest.mark.parametrize(
    ("id", "size", "epsilon"),
    rows(
        product(ENUMERATED, (2, 3), ("0.01", "1", "10")),
        by_default=lambda case: case[1:] == (3, "1"),
        long=is_long,
    ),
)
def test_permanent_renew_and_randomize_have_exactly_the_stated_laws(
    id: str, size: int, epsilon: str
) -> None:
    chain = chain_of(id, size, epsilon, "20")
    assert isinstance(chain, MemoizedChain)
    values = list(chain.inputs())[-2:]
    check_follows_pmf(chain, values)
    for value in values:
        permanents = chain.first.pmf(value)
        assert exact_law(partial(chain.memoize, value)) == permanents
        for kept in list(permanents)[:3]:
            renewed = chain.first.rerandomized_pmf(kept, chain.renewal_threshold)
            assert exact_law(partial(chain.rerandomize, kept)) == renewed


@pytest.mark.parametrize("id", ENUMERATED)
def test_p_and_q_are_the_exact_chances_in_one_report(id: str) -> None:
    """Support of place 0, of reports about it."""
    chain = chain_of(id, 2)
    true, false = (0, 1) if id in OF_CHOICES else ((1, 1), (0, 1))
    supported = [chance_of_first(chain, value) for value in (true, false)]
    assert supported == [chain.p, chain.q]


def chance_of_first(chain: Chain, value: Encoded) -> Fraction:
    result: dict[bool | None, Fraction] = defaultdict(Fraction)
    for payload, chance in chain.pmf(value).items():
        result[chain.supports(payload, 0)] += chance
    return result[True] / (result[True] + result[False])


@pytest.mark.slow
def test_many_reports_of_one_answer_cost_what_the_reference_says() -> None:
    """k = 3, ε∞ = 2, ε1 = 1: 1.000, 1.661, 1.980, 2.000 for T = 1, 2, 4, 8.

    docs/mathematics/repeated-answers.md, The second round.
    """
    chain = chain_of("grr/1", 3)
    costs = [math.log(largest_ratio(histories(chain, t))) for t in (1, 2, 4, 8)]
    assert [f"{cost:.3f}" for cost in costs] == ["1.000", "1.661", "1.980", "2.000"]


def histories(chain: Chain, epochs: int) -> list[dict[bytes, Fraction]]:
    return [
        {b"".join(sent): chance for sent, chance in chain.pmf_history([value] * epochs).items()}
        for value in chain.inputs()
    ]


@pytest.mark.parametrize("id", ENUMERATED)
def test_later_values_of_a_hold_change_nothing(id: str) -> None:
    chain = chain_of(id, 2)
    first, *others = list(chain.inputs())
    assert chain.pmf_history([first] * 3) == chain.pmf_history([first, others[-1], others[0]])
    assert sum(chain.pmf_history([first, others[-1]]).values()) == 1


def test_histories_are_for_small_spaces_only() -> None:
    chain = chain_of("rr/1", 4)
    with pytest.raises(ParameterError, match="at most 65,536 sequences"):
        chain.pmf_history([(0, 0, 0, 0)] * 5)
    with pytest.raises(ParameterError, match="at least one value"):
        chain.pmf_history([])


@pytest.mark.parametrize("id", ENUMERATED)
def test_a_chain_is_its_mechanism_in_all_that_the_wire_sees(id: str) -> None:
    chain, plain = chain_of(id, 3, "1", "4"), build(id, domain_size=3, epsilon="1")
    assert (chain.id, chain.domain_types, chain.domain_size) == (
        plain.id,
        plain.domain_types,
        plain.domain_size,
    )
    assert (chain.payload_size, chain.tally_size) == (plain.payload_size, plain.tally_size)
    assert [chain.epsilon, chain.epsilon_permanent] == [Fraction(1), Fraction(4)]
    assert chain.threshold == chain.permanent_threshold > plain.threshold
    assert abs(chain.p - plain.p) < Fraction(1, 2**60)


@pytest.mark.parametrize("id", ENUMERATED)
def test_what_is_no_permanent_answer_is_refused(id: str) -> None:
    chain = chain_of(id, 3)
    with pytest.raises(DecodeError, match="payload must"):
        chain.rerandomize(b"\xff" * chain.payload_size, Coins.system())
    with pytest.raises(DecodeError, match="payload must be"):
        chain.rerandomize(b"", Coins.system())
    with pytest.raises(DomainError):
        chain.memoize((1, 1, 1, 1), Coins.system())


@given(st.sampled_from(ENUMERATED), st.integers(2, 600), st.binary(min_size=1))
def test_every_renewed_payload_is_valid(id: str, size: int, key: bytes) -> None:
    chain = chain_of(id, size, "0.5", "1")
    value: Encoded = size - 1 if id in OF_CHOICES else (1,) * size
    coins = Coins.derive(key)
    permanent = chain.memoize(value, coins)
    for _ in range(3):
        chain.validate(chain.rerandomize(permanent, coins))


@pytest.mark.parametrize("vector", VECTORS["chains"], ids=lambda v: v["name"])
def test_permanent_answers_and_reports_are_the_canonical_ones(vector: dict[str, Any]) -> None:
    domain, epsilon = domain_of(vector["domain"]), Fraction(vector["epsilon"])
    chain = for_domain(
        vector["mechanism"], domain, epsilon, permanent=Fraction(vector["permanent"])
    )
    key, labels = bytes.fromhex(VECTORS["key"]), list(map(bytes.fromhex, VECTORS["labels"]))
    value = value_of(vector, domain)
    coins = Coins.derive(key, *labels, domain.canonical(value))  # type: ignore[arg-type]  # a value of this domain
    answer = chain.memoize(value, coins, Coins.derive(key, b"public", *labels))
    streams = [Coins.derive(key, *labels, answer, bytes([t])) for t in range(4)]
    assert f"0x{chain.permanent_threshold:016x}" == vector["permanent_threshold"]
    assert f"0x{chain.renewal_threshold:016x}" == vector["renewal_threshold"]
    assert answer.hex() == vector["answer"]
    assert [chain.rerandomize(answer, stream).hex() for stream in streams] == vector["reports"]
