"""Values in, encoded values out, and nothing that is not in the domain."""

from __future__ import annotations

import json
from itertools import product
from types import MappingProxyType

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deniable_shared.domains import (
    MAX_BITS,
    MAX_CHOICES,
    Bits,
    Choice,
    Domain,
    manifest_value,
    parse_domain,
)
from deniable_shared.errors import DomainError, ManifestError
from support.oracles.privacy_checks import bits, choices, valid_inputs
from support.tiers import by_tier

label = st.text(min_size=1, max_size=20).filter(
    lambda text: text.isprintable() and len(text.encode()) <= 64
)


def labels(low: int, high: int) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(label, min_size=low, max_size=high, unique=True).map(tuple)


@st.composite
def bit_domains(draw: st.DrawFn) -> Bits:
    names = draw(labels(1, 20))
    kind = draw(st.sampled_from(["free", "one-hot", "at-most"]))
    if kind == "at-most":
        return Bits(names, at_most=draw(st.integers(1, len(names))))
    return Bits(names, one_hot=kind == "one-hot")


domains: st.SearchStrategy[Domain] = st.one_of(bit_domains(), labels(2, 20).map(Choice))
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
)


def answers(domain: Bits) -> st.SearchStrategy[list[bool]]:
    most = 1 if domain.one_hot else domain.at_most or domain.size
    least = 1 if domain.one_hot else 0
    places = st.sets(st.integers(0, domain.size - 1), min_size=least, max_size=most)
    return places.map(lambda yes: [place in yes for place in range(domain.size)])


@pytest.mark.slow
@settings(max_examples=by_tier(8, 100))
@given(bit_domains(), st.data())
def test_mapping_and_sequence_of_one_answer_are_encoded_alike(
    domain: Bits, data: st.DataObject
) -> None:
    answer = data.draw(answers(domain))
    named = dict(data.draw(st.permutations(list(zip(domain.labels, answer, strict=True)))))
    encoded = domain.encode(answer)
    assert encoded == tuple(map(int, answer))
    assert all(type(bit) is int for bit in encoded)
    assert domain.encode(named) == domain.encode(MappingProxyType(named)) == encoded
    assert domain.encode(encoded) == encoded


@pytest.mark.slow
@given(labels(2, 50).map(Choice), st.data())
def test_label_and_index_of_one_choice_are_encoded_alike(
    domain: Choice, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, domain.size - 1))
    assert domain.encode(domain.labels[index]) == domain.encode(index) == index


@pytest.mark.slow
@given(domains, junk)
def test_whatever_is_encoded_is_valid_and_everything_else_a_domain_error(
    domain: Domain, value: object
) -> None:
    try:
        encoded = domain.encode(value)
    except DomainError:
        return
    assert domain.encode(encoded) == encoded
    assert domain.canonical(encoded)  # type: ignore[arg-type]  # a value of this domain


def test_a_refused_bit_is_told_by_its_type_not_by_its_value() -> None:
    domain = Bits(("a", "b"))
    for item, kind in ((2, "another int"), (0.5, "float"), ("secret", "str"), (None, "NoneType")):
        with pytest.raises(DomainError, match=f"True, False, 1 and 0, got {kind}$"):
            domain.encode([True, item])


@pytest.mark.parametrize(
    "value",
    [
        *(None, 1, True, "10", b"\1\0", bytearray(2), {1, 0}, {}, [], [1], [1, 0, 0]),
        *([1, 2], [1, -1], [1.0, 0], ["1", "0"], [None, 0], [[1], 0], {0: 1, 1: 0}),
        *({"a": True}, {"a": 1, "b": 0, "c": 1}, {"a": True, "x": True}),
        *({"a": 2, "b": 0}, {"a": None, "b": 0}, {"a": "no", "b": 0}),
    ],
    ids=repr,
)
def test_two_bits_are_two_bools_and_nothing_else(value: object) -> None:
    with pytest.raises(DomainError, match="value must"):
        Bits(("a", "b")).encode(value)


@pytest.mark.parametrize(
    "value",
    [None, True, False, 2, -1, 10**30, 0.0, "c", "", "A", b"a", ["a"], {"a": True}],
    ids=repr,
)
def test_a_choice_is_a_label_or_its_index_and_nothing_else(value: object) -> None:
    with pytest.raises(DomainError, match="value must"):
        Choice(("a", "b")).encode(value)


@pytest.mark.parametrize(
    ("domain", "said"),
    [
        (Choice(("tea", "milk")), "one of tea, milk or its index"),
        (Choice(tuple("abcdefghij")), r"one of a, b, c, d, e, f, g, h, … \(10 labels\) or"),
        (Bits(("dark", "beta")), "name each of dark, beta and nothing else"),
    ],
)
def test_an_unknown_label_is_refused_with_the_known_ones(domain: Domain, said: str) -> None:
    with pytest.raises(DomainError, match=said):
        domain.encode("?" if isinstance(domain, Choice) else {"?": True})


@pytest.mark.parametrize("vector", [(0, 0, 0), (1, 1, 0), (1, 1, 1)])
def test_one_hot_means_exactly_one(vector: tuple[int, ...]) -> None:
    assert Bits(("a", "b", "c"), one_hot=True).encode((0, 1, 0)) == (0, 1, 0)
    with pytest.raises(DomainError, match="exactly one True"):
        Bits(("a", "b", "c"), one_hot=True).encode(vector)


def test_at_most_two_means_none_one_or_two() -> None:
    domain = Bits(("a", "b", "c"), at_most=2)
    assert domain.encode((0, 0, 0)) == (0, 0, 0)
    assert domain.encode((1, 0, 1)) == (1, 0, 1)
    with pytest.raises(DomainError, match="at most 2 True"):
        domain.encode((1, 1, 1))


@given(domains, st.text(alphabet="αβγ", min_size=6, max_size=9))
def test_errors_never_repeat_the_value(domain: Domain, secret: str) -> None:
    assume(all(secret not in name for name in domain.labels))
    for value in (secret, [secret] * domain.size, {secret: True}):
        with pytest.raises(DomainError) as caught:
            domain.encode(value)
        assert secret not in str(caught.value)
        assert caught.value.__cause__ is None


@pytest.mark.parametrize("domain", [d for m in range(1, 7) for d in bits(m)], ids=str)
def test_distance_is_the_most_places_in_which_two_valid_answers_differ(domain: Bits) -> None:
    valid = valid_inputs(domain)
    assert all(domain.encode(vector) == vector for vector in valid)
    pairs = (
        (x, y) for x, y in product(valid, repeat=2) if isinstance(x, tuple) and isinstance(y, tuple)
    )
    farthest = max(sum(map(int.__ne__, x, y)) for x, y in pairs)
    assert domain.distance == (farthest or 1)  # a single valid answer has nothing to tell


@given(bit_domains(), st.data())
def test_canonical_bits_read_back_as_the_answer_and_zero_padding(
    domain: Bits, data: st.DataObject
) -> None:
    encoded = domain.encode(data.draw(answers(domain)))
    packed = domain.canonical(encoded)
    read = [int(digit) for byte in packed for digit in f"{byte:08b}"]
    assert len(packed) == (domain.size + 7) // 8
    assert read == [*encoded, *[0] * (len(read) - domain.size)]


@pytest.mark.parametrize(("size", "width"), [(2, 1), (256, 1), (257, 2), (65_536, 2)])
def test_canonical_index_is_as_wide_as_the_last_one(size: int, width: int) -> None:
    domain = Choice(tuple(map(str, range(size))))
    assert domain.canonical(size - 1) == (size - 1).to_bytes(width, "big")
    assert domain.canonical(0) == bytes(width)


@pytest.mark.parametrize("domain", [*bits(4), choices(8)], ids=str)
def test_no_two_values_share_a_canonical_form(domain: Domain) -> None:
    forms = [domain.canonical(value) for value in valid_inputs(domain)]  # type: ignore[arg-type]  # a value of this domain
    assert len(set(forms)) == len(forms)


@given(domains)
def test_parsing_undoes_to_json(domain: Domain) -> None:
    assert parse_domain(json.loads(json.dumps(domain.to_json()))) == domain


@pytest.mark.slow
@given(junk)
def test_documents_that_are_no_domain_are_refused(document: object) -> None:
    with pytest.raises(ManifestError):
        parse_domain(document)


A_B = {"type": "bits", "labels": ["a", "b"]}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ([], "domain must be an object"),
        ({**A_B, "type": "words"}, "domain type must be one of bits, choice, number, record"),
        ({**A_B, "type": ["bits"]}, "domain type must be"),
        ({"type": "bits"}, "labels must be a list"),
        ({**A_B, "labels": "ab"}, "labels must be a list"),
        ({**A_B, "labels": []}, "labels must be 1 to 4,096"),
        ({**A_B, "labels": ["a", "a"]}, "must differ"),
        ({**A_B, "labels": ["a", 1]}, "printable UTF-8, got 1"),
        ({**A_B, "labels": ["a", ["b"]]}, "printable UTF-8"),
        ({**A_B, "labels": ["a", ""]}, "1 to 64 bytes"),
        ({**A_B, "labels": ["a", "é" * 33]}, "1 to 64 bytes"),
        ({**A_B, "labels": ["a", "b\n"]}, "printable"),
        ({**A_B, "labels": ["a", "\ud800"]}, "printable"),
        ({**A_B, "labels": ["a", "\u202e"]}, "printable"),
        ({**A_B, "extra": 1}, "no field 'extra' here; known are"),
        ({**A_B, "labels": ["a", "b", "a"]}, "differ from each other, got 'a' twice"),
        ({**A_B, "at_most": 1}, "no field 'at_most'"),
        ({**A_B, "constraint": None}, 'constraint must be "one-hot" or "at-most"'),
        ({**A_B, "constraint": "one-hot", "at_most": 1}, "no field 'at_most'"),
        ({**A_B, "constraint": "at-most"}, "needs at_most"),
        ({**A_B, "constraint": "at-most", "at_most": True}, "needs at_most"),
        ({**A_B, "constraint": "at-most", "at_most": 0}, r"at_most must be an integer in \[1, 2\]"),
        ({**A_B, "constraint": "at-most", "at_most": 3}, r"at_most must be an integer in \[1, 2\]"),
        ({"type": "choice", "labels": ["a"]}, "labels must be 2 to 65,536 texts, got 1"),
        (
            {"type": "choice", "labels": ["a", "b"], "constraint": "one-hot"},
            "no field 'constraint'",
        ),
    ],
)
def test_refused_documents_are_told_why(document: object, reason: str) -> None:
    with pytest.raises(ManifestError, match=reason):
        parse_domain(document)


def test_one_hot_and_at_most_exclude_each_other() -> None:
    with pytest.raises(ManifestError, match="got both"):
        Bits(("a", "b"), at_most=1, one_hot=True)


@pytest.mark.parametrize(("kind", "most"), [(Bits, MAX_BITS), (Choice, MAX_CHOICES)])
def test_the_largest_domain_is_accepted_and_one_label_more_is_not(
    kind: type[Bits] | type[Choice], most: int
) -> None:
    names = tuple(map(str, range(most + 1)))
    assert kind(names[:-1]).size == most
    with pytest.raises(ManifestError, match=r"labels must be [12] to"):
        kind(names)


def test_a_manifest_spells_an_answer_in_one_way() -> None:
    bits, choice = Bits(("a", "b")), Choice(("red", "green"))
    assert (
        manifest_value(bits, [1, 0])
        == manifest_value(bits, {"b": False, "a": True})
        == {"a": True, "b": False}
    )
    assert manifest_value(choice, 1) == manifest_value(choice, "green") == "green"
    with pytest.raises(DomainError):
        manifest_value(choice, "blue")
