"""Linkage, against mutual information summed over the exact joint law of two reports."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product
from math import comb, prod

import pytest

from deniable_shared.manifest.linkage import linkage
from deniable_shared.mechanisms import Chain, build
from deniable_shared.mechanisms.affine import AffineResponse
from deniable_shared.mechanisms.memoization import MemoizedChain
from support.tiers import grid, rows

SOME = [("1", "2"), ("4", "8")]
LONG = {("rr/1", 4), ("affine/1", 7), ("loloha/1", 7)}
"""Their histories take a second to list; each mechanism has a smaller size beside it."""


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
    ("epsilon", "permanent"),
    rows([("0.5", "1"), ("1", "2"), ("1", "20"), ("4", "8")], by_default=SOME[:1]),
)
@pytest.mark.parametrize(
    ("id", "size", "parameters"),
    rows(
        [
            ("rr/1", 1, {}),
            ("rr/1", 4, {}),
            ("grr/1", 2, {}),
            ("grr/1", 7, {}),
            ("subset/1", 5, {"subset_size": 2}),
            ("subset/1", 9, {"subset_size": 1}),
            ("affine/1", 5, {}),
            ("cyclic/1", 7, {"field_order": 2, "dimension": 3}),
            ("projective/1", 13, {"field_order": 3, "dimension": 3}),
            ("affine/1", 7, {"modulus": 7, "subset_size": 3}),
            ("rr-sampled/1", 3, {"sampled": 1}),
            ("rr-sampled/1", 4, {"sampled": 2}),
            ("hadamard/1", 2, {}),
            ("hadamard/1", 4, {}),
            ("hadamard/1", 8, {}),
            ("loloha/1", 4, {"field_order": 2, "dimension": 2}),
            ("loloha/1", 9, {"field_order": 3, "dimension": 2}),
            ("duchi/1", 5, {}),
            ("discrete-piecewise/1", 9, {"outputs": 7, "window": 3}),
            ("discrete-piecewise/1", 2, {"outputs": 5, "window": 1}),
            ("optimal-mean/1", 9, {"odds": 200_000, "outputs": 5, "window": 2}),
            ("optimal-mean/1", 2, {}),
            ("square-wave/1", 5, {"reach": 0}),
            ("square-wave/1", 5, {"reach": 2}),
            ("square-wave/1", 9, {}),
            ("dbitflip/1", 2, {"sampled": 1}),
            ("dbitflip/1", 7, {"sampled": 1}),
        ],
        by_default=lambda row: row[:2] not in LONG,
    ),
)
def test_linkage_is_the_mutual_information_of_two_reports(
    id: str, size: int, parameters: dict[str, object], epsilon: str, permanent: str
) -> None:
    chain = build(id, domain_size=size, epsilon=epsilon, permanent=permanent, **parameters)
    assert linkage(chain) == pytest.approx(by_enumeration(chain), abs=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "permanent"),
    rows(
        [("0.01", "0.02"), ("1", "2"), ("1", "20"), ("4", "8"), ("10", "20")], by_default=SOME[1:]
    ),
)
@pytest.mark.parametrize(
    ("id", "size"),
    rows(
        [
            ("sue/1", 2),
            ("sue/1", 4),
            ("oue/1", 2),
            ("oue/1", 4),
            ("hadamard/1", 3),
            ("hadamard/1", 5),
            ("dbitflip/1", 3),
            ("dbitflip/1", 5),
            ("loloha/1", 5),
            ("loloha/1", 7),
        ],
        by_default=lambda row: row not in LONG,
    ),
)
def test_for_unfair_bits_linkage_is_at_least_the_mutual_information(
    id: str, size: int, epsilon: str, permanent: str
) -> None:
    result = {"sampled": 2} if id == "dbitflip/1" else {}
    chain = build(id, domain_size=size, epsilon=epsilon, permanent=permanent, **result)
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
            result = one * math.log2(one / mean) + (1 - one) * math.log2((1 - one) / (1 - mean))
            total += float(result) / len(ones)
    return total


@pytest.mark.slow
@pytest.mark.parametrize("id", ["sue/1", "oue/1"])
@pytest.mark.parametrize(
    ("epsilon", "permanent"), rows([("0.5", "1"), ("1", "4"), ("4", "8")], by_default=[("1", "4")])
)
def test_what_it_is_more_is_no_more_than_the_bits_tell_of_the_choice(
    id: str, epsilon: str, permanent: str
) -> None:
    chain = build(id, domain_size=4, epsilon=epsilon, permanent=permanent)
    assert linkage(chain) <= by_enumeration(chain) + bits_tell_of_the_choice(chain)


@pytest.mark.parametrize(
    ("epsilon", "permanent"),
    rows([("0.5", "1"), ("1", "2"), ("4", "8")], by_default=[("0.5", "1")]),
)
@pytest.mark.parametrize(
    ("id", "radices"), [("pairs/1", (2, 3)), ("pairs/1", (2, 2, 2)), ("fourier/1", (2, 2, 2))]
)
def test_of_a_record_it_is_the_mutual_information_too(
    id: str, radices: tuple[int, ...], epsilon: str, permanent: str
) -> None:
    chain = build(
        id, domain_size=prod(radices), radices=radices, epsilon=epsilon, permanent=permanent
    )
    assert linkage(chain) == pytest.approx(by_enumeration(chain), abs=1e-12)


@pytest.mark.parametrize(("epsilon", "permanent"), [("0.1", "0.2"), ("1", "2"), ("4", "8")])
def test_three_of_a_thousand_buckets_link_more_than_their_public_choice(
    epsilon: str, permanent: str
) -> None:
    chain = build("dbitflip/1", domain_size=1000, epsilon=epsilon, permanent=permanent, sampled=3)
    assert math.log2(comb(1000, 3)) < linkage(chain) < math.log2(comb(1000, 3)) + 3


@pytest.mark.slow
def test_a_window_of_1000_values_links_less_than_uniform_outputs() -> None:
    chain = build("square-wave/1", domain_size=1000, epsilon="1", permanent="2")
    assert isinstance(chain, MemoizedChain)
    same, outputs = chain.keep_probability**2, chain.first.alphabet_size
    likely = float(same + (1 - same) / outputs)
    alike = likely * math.log2(outputs * likely)
    alike += (1 - likely) * math.log2(1 - same)
    assert 0.8 * alike < linkage(chain) < alike


def test_reports_that_renew_almost_nothing_are_linked_almost_fully() -> None:
    choice = build("grr/1", domain_size=8, epsilon="19.999999", permanent="20")
    assert linkage(choice) == pytest.approx(3, abs=1e-4)
    bits = build("rr/1", domain_size=8, epsilon="19.999999", permanent="20", distance=1)
    assert linkage(bits) == pytest.approx(8, abs=1e-4)


def test_reports_that_renew_almost_all_are_hardly_linked() -> None:
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


@pytest.mark.parametrize(
    ("epsilon", "permanent"),
    rows([("0.1", "0.2"), ("0.5", "1"), ("1", "2"), ("1", "8"), ("4", "8")], by_default=SOME),
)
@pytest.mark.parametrize("size", grid([2, 4, 6, 8, 14, 32, 64, 90], by_default=[2, 14, 64]))
def test_of_affine_thresholds_it_is_nearly_that_of_the_choices_alone(
    size: int, epsilon: str, permanent: str
) -> None:
    """The linkage takes the value for uniform over all codes; some stand for no choice."""
    chain = build("affine/1", domain_size=size, epsilon=epsilon, permanent=permanent)
    exact, result = of_choices_alone(chain), linkage(chain)
    if size >= 64:
        assert exact == pytest.approx(result, rel=2e-3)
    assert exact <= max(1.08 * result, 1e-3)
    if size <= 6:
        assert exact == pytest.approx(by_enumeration(chain), abs=1e-12)


def of_choices_alone(chain: Chain) -> float:
    """Messages that support as many choices are alike: the sum goes over such classes."""
    assert isinstance(chain, MemoizedChain)
    first = chain.first
    assert isinstance(first, AffineResponse)
    k, d, sizes = first.modulus, first.domain_size, Counter[int]()
    for c, b in product(range(1, k // 2 + 1), range(k)):
        sizes[sum((c * v + b) % k < first.subset_size for v in range(d))] += 1
    p, messages, kept = float(first.p), first.alphabet_size, float(chain.keep_probability)
    inside, outside = p / first.support_size, (1 - p) / (messages - first.support_size)
    drawn = (1 - kept) / messages
    chances = {s: (s * inside + (d - s) * outside) / d for s in sizes}
    total = 0.0
    for (s, many), (t, more) in product(sizes.items(), repeat=2):
        apart = kept * drawn * (chances[s] + chances[t]) + drawn**2
        ones = (kept * chances[s] + drawn) * (kept * chances[t] + drawn)
        pairs = many * more - many * (s == t)
        total += pairs * apart * math.log2(apart / ones)
        alike = apart + kept**2 * chances[s]
        total += many * (s == t) * alike * math.log2(alike / ones)
    return total


def test_sets_too_many_for_a_float_have_the_right_linkage() -> None:
    """C(4096, w) has a thousand digits: about c·log2 of it, and less c·log2(1/c) and the like."""
    chain = build("subset/1", domain_size=4096, epsilon="1", permanent="2")
    assert isinstance(chain, MemoizedChain)
    same, digits = float(chain.keep_probability) ** 2, math.log2(chain.first.alphabet_size)
    assert digits > 3000
    entropy = -same * math.log2(same) - (1 - same) * math.log2(1 - same)
    assert linkage(chain) == pytest.approx(same * digits - entropy, rel=1e-12)
