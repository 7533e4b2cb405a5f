"""MECHANISMS.md says what the code does."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from deniable_shared.analysis import optimal_error
from deniable_shared.manifest.linkage import linkage
from deniable_shared.mechanisms import build, mechanism_ids
from deniable_shared.mechanisms.affine import AffineResponse
from deniable_shared.mechanisms.geometric import GeometricResponse
from deniable_shared.mechanisms.loloha import LocalHashing
from deniable_shared.mechanisms.prefix_hash import PrefixHash
from deniable_shared.mechanisms.rr_sampled import SampledResponse, best_sample
from deniable_shared.mechanisms.subset import SubsetResponse
from support.oracles.mechanism_tables import TEXT, page, rows, std_error


def test_every_mechanism_has_a_page_with_all_its_parts() -> None:
    for id in mechanism_ids():
        for part in ("When", "Law", "ε", "Estimator", "Variance", "Bytes", "Cost", "References"):
            assert f"\n**{part}" in page(id), f"{id}: {part}"


@pytest.mark.parametrize("row", list(rows("rr/1", 4)), ids=lambda row: row[0])
def test_numbers_for_bits_are_those_of_the_mechanism(row: list[str]) -> None:
    mechanism = build("rr/1", domain_size=1, epsilon=row[0])
    errors = [std_error(mechanism, 0.5, n) for n in (1000, 100_000)]
    assert row[1:] == [f"{number:.4f}" for number in (float(mechanism.p), *errors)]


@pytest.mark.parametrize("row", list(rows("prefix-hash/1", 6)), ids=lambda row: row[0])
def test_numbers_for_texts_are_those_of_the_mechanism(row: list[str]) -> None:
    mechanism = build("prefix-hash/1", domain_size=16, epsilon=row[0])
    assert isinstance(mechanism, PrefixHash)
    errors = [std_error(mechanism, 0, 1) / math.sqrt(share * 10**6) for share in (3 / 19, 1)]
    assert mechanism.sampling_fraction == Fraction(3, 19)
    numbers = [float(mechanism.p), float(mechanism.q), *errors]
    assert row[1:] == [str(mechanism.base), *(f"{number:.4f}" for number in numbers)]


@pytest.mark.parametrize("row", list(rows("rr-sampled/1", 7)), ids="-".join)
def test_numbers_for_sampled_bits_are_those_of_the_mechanism(row: list[str]) -> None:
    m = int(row[0])
    mechanism = build("rr-sampled/1", domain_size=m, epsilon=row[1])
    plain = build("rr/1", domain_size=m, epsilon=row[1])
    assert isinstance(mechanism, SampledResponse)
    t = mechanism.sampled
    one = std_error(mechanism, 0.5, 1) ** 2
    errors = [math.sqrt((m / t * (one + 0.25) - 0.25) / n) for n in (1000, 100_000)]
    numbers = (float(mechanism.p), std_error(plain, 0.5, 100_000), *errors)
    assert row[2:] == [str(t), *(f"{number:.4f}" for number in numbers)]


def test_the_limits_of_the_number_of_bits_told_are_those_of_the_rule() -> None:
    assert "one bit up to ε = 3.0, two up to 5.3, three up to 7.5" in page("rr-sampled/1")
    for epsilon, t in (("3.0", 1), ("3.1", 2), ("5.3", 2), ("5.4", 3), ("7.5", 3), ("7.6", 4)):
        assert best_sample(100, Fraction(epsilon), 100) == t


CHAINS = {"one bit": ("rr/1", 2, 1), "ten choices": ("grr/1", 10, 10)}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("place", range(4))
def test_numbers_for_chains_are_those_of_the_chain(name: str, place: int) -> None:
    id, symbols, size = CHAINS[name]
    lines = chain_table()
    start = next(at for at, line in enumerate(lines) if line[0] == name)
    epsilon, permanent = lines[0][2 + place].split(", ")
    chain = build(id, domain_size=size, epsilon=epsilon, permanent=permanent)
    kept = chain.renewal_threshold / 2**64
    support, low = float(chain.q) + float(chain.p - chain.q) / symbols, (1 - kept) / symbols
    more = 29 * (support - low) * (low + kept - support) / (support * (1 - support))
    expected = [f"{kept:.4f}", f"{linkage(chain):.4f}", f"{1 + more:.2f}"]
    assert [lines[start + down][2 + place] for down in range(3)] == expected


def chain_table() -> list[list[str]]:
    text = TEXT.partition("\n## Chains")[2].partition("\n---\n")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| ") and "---" not in line
    ]


@pytest.mark.parametrize("row", list(rows("grr/1", 5)), ids="-".join)
def test_numbers_for_choices_are_those_of_the_mechanism(row: list[str]) -> None:
    d = int(row[0])
    mechanism = build("grr/1", domain_size=d, epsilon=row[1])
    errors = [std_error(mechanism, 1 / d, n) for n in (1000, 100_000)]
    assert row[2:] == [f"{number:.4f}" for number in (float(mechanism.p), *errors)]


@pytest.mark.parametrize("epsilon", [Fraction(1, 8), Fraction(1), Fraction(4)])
def test_the_closed_forms_of_the_variance_are_those_of_p_and_q(epsilon: Fraction) -> None:
    e, d, f = math.exp(epsilon), 10, 0.3
    bit = std_error(build("rr/1", domain_size=1, epsilon=epsilon), f, 1) ** 2
    choice = std_error(build("grr/1", domain_size=d, epsilon=epsilon), f, 1) ** 2
    assert bit == pytest.approx(1 / (4 * math.sinh(epsilon / 2) ** 2), rel=1e-9)
    assert choice == pytest.approx((d - 2 + e) / (e - 1) ** 2 + f * (d - 2) / (e - 1), rel=1e-9)


def test_the_limits_of_optimality_are_those_of_the_formula() -> None:
    line = next(line for line in page("grr/1").splitlines() if line.startswith("| largest such d"))
    limits = [int(cell) for cell in line.split("|")[2:-1]]
    for epsilon, d in zip((0.5, 1, 2, 3, 4, 5, 6), limits, strict=True):
        assert (d - 1) * (d - 2) <= 2 * math.exp(2 * epsilon) < d * (d - 1)


@pytest.mark.parametrize("id", ["sue/1", "oue/1"])
def test_numbers_for_unary_encodings_are_those_of_the_mechanism(id: str) -> None:
    actual = [row for row in rows(id, 5) if not row[0].startswith("d")]
    assert [row[0] for row in actual] == ["0.5", "1", "2", "4"]
    for row in actual:
        mechanism = build(id, domain_size=100, epsilon=row[0])
        errors = [std_error(mechanism, 0, n) for n in (1000, 100_000)]
        numbers = (float(mechanism.p), float(mechanism.q), *errors)
        assert row[1:] == [f"{number:.4f}" for number in numbers]


@pytest.mark.parametrize("row", list(rows("oue/1", 6)), ids=lambda row: "-".join(row[:2]))
def test_numbers_that_compare_mechanisms_of_a_choice_are_theirs(row: list[str]) -> None:
    d = int(row[0])
    built = [
        build(id, domain_size=d, epsilon=row[1]) for id in ("grr/1", "sue/1", "oue/1", "hadamard/1")
    ]
    assert row[2:] == [f"{std_error(each, 1 / d, 100_000):.4f}" for each in built]


@pytest.mark.parametrize("row", list(rows("hadamard/1", 6)), ids=lambda row: "-".join(row[:2]))
def test_numbers_for_hadamard_response_are_those_of_the_mechanism(row: list[str]) -> None:
    mechanism = build("hadamard/1", domain_size=int(row[0]), epsilon=row[1])
    errors = [std_error(mechanism, 0, n) for n in (1000, 100_000)]
    numbers = (float(mechanism.p), float(mechanism.q), *errors)
    assert row[2:] == [f"{number:.4f}" for number in numbers]


@pytest.mark.parametrize("epsilon", [Fraction(1, 8), Fraction(1), Fraction(4)])
def test_the_closed_forms_for_many_labels_are_those_of_p_and_q(epsilon: Fraction) -> None:
    e, d, f, k = math.exp(epsilon), 100, 0.3, 128
    near_one = (k - 1) / k
    forms = {
        "sue/1": 1 / (4 * math.sinh(epsilon / 4) ** 2),
        "oue/1": 4 * e / (e - 1) ** 2 + f,
        "hadamard/1": (near_one / math.tanh(epsilon / 2)) ** 2 - f * near_one**2 - (1 - f) / k**2,
    }
    for id, form in forms.items():
        variance = std_error(build(id, domain_size=d, epsilon=epsilon), f, 1) ** 2
        assert variance == pytest.approx(form, rel=1e-9)


def test_limits_between_mechanisms_of_a_choice_are_those_of_the_formulas() -> None:
    """sue/1 against oue/1 by frequency, hadamard/1 against the optimum, R*."""
    assert "0.235 at ε = 1" in page("sue/1")
    assert f"{1 / (4 * math.cosh(0.25) ** 2):.3f}" == "0.235"
    assert "1.27 times the reports of `oue/1`, at 2 2.4 times" in page("hadamard/1")
    assert [f"{math.cosh(e / 2) ** 2:.2f}" for e in (1, 2)] == ["1.27", "2.38"]
    assert "44 labels on at ε = 0.5, 53 at 1, 98 at 2, 227 at 3, 577 at 4" in page("oue/1")
    for epsilon, d in ((0.5, 44), (1, 53), (2, 98), (3, 227), (4, 577)):
        assert over_optimum(epsilon, d) <= 1.05 < over_optimum(epsilon, d - 1)


def over_optimum(epsilon: float, d: int) -> float:
    """n·L2 of oue/1, the sum over d labels given who answered, over the least there is."""
    e = math.exp(epsilon)
    least = min(
        (d - 1) ** 2 * (w * e + d - w) ** 2 / (d * w * (d - w) * (e - 1) ** 2) for w in range(1, d)
    )
    return (4 * d * e / (e - 1) ** 2 + 1) / (least - (d - 1) / d)


def test_the_linkage_of_many_labels_is_that_of_the_chains() -> None:
    text = TEXT.partition("\n## Chains")[2]
    chains = [
        [build(id, domain_size=d, epsilon="1", permanent="2") for d in (10, 1000)]
        for id in ("sue/1", "oue/1", "hadamard/1")
    ]
    ten, thousand = ([f"{linkage(chain[place]):.2f}" for chain in chains] for place in (0, 1))
    assert "ten labels give {} bits with\n`sue/1`, {} with `oue/1` and {} with".format(*ten) in text
    assert "a thousand {}, {} and {}.".format(*thousand) in text


@pytest.mark.parametrize("row", list(rows("subset/1", 7)), ids="-".join)
def test_numbers_for_sets_are_those_of_the_mechanism(row: list[str]) -> None:
    d = int(row[0])
    mechanism = build("subset/1", domain_size=d, epsilon=row[1])
    assert isinstance(mechanism, SubsetResponse)
    errors = [std_error(mechanism, 1 / d, n) for n in (1000, 100_000)]
    numbers = (float(mechanism.p), float(mechanism.q), *errors)
    assert row[2:] == [str(mechanism.subset_size), *(f"{number:.4f}" for number in numbers)]


@pytest.mark.parametrize("row", list(rows("affine/1", 8)), ids="-".join)
def test_numbers_for_affine_thresholds_are_those_of_the_mechanism(row: list[str]) -> None:
    d, epsilon = int(row[0]), Fraction(row[1])
    mechanism = build("affine/1", domain_size=d, epsilon=epsilon)
    assert isinstance(mechanism, AffineResponse)
    sizes = (mechanism.modulus, mechanism.subset_size, mechanism.payload_size)
    _, least = optimal_error.ratio_to_optimum(mechanism.p, mechanism.q, d, epsilon)
    numbers = (float(least), *(std_error(mechanism, 1 / d, n) for n in (1000, 100_000)))
    assert row[2:] == [*map(str, sizes), *(f"{number:.4f}" for number in numbers)]


GEOMETRIC = [(id, row) for id in ("cyclic/1", "projective/1") for row in rows(id, 8)]


@pytest.mark.parametrize(("id", "row"), GEOMETRIC, ids=str)
def test_numbers_for_geometric_designs_are_those_of_the_mechanism(id: str, row: list[str]) -> None:
    d, epsilon = int(row[0]), Fraction(row[1])
    mechanism = build(id, domain_size=d, epsilon=epsilon)
    assert isinstance(mechanism, GeometricResponse)
    sizes = (mechanism.field_order, mechanism.dimension, mechanism.payload_size)
    _, least = optimal_error.ratio_to_optimum(mechanism.p, mechanism.q, d, epsilon)
    numbers = (float(least), *(std_error(mechanism, 1 / d, n) for n in (1000, 100_000)))
    assert row[2:] == [*map(str, sizes), *(f"{number:.4f}" for number in numbers)]


@pytest.mark.parametrize("row", list(rows("loloha/1", 8)), ids="-".join)
def test_numbers_for_local_hashing_are_those_of_the_mechanism(row: list[str]) -> None:
    d, epsilon = int(row[0]), Fraction(row[1])
    mechanism = build("loloha/1", domain_size=d, epsilon=epsilon)
    assert isinstance(mechanism, LocalHashing)
    sizes = (mechanism.field_order, mechanism.dimension, mechanism.payload_size)
    _, least = optimal_error.ratio_to_optimum(mechanism.p, mechanism.q, d, epsilon)
    numbers = (float(least), *(std_error(mechanism, 1 / d, n) for n in (1000, 100_000)))
    assert row[2:] == [*map(str, sizes), *(f"{number:.4f}" for number in numbers)]


def compared() -> list[list[str]]:
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines()]
    start = lines.index(["d", "ε, ε_permanent", "`cyclic/1`", "`affine/1`", "`loloha/1`"])
    return lines[start + 2 : start + 7]


@pytest.mark.parametrize("row", compared(), ids="-".join)
def test_errors_and_linkage_of_three_chains_are_theirs(row: list[str]) -> None:
    d, (epsilon, permanent) = int(row[0]), row[1].split(", ")
    for id, cell in zip(("cyclic/1", "affine/1", "loloha/1"), row[2:], strict=True):
        chain = build(id, domain_size=d, epsilon=epsilon, permanent=permanent)
        _, least = optimal_error.ratio_to_optimum(chain.p, chain.q, d, Fraction(epsilon))
        assert cell == f"{float(least):.4f}, {linkage(chain):.2f}"


@pytest.mark.parametrize("row", list(rows("dbitflip/1", 7)), ids="-".join)
def test_numbers_for_buckets_are_those_of_the_mechanism(row: list[str]) -> None:
    d, epsilon, result = int(row[0]), Fraction(row[1]), int(row[2])
    mechanism = build("dbitflip/1", domain_size=d, epsilon=epsilon, sampled=result)
    twice = build(
        "dbitflip/1", domain_size=d, epsilon=epsilon, permanent=2 * epsilon, sampled=result
    )
    p, q = float(mechanism.p), float(mechanism.q)
    s = q + (p - q) / d
    errors = [math.sqrt(s * (1 - s) * d / result / n) / (p - q) for n in (1000, 100_000)]
    assert row[3:] == [
        f"{p:.4f}",
        f"{linkage(twice):.2f}",
        *(f"{number:.4f}" for number in errors),
    ]


@pytest.mark.slow
def test_the_linkage_of_scales_is_that_of_the_chains() -> None:
    text = TEXT.partition("\n## Chains")[2]
    scale, bit = (
        build(id, domain_size=1000, epsilon="1", permanent="2")
        for id in ("square-wave/1", "duchi/1")
    )
    words = f"give {linkage(scale):.2f} bits with `square-wave/1`, and {linkage(bit):.2f} with"
    assert words in text
    wide = build("rr/1", domain_size=64, epsilon="1", permanent="2")
    assert f"give {linkage(wide):.2f}, though each has a 64th of ε" in text


def test_tables_of_designs_are_there() -> None:
    assert len(list(rows("loloha/1", 8))) == 11
    assert len(list(rows("dbitflip/1", 7))) == 9
    assert len(GEOMETRIC) == 22
    assert len(list(rows("subset/1", 7))) == 10
    assert len(list(rows("affine/1", 8))) == 11


@pytest.mark.parametrize(("bytes_", "most"), [(1, 23), (2, 359), (3, 5_791), (4, 92_681)])
def test_an_affine_message_has_the_bytes_that_are_said(bytes_: int, most: int) -> None:
    assert f"{most:,} labels" in page("affine/1") or f"up to {most:,}" in page("affine/1")
    sizes = [build("affine/1", domain_size=d, epsilon="1").payload_size for d in (most, most + 1)]
    assert sizes == [bytes_, bytes_ + 1]


def test_the_linkage_of_whole_sets_is_that_of_the_chains() -> None:
    text = TEXT.partition("\n## Chains")[2]
    for id, words in (
        ("subset/1", "with `subset/1` ten labels give {} bits and a thousand {}"),
        ("affine/1", "`affine/1` {} and {}, with"),
        ("cyclic/1", "one of K codes, {} and {}."),
        ("projective/1", "one of K codes, {} and {}."),
    ):
        chains = [build(id, domain_size=d, epsilon="1", permanent="2") for d in (10, 1000)]
        assert words.format(*(f"{linkage(chain):.2f}" for chain in chains)) in text
