"""The forms commands print besides their tables: plots, CSV, Arrow, Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner, Result

from deniable_aggregator.cli import main
from deniable_aggregator.cli.estimate_plots import plot_estimates
from deniable_aggregator.cli.options import Target
from deniable_aggregator.client.service_client import ServiceClient
from deniable_aggregator.web import columnar
from support.builders.api_world import TODAY, World, authored, opened
from support.builders.estimate_documents import estimates_document

YES, NO = ({"dark_mode": value, "beta": False} for value in (True, False))
BUDGET = 'central = { per_epoch = "1", per_installation = "1", delta = "0.00001" }\n'


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("forms")) as service:
        found = service.register(authored(more=BUDGET))
        for epoch in (TODAY - 1, TODAY):
            service.count(found, [YES] * 60 + [NO] * 20, epoch=epoch)
        yield service


@pytest.fixture(autouse=True)
def connected(service: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands speak to the service of this test."""

    def connect(target: Target) -> ServiceClient:
        client = httpx.Client(
            base_url="http://deniable.test",
            headers=service.authorization("admin"),
            transport=httpx.WSGITransport(app=service.app.wsgi_app),
        )
        return ServiceClient(client, address="http://deniable.test")

    monkeypatch.setattr(Target, "connect", connect)


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def done(*words: str) -> str:
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_plot_has_a_bar_a_label_and_the_figures_beside_it(service: World) -> None:
    shown = done("estimates", "settings", "--plot")
    estimates = service.get("/v1/collections/settings/estimates").get_json()["estimates"]
    for row in estimates:
        [line] = [line for line in shown.splitlines() if line.startswith(row["label"])]
        assert "●" in line
        lower, upper = row["lower"] * 100, row["upper"] * 100
        assert line.endswith(f"{row['frequency'] * 100:.1f}%  ({lower:.1f} to {upper:.1f})")
    assert "confidence 0.95" in shown


def test_a_plot_by_epoch_has_a_part_a_label_and_a_line_an_epoch() -> None:
    shown = done("estimates", "settings", "--plot", "--by-epoch")
    assert shown.count(f"epoch {TODAY - 1} ") == shown.count(f"epoch {TODAY} ") == 2
    assert ": dark_mode" in shown


def test_every_line_of_a_plot_is_as_wide_as_a_pipe_at_most() -> None:
    assert max(map(len, done("estimates", "settings", "--plot").splitlines())) <= 100


def test_a_raw_estimate_below_its_interval_is_drawn_where_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = {"label": "[bold]rare", "frequency": -0.05, "lower": 0.0, "upper": 0.04}
    plot_estimates(estimates_document(row))
    [line] = [line for line in capsys.readouterr().out.splitlines() if "rare" in line]
    assert line.startswith("[bold]rare ")
    assert line.index("●") < line.index("├")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_a_file_is_what_the_service_answers(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"settings.{form}"
    assert done("estimates", "settings", "--by-epoch", f"--{form}", str(path)) == ""
    read = parquet.read_table(path) if form == "parquet" else pa.ipc.open_stream(path).read_all()
    printed = csv.DictReader(io.StringIO(done("estimates", "settings", "--by-epoch", "--csv")))
    assert [float(row["frequency"]) for row in printed] == read.column("frequency").to_pylist()


def test_a_refused_file_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columnar, "find_spec", lambda name: None)
    result = run("estimates", "settings", "--parquet", str(tmp_path / "a.parquet"))
    assert result.exit_code == 1
    assert "deniable-aggregator[arrow]" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", [["--json", "--csv"], ["--plot", "--json"], ["--csv", "--parquet", "x"]]
)
def test_two_forms_at_once_are_wrong_usage(words: list[str]) -> None:
    result = run("estimates", "settings", *words)
    assert result.exit_code == 2
    assert "cannot be combined" in result.stderr


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (["collections", "epochs", "list", "settings"], "/v1/collections/settings/epochs"),
        (["releases", "list", "settings"], "/v1/collections/settings/releases"),
        (["ledger"], "/v1/ledger"),
        (["access", "audit"], "/v1/audit"),
    ],
)
def test_csv_is_what_the_service_answers(service: World, words: list[str], path: str) -> None:
    printed = done(*words, "--csv")
    answered = service.get(path, "admin", Accept="text/csv").text
    assert list(csv.reader(io.StringIO(printed))) == list(csv.reader(io.StringIO(answered)))


def test_the_audit_log_is_printed_to_its_end_with_one_header(
    service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = done("access", "audit", "--csv")
    store = service.running.store
    monkeypatch.setattr(store, "audit", lambda first: type(store).audit(store, first)[:1])
    assert done("access", "audit", "--csv") == whole
    assert whole.count("at,act,actor") == 1
