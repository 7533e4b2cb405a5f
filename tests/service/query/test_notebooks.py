"""The client for notebooks: rows, frames, plots, refusals with their cure, no token in sight."""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest

import deniable_aggregator.query as deniable
from deniable_aggregator.client.errors import NOTEBOOK_CURES, QueryError
from deniable_aggregator.client.service_client import ServiceClient
from deniable_aggregator.client.usual_periods import usual_periods
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.documents.collections import EpochDocument, EpochsDocument
from deniable_aggregator.queries import series
from deniable_aggregator.query.service import Service
from support.builders.api_world import INGEST, TODAY, World, authored, opened
from support.processes import query_notebook as notebook
from support.processes.published_service import MINUTES, published

mpl.use("agg")

LABELS = ("light", "$dark$", "auto")
BUDGET = 'central = { per_epoch = "1", per_installation = "1", delta = "0.00001" }\n'


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("query")) as service:
        theme = service.register(authored("theme", type="choice", labels=LABELS, more=BUDGET))
        for epoch in (TODAY - 1, TODAY):
            service.count(theme, ["light"] * 40 + ["$dark$"] * 20, epoch=epoch)
        service.running.close_epoch(theme, TODAY - 1, audit=None)
        wanted = {"mechanism": "histogram", "epsilon": "0.25", "epochs": [TODAY - 1]}
        service.send("POST", f"/v1/collections/{theme.id}/releases", "analyst", json=wanted)
        service.running.registry.apply(
            service.signed(manifest_from_toml(MINUTES, ingest=INGEST)), audit=None
        )
        service.count(service.running.registry.get("minutes"), [0, 5, 10, 60] * 40)
        yield service


def served(service: World, role: str | None = "viewer") -> Service:
    client = httpx.Client(
        base_url="http://deniable.test",
        headers=service.authorization(role),
        transport=httpx.WSGITransport(app=service.app.wsgi_app),
    )
    return Service(ServiceClient(client, address="http://deniable.test", cures=NOTEBOOK_CURES))


@pytest.fixture
def query(service: World) -> Service:
    return served(service)


@pytest.mark.slow
def test_estimates_are_the_rows_of_the_api(service: World, query: Service) -> None:
    reply = service.get("/v1/collections/theme/estimates?confidence=0.9&family=all").get_json()
    found = query.estimates("theme", confidence=0.9, family="all")
    assert list(found) == reply["estimates"]
    assert (found[0], len(found)) == (reply["estimates"][0], 3)
    assert found.about["n"] == reply["n"] == 120


def test_a_day_is_given_as_a_date_or_as_its_text(query: Service) -> None:
    day = date(2027, 1, 15)
    for given in (day, "2027-01-15", TODAY):
        assert query.estimates("theme", first=given, last=given).about["epochs"] == [TODAY]


def test_what_else_the_address_takes_is_passed_on(query: Service) -> None:
    found = query.estimates("theme", projection="simplex", significant="holm")
    assert sum(float(str(row["projected"])) for row in found) == pytest.approx(1)
    assert {row["significant"] for row in found} <= {True, False}
    assert query.estimates("minutes", quantile=["0.5"])[1]["label"] == "p50"


@pytest.mark.slow
def test_a_frame_has_a_column_a_member_and_says_what_it_is_of(query: Service) -> None:
    found = query.estimates("theme")
    frame = found.to_pandas()
    assert list(frame["label"]) == list(LABELS)
    assert list(frame["frequency"]) == [row["frequency"] for row in found]
    assert frame.attrs["mechanism"] == "grr/1"


@pytest.mark.slow
def test_series_are_read_to_the_last_page(
    service: World, query: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = query.series("theme")
    monkeypatch.setattr(series, "MOST_EPOCHS", 1)
    assert list(query.series("theme")) == list(whole)
    assert len(query.series("theme", labels=["auto"])) == 2
    frame = whole.to_pandas()
    assert str(frame["time"].iloc[-1]) == "2027-01-15 00:00:00+00:00"


@pytest.mark.slow
def test_epochs_releases_and_the_ledger_are_rows(service: World, query: Service) -> None:
    paths = {
        "epochs": (query.epochs("theme"), "/v1/collections/theme/epochs"),
        "releases": (query.releases("theme"), "/v1/collections/theme/releases"),
        "collections": (query.ledger(), "/v1/ledger"),
    }
    for name, (found, path) in paths.items():
        assert list(found) == service.get(path).get_json()[name]
    [release] = query.releases("theme")
    whole = query.release("theme", str(release["release"]))
    assert whole["guarantee"]["epsilon"] == "0.25"
    assert str(query.epochs("theme").to_pandas()["start"].iloc[0]).startswith("2027-01-14")
    assert {row["name"] for row in query.collections()} == {"theme", "minutes"}


def test_an_arrow_table_is_the_same(query: Service) -> None:
    found = query.estimates("theme")
    assert found.to_arrow().column("lower").to_pylist() == [row["lower"] for row in found]


def test_an_arrow_table_has_every_column_that_some_row_has(query: Service) -> None:
    found = query.estimates("minutes")
    table = found.to_arrow()
    assert set(table.column_names) == {name for row in found for name in row}
    assert table.column("frequency").to_pylist() == [row.get("frequency") for row in found]


def test_rows_are_a_stream_of_arrow(query: Service) -> None:
    found = query.series("theme")
    table = pa.RecordBatchReader.from_stream(found).read_all()
    assert table.to_pylist() == found.to_arrow().to_pylist()
    assert pa.table(query.epochs("theme")).num_rows == len(query.epochs("theme"))


def test_a_comparison_is_the_api_s(service: World, query: Service) -> None:
    span = f"before_to={TODAY - 1}&from={TODAY}&confidence=0.9"
    reply = service.get(f"/v1/collections/theme/comparison?{span}").get_json()
    found = query.comparison(
        "theme", before=(None, TODAY - 1), after=("2027-01-15", None), confidence=0.9
    )
    assert list(found) == reply.pop("differences")
    assert found.about == reply
    wanted = query.comparison("theme", before=TODAY - 1, after=TODAY, family="each")
    assert wanted.about["family"] == "each"


def test_a_comparison_without_periods_takes_closed_weeks(query: Service) -> None:
    with pytest.raises(QueryError, match=r"needs two closed periods, and theme-.* has 1"):
        query.comparison("theme")
    with pytest.raises(QueryError, match="name both periods"):
        query.comparison("theme", after=TODAY)


@pytest.mark.parametrize(
    ("closed", "expected"),
    [(2, (0, 0, 1, 1)), (5, (1, 2, 3, 4)), (14, (0, 6, 7, 13)), (30, (16, 22, 23, 29))],
)
def test_usual_periods_are_two_weeks_or_two_halves(
    closed: int, expected: tuple[int, int, int, int]
) -> None:
    epochs = [
        EpochDocument(
            epoch=place, start=0, end=0, closes=0, state="closed" if place < closed else "open"
        )
        for place in range(closed + 1)
    ]
    document = EpochsDocument(
        collection="theme", epoch_seconds=86_400, grace_seconds=0, epochs=epochs
    )
    names = ("before_from", "before_to", "from", "to")
    assert usual_periods(document) == dict(zip(names, map(str, expected), strict=True))


@pytest.mark.slow
def test_a_plot_of_a_comparison_draws_the_differences(query: Service) -> None:
    ax = query.comparison("theme", before=TODAY - 1, after=TODAY).plot()
    assert ax.get_xlabel() == "difference"
    assert ax.xaxis.get_major_formatter()(0.5) == "50%"


def test_a_notebook_shows_a_table_with_each_interval_drawn(query: Service) -> None:
    found = query.estimates("theme")
    page = found._repr_html_()
    assert (page.count("<tr>"), page.count("<svg")) == (4, 3)
    assert f"n {found.about['n']}, confidence 0.95, 3 rows" in page
    assert "<svg" not in query.epochs("theme")._repr_html_()
    numbers = query.estimates("minutes")._repr_html_()
    assert numbers.count("<svg") == 6  # mean and quantiles, in one unit
    assert "more rows" not in numbers
    changes = query.comparison("theme", before=TODAY - 1, after=TODAY)._repr_html_()
    assert changes.count("<svg") == 3


def test_a_notebook_shows_labels_as_texts() -> None:
    hostile = "<img src=x onerror=alert(1)>"
    row = {"label": hostile, "frequency": 0.5, "lower": 0.4, "upper": 0.6}
    page = deniable.Estimates([row], {"collection": hostile})._repr_html_()
    assert "<img" not in page
    assert page.count("&lt;img") == 2
    assert "… and 2 more rows" in deniable.Rows([{"n": 1}] * 42, {})._repr_html_()
    assert deniable.Rows([], {})._repr_html_().startswith("<p>0 rows</p>")
    assert "<svg" not in deniable.Estimates([{"label": "a", "frequency": None}], {})._repr_html_()


@pytest.mark.parametrize(
    ("role", "collection", "slug", "cure"),
    [
        (None, "theme", "unauthorized", "deniable access tokens new --role viewer"),
        ("viewer", "themes", "unknown-collection", "service.collections()"),
        ("viewer", "a/../b", "invalid-argument", "a/../b"),
    ],
)
def test_a_refusal_is_an_exception_with_the_cure(
    service: World, role: str | None, collection: str, slug: str, cure: str
) -> None:
    with pytest.raises(deniable.ServiceError) as caught:
        served(service, role).estimates(collection)
    if slug != "invalid-argument":
        assert (caught.value.slug, caught.value.retry) == (slug, False)
        assert cure in str(caught.value)
    assert caught.value.status >= 400


def test_the_words_of_the_service_are_kept(query: Service) -> None:
    with pytest.raises(deniable.ServiceError, match=r"confidence must be a number from 0\.5"):
        query.estimates("theme", confidence=2)


def test_what_is_no_service_is_said_so() -> None:
    def answered(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text="<html>")

    def silent(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    for handler, said in (
        (answered, "else than a JSON object"),
        (silent, "is the service running"),
    ):
        client = httpx.Client(transport=httpx.MockTransport(handler), base_url="http://x")
        with pytest.raises(deniable.UnreachableError, match=said):
            Service(ServiceClient(client, address="http://x")).collections()


@pytest.mark.parametrize("url", ["", "deniable.example.org", "ftp://x"])
def test_an_address_without_its_scheme_is_refused(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DENIABLE_URL", raising=False)
    with pytest.raises(deniable.UnreachableError, match="must begin with https://"):
        deniable.connect(url)


def test_the_environment_names_the_service_and_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DENIABLE_URL", "https://deniable.example.org/")
    monkeypatch.setenv("DENIABLE_TOKEN", "dn_secret")
    with deniable.connect() as query:
        assert query.address == "https://deniable.example.org"
        assert query._client._service.http.headers["Authorization"] == "Bearer dn_secret"


def test_the_token_is_shown_by_nothing(service: World) -> None:
    with deniable.connect("https://deniable.example.org", "dn_secret") as query:
        assert repr(query) == "Service('https://deniable.example.org')"
        held = [repr(query), str(query), repr(query.__dict__), repr(vars(query))]
    with pytest.raises(deniable.ServiceError) as caught:
        served(service, "revoked").ledger()
    held += [str(caught.value), repr(caught.value), repr(vars(caught.value))]
    assert not [text for text in held if "dn_" in text.replace("dn_…", "")]


@pytest.mark.parametrize(
    ("method", "library", "extra"),
    [
        ("to_pandas", "pandas", "query"),
        ("to_arrow", "pyarrow", "arrow"),
        ("__arrow_c_stream__", "pyarrow", "arrow"),
        ("plot", "matplotlib", "query"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    query: Service, monkeypatch: pytest.MonkeyPatch, method: str, library: str, extra: str
) -> None:
    found = query.estimates("theme")
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == library:
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(deniable.MissingExtraError, match=rf"{library}.*\[{extra}\]"):
        getattr(found, method)()


@pytest.mark.slow
def test_a_plot_draws_every_interval_from_lower_to_upper(query: Service) -> None:
    found = query.estimates("theme")
    ax = found.plot()
    lines = [np.asarray(line.get_xdata()).tolist() for line in ax.lines]
    assert lines == [
        each for row in found for each in ([row["lower"], row["upper"]], [row["frequency"]])
    ]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["light", r"\$dark\$", "auto"]


@pytest.mark.slow
def test_a_plot_of_numbers_draws_mean_and_quantiles_in_their_units(query: Service) -> None:
    ax = query.estimates("minutes").plot()
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == ["mean", "p10", "p25", "p50", "p75", "p90"]
    assert ax.get_xlabel() == "value"


@pytest.mark.slow
def test_a_plot_over_time_has_a_band_a_label(query: Service) -> None:
    ax = query.series("theme", labels=["light", "auto"]).plot()
    assert (len(ax.lines), len(ax.collections)) == (2, 2)


def test_a_row_answer_shows_how_much_it_is(query: Service) -> None:
    assert repr(query.releases("theme")).endswith(" 1 rows>")
    assert repr(query.estimates("theme")).startswith("<Estimates collection='theme-")


@pytest.mark.exhaustive
@pytest.mark.processes
def test_the_notebook_runs_and_shows_what_it_shows_here(tmp_path: Path) -> None:
    with published(tmp_path) as running:
        made = notebook.executed(running)
    stored = notebook.stored()
    assert kinds(made) == kinds(stored)
    assert sum("image/png" in each for cell in kinds(stored) for each in cell) == 3
    text = json.dumps(stored)
    assert running.token not in text
    assert "dn_" not in text


def kinds(notebook: Any) -> list[list[tuple[str, ...]]]:
    """What each cell puts out: the kinds, as figures differ from run to run."""
    return [
        [tuple(sorted(output.get("data", {output.output_type: ""}))) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_public_names_are_sorted() -> None:
    assert deniable.__all__ == sorted(deniable.__all__)
