"""A waiting report in one sentence: the labels it supports, and both probabilities."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from deniable_client.payload_words import list_labels, percent, sentence_of
from deniable_shared import mechanisms
from deniable_shared.domains import Bits, Choice, Number, Record, Text
from deniable_shared.mechanisms.structure import OneOfParts, Window
from deniable_shared.randomness.coins import Coins
from support.builders.client_world import SETTINGS, Device, MakeDevice, manifest

LABELS = ("light", "dark", "system", "sepia", "blue", "green", "red")
MEMO = {"permanent": "2"}


def prepared(domain: Any, mechanism: Any) -> Any:
    """What a sentence needs of a collection."""
    return SimpleNamespace(manifest=SimpleNamespace(domain=domain), mechanism=mechanism)


@pytest.mark.parametrize("permanent", [None, "2"])
@pytest.mark.parametrize("id", sorted(mechanisms.ids_for_domain_type("choice")))
def test_a_choice_names_exactly_the_labels_that_its_report_supports(
    id: str, permanent: str | None
) -> None:
    mechanism = mechanisms.build(id, domain_size=len(LABELS), epsilon="1", permanent=permanent)
    payload = mechanism.randomize(3, Coins.system())
    sentence = sentence_of(prepared(Choice(LABELS), mechanism), payload)
    if isinstance(mechanism.structure, OneOfParts | Window | None):
        assert "cannot be put in words" in sentence
        return
    supported = [label for n, label in enumerate(LABELS) if mechanism.supports(payload, n)]
    said = sentence.partition(". ")[0].removeprefix("This report points to ")
    if len(supported) == 1:
        assert said == supported[0]
    else:
        assert said.startswith(f"{len(supported)} of 7 answers")
        assert said.endswith(list_labels(supported))
    assert f"true answer with a chance of {percent(mechanism.p)}" in sentence
    assert f"any other one with a chance of {percent(mechanism.q)}." in sentence


@pytest.mark.parametrize("id", sorted(mechanisms.ids_for_domain_type("bits")))
def test_bits_are_named_by_what_is_said_of_each(id: str) -> None:
    mechanism = mechanisms.build(id, domain_size=3, epsilon="1")
    payload = mechanism.randomize((1, 0, 1), Coins.system())
    sentence = sentence_of(prepared(Bits(("a", "b", "c")), mechanism), payload)
    said = {label: mechanism.supports(payload, n) for n, label in enumerate("abc")}
    words = sentence.removeprefix("This report says ").partition(". A true yes")[0].split(" and ")
    expected = []
    for word, value in (("yes", True), ("no", False)):
        if labels := [label for label, result in said.items() if result is value]:
            expected.append(f"{word} to {', '.join(labels)}")
    if silent := list(said.values()).count(None):
        expected.append(f"nothing of {silent} more")
    assert words == expected
    assert f"sent as yes with a chance of {percent(mechanism.p)}" in sentence


WORDLESS = {
    "a number in a window": (
        Number(Fraction(0), Fraction(10), Fraction(1)),
        mechanisms.build("square-wave/1", domain_size=11, epsilon="1"),
    ),
    "a question that is gone": None,
    "many answers": (
        Number(Fraction(0), Fraction(5_000), Fraction(1)),
        mechanisms.build("grr/1", domain_size=5_001, epsilon="1"),
    ),
    "a record in parts": (
        Record((("os", ("mac", "linux")), ("ui", ("a", "b")))),
        mechanisms.build("pairs/1", domain_size=4, epsilon="1", radices=(2, 2)),
    ),
    "a text": (Text(16), mechanisms.build("cms/1", domain_size=16, epsilon="1")),
}


@pytest.mark.parametrize("case", WORDLESS)
def test_what_has_no_words_says_so(case: str) -> None:
    given = WORDLESS[case]
    assert "cannot be put in words" in sentence_of(given and prepared(*given), b"\0\0\0\0")


def test_a_sentence_of_a_waiting_report_alone_is_in_the_explanation(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    [waiting] = client.explain().reports
    assert waiting.sentence.startswith("This report says ")
    assert waiting.sentence in client.explain().text
    client.flush(early=True)
    assert [each.sentence for each in client.explain().reports] == [""]


def test_a_permanent_answer_is_in_no_sentence(make_device: MakeDevice) -> None:
    device = make_device(manifest(repeat='"memoized"', epsilon_permanent='"2"'))
    client = device.granted()
    client.record("settings", SETTINGS)
    with client._state.reading() as db:
        [permanent] = db.execute("SELECT permanent FROM course").fetchone()
    explanation = client.explain()
    assert isinstance(permanent, bytes)
    assert explanation.reports[0].sentence
    assert not hasattr(explanation.collections[0], "permanent")


def test_a_chance_is_rounded_up_and_never_to_certainty() -> None:
    shares = [Fraction(1, 3), Fraction(999_999, 1_000_000), Fraction(1)]
    assert [percent(each) for each in shares] == ["33.4 %", "more than 99.9 %", "100.0 %"]


def test_many_labels_are_cut() -> None:
    assert list_labels([str(n) for n in range(15)]).endswith("10, 11 and 3 more")
