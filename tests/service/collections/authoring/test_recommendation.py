"""The mechanism of a collection that names none: near the least error, and short."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from deniable_aggregator.collections.authoring.recommendation import (
    GOOD_ENOUGH_RATIO,
    DomainShape,
    describe_ratio,
    mechanism_error,
    ratio_to_optimum,
    recommend,
    recommend_for_domain,
)
from deniable_aggregator.collections.authoring.record_recommendation import best_record_mechanism
from deniable_shared import mechanisms
from deniable_shared.analysis.optimal_error import least_error, total_error
from deniable_shared.domains import Bits, Choice, Number, Record, Text
from deniable_shared.errors import ParameterError
from deniable_shared.manifest.linkage import linkage
from deniable_shared.manifest.rules import MAX_LINKAGE
from deniable_shared.mechanisms import build, ids_for_domain_type
from deniable_shared.mechanisms.memoization import MemoizedChain
from support.builders.authored import authored
from support.builders.manifests import SETTINGS
from support.tiers import grid, rows

EPSILONS = ("0.1", "0.5", "1", "2", "4", "6")
SIZES = (2, 3, 5, 11, 16, 64, 100, 256, 1000, 4096, 10_000, 60_000, 65_536)
EACH = list(product(SIZES, EPSILONS))


def built(size: int, epsilon: str) -> list[tuple[str, Fraction, int]]:
    """(id, error, bytes) of every mechanism for labels that takes the size."""
    found = []
    for id in ids_for_domain_type("choice"):
        try:
            one = build(id, domain_size=size, epsilon=epsilon)
        except ParameterError:
            continue
        found.append((id, total_error(one.p, one.q, size), one.payload_size))
    return found


@pytest.mark.parametrize(("size", "epsilon"), rows(EACH, by_default=EACH[::7]))
def test_its_error_is_within_five_percent_of_the_least_there_is(size: int, epsilon: str) -> None:
    chosen = recommend(DomainShape("choice", size), Fraction(epsilon))
    low, high = least_error(size, Fraction(epsilon))
    error = total_error(chosen.mechanism.p, chosen.mechanism.q, size)
    assert chosen.ratio_to_optimum is not None
    assert error / high <= chosen.ratio_to_optimum == error / low <= GOOD_ENOUGH_RATIO


@pytest.mark.parametrize(("size", "epsilon"), rows(EACH, by_default=EACH[::7]))
def test_no_other_as_good_has_shorter_reports(size: int, epsilon: str) -> None:
    chosen = recommend(DomainShape("choice", size), Fraction(epsilon))
    _, high = least_error(size, Fraction(epsilon))
    shorter = [
        id
        for id, error, length in built(size, epsilon)
        if error <= GOOD_ENOUGH_RATIO * high and length < chosen.mechanism.payload_size
    ]
    assert shorter == []


@pytest.mark.parametrize(
    "epsilon", grid(["0.5", "1", "2", "3", "4", "5", "6"], by_default=["0.5", "4"])
)
def test_one_label_is_told_exactly_as_long_as_nothing_has_less_error(epsilon: str) -> None:
    """(d − 1)(d − 2) ≤ 2E²: up to 3, 5, 11, 29, 78, 211 and 572 labels."""
    last = {"0.5": 3, "1": 5, "2": 11, "3": 29, "4": 78, "5": 211, "6": 572}[epsilon]
    for size in {2, 3, last - 1, last}:
        chosen = recommend(DomainShape("choice", size), Fraction(epsilon))
        assert (chosen.id, chosen.reason[:27]) == ("grr/1", "exactly the least error tha")
    assert ratio_to_optimum(build("grr/1", domain_size=last, epsilon=epsilon)) == pytest.approx(1)
    above = ratio_to_optimum(build("grr/1", domain_size=last + 1, epsilon=epsilon))
    assert above is not None
    assert float(above) > 1 + 1e-5


def test_a_record_gets_the_least_error_of_two_attributes_together() -> None:
    record = Record(tuple((f"a{number}", ("x", "y")) for number in range(6)))
    chosen = recommend_for_domain(record, Fraction(1))
    assert chosen.id == best_record_mechanism(record, Fraction(1)).id
    assert chosen.reason.startswith("least error of two attributes together, by reporting")
    kept = recommend_for_domain(record, Fraction(1), permanent=Fraction(2))
    assert isinstance(kept.mechanism, MemoizedChain)
    assert linkage(kept.mechanism) <= MAX_LINKAGE


def test_numbers_are_asked_as_a_choice() -> None:
    numbers = Number(Fraction(0), Fraction(99), Fraction(1))
    labels = Choice(tuple(map(str, range(100))))
    ids = {recommend_for_domain(domain, Fraction(1)).id for domain in (numbers, labels)}
    assert len(ids) == 1
    assert ids <= set(ids_for_domain_type("choice"))


def test_of_several_bits_it_is_the_one_of_less_variance() -> None:
    """Split over 5 bits: 1/(4 sinh²(1/10)) + ¼ = 25.2; one of 5: 5·(0.9207 + ¼) = 5.85."""
    labels = tuple("abcde")
    assert recommend_for_domain(Bits(labels), Fraction(1)).id == "rr-sampled/1"
    assert recommend_for_domain(Bits(labels, one_hot=True), Fraction(8)).id == "rr/1"
    one = recommend_for_domain(Bits(("a",)), Fraction(1))
    assert one.id == "rr/1"
    assert one.ratio_to_optimum == pytest.approx(1)
    assert recommend_for_domain(Bits(labels), Fraction(1)).ratio_to_optimum is None


@pytest.mark.parametrize(("bits", "epsilon"), list(product((1, 2, 5, 20), ("0.5", "1", "4", "8"))))
def test_bits_never_need_over_five_percent_more_reports(bits: int, epsilon: str) -> None:
    chosen = recommend(DomainShape("bits", bits), Fraction(epsilon))
    errors = [
        mechanism_error(build(id, domain_size=bits, epsilon=epsilon))
        for id in ids_for_domain_type("bits")
    ]
    assert mechanism_error(chosen.mechanism) <= GOOD_ENOUGH_RATIO * min(errors)


@pytest.mark.parametrize("size", [2, 5, 10, 64, 1000])
def test_reports_of_one_device_are_not_linked_unless_the_question_says_so(size: int) -> None:
    hidden = recommend(DomainShape("choice", size), Fraction(1), permanent=Fraction(2))
    shown = recommend(
        DomainShape("choice", size), Fraction(1), permanent=Fraction(2), linkable=True
    )
    assert linkage(hidden.mechanism) <= MAX_LINKAGE
    assert shown.ratio_to_optimum is not None
    assert shown.ratio_to_optimum <= GOOD_ENOUGH_RATIO
    assert isinstance(shown.mechanism, MemoizedChain)
    if hidden.id != shown.id:
        assert f"; {shown.id} has less, with linkable = true" in hidden.reason
        assert linkage(shown.mechanism) > MAX_LINKAGE


def test_a_chain_has_the_sets_that_are_best_for_one_report() -> None:
    chain = recommend(DomainShape("choice", 64), Fraction(1), permanent=Fraction(4), linkable=True)
    once = recommend(DomainShape("choice", 64), Fraction(1))
    assert isinstance(chain.mechanism, MemoizedChain)
    assert chain.mechanism.first.domain_size == 64
    assert float(mechanism_error(chain.mechanism)) == pytest.approx(
        float(mechanism_error(once.mechanism))
    )


def test_the_reason_says_how_far_from_the_least_error_it_is() -> None:
    assert describe_ratio(Fraction(1)) == "exactly the least error that any mechanism can have"
    assert describe_ratio(1 + Fraction(1, 10**6)).startswith("less than 0.1% above the least")
    assert describe_ratio(Fraction(1011, 1000)).startswith("1.1% above the least")
    assert describe_ratio(Fraction(92_41, 100)).startswith("92.5 times the least")


def test_what_no_mechanism_takes_is_refused() -> None:
    with pytest.raises(ParameterError, match="no mechanism answers for a choice of size 1 "):
        recommend(DomainShape("choice", 1), Fraction(1))
    with pytest.raises(ParameterError, match="epsilon must lie in"):
        recommend(DomainShape("choice", 5), Fraction(21))
    with pytest.raises(ParameterError, match="permanent must be more than epsilon = 1, got 1"):
        recommend(DomainShape("choice", 5), Fraction(1), permanent=Fraction(1))


class TestInManifests:
    """A text that names no mechanism, or "auto"."""

    WORDS = SETTINGS.replace('"bits"', '"choice"').replace(
        '"dark_mode", "beta"', ", ".join(f'"{n}"' for n in range(100))
    )

    def test_it_is_named_with_its_parameters_pinned(self) -> None:
        manifest = authored(self.WORDS)
        assert manifest.mechanism_id == recommend(DomainShape("choice", 100), Fraction(1)).id
        for name, value in manifest.parameters.items():
            assert getattr(manifest.mechanism(), name) == value
        assert authored('mechanism = "auto"\n' + self.WORDS).body == manifest.body

    def test_a_later_version_keeps_what_was_chosen(self) -> None:
        """Otherwise a program that knows one mechanism more would make another collection."""
        first = authored('mechanism = "oue/1"\n' + self.WORDS)
        text = self.WORDS.replace("expires = 2027-06-01", "expires = 2027-07-01")
        later = authored(text, previous=first)
        assert (later.mechanism_id, later.version) == ("oue/1", 2)
        assert authored(text).mechanism_id != "oue/1"


@pytest.mark.parametrize("permanent", [False, True])
@pytest.mark.parametrize("size", grid([2, 3, 8, 40, 300], by_default=[3, 40]))
def test_a_baseline_would_never_be_recommended(
    size: int, permanent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that leaving baselines out changes no answer, nor what is said of it."""
    for epsilon in map(Fraction, ("1/10", "1", "4", "8")):
        whole = 2 * epsilon if permanent else None
        without = recommend(DomainShape("choice", size), epsilon, permanent=whole)
        with monkeypatch.context() as patched:
            patched.setattr(mechanisms, "recommendable_ids", mechanisms.ids_for_domain_type)
            every = recommend(DomainShape("choice", size), epsilon, permanent=whole)
        assert (every.id, every.reason) == (without.id, without.reason)


@pytest.mark.slow
@pytest.mark.parametrize("linkable", [False, True])
@pytest.mark.parametrize(
    "epsilon", grid(["0.1", "0.5", "1", "2", "3", "4", "6"], by_default=["0.5", "3"])
)
def test_auto_never_takes_it_asked_again_or_not(epsilon: str, linkable: bool) -> None:
    """Within 5% of the least error there is always an equally short one without open parts."""
    for d in (4, 9, 16, 60, 64, 100, 125, 240, 256, 625, 1000, 16_384, 60_000):
        for permanent in (None, 2 * Fraction(epsilon)):
            taken = recommend(
                DomainShape("choice", d), Fraction(epsilon), permanent=permanent, linkable=linkable
            )
            assert taken.id != "loloha/1"


def test_no_sketch_is_ever_recommended() -> None:
    for epsilon in EPSILONS:
        assert recommend_for_domain(Text(16), Fraction(epsilon)).id == "prefix-hash/1"
