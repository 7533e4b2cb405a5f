"""Releases as questions: what fits which answers, what is suggested, and results as sentences."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import UNSET

from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.documents.releases import AnswerDocument, BarDocument
from deniable_aggregator.releases.kinds import RELEASE_KINDS, parameters, prepare
from deniable_aggregator.web.dashboard.budget_hint import _suggested
from deniable_aggregator.web.dashboard.release_charts import error_bar_rows
from deniable_aggregator.web.dashboard.release_form import (
    ReleasesQuery,
    field_refusal,
    form_fields,
)
from deniable_aggregator.web.dashboard.release_questions import (
    OTHER,
    QUESTIONS,
    question_for,
    questions_of,
    unavailable,
)
from deniable_aggregator.web.dashboard.release_words import (
    error_sentence,
    result_sentence,
)
from deniable_aggregator.web.dashboard.session_form import answer_text, label_boxes
from deniable_gateway.problem import Problem
from support.builders.api_world import INGEST
from support.builders.record_domains import record
from support.builders.release_world import ReleaseWorld, opened
from support.builders.small_mechanisms import mechanism
from support.builders.small_readings import of_record
from support.doubles.toy_collections import Unstructured

THIN = "\u202f"


@pytest.fixture
def release_world(tmp_path: Path) -> Iterator[ReleaseWorld]:
    with opened(tmp_path, prepare=prepare) as release_world:
        yield release_world


def page(release_world: ReleaseWorld, query: str = "") -> str:
    return release_world.service.page(
        f"/collections/{release_world.collection.id}/releases{query}", "analyst"
    ).text


def offered(text: str) -> list[str]:
    return re.findall(r'name="question" value="([\w-]+)"', text)


def chosen(text: str) -> list[str]:
    return re.findall(r'name="question" value="([\w-]+)" checked', text)


def fields(text: str) -> dict[str, str]:
    found = re.findall(r'<input id="argument-\w+" name="(\w+)" value="([^"]*)"', text)
    return dict(found)


def test_every_question_is_a_kind_of_release_with_arguments_that_it_takes() -> None:
    for question in QUESTIONS:
        assert question.mechanism in RELEASE_KINDS
        names = {each.name for each in parameters(question.mechanism)}
        assert {*question.fixed, *question.arguments, "epsilon"} <= names
        needed = {each.name for each in parameters(question.mechanism) if each.default is None}
        assert needed <= {*question.fixed, *question.arguments, "epsilon"}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_a_request_is_recognized_as_the_question_that_makes_it(question: Any) -> None:
    asked = {**question.fixed, **dict.fromkeys(question.arguments, "1"), "epsilon": "1"}
    assert question_for(question.mechanism, asked) == question.name
    assert question_for(question.mechanism, {**asked, "level": "0.1"}) == OTHER
    assert question_for("mwem", asked) == OTHER


@pytest.mark.slow
def test_the_form_offers_what_fits_and_a_tenth_of_the_budget(release_world: ReleaseWorld) -> None:
    text = page(release_world)
    assert offered(text) == ["shares", "top", "top-k", "other"]
    assert chosen(text) == ["shares"]
    assert fields(text) == {"epsilon": "0.05"}
    assert '<progress value="0.5" max="0.5"' in text


@pytest.mark.slow
def test_a_question_shows_its_own_fields_and_other_kinds_all(
    release_world: ReleaseWorld,
) -> None:
    assert list(fields(page(release_world, "?question=top-k"))) == ["k", "epsilon"]
    other = page(release_world, "?question=other&mechanism=mwem")
    assert list(fields(other)) == ["workload", "rounds", "epsilon"]
    assert '<select id="mechanism"' in other
    assert '<select id="mechanism"' not in page(release_world)


@pytest.mark.slow
def test_a_price_is_a_sentence_and_its_form_names_the_kind(release_world: ReleaseWorld) -> None:
    text = page(release_world, "?cost=true&question=top&epsilon=0.2")
    assert "The price is ε = 0.2" in text
    assert "It may have up to" in text
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', text))
    assert (hidden["mechanism"], hidden["score"]) == ("exponential", "mode")


@pytest.mark.slow
def test_a_refused_price_keeps_the_form_and_marks_the_field(release_world: ReleaseWorld) -> None:
    text = html.unescape(page(release_world, "?cost=true&question=top-k&k=2&epsilon=lots"))
    said = re.search(r'id="wrong-argument-epsilon">([^<]+)<', text)
    assert said is not None
    assert said[1].startswith("Must be")
    assert "lots" in said[1]
    assert fields(text) == {"k": "2", "epsilon": "lots"}
    assert chosen(text) == ["top-k"]
    over = page(release_world, "?cost=true&question=top&epsilon=9")
    assert "This release would be refused" in over
    assert chosen(over) == ["top"]
    assert fields(over)["epsilon"] == "9"


def test_a_wrong_day_of_a_release_is_marked_at_its_field(release_world: ReleaseWorld) -> None:
    text = page(release_world, "?cost=true&epsilon=0.1&from=soon")
    assert 'id="wrong-from">Write a day like 2026-11-22. This is “soon”.' in text
    assert "The price is" not in text


@pytest.mark.parametrize(
    ("limit", "left", "said"),
    [("0.5", "0.5", "0.05"), ("1.5", "1", "0.1"), ("2", "0.03", "0.03"), ("1", "0", "")],
)
def test_a_tenth_of_the_limit_is_suggested_if_so_much_is_left(
    limit: str, left: str, said: str
) -> None:
    assert _suggested(Decimal(limit), Decimal(left)) == said


def test_a_table_says_whether_two_attributes_go_together() -> None:
    row = {"label": "a=l0, b=l1", "frequency": 0.25, "lower": 0.2, "upper": 0.3}
    for level, said in [
        (0.3, "No sign that the two attributes go together"),
        (0.02, "the chance of so uneven a table is 0.02 otherwise"),
        (0.0005, "is at most 0.001 otherwise"),
    ]:
        sentence = result_sentence(_Document({"estimates": [row], "association_level": level}))  # type: ignore[arg-type]  # what a sentence needs of a release
        assert sentence.startswith("a=l0, b=l1, ")
        assert said in sentence


class _Document:
    """A release with this result; the rest does not matter here."""

    def __init__(self, result: dict[str, object], **asked: object) -> None:
        self.result = result
        self.parameters = asked
        self.questions = "measured_at_most" in result


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        (
            _Document(
                {
                    "estimates": [
                        {"label": "a", "frequency": 0.2, "lower": 0.1, "upper": 0.3},
                        {"label": "b", "frequency": 0.5, "lower": 0.4, "upper": 0.6},
                    ]
                }
            ),
            f"Most common: b, 50.0{THIN}% (40.0{THIN}% to 60.0{THIN}%)",
        ),
        (_Document({"labels": ["a", "b"], "indices": [0, 1]}), "The 2 most common answers: a, b"),
        (_Document({"label": "a", "index": 0}, score="mode"), "The most common answer: a"),
        (
            _Document({"label": "12", "index": 6}, score="quantile", quantile="0.5"),
            "The median: 12",
        ),
        (
            _Document({"label": "12", "index": 6}, score="quantile", quantile="0.9"),
            f"90{THIN}% of people are at or below 12",
        ),
        (_Document({"label": None}, quantile="0.5"), "No answer was stable enough to be released"),
        (_Document({"price": "9.99", "label": "9.99"}), "The best price: 9.99"),
        (
            _Document({"questions": 10, "labels": ["a"], "measured_at_most": 2}),
            "A session that answers 10 questions",
        ),
        (_Document({"weights": [1]}), ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_result_is_a_sentence(document: Any, sentence: str) -> None:
    assert result_sentence(document) == sentence


def test_an_error_is_a_sentence_in_people_or_shares() -> None:
    shares = BarDocument("error of each frequency", -0.1183, 0.1183, 0.95)
    assert error_sentence([shares], {}) == (
        f"Each share has an error of at most 11.8{THIN}%, in 95{THIN}% of cases."
    )
    trails = BarDocument("true answers below the most frequent label", 0.0, 296.6, 0.95)
    assert error_sentence([trails], {}).startswith("It may have up to 297 people")
    assert error_sentence([], {}) == ""
    assert error_sentence([BarDocument("error of the mean", None, None, 0.95)], {}) == ""


@pytest.mark.parametrize(
    ("upper", "n", "said"),
    [
        (6381.7, 53_600, f"up to 6{THIN}382 of 53{THIN}600 people"),
        (6381.7, UNSET, f"up to 6{THIN}382 people"),
        (612.4, 500, "up to 500 of 500 people"),
    ],
)
def test_the_error_of_a_quantile_is_one_of_its_place(upper: float, n: Any, said: str) -> None:
    sure = f"in 95{THIN}% of cases."
    for quantity, more in [
        ("true answers from rank 1/2 of n", ""),
        (
            "true answers from rank 9/10 of n, answers moved by up to 1.5 steps",
            ", and the number itself by up to 1.5 steps",
        ),
    ]:
        sentence = error_sentence([BarDocument(quantity, 0.0, upper, 0.95)], {}, n)
        assert sentence == f"Its place among all people may be off by {said}{more}, {sure}"


def _bar(quantity: str, upper: float) -> list[BarDocument]:
    return [BarDocument(quantity, 0.0, upper, 0.95)]


@pytest.mark.parametrize(
    "quantity",
    ["cents of revenue below the best price", "cents of revenue below the best price of the grid"],
)
def test_the_error_of_a_price_is_revenue_in_the_units_of_the_price(quantity: str) -> None:
    sentence = error_sentence(_bar(quantity, 76_980_123.4), {}, 107_200)
    assert sentence == (
        f"Its revenue may be up to 769{THIN}800 (7.18 a person) below the largest of any price "
        f"that may be drawn, in 95{THIN}% of cases."
    )
    assert f"up to 769{THIN}800 below the largest" in error_sentence(
        _bar(quantity, 76_980_123.4), {}
    )


def test_no_error_has_an_exponent() -> None:
    assert f"at most 76{THIN}980{THIN}000," in error_sentence(_bar("error of x", 76_980_123.4), {})
    assert "at most 0.00001234," in error_sentence(_bar("error of x", 0.000012341), {})
    assert [each[1:3] for each in error_bar_rows(_bar("x", 76_980_123.4))] == [
        ("0", f"76{THIN}980{THIN}000")
    ]


def test_the_error_of_a_threshold_is_what_people_it_lacks() -> None:
    quantity = "true answers from being the first label at or above the level"
    sentence = error_sentence(_bar(quantity, 296.6), {})
    assert sentence.startswith("It may be up to 297 people away from being the first answer")


def test_a_question_about_a_median_names_no_argument_that_its_form_lacks() -> None:
    for asked, start in [
        (ReleasesQuery(question="median", mechanism="exponential"), "a share in (0, 1)"),
        (ReleasesQuery(question=OTHER, mechanism="exponential"), "with score quantile: a share"),
    ]:
        helps = {each.name: each.accepted for each in form_fields(asked, suggested="", wrong={})}
        assert helps["quantile"].startswith(start)


def test_only_a_refusal_of_a_field_is_said_at_the_field() -> None:
    problem = Problem("invalid-argument", "epsilon must be a decimal text like 0.5, got 'x'")
    assert field_refusal(problem, ["epsilon"]) == {"epsilon": "Must be a number like 0.5, got 'x'"}
    assert field_refusal(problem, ["k"]) == {}
    assert field_refusal(Problem("unavailable", "epsilon must wait"), ["epsilon"]) == {}


NUMBER = """name = "x"
purpose = "How long?"
owner = "privacy@example.org"
epsilon = "2"
valid_from = 2027-01-01
expires = 2027-06-01
mechanism = "{mechanism}"
[domain]
type = "number"
low = "0"
high = "10"
step = "1"
"""


def _numbers(mechanism: str) -> Collection:
    text = NUMBER.format(mechanism=mechanism)
    return Collection.from_manifest(manifest_from_toml(text, ingest=INGEST))


def test_a_question_whose_mechanism_has_no_releases_says_so(release_world: ReleaseWorld) -> None:
    toy = SimpleNamespace(mechanism=Unstructured(4, Fraction(1)))
    assert "toy/1" in unavailable(toy)  # type: ignore[arg-type]  # the mechanism is all that counts
    for name in ("grr/1", "square-wave/1", "duchi/1"):
        assert unavailable(_numbers(name)) == ""
    assert unavailable(release_world.collection) == ""


def test_numbers_are_offered_a_median_and_a_price() -> None:
    names = [question.name for question in questions_of(_numbers("grr/1"))]
    assert names == ["shares", "top", "top-k", "average", "ranges", "median", "price", "session"]


@pytest.mark.parametrize(
    ("built", "radices", "boxes"),
    [
        (of_record("pairs/1", 2, 3), (2, 3), 6),
        (of_record("pairs/1", 2, 2, 2), (2, 2, 2), 0),
        (mechanism("grr/1", 8), (2, 2, 2), 8),
        (mechanism("grr/1", 64), (8, 8), 0),
    ],
    ids=["a pair", "tables of three", "labels of three", "many"],
)
def test_combinations_have_boxes_where_they_may_be_asked_for(
    built: Any, radices: tuple[int, ...], boxes: int
) -> None:
    collection: Any = SimpleNamespace(
        manifest=SimpleNamespace(domain=record(*radices)), mechanism=built
    )
    assert len(label_boxes(collection)) == boxes


def test_an_answer_about_cells_is_said_with_their_names() -> None:
    result = {"cells": ["a=l0, b=l1"], "share": 0.25, "measured": True, "lower": 0.2, "upper": 0.3}
    bars = [BarDocument("share of the answers", 0.2, 0.3, 0.95)]
    assert answer_text(AnswerDocument("r", result, bars, 2)).labels == ["a=l0, b=l1"]
