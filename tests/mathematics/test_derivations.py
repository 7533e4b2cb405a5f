"""Steps of docs/mathematics that no other test enumerates, in exact fractions.

e^ε is a rational number here: every step holds for any number above 1.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

RATIOS = (Fraction(11, 10), Fraction(2), Fraction(272, 100), Fraction(50))
"""e^ε, for ε from 0.1 to 4."""


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize(("size", "support"), [(2, 1), (5, 1), (7, 3), (21, 5)])
def test_a_second_round_keeps_epsilon_up_to_the_stated_share(
    ratio: Fraction, size: int, support: int
) -> None:
    """repeated-answers, The second round: at a the ratio of one report is e^ε, above it is more."""
    permanent = support * ratio**2 / (support * ratio**2 + size - support)
    apart = permanent / support - (1 - permanent) / (size - support)
    kept = (ratio - 1) / (support * (ratio - 1) + size) / apart

    def one_report(share: Fraction) -> Fraction:
        drawn = (1 - share) / size
        return (share * permanent / support + drawn) / (
            share * (1 - permanent) / (size - support) + drawn
        )

    assert 0 < kept < 1
    assert one_report(kept) == ratio
    assert one_report(kept + Fraction(1, 10**9)) > ratio


@pytest.mark.parametrize("ratio", RATIOS)
def test_parts_of_a_larger_share_may_keep_more(ratio: Fraction) -> None:
    """repeated-answers, The second round: so the least share decides for all."""

    def kept(share: Fraction) -> Fraction:
        permanent = ratio**2
        return (
            (ratio - 1)
            * (share * permanent + 1 - share)
            / ((permanent - 1) * (share * ratio + 1 - share))
        )

    shares = [kept(Fraction(i, 20)) for i in range(1, 20)]
    assert shares == sorted(shares)


@pytest.mark.parametrize("signs", range(1, 7))
def test_one_biased_sign_among_fair_ones_tilts_their_mean(signs: int) -> None:
    """accounting, Reports without senders: P(mean) = fair(mean)·(1 + t·mean)."""
    tilt = Fraction(3, 7)
    fair: dict[Fraction, Fraction] = {}
    biased: dict[Fraction, Fraction] = {}
    for drawn in itertools.product((-1, 1), repeat=signs):
        mean = Fraction(sum(drawn), signs)
        chance = Fraction(1, 2**signs)
        fair[mean] = fair.get(mean, Fraction(0)) + chance
        biased[mean] = biased.get(mean, Fraction(0)) + chance * (1 + tilt * drawn[0])
    assert biased == {mean: chance * (1 + tilt * mean) for mean, chance in fair.items()}


@pytest.mark.parametrize(("local", "central"), list(itertools.product(RATIOS, repeat=2)))
def test_a_bit_randomized_twice_reaches_the_contraction(local: Fraction, central: Fraction) -> None:
    """accounting, True answers behind randomized ones."""
    first, second = local / (1 + local), central / (1 + central)
    kept = first * second + (1 - first) * (1 - second)
    assert kept / (1 - kept) == (local * central + 1) / (local + central)
    assert kept / (1 - kept) < min(local, central)


@pytest.mark.parametrize("root", RATIOS)
def test_laws_of_a_bounded_range_part_by_tanh_of_a_quarter(root: Fraction) -> None:
    """auctions, What a lie gains: `root` is e^(ε/2); two values of the ratio, e^ε apart."""

    def variation(highest: Fraction) -> Fraction:
        lowest = highest / root**2
        share = (1 - lowest) / (highest - lowest)
        return (highest - 1) * share

    most = (root - 1) / (root + 1)
    assert variation(root) == most
    ratios = [1 + (root**2 - 1) * Fraction(i, 60) for i in range(61)]
    assert max(variation(ratio) for ratio in ratios) <= most


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_a_parity_of_nodes_has_the_square_of_all_weights(level: int) -> None:
    """numbers, Haar contrasts: over j the score has one node's mean and Σ g² for its square."""
    nodes = 2**level
    weights = [Fraction(3 * node - 4, 5) for node in range(nodes)]

    def score(chosen: int, node: int) -> Fraction:
        reported = (-1) ** (chosen & node).bit_count()
        return sum(
            (reported * (-1) ** (chosen & k).bit_count() * weights[k] for k in range(nodes)),
            Fraction(0),
        )

    for node in range(nodes):
        scores = [score(chosen, node) for chosen in range(nodes)]
        assert sum(scores) / nodes == weights[node]
        assert sum(each**2 for each in scores) / nodes == sum(weight**2 for weight in weights)


@pytest.mark.parametrize("ratio", RATIOS)
def test_the_reach_of_the_square_wave_is_where_its_bound_is_flat(ratio: Fraction) -> None:
    """numbers, Square wave: the sign of the derivative, with ε apart from E."""
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(3)):
        if ratio - 1 - epsilon == 0:
            continue
        width = (epsilon * ratio - ratio + 1) / (ratio * (ratio - 1 - epsilon))
        assert (1 + width * ratio) * (1 - ratio) + ratio * epsilon * (1 + width) == 0


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_fair_coin_for_the_own_bit_is_best_for_rare_labels(ratio: Fraction) -> None:
    """direct-answers, Unary encodings: q(1 − q)/(p − q)² over p, the ratio fixed."""

    def rare(own: Fraction) -> Fraction:
        other = own / (own + ratio * (1 - own))
        return other * (1 - other) / (own - other) ** 2

    errors = {Fraction(i, 100): rare(Fraction(i, 100)) for i in range(1, 100)}
    assert min(errors, key=errors.__getitem__) == Fraction(1, 2)
    assert errors[Fraction(1, 2)] == 4 * ratio / (ratio - 1) ** 2


@pytest.mark.parametrize("quarter", RATIOS)
def test_the_two_encodings_are_alike_where_it_is_said(quarter: Fraction) -> None:
    """direct-answers, Unary encodings: `quarter` is e^(ε/4)."""
    cosh, ratio = (quarter + 1 / quarter) / 2, quarter**4
    symmetric = 1 / (quarter - 1 / quarter) ** 2
    optimized = 4 * ratio / (ratio - 1) ** 2
    assert symmetric - optimized == 1 / (4 * cosh**2)


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_bit_of_a_hadamard_code_has_the_stated_variance(ratio: Fraction) -> None:
    """hadamard, One coefficient."""
    p = ratio / (1 + ratio)
    coth = (ratio + 1) / (ratio - 1)
    for codes, f in itertools.product((2, 4, 32), (Fraction(0), Fraction(1, 3), Fraction(1))):
        q = (Fraction(codes, 2) - p) / (codes - 1)
        variance = (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (p - q) ** 2
        skipped = Fraction(codes - 1, codes) ** 2
        assert variance == skipped * coth**2 - f * skipped - (1 - f) / codes**2


@pytest.mark.parametrize("ratio", RATIOS)
def test_hashing_into_one_cell_more_than_the_ratio_is_the_bound(ratio: Fraction) -> None:
    """designs, Linear hashes: (E + g − 1)²/((E − 1)²(g − 1)) is least at g = E + 1."""

    def near_zero(cells: Fraction) -> Fraction:
        return (ratio + cells - 1) ** 2 / ((ratio - 1) ** 2 * (cells - 1))

    best = near_zero(ratio + 1)
    assert best == 4 * ratio / (ratio - 1) ** 2
    assert all(near_zero(1 + Fraction(i, 7)) >= best for i in range(1, 700))


@pytest.mark.parametrize(("cells", "digits"), [(2, 3), (3, 2), (5, 2)])
def test_texts_that_share_codes_add_what_is_said(cells: int, digits: int) -> None:
    """texts, What collisions add: (C − 1/K)/(1 − 1/K), for every share C of the tables."""
    codes = cells**digits
    p = Fraction(3) / (3 + cells - 1)
    other = (Fraction(codes, cells) - p) / (codes - 1)
    for share in (Fraction(0), Fraction(1, codes), Fraction(2, 5), Fraction(1)):
        supported = share * p + (1 - share) * other
        said = (supported - Fraction(1, cells)) / (p - Fraction(1, cells))
        assert said == (share - Fraction(1, codes)) / (1 - Fraction(1, codes))


@pytest.mark.parametrize("parts", [2, 3, 10])
def test_dividing_by_the_expected_number_costs_the_square_of_the_mean(parts: int) -> None:
    """supports-and-estimates, Sampled parts: of one report, by the score's two values."""
    for mean in (Fraction(0), Fraction(1, 3), Fraction(1)):
        values = {Fraction(-1, 2): 1 - (mean + Fraction(1, 2)) / 2}
        values[Fraction(3, 2)] = 1 - values[Fraction(-1, 2)]
        assert sum(value * chance for value, chance in values.items()) == mean
        square = sum(value**2 * chance for value, chance in values.items())
        spread = square - mean**2
        divided_by_expected = parts * square - mean**2
        assert divided_by_expected - parts * spread == (parts - 1) * mean**2


def test_no_share_of_made_up_reports_leaves_the_stated_interval() -> None:
    """intervals, Made-up reports."""
    p, q = Fraction(3, 4), Fraction(1, 4)
    lowest, highest = -q / (p - q), (1 - q) / (p - q)
    shares = [Fraction(i, 10) for i in range(10)]
    for honest, made_up, place in itertools.product(shares, shares, shares):
        said = lowest + place * (highest - lowest)
        seen = (1 - made_up) * honest + made_up * said
        low = (seen - made_up * (1 - q) / (p - q)) / (1 - made_up)
        high = (seen + made_up * q / (p - q)) / (1 - made_up)
        assert low <= honest <= high
        assert place > 0 or high == honest


def test_the_number_of_sampled_bits_solves_its_equation() -> None:
    """sampling, How many bits: tanh²(u)/u is largest where sinh 2u = 4u, at ε/(2u) = ε/2.1773."""
    half = 2.1773 / 2
    assert math.sinh(2 * half) == pytest.approx(4 * half, rel=2e-4)
    value = math.tanh(half) ** 2 / half
    assert all(math.tanh(u / 50) ** 2 / (u / 50) <= value + 1e-9 for u in range(1, 300))
