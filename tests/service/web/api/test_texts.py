"""Texts all the way: manifest, sealed report, tally, found and given texts, hostile words."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.cli.domain_options import domain_of
from deniable_aggregator.cli.estimate_tables import estimates_table
from deniable_aggregator.cli.output import escape_control_characters
from deniable_aggregator.collections.authoring.linter import lint
from deniable_aggregator.collections.authoring.templates import template
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.web.spreadsheet import escape_formula
from deniable_shared.domains import Text
from deniable_shared.manifest.bindings import read_signed, render
from deniable_shared.manifest.model import Manifest
from support.builders.api_world import INGEST, TODAY, World, opened
from support.builders.estimate_documents import estimates_document

TOML = """\
name = "{name}"
purpose = "Which drink?"
owner = "privacy@example.org"
epsilon = "6"
valid_from = 2027-01-01
expires = 2027-06-01
min_batch = 3
{more}
[domain]
type = "text"
max_bytes = 8
"""
DRINKS = ["tea", "café", "=1+1", "[b]x[/b]"]


def written(name: str, more: str = "") -> Manifest:
    return manifest_from_toml(TOML.format(name=name, more=more), ingest=INGEST)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("texts")) as service:
        yield service


@pytest.fixture(scope="module")
def collection(service: World) -> Collection:
    """8,000 reports, a quarter of each text: over 20 standard errors held out, at ε = 6."""
    collection = service.register(written("drinks"))
    service.count(collection, DRINKS * 2_000)
    return collection


def path(collection: Collection) -> str:
    return f"/v1/collections/{collection.id}/estimates"


@pytest.mark.statistical
def test_texts_nobody_listed_are_found_with_intervals_that_hold_together(
    service: World, collection: Collection
) -> None:
    """Each end of an interval is over seven standard errors inside its limit.

    At 0.9999 another text is found once in 20,000 times: then behind these, and rare.
    """
    answer = service.get(f"{path(collection)}?confidence=0.9999").get_json()
    frequent, rare = answer["estimates"][:4], answer["estimates"][4:]
    assert {row["label"] for row in frequent} == set(DRINKS)
    assert all(row["frequency"] < 0.15 for row in rare)
    assert (answer["evidence"], answer["mechanism"]) == ("held-out", "prefix-hash/1")
    for row in frequent:
        assert 0.1 < row["lower"] < row["frequency"] < row["upper"] < 0.4
        assert 1_500 < row["reports"] < 3_000


@pytest.mark.statistical
def test_a_list_given_later_is_told_in_its_order_by_more_reports(
    service: World, collection: Collection
) -> None:
    query = "candidate=tea&candidate=water&candidate=cafe%CC%81&candidate=tea"
    answer = service.get(f"{path(collection)}?{query}&family=all&projection=clip").get_json()
    rows = answer["estimates"]
    assert ([row["label"] for row in rows], answer["evidence"]) == (["tea", "water", "café"], "all")
    for row, truth in zip(rows, (0.25, 0, 0.25), strict=True):
        assert abs(row["frequency"] - truth) < 7 * row["std_error"] < 0.15
        assert 0 <= row["projected"] <= 1
    assert rows[0]["reports"] > rows[2]["reports"] > 3_000


@pytest.mark.slow
@pytest.mark.parametrize("given", ["ninechars", "", "%E2%80%AE", "a%0Ab"])
def test_a_candidate_nobody_can_answer_is_refused(
    service: World, collection: Collection, given: str
) -> None:
    refused = service.get(f"{path(collection)}?candidate={given}")
    assert (refused.status_code, refused.get_json()["argument"]) == (400, "candidate")
    assert refused.get_data(as_text=True).isascii() or "\u202e" not in refused.get_data(True)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["holm", "bonferroni"])
def test_texts_that_were_found_are_not_tested_once_more(
    service: World, collection: Collection, method: str
) -> None:
    for query in (f"significant={method}", f"significant={method}&group_by=epoch"):
        refused = service.get(f"{path(collection)}?{query}")
        assert (refused.status_code, refused.get_json()["argument"]) == (400, "significant")
    given = service.get(f"{path(collection)}?significant={method}&candidate=tea").get_json()
    assert given["estimates"][0]["significant"] is True


@pytest.mark.slow
def test_too_many_candidates_are_refused(service: World, collection: Collection) -> None:
    query = "&".join(f"candidate={number}" for number in range(1_001))
    refused = service.get(f"{path(collection)}?{query}").get_json()
    assert refused["accepted"].startswith("up to 1,000 texts")


def test_candidates_of_a_collection_with_labels_are_refused(service: World) -> None:
    from support.builders.api_world import authored

    settings = service.register(authored("plain"))
    service.count(settings, [(1, 0)] * 5)
    refused = service.get(f"{path(settings)}?candidate=tea").get_json()
    assert (refused["argument"], "listed" in refused["accepted"]) == ("candidate", True)


def test_a_sealed_report_of_a_text_is_counted(service: World) -> None:
    collection = service.register(written("sealed", "search_step = 0"))
    service.count(collection, ["tea"] * 3)
    assert service.upload(collection, service.report(collection, "tea")).status_code == 200
    answer = service.get(f"{path(collection)}?candidate=tea").get_json()
    assert (answer["n"], answer["estimates"][0]["reports"]) == (4, 4)
    assert service.get(path(collection)).get_json()["estimates"] == []


def test_epochs_one_by_one_are_searched_one_by_one(service: World) -> None:
    collection = service.register(written("daily", "search_step = 2"))
    service.count(collection, ["tea"] * 5, epoch=TODAY)
    service.count(collection, ["tea"] * 1, epoch=TODAY - 1)
    answer = service.get(f"{path(collection)}?group_by=epoch&candidate=tea").get_json()
    assert [len(epoch["estimates"]) for epoch in answer["epochs"]] == [1]
    assert answer["too_few_reports"] == [TODAY - 1]


@pytest.mark.statistical
def test_a_word_that_starts_a_formula_is_inert_in_a_spreadsheet(
    service: World, collection: Collection
) -> None:
    text = service.get(path(collection), Accept="text/csv").get_data(as_text=True)
    labels = {row["label"] for row in csv.DictReader(io.StringIO(text))}
    assert "'=1+1" in labels
    assert "=1+1" not in labels


@pytest.mark.parametrize("word", ["=1", "+1", "-1", "@A1", " =1", "\uff1d1", "\uff201", "\t=1"])
def test_every_start_of_a_formula_is_quoted(word: str) -> None:
    assert escape_formula(word) == f"'{word}"
    assert escape_formula(f"a{word}") == f"a{word}"


def test_a_hostile_word_is_shown_and_does_nothing() -> None:
    assert escape_control_characters("a\u202eb\x1b[2J\u200d") == "a\\u202eb\\x1b[2J\\u200d"
    assert escape_control_characters("\u0301x") == "\\u0301x"
    assert escape_control_characters("größe 日本 עברית") == "größe 日本 עברית"


def test_the_table_prints_words_as_they_are_and_says_when_there_are_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = {"label": "[b]x\u202e", "frequency": 0.5, "std_error": 0.1, "lower": 0.3, "upper": 0.7}
    estimates_table(estimates_document(row))
    assert "[b]x\\u202e" in capsys.readouterr().out
    estimates_table(estimates_document(evidence="held-out"))
    assert "no text is clearly above zero yet" in capsys.readouterr().out


def test_a_new_collection_of_texts_is_written_read_and_linted() -> None:
    domain = domain_of("text", {"max_bytes": 8})
    text = template("words", domain=domain)
    manifest = manifest_from_toml(text, ingest=INGEST)
    assert manifest.domain == Text(8)
    assert manifest.mechanism_id == "prefix-hash/1"
    found = {finding.field: finding.message for finding in lint(manifest, now=0)}
    assert "27.27 % of the reports are held out" in found["mechanism.parameters"]
    assert "domain.labels" not in found


def test_an_app_gets_a_function_that_takes_any_text(service: World, tmp_path: Path) -> None:
    module = render([read_signed(service.signed(written("drinks")))])
    assert 'DrinksAnswer = str\n"""A text of at most 8 bytes."""' in module
    assert "def record_drinks(client: Client, answer: DrinksAnswer) -> Outcome:" in module


@pytest.mark.slow
def test_a_collection_of_texts_is_listed_with_its_length(
    service: World, collection: Collection
) -> None:
    listed = service.get("/v1/collections").get_json()["collections"]
    domains = {row["name"]: row["domain"] for row in listed}
    assert domains["drinks"] == {"type": "text", "max_bytes": 8}
    assert "a text of up to 8 bytes" in service.get("/").get_data(as_text=True)


def test_a_memoized_collection_of_texts_has_to_say_that_it_is_linkable() -> None:
    more = 'repeat = "memoized"\nepsilon_permanent = "8"'
    with pytest.raises(ValueError, match="linkable must be true"):
        written("again", more)
    assert written("again", more + "\nlinkable = true").linkage > 10


@pytest.mark.statistical
@pytest.mark.parametrize("id", ["cms/1", "hcms/1", "rappor/1"])
def test_a_sketch_tells_given_texts_and_finds_none(service: World, id: str) -> None:
    """4,000 reports at ε = 6: 0.1 is seven standard errors of `rappor/1`, more of the others."""
    name = f"sketch-{id.partition('/')[0]}"
    collection = service.register(written(name, f'mechanism = "{id}"\n'))
    service.count(collection, ["tea", "café"] * 2_000)
    answer = service.get(f"{path(collection)}?candidate=tea&candidate=none").get_json()
    assert (answer["mechanism"], answer["evidence"]) == (id, "all")
    tea, none = answer["estimates"]
    assert abs(tea["frequency"] - 0.5) < 0.1
    assert abs(none["frequency"]) < 0.1
    assert service.get(path(collection)).get_json()["estimates"] == []
