"""Linkage, against mutual information summed over the exact joint law of two reports."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

import pytest

from deniable_shared.linkage import linkage
from deniable_shared.mechanisms import Chain, build


def by_enumeration(chain: Chain) -> float:
    """Of two reports of one permanent answer, the value uniform over all inputs."""
    joint: dict[tuple[bytes, ...], Fraction] = defaultdict(Fraction)
    inputs = list(chain.inputs())
    for value in inputs:
        for pair, chance in chain.pmf_history([value, value]).items():
            joint[pair] += chance / len(inputs)
    one: dict[bytes, Fraction] = defaultdict(Fraction)
    for (first, _), chance in joint.items():
        one[first] += chance
    return sum(
        float(chance) * math.log2(chance / (one[pair[0]] * one[pair[1]]))
        for pair, chance in joint.items()
        if chance
    )


@pytest.mark.parametrize(
    ("epsilon", "permanent"), [("0.5", "1"), ("1", "2"), ("1", "20"), ("4", "8")]
)
@pytest.mark.parametrize(
    ("id", "size", "parameters"),
    [
        ("rr/1", 1, {}),
        ("rr/1", 4, {}),
        ("grr/1", 2, {}),
        ("grr/1", 7, {}),
        ("rr-sampled/1", 3, {"sampled": 1}),
        ("rr-sampled/1", 4, {"sampled": 2}),
        ("hadamard/1", 2, {}),
        ("hadamard/1", 4, {}),
        ("hadamard/1", 8, {}),
    ],
)
def test_linkage_is_the_mutual_information_of_two_reports(
    id: str, size: int, parameters: dict[str, object], epsilon: str, permanent: str
) -> None:
    chain = build(id, domain_size=size, epsilon=epsilon, permanent=permanent, **parameters)
    assert linkage(chain) == pytest.approx(by_enumeration(chain), abs=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "permanent"), [("0.01", "0.02"), ("1", "2"), ("1", "20"), ("4", "8"), ("10", "20")]
)
@pytest.mark.parametrize(
    ("id", "size"),
    [("sue/1", 2), ("sue/1", 4), ("oue/1", 2), ("oue/1", 4), ("hadamard/1", 3), ("hadamard/1", 5)],
)
def test_where_bits_are_not_fair_linkage_is_at_least_the_mutual_information(
    id: str, size: int, epsilon: str, permanent: str
) -> None:
    chain = build(id, domain_size=size, epsilon=epsilon, permanent=permanent)
    assert by_enumeration(chain) <= linkage(chain) + 1e-12


def bits_tell_of_the_choice(chain: Chain) -> float:
    """Mutual information of the choice and each bit of one report, summed, from its pmf."""
    laws, total = [chain.pmf(value) for value in chain.inputs()], 0.0
    for label in range(chain.domain_size):
        ones = [
            sum((chance for sent, chance in law.items() if chain.supports(sent, label)), Fraction())
            for law in laws
        ]
        mean = sum(ones, Fraction()) / len(ones)
        for one in ones:
            told = one * math.log2(one / mean) + (1 - one) * math.log2((1 - one) / (1 - mean))
            total += float(told) / len(ones)
    return total


@pytest.mark.parametrize("id", ["sue/1", "oue/1"])
@pytest.mark.parametrize(("epsilon", "permanent"), [("0.5", "1"), ("1", "4"), ("4", "8")])
def test_what_it_is_more_is_no_more_than_the_bits_tell_of_the_choice(
    id: str, epsilon: str, permanent: str
) -> None:
    chain = build(id, domain_size=4, epsilon=epsilon, permanent=permanent)
    assert linkage(chain) <= by_enumeration(chain) + bits_tell_of_the_choice(chain)


def test_reports_that_renew_almost_nothing_are_linked_almost_fully() -> None:
    choice = build("grr/1", domain_size=8, epsilon="19.999999", permanent="20")
    assert linkage(choice) == pytest.approx(3, abs=1e-4)
    bits = build("rr/1", domain_size=8, epsilon="19.999999", permanent="20", distance=1)
    assert linkage(bits) == pytest.approx(8, abs=1e-4)


def test_reports_that_renew_almost_all_are_hardly_linked_and_never_less_than_not() -> None:
    for size in (1, 4096):
        chain = build("rr/1", domain_size=size, epsilon="0.01", permanent="20")
        assert 0 <= linkage(chain) < 0.01


def test_an_index_set_links_by_itself() -> None:
    chain = build("rr-sampled/1", domain_size=8, epsilon="0.01", permanent="0.02")
    assert linkage(chain) == pytest.approx(math.log2(8) + linkage(one_bit()), abs=1e-12)
    wide = build("rr-sampled/1", domain_size=4096, epsilon="1", permanent="2", sampled=2048)
    assert linkage(wide) > 4000


def one_bit() -> Chain:
    return build("rr/1", domain_size=1, epsilon="0.01", permanent="0.02")


def test_what_keeps_no_permanent_answer_is_not_linked_by_one() -> None:
    assert linkage(build("rr-sampled/1", domain_size=8, epsilon="1")) == 0


def test_a_bit_at_epsilon_1_of_2_is_linked_by_a_tenth_of_a_bit() -> None:
    assert f"{linkage(build('rr/1', domain_size=1, epsilon='1', permanent='2')):.3f}" == "0.100"
