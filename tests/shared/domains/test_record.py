"""Records: a label for each attribute, reported as one index."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from deniable_shared.domains import Choice, Record, parse_domain
from deniable_shared.errors import DomainError, ManifestError

SETUP = Record((("os", ("mac", "linux", "other")), ("beta", ("yes", "no"))))
DOCUMENT = {
    "type": "record",
    "attributes": [
        {"name": "os", "labels": ["mac", "linux", "other"]},
        {"name": "beta", "labels": ["yes", "no"]},
    ],
}
WIDE = Record(tuple((f"a{place}", ("x", "y")) for place in range(64)))


def test_every_combination_has_an_index_of_its_own_in_order() -> None:
    rows = [
        {"os": os, "beta": beta} for os, beta in product(("mac", "linux", "other"), ("yes", "no"))
    ]
    assert [SETUP.encode(row) for row in rows] == list(range(SETUP.size)) == list(range(6))
    assert [SETUP.decode(index) for index in range(6)] == rows
    assert SETUP.labels[3] == "os=linux, beta=no"


def test_an_index_splits_into_the_places_of_its_labels() -> None:
    assert [SETUP.label_indices(index) for index in range(6)] == list(product(range(3), range(2)))


def test_the_order_in_which_a_mapping_names_attributes_does_not_matter() -> None:
    assert SETUP.encode({"beta": "no", "os": "other"}) == 5


def test_sixty_four_attributes_have_an_index_and_a_canonical_form() -> None:
    last = {name: "y" for name, _ in WIDE.attributes}
    assert WIDE.size == 2**64
    assert WIDE.canonical(WIDE.encode(last)) == b"\xff" * 8
    assert WIDE.label_indices(WIDE.encode(last)) == (1,) * 64


def test_parsing_undoes_to_json() -> None:
    assert parse_domain(DOCUMENT) == SETUP
    assert SETUP.to_json() == DOCUMENT


@pytest.mark.parametrize(
    "value",
    [
        *(None, 3, "mac", ["mac", "yes"], {}, {"os": "mac"}, {"os": "mac", "beta": True}),
        *({"os": "secret", "beta": "yes"}, {"os": "mac", "beta": "yes", "secret": "x"}),
    ],
    ids=repr,
)
def test_anything_else_is_refused_without_repeating_it(value: object) -> None:
    with pytest.raises(DomainError, match="value must") as caught:
        SETUP.encode(value)
    assert "secret" not in str(caught.value)


def attributes(*items: object) -> dict[str, Any]:
    return {"type": "record", "attributes": list(items)}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"type": "record"}, "attributes must be a list"),
        (attributes(), "attributes' labels must be 2 to 64"),
        (attributes(DOCUMENT["attributes"][0]), "2 to 64"),
        (attributes("os", "beta"), "each be an object with name and labels"),
        (
            attributes({"name": "a", "labels": ["x"]}, {"name": "b", "labels": ["x", "y"]}),
            "a labels",
        ),
        (attributes({"name": "a", "labels": ["x", "x"]}, DOCUMENT["attributes"][1]), "must differ"),
        (attributes({"name": "a", "labels": ["x", "y"], "of": 1}, {}), "no field 'of'"),
        (DOCUMENT | {"labels": []}, "no field 'labels'"),
    ],
)
def test_documents_that_break_a_rule_are_refused(document: dict[str, Any], reason: str) -> None:
    with pytest.raises(ManifestError, match=reason):
        parse_domain(document)


def test_a_record_is_told_like_the_choice_of_its_combinations() -> None:
    assert Choice(SETUP.labels).size == SETUP.size
    assert Choice(SETUP.labels).canonical(4) == SETUP.canonical(4)
