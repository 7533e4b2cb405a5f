"""Numbers over HTTP: mean and quantiles in their units, what was clipped, CSV, the command."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

import msgspec
import pytest

from deniable_aggregator.cli.estimate_tables import estimates_table
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.documents.estimates import EstimatesDocument
from deniable_estimators.inference.channel import Counts
from support.builders.api_world import INGEST, TODAY, World, opened

TOML = """\
name = "{name}"
purpose = "How long do people use it in a day?"
owner = "privacy@example.org"
epsilon = "4"
valid_from = 2027-01-01
expires = 2027-06-01
read = "live"
min_batch = 3
epoch = "1d"
mechanism = "{mechanism}"
{more}
[domain]
type = "number"
low = 0
high = 20
step = "2.5"
"""
MINUTES = [0, 1, 7.5, 7.5, 10, 10, 10, 12.5, 15, 20, 99] * 40
MEAN = sum(min(5 * int(value / 2.5 + 0.5) / 2, 20) for value in MINUTES) / len(MINUTES)
TELL_LABELS = ["grr/1", "square-wave/1", "tree/1", "haar/1", "subset/1"]
TELL_RANGES = [*TELL_LABELS, "affine/1", "hadamard/1", "oue/1", "cyclic/1", "projective/1"]
TELL_A_MEAN = ["duchi/1", "discrete-piecewise/1", "optimal-mean/1"]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("numbers")) as service:
        yield service


def asked(service: World, mechanism: str, more: str = "") -> Collection:
    name = re.sub(r"\W", "-", mechanism + more[:12])
    text = TOML.format(name=name, mechanism=mechanism, more=more)
    collection = service.register(manifest_from_toml(text, ingest=INGEST))
    service.count(collection, MINUTES, epoch=TODAY)
    return collection


def document(service: World, collection: Collection, query: str = "") -> dict[str, object]:
    found: dict[str, object] = service.get(
        f"/v1/collections/{collection.id}/estimates?{query}"
    ).get_json()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", TELL_LABELS + TELL_A_MEAN)
def test_the_mean_is_told_in_the_units_of_the_domain(service: World, mechanism: str) -> None:
    """At ε = 4 and n = 440 its standard error is at most 1: within 6 of them but for 2e-9."""
    result = document(service, asked(service, mechanism))
    mean = result["mean"]
    assert isinstance(mean, dict)
    assert list(mean) == ["name", "value", "std_error", "lower", "upper"]
    assert 0 < mean["std_error"] < 1
    assert abs(mean["value"] - MEAN) < 6 * mean["std_error"]
    assert 0 <= mean["lower"] < mean["value"] < mean["upper"] <= 20


@pytest.mark.parametrize("mechanism", TELL_LABELS)
def test_quantiles_rise_and_lie_in_the_domain(service: World, mechanism: str) -> None:
    result = document(
        service, asked(service, mechanism, 'repeat = "fresh"\nepsilon_lifetime = "20"')
    )
    found = result["quantiles"]
    assert isinstance(found, list)
    assert [quantity["name"] for quantity in found] == ["p10", "p25", "p50", "p75", "p90"]
    values = [quantity["value"] for quantity in found]
    assert values == sorted(values)
    assert all(0 <= q["lower"] <= q["value"] <= q["upper"] <= 20 for q in found)
    assert len(result["estimates"]) == 9  # type: ignore[arg-type]  # a document has values of many types


@pytest.mark.parametrize("mechanism", TELL_A_MEAN)
def test_where_a_mean_alone_is_told_there_are_no_labels(service: World, mechanism: str) -> None:
    collection = asked(service, mechanism, 'repeat = "memoized"\nlinkable = true')
    result = document(service, collection)
    assert result["estimates"] == []
    assert "quantiles" not in result
    assert isinstance(result["trust"], dict)
    influence = collection.estimator.estimate(*tally_of(service, collection)).influence
    assert result["trust"]["influence"] == pytest.approx(20 * influence)


def tally_of(service: World, collection: Collection) -> tuple[Counts, int]:
    (cell,) = service.running.store.tallies(collection.id, TODAY, TODAY)
    return cell.tally, cell.n


def test_the_document_says_what_was_clipped_and_how_it_was_rounded(service: World) -> None:
    result = document(service, asked(service, "duchi/1", "# clipped"))
    assert result["clipped"] == {"low": "0", "high": "20", "step": "2.5"}


def test_a_document_of_other_domains_has_none_of_it(service: World) -> None:
    text = TOML.format(name="bits", mechanism="rr/1", more="").partition("[domain]")[0]
    manifest = manifest_from_toml(
        f'{text}[domain]\ntype = "bits"\nlabels = ["a", "b"]\n', ingest=INGEST
    )
    collection = service.register(manifest)
    service.count(collection, [{"a": True, "b": False}] * 5)
    assert not {"clipped", "mean", "quantiles"} & document(service, collection).keys()


def test_the_fitted_distribution_of_a_square_wave_is_its_projection(service: World) -> None:
    result = document(service, asked(service, "square-wave/1", "# fitted"), "projection=simplex")
    rows = result["estimates"]
    assert isinstance(rows, list)
    assert sum(row["projected"] for row in rows) == pytest.approx(1)
    assert all(row["projected"] >= 0 for row in rows)


def test_epochs_are_told_one_by_one_too(service: World) -> None:
    result = document(service, asked(service, "duchi/1", "# epochs"), "group_by=epoch")
    epochs = result["epochs"]
    assert isinstance(epochs, list)
    assert [epoch["mean"]["name"] for epoch in epochs] == ["mean"]


@pytest.mark.parametrize("query", ["", "projection=simplex"])
def test_csv_has_the_mean_and_quantiles_in_front(service: World, query: str) -> None:
    collection = asked(service, "square-wave/1", f"# csv {len(query):02}")
    path = f"/v1/collections/{collection.id}/estimates?{query}"
    answer = service.get(path, Accept="text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["label"] for row in rows[:6]] == ["mean", "p10", "p25", "p50", "p75", "p90"]
    assert all(row["value"] and not row["frequency"] for row in rows[:6])
    assert all(row["frequency"] and not row["value"] for row in rows[6:])
    assert [row["label"] for row in rows[6:8]] == ["0", "2.5"]
    assert {row["n"] for row in rows} == {"440"}


def test_csv_of_a_mean_alone_has_one_row(service: World) -> None:
    collection = asked(service, "duchi/1", "# csv mean")
    answer = service.get(f"/v1/collections/{collection.id}/estimates", Accept="text/csv")
    (row,) = csv.DictReader(io.StringIO(answer.text))
    assert row["label"] == "mean"
    assert float(row["lower"]) < float(row["value"]) < float(row["upper"])


def test_the_list_of_collections_shows_the_ends_of_numbers(service: World) -> None:
    collection = asked(service, "grr/1", "# listed")
    found = service.get("/v1/collections").get_json()["collections"]
    (domain,) = [each["domain"] for each in found if each["collection"] == collection.id]
    assert domain == {"type": "number", "low": "0", "high": "20", "step": "2.5"}


@pytest.mark.parametrize("mechanism", TELL_LABELS + TELL_A_MEAN)
def test_the_table_shows_what_numbers_tell(
    service: World, mechanism: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = document(service, asked(service, mechanism, "# table"))
    estimates_table(msgspec.convert(found, EstimatesDocument))
    shown = capsys.readouterr().out
    assert "mean" in shown
    assert "Clipped to 0 … 20, rounded to steps of 2.5." in shown
    assert ("p50" in shown) is (mechanism in TELL_LABELS)
    assert ("to leave" in shown) is (mechanism in TELL_LABELS)


@pytest.mark.parametrize("mechanism", TELL_RANGES)
def test_the_share_of_a_range_is_told_whatever_the_mechanism(
    service: World, mechanism: str
) -> None:
    """At ε = 4 and n = 440: within 6 standard errors but for 2e-9; intervals in [0, 1].

    1 is reported as 0, the value next to it: two of eleven people.
    """
    collection = asked(service, mechanism, "# ranges")
    result = document(service, collection, "range=5..10&range=0..0&family=all")
    found = result["ranges"]
    assert isinstance(found, list)
    assert [(each["low"], each["high"]) for each in found] == [("5", "10"), ("0", "0")]
    for each, share in zip(found, (5 / 11, 2 / 11), strict=True):
        assert list(each)[2:] == ["count", "frequency", "std_error", "lower", "upper"]
        assert 0 < each["std_error"] < 0.2
        assert abs(each["frequency"] - share) < 6 * each["std_error"]
        assert 0 <= each["lower"] <= each["upper"] <= 1
        assert each["count"] == pytest.approx(440 * each["frequency"])


@pytest.mark.parametrize("mechanism", ["tree/1", "haar/1", "subset/1"])
def test_a_family_of_ranges_has_wider_intervals_and_the_same_shares(
    service: World, mechanism: str
) -> None:
    collection = asked(service, mechanism, "# family")
    query = "&".join(f"range={low}..{low + 5}" for low in range(0, 20, 5))
    each, together = (
        document(service, collection, f"{query}&family={family}")["ranges"]
        for family in ("each", "all")
    )
    assert isinstance(each, list)
    assert isinstance(together, list)
    for one, wide in zip(each, together, strict=True):
        assert one["frequency"] == wide["frequency"]
        assert wide["upper"] - wide["lower"] > one["upper"] - one["lower"]


@pytest.mark.parametrize("mechanism", TELL_LABELS)
def test_quantiles_that_are_asked_for_replace_the_usual_ones(
    service: World, mechanism: str
) -> None:
    collection = asked(service, mechanism, "# asked")
    result = document(service, collection, "quantile=0.5&quantile=0.995")
    found = result["quantiles"]
    assert isinstance(found, list)
    assert [quantity["name"] for quantity in found] == ["p50", "p99.5"]
    wider = document(service, collection, "quantile=0.5&quantile=0.995&family=all")["quantiles"]
    assert isinstance(wider, list)
    assert all(
        one["lower"] >= wide["lower"] and one["upper"] <= wide["upper"]
        for one, wide in zip(found, wider, strict=True)
    )


@pytest.mark.parametrize(
    ("mechanism", "kinds"),
    [
        ("square-wave/1", ["simplex", "mle", "ems"]),
        ("tree/1", ["simplex", "top-down"]),
        ("haar/1", ["simplex", "top-down"]),
    ],
)
def test_projections_of_numbers_are_distributions_and_chosen_by_name(
    service: World, mechanism: str, kinds: list[str]
) -> None:
    collection = asked(service, mechanism, "# kinds")
    shown = {}
    for kind in kinds:
        result = document(service, collection, f"projection={kind}")
        rows = result["estimates"]
        assert isinstance(rows, list)
        shown[kind] = [row["projected"] for row in rows]
        assert sum(shown[kind]) == pytest.approx(1)
        assert min(shown[kind]) >= 0
        assert ("likelihood_short" in result) is (kind == "mle")
    assert shown["simplex"] == shown[kinds[1]]
    if "ems" in kinds:
        assert shown["ems"] != shown["mle"]


@pytest.mark.parametrize(
    ("mechanism", "query", "accepted"),
    [
        ("tree/1", "range=5", "a..b"),
        ("tree/1", "range=10..5", "a at most b"),
        ("tree/1", "range=1..10", "values of 0, 2.5, …, 20"),
        ("tree/1", "range=0..30", "values of 0, 2.5, …, 20"),
        ("tree/1", "range=0..20", "less than all values"),
        ("tree/1", "range=a..b", "values of 0, 2.5"),
        ("tree/1", "quantile=1", "strictly between 0 and 1"),
        ("tree/1", "quantile=nan", "strictly between 0 and 1"),
        ("tree/1", "projection=ems", "none, simplex or top-down"),
        ("tree/1", "set=0,5", "set"),
        ("square-wave/1", "projection=top-down", "none, simplex, mle or ems"),
        ("duchi/1", "range=0..5", "left out for duchi/1"),
        ("discrete-piecewise/1", "quantile=0.5", "square-wave/1 have ranges and quantiles"),
    ],
)
def test_what_is_not_told_is_refused_with_what_is(
    service: World, mechanism: str, query: str, accepted: str
) -> None:
    collection = asked(service, mechanism, "# refused")
    refused = document(service, collection, query)
    assert refused["status"] == 400
    assert accepted in str(refused["detail"])


def test_only_numbers_have_ranges_and_quantiles(service: World) -> None:
    text = TOML.format(name="bits-only", mechanism="rr/1", more="").partition("[domain]")[0]
    manifest = manifest_from_toml(
        f'{text}[domain]\ntype = "bits"\nlabels = ["a", "b"]\n', ingest=INGEST
    )
    collection = service.register(manifest)
    service.count(collection, [{"a": True, "b": False}] * 5)
    for query in ("range=0..1", "quantile=0.5"):
        assert "only numbers have one" in str(document(service, collection, query)["detail"])


def test_ranges_stand_in_csv_and_in_the_table(
    service: World, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = asked(service, "tree/1", "# shown")
    query = "range=5..10&quantile=0.5"
    answer = service.get(f"/v1/collections/{collection.id}/estimates?{query}", Accept="text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["label"] for row in rows[:2]] == ["mean", "p50"]
    assert rows[-1]["label"] == "5 to 10"
    assert float(rows[-1]["lower"]) < float(rows[-1]["frequency"]) < float(rows[-1]["upper"])
    estimates_table(msgspec.convert(document(service, collection, query), EstimatesDocument))
    shown = capsys.readouterr().out
    assert "5 to 10: " in shown
    assert "p50" in shown
    assert "p90" not in shown


def test_reports_that_leave_a_level_out_are_refused_by_name(service: World) -> None:
    text = TOML.format(name="few-levels", mechanism="haar/1", more="")
    collection = service.register(manifest_from_toml(text.replace("= 3", "= 1"), ingest=INGEST))
    service.count(collection, [7.5], epoch=TODAY)
    refused = service.get(f"/v1/collections/{collection.id}/estimates")
    levels = collection.mechanism.sampling_fraction.denominator
    assert levels > 1
    assert refused.status_code == 409
    problem = refused.get_json()
    assert problem["type"].endswith("too-few-reports")
    assert f"one of {levels} levels, and none of these 1 is about level" in problem["detail"]
    assert len(problem["levels"]) == levels - 1
    service.count(collection, MINUTES, epoch=TODAY)
    assert isinstance(document(service, collection)["mean"], dict)
