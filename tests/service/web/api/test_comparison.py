"""Two periods over the API: which ones, of which kinds of answers, and what is refused."""

from __future__ import annotations

import csv
import io
import math
from statistics import NormalDist
from typing import Any

import pytest

from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.registry import Collection
from support.builders.api_world import INGEST, TODAY, World, authored

DARK, NONE = {"dark_mode": True, "beta": False}, {"dark_mode": False, "beta": False}
PERIODS = f"?before_to={TODAY - 1}&from={TODAY}"

HEAD = """\
name = "{name}"
purpose = "A comparison"
owner = "privacy@example.org"
epsilon = "8"
valid_from = 2027-01-01
expires = 2027-06-01
min_batch = 3
{more}
[domain]
"""


def registered(service: World, domain: str, more: str = "") -> Collection:
    text = HEAD.format(name="compared", more=more) + domain
    return service.register(manifest_from_toml(text, ingest=INGEST))


def compared(service: World, name: str, query: str = PERIODS) -> dict[str, Any]:
    answer = service.get(f"/v1/collections/{name}/comparison{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.get_json()
    return found


def changes(document: dict[str, Any]) -> dict[str, bool]:
    return {row["label"]: row["changed"] for row in document["differences"]}


def test_a_clear_change_is_found_and_the_other_label_is_left_alone(service: World) -> None:
    settings = service.register(authored())
    service.count(settings, [NONE] * 300, epoch=TODAY - 1)
    service.count(settings, [DARK] * 300, epoch=TODAY)
    document = compared(service, "settings")
    assert changes(document)["dark_mode"]
    assert document["changed"] == sum(changes(document).values())
    assert (document["before"]["n"], document["after"]["n"]) == (300, 300)
    for row in document["differences"]:
        assert row["difference"] == pytest.approx(row["after"] - row["before"])
        assert row["lower"] <= min(row["difference"], 1) <= row["upper"]


def test_the_table_has_the_digits_of_the_document_also_from_the_page(service: World) -> None:
    settings = service.register(authored())
    for epoch, answered in ((TODAY - 1, NONE), (TODAY, DARK)):
        service.count(settings, [answered] * 9, epoch=epoch)
    address = f"/v1/collections/settings/comparison{PERIODS}"
    reply = service.get(address, Accept="text/csv")
    rows = list(csv.DictReader(io.StringIO(reply.text)))
    for row, known in zip(rows, compared(service, "settings")["differences"], strict=True):
        assert row["label"] == known["label"]
        assert row["changed"] == str(known["changed"]).lower()
        numbers = ("before", "after", "difference", "lower", "upper")
        assert [float(row[name]) for name in numbers] == [known[name] for name in numbers]
        assert (row["before_n"], row["after_n"], row["confidence"]) == ("9", "9", "0.95")
    page = f"/collections/settings/compare{PERIODS}&format="
    assert service.page(page + "csv").data == reply.data
    assert service.page(page + "json").get_json() == service.get(address).get_json()


def test_few_reports_are_no_evidence_whatever_they_say(service: World) -> None:
    settings = service.register(authored())
    for epoch in (TODAY - 1, TODAY):
        service.count(settings, [DARK] * 3, epoch=epoch)
    document = compared(service, "settings", PERIODS + "&confidence=0.9999")
    assert document["changed"] == 0


def test_levels_are_those_of_the_estimates(service: World) -> None:
    settings = service.register(authored())
    for epoch in (TODAY - 1, TODAY):
        service.count(settings, [DARK] * 30 + [NONE] * 20, epoch=epoch)
    reply = service.get(f"/v1/collections/settings/estimates?from={TODAY}").get_json()["estimates"]
    rows = compared(service, "settings")["differences"]
    assert [row["after"] for row in rows] == [row["frequency"] for row in reply]


def test_together_is_wider_than_alone(service: World) -> None:
    settings = service.register(authored())
    for epoch in (TODAY - 1, TODAY):
        service.count(settings, [DARK] * 300 + [NONE] * 200, epoch=epoch)
    one, all_of_them = (
        compared(service, "settings", PERIODS + f"&family={family}")["differences"][0]
        for family in ("each", "all")
    )
    assert -1 < all_of_them["lower"] < one["lower"]
    assert one["upper"] < all_of_them["upper"] < 1


def test_numbers_are_compared_by_mean_and_quantiles_in_their_units(service: World) -> None:
    domain = 'type = "number"\nlow = "0"\nhigh = "60"\nstep = "1"\n'
    found = registered(service, domain, 'mechanism = "square-wave/1"')
    service.count(found, ["5"] * 300, epoch=TODAY - 1)
    service.count(found, ["50"] * 300, epoch=TODAY)
    document = compared(service, "compared")
    assert document["unit"] == "value"
    assert changes(document) == dict.fromkeys(["mean", "p10", "p25", "p50", "p75", "p90"], True)


@pytest.mark.parametrize("family", ["each", "all"])
@pytest.mark.parametrize("repeat", ["once", "fresh"])
def test_a_change_of_a_mean_uses_that_no_one_reports_twice(
    service: World, repeat: str, family: str
) -> None:
    domain = 'type = "number"\nlow = "0"\nhigh = "10"\nstep = "1"\n'
    found = registered(service, domain, f'mechanism = "haar/1"\nrepeat = "{repeat}"')
    for epoch, values in ((TODAY - 1, ["0", "10"]), (TODAY, ["1", "10"])):
        service.count(found, values * 900, epoch=epoch)
    confidence = 1 - 0.05 / (6 if family == "all" else 1)
    errors, limits = [], []
    for epoch in (TODAY - 1, TODAY):
        query = f"?from={epoch}&to={epoch}&confidence={1 - (1 - confidence) / 2}"
        row = service.get(f"/v1/collections/compared/estimates{query}").get_json()["mean"]
        errors.append(row["std_error"])
        limits.append((row["lower"], row["upper"]))
    document = compared(service, "compared", f"{PERIODS}&family={family}")
    [mean] = [row for row in document["differences"] if row["label"] == "mean"]
    if repeat == "once":
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        half = (mean["upper"] - mean["lower"]) / 2
        assert half == pytest.approx(z * math.hypot(*errors), rel=0.07)
    else:
        assert mean["lower"] == pytest.approx(limits[1][0] - limits[0][1])
        assert mean["upper"] == pytest.approx(limits[1][1] - limits[0][0])


def test_records_are_compared_table_by_table(service: World) -> None:
    domain = """type = "record"
[[domain.attributes]]
name = "os"
labels = ["linux", "mac"]
[[domain.attributes]]
name = "screen"
labels = ["small", "large"]
"""
    found = registered(service, domain)
    for epoch, os in ((TODAY - 1, "mac"), (TODAY, "linux")):
        service.count(found, [{"os": os, "screen": "small"}] * 400, epoch=epoch)
    result = changes(compared(service, "compared", PERIODS + "&marginal=os&marginal=screen"))
    assert result["os=linux"]
    assert result["os=mac"]
    assert result.keys() == {"os=linux", "os=mac", "screen=small", "screen=large"}


@pytest.mark.slow
def test_texts_are_compared_by_name_only(service: World) -> None:
    found = registered(service, 'type = "text"\nmax_bytes = 6\n')
    for epoch in (TODAY - 1, TODAY):
        service.count(found, ["tea"] * 60, epoch=epoch)
    refused = service.get(f"/v1/collections/compared/comparison{PERIODS}")
    assert refused.get_json()["argument"] == "candidate"
    document = compared(service, "compared", PERIODS + "&candidate=tea")
    assert changes(document).keys() == {"tea"}


@pytest.mark.parametrize(
    ("query", "argument"),
    [
        (f"?from={TODAY}", "before_to"),
        (f"?before_to={TODAY}", "from"),
        (f"?before_to={TODAY}&from={TODAY}", "from"),
        (f"?before_from={TODAY - 2}&before_to={TODAY}&from={TODAY - 1}&to={TODAY - 1}", "from"),
    ],
)
def test_periods_must_be_two_and_apart(service: World, query: str, argument: str) -> None:
    settings = service.register(authored())
    service.count(settings, [DARK] * 9)
    answer = service.get(f"/v1/collections/settings/comparison{query}")
    assert answer.status_code == 400
    assert answer.get_json()["argument"] == argument


@pytest.mark.parametrize("more", ["", f"&to={TODAY - 1}"])
def test_an_earlier_period_after_the_later_one_is_refused(service: World, more: str) -> None:
    """Otherwise every sign would be the opposite of what `before` and `after` promise."""
    settings = service.register(authored())
    for epoch in (TODAY - 1, TODAY):
        service.count(settings, [DARK] * 9, epoch=epoch)
    query = f"?before_from={TODAY}&before_to={TODAY}&from={TODAY - 1}{more}"
    answer = service.get(f"/v1/collections/settings/comparison{query}")
    assert answer.status_code == 400
    problem = answer.get_json()
    assert (problem["argument"], problem["given"]) == ("from", str(TODAY - 1))
    assert f"before_to ({TODAY})" in problem["detail"]
    assert "swap the two periods" in problem["detail"]


def test_releases_only_and_too_few_reports_are_refused(service: World) -> None:
    sealed = service.register(authored("sealed", read="releases"))
    settings = service.register(authored())
    for collection in (sealed, settings):
        service.count(collection, [DARK] * 9)
    slugs = [
        service.get(f"/v1/collections/{name}/comparison{PERIODS}").get_json()["type"].split("/")[-1]
        for name in ("sealed", "settings")
    ]
    assert [slug.rpartition(":")[2] for slug in slugs] == ["read-refused", "too-few-reports"]


@pytest.mark.slow
def test_the_page_says_no_evidence_and_has_the_numbers_of_the_api(service: World) -> None:
    settings = service.register(authored())
    for epoch in (TODAY - 1, TODAY):
        service.count(settings, [DARK] * 5, epoch=epoch)
    text = service.page("/collections/settings/compare?confidence=0.9999").text
    assert "No evidence of change" in text
    assert "A real change of up to" in text
    for row in compared(service, "settings", PERIODS + "&confidence=0.9999")["differences"]:
        assert f'<data value="{row["difference"]}">' in text


@pytest.mark.slow
def test_one_epoch_has_nothing_to_be_compared_with(service: World) -> None:
    service.count(service.register(authored()), [DARK] * 9)
    assert "Nothing to compare yet" in service.page("/collections/settings/compare").text
