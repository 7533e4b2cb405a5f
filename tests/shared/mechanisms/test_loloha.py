"""Local hashing: the family of functions, what it is as good as, and what it gives away."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

import pytest

from deniable_shared.algebra.finite_fields import finite_field, prime_power
from deniable_shared.analysis.optimal_error import design_error, ratio_to_optimum, total_error
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.manifest.linkage import linkage
from deniable_shared.mechanisms import build
from deniable_shared.mechanisms.loloha import LocalHashing, best_family
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import exp_bounds
from support.oracles.privacy_checks import check_follows_pmf, check_private, check_tight, laws
from support.tiers import grid

FAMILIES = [(2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (4, 2), (5, 2), (8, 2), (9, 2)]


def hashing(d: int, epsilon: str = "1", **pinned: int) -> LocalHashing:
    mechanism = build("loloha/1", domain_size=d, epsilon=epsilon, permanent=None, **pinned)
    assert isinstance(mechanism, LocalHashing)
    return mechanism


def whole(g: int, t: int, epsilon: str = "1") -> LocalHashing:
    """Every code is a choice."""
    return hashing(g**t, epsilon, field_order=g, dimension=t)


@pytest.mark.parametrize(("g", "t"), FAMILIES)
def test_functions_are_the_linear_forms_whose_last_factor_is_1(g: int, t: int) -> None:
    mechanism, field, function = whole(g, t), finite_field(g), 0
    for place in range(t):
        for rest in range(g**place):
            for value in range(g**t):
                total = value // g**place % g
                for j in range(place):
                    factor, digit = rest // g**j % g, value // g**j % g
                    total = field.add(total, field.multiply(factor, digit))
                assert mechanism.hashed(function, value) == total
            function += 1
    assert function == mechanism.public_outcomes == (g**t - 1) // (g - 1)


@pytest.mark.parametrize(("g", "t"), FAMILIES)
def test_cells_are_alike_and_any_two_values_meet_in_equally_many_functions(g: int, t: int) -> None:
    mechanism = whole(g, t)
    meetings: Counter[tuple[int, int]] = Counter()
    for function in range(mechanism.public_outcomes):
        cells = [mechanism.hashed(function, value) for value in range(g**t)]
        assert set(Counter(cells).values()) == {g ** (t - 1)}
        meetings.update(pair for pair in combinations(range(g**t), 2) if _meet(cells, pair))
    expected = (g ** (t - 1) - 1) // (g - 1)
    assert all(meetings[pair] == expected for pair in combinations(range(g**t), 2))


def _meet(cells: list[int], pair: tuple[int, int]) -> bool:
    return cells[pair[0]] == cells[pair[1]]


@pytest.mark.parametrize("epsilon", grid(["0.5", "1", "2", "4"], by_default=["0.5", "4"]))
@pytest.mark.parametrize(("g", "t"), FAMILIES)
def test_the_law_is_that_of_sets_and_of_hashing_with_collisions(
    g: int, t: int, epsilon: str
) -> None:
    mechanism, w = whole(g, t, epsilon), g ** (t - 1)
    sets = build("subset/1", domain_size=g**t, epsilon=epsilon, subset_size=w)
    assert (mechanism.p, mechanism.q) == (sets.p, sets.q)
    meet = Fraction(w - 1, g**t - 1)
    assert mechanism.q == meet * mechanism.p + (1 - meet) * (1 - mechanism.p) / (g - 1)
    exact, _ = ratio_to_optimum(mechanism.p, mechanism.q, g**t, mechanism.epsilon)
    assert exact >= 1


@pytest.mark.parametrize(("d", "epsilon"), [(3, "2"), (6, "0.5"), (8, "1"), (9, "1")])
def test_reports_of_the_chosen_family_keep_epsilon(d: int, epsilon: str) -> None:
    mechanism = hashing(d, epsilon)
    of = laws(mechanism, range(d))
    check_private(of, mechanism.epsilon)
    check_tight(of, mechanism.epsilon)
    check_follows_pmf(mechanism, range(d))


@pytest.mark.parametrize("epsilon", grid(["0.1", "1", "2", "4"], by_default=["1", "4"]))
@pytest.mark.parametrize("d", grid([2, 5, 16, 100, 1000, 60_000], by_default=[5, 1000]))
def test_the_family_has_the_least_error_of_those_small_enough(d: int, epsilon: str) -> None:
    e, _ = exp_bounds(Fraction(epsilon), bits=96)
    mechanism = hashing(d, epsilon)
    w = mechanism.codes // mechanism.field_order
    chosen = design_error(d, mechanism.codes, w, e)
    assert d <= mechanism.codes <= min(16 * (d + 1), 1 << 18)
    for g in range(2, min(int(4 * e) + 8, 600)):
        t = next(t for t in range(2, 20) if g**t >= d)
        if prime_power(g) and g**t <= min(16 * (d + 1), 1 << 18):
            assert chosen <= design_error(d, g**t, g ** (t - 1), e)


def test_16_and_64_choices_can_be_hashed_at_exactly_the_least_error() -> None:
    for d, epsilon in ((16, "1"), (64, "2")):
        mechanism = hashing(d, epsilon)
        assert mechanism.codes == d
        low, high = ratio_to_optimum(mechanism.p, mechanism.q, d, Fraction(epsilon))
        assert float(low) == pytest.approx(1, abs=1e-12)
        assert float(high) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("epsilon", "permanent"), [("0.5", "1"), ("1", "2"), ("2", "4")])
@pytest.mark.parametrize(("g", "t"), [(2, 3), (3, 2), (4, 2)])
def test_a_chain_has_the_error_of_whole_sets_renewed(
    g: int, t: int, epsilon: str, permanent: str
) -> None:
    """Same p and q of one report and of the permanent answer, so the same over any epochs."""
    d, w = g**t, g ** (t - 1)
    pinned = {"field_order": g, "dimension": t}
    hashed = build("loloha/1", domain_size=d, epsilon=epsilon, permanent=permanent, **pinned)
    sets = build("subset/1", domain_size=d, epsilon=epsilon, permanent=permanent, subset_size=w)
    assert hashed.renewal_threshold == sets.renewal_threshold
    assert (hashed.p, hashed.q) == (sets.p, sets.q)
    assert hashed.permanent_threshold == sets.permanent_threshold


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
def test_chains_that_hide_devices_are_within_2_percent_from_64_labels_on(
    epsilon: str,
) -> None:
    for d in (64, 100, 256, 1000, 10_000):
        ours, theirs = (
            build(id, domain_size=d, epsilon=epsilon, permanent=2 * Fraction(epsilon))
            for id in ("affine/1", "loloha/1")
        )
        errors = [total_error(each.p, each.q, d) for each in (ours, theirs)]
        assert errors[0] <= errors[1] * Fraction(102, 100)
        assert linkage(theirs) > linkage(ours) + 1


@pytest.mark.parametrize(
    ("size", "pinned", "reason"),
    [
        (1, {}, r"domain_size must lie in \[2, 262144\], got 1"),
        (262_145, {}, "affine/1 and projective/1"),
        (9, {"field_order": 6, "dimension": 2}, "field_order must be a prime"),
        (9, {"field_order": 3}, "together, or neither"),
        (3, {"field_order": 3, "dimension": 1}, "dimension must be at least 2, got 1: use grr/1"),
        (9, {"field_order": 2, "dimension": 3}, "must give 9 to 262144 codes, got 8"),
        (9, {"field_order": 2, "dimension": 19}, "must give 9 to 262144 codes, got 524288"),
        (9, {"field_order": 2, "dimension": 10**9}, "dimension must be at least 2"),
    ],
)
def test_what_cannot_be_is_refused(size: int, pinned: dict[str, int], reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        build("loloha/1", domain_size=size, epsilon="1", permanent=None, **pinned)


@pytest.mark.parametrize("payload", [b"", b"\0\0", b"\x14", b"\xff"], ids=repr)
def test_what_is_no_message_is_refused(payload: bytes) -> None:
    mechanism = whole(4, 2)
    mechanism.validate(b"\x13")
    with pytest.raises(DecodeError, match="payload must"):
        mechanism.validate(payload)


@pytest.mark.parametrize("value", [-1, 16, "3", None, (0, 1)], ids=repr)
def test_what_is_no_index_is_refused(value: object) -> None:
    with pytest.raises(DomainError):
        whole(4, 2).randomize(value, Coins.derive(b"k"))  # type: ignore[arg-type]  # a wrong type is the point


def test_a_pmf_of_too_many_payloads_is_refused() -> None:
    with pytest.raises(ParameterError, match="at most 65,536 for a pmf"):
        hashing(60_000).pmf(0)


def test_the_function_is_tossed_without_the_value() -> None:
    mechanism, public = hashing(1000), b"public"
    functions = {
        int.from_bytes(
            mechanism.randomize(value, Coins.derive(bytes([value])), Coins.derive(public)), "big"
        )
        // mechanism.field_order
        for value in range(50)
    }
    assert len(functions) == 1


def test_the_cells_of_the_protocol_s_example_are_these() -> None:
    assert [whole(4, 2).hashed(function, 7) for function in range(5)] == [3, 1, 2, 0, 3]


def test_the_best_family_is_found_once() -> None:
    assert best_family(1000, Fraction(1)) == (4, 5)
