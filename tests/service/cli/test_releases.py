"""`deniable releases` and `ledger`, over reports that were really counted."""

from __future__ import annotations

import atexit
import json
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import click
import httpx
import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.cli.options import Target
from deniable_aggregator.cli.release_kinds import read_labels, read_value
from deniable_aggregator.cli.release_tables import _print_error_bars, question_option
from deniable_aggregator.cli.releases import releases
from deniable_aggregator.client.service_client import ServiceClient
from deniable_aggregator.documents.releases import BarDocument
from deniable_aggregator.operations.service import Service
from deniable_aggregator.releases import kinds
from deniable_aggregator.releases.kinds.contract import PreparedRelease, ReleaseContext
from deniable_aggregator.releases.kinds.label_workloads import read_label_set
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_shared.randomness.coins import Coins
from support.builders.record_domains import record
from support.builders.release_world import ReleaseWorld, opened
from support.doubles import release_plans
from support.processes.deniable_command import Deniable

TODAY = int(time.time()) // 86_400
FIRST, LAST = TODAY - 10, TODAY - 9
THEME = """\
name = "theme"
purpose = "Which theme do people use?"
owner = "privacy@example.org"
epsilon = "1"
valid_from = 2026-01-01
expires = 2099-01-01
central = {{ per_epoch = "1", per_installation = "2", delta = "{delta}" }}
{more}[domain]
type = "choice"
labels = ["light", "dark", "auto"]
"""
MODE = ("exponential", "theme", "--epsilon", "0.5")
COUNTS = ("histogram", "theme", "--epsilon", "0.5")
QUOTE, MAKE = ("releases", "quote"), ("releases", "make")


def prepared(folder: Path, *, delta: str = "0", more: str = "", people: int = 150) -> Deniable:
    """A directory with the answers of so many people on two days."""
    return counted(delta, more, people).copy(folder)


@cache
def counted(delta: str, more: str, people: int) -> Deniable:
    """The same, made once a process and never changed."""
    deniable = Deniable(Path(tempfile.mkdtemp(prefix="deniable-releases-")))
    atexit.register(shutil.rmtree, deniable.folder, ignore_errors=True)
    deniable.prepare()
    path = deniable.write("theme.toml", THEME.format(delta=delta, more=more))
    deniable.done("collections", "apply", path, "--key", deniable.key)
    service = Service.open(Settings(data=deniable.data))
    collection = service.registry.get("theme")
    for epoch in (FIRST, LAST):
        cell = TallyKey(collection.id, epoch, collection.manifest.version)
        rows = [
            AcceptedReport(
                cell, Coins.system().bytes(16), collection.mechanism.randomize(1, Coins.system())
            )
            for _ in range(people)
        ]
        service.store.commit(rows, lambda _, seen: collection.estimator.tally(seen))
    service.close()
    return deniable


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    return prepared(tmp_path)


def lines_with(text: str, *words: str) -> list[str]:
    return [line for line in text.splitlines() if all(word in line for word in words)]


@pytest.mark.slow
def test_the_price_stands_before_and_after_and_nothing_is_charged(deniable: Deniable) -> None:
    shown = deniable.done(*QUOTE, *MODE)
    assert lines_with(shown, "the epoch with the least left", "ε", "1", "0.5")
    assert lines_with(shown, "one installation", "ε", "2", "1.5")
    assert lines_with(shown, "true answers below the most frequent label, central part")
    assert lines_with(shown, "True answers: local ε = 1, against everyone.")
    assert "Nothing was charged." in shown
    assert "Nothing was released yet" in deniable.done("releases", "list", "theme")


@pytest.mark.slow
def test_a_price_and_its_release_show_the_same_typical_error(deniable: Deniable) -> None:
    shown = " ".join(deniable.done(*QUOTE, *MODE).split())
    [quoted] = deniable.json(*QUOTE, *MODE)["typical_errors"]
    output = " ".join(deniable.done(*MAKE, *MODE).split())
    made = deniable.json(*MAKE, *MODE)
    assert made["typical_errors"] == [quoted]
    assert 0 < quoted["p95"] < made["error_bars"][-1]["upper"]
    for text in (shown, output):
        assert "Typical error, for simulated people" in text
        assert f"{quoted['p95']:,.4g} or less in 95 of 100" in text
        assert "No guarantee" in text
    assert "typical_errors" not in deniable.json(*QUOTE, *COUNTS)


@pytest.mark.slow
def test_json_is_the_services_document_and_nothing_else(deniable: Deniable) -> None:
    quote = deniable.json(*QUOTE, *MODE)
    assert (quote["after"]["epoch"]["left"]["epsilon"], quote["refusal"]) == ("0.5", None)
    made = deniable.json(*MAKE, *MODE)
    assert made["result"]["label"] in ("light", "dark", "auto")
    assert made["guarantee"] == quote["guarantee"]
    assert deniable.json("releases", "show", "theme", made["release"]) == made
    assert [row["release"] for row in deniable.json("releases", "list", "theme")["releases"]] == [
        made["release"]
    ]
    [account] = deniable.json("ledger", "theme")["collections"]
    assert [(row["first"], row["last"]) for row in account["epochs"]] == [(FIRST, LAST)]


@pytest.mark.slow
def test_the_same_request_again_is_free_and_is_said_to_be(deniable: Deniable) -> None:
    made = deniable.json(*MAKE, *MODE)
    assert deniable.json(*MAKE, *MODE, "--score", "mode") == made
    assert f"paid for as release {made['release']}" in deniable.done(*QUOTE, *MODE)
    quote = deniable.json(*QUOTE, *MODE)
    assert quote["after"] == quote["budget"]


@pytest.mark.slow
def test_a_histogram_is_a_table_with_bars_that_holds_what_was_drawn(deniable: Deniable) -> None:
    shown = deniable.done(*MAKE, *COUNTS)
    for label in ("light", "dark", "auto"):
        [line] = lines_with(shown, f" {label} ")
        assert "●" in line
        assert set("├┤") & set(line)
    [id] = [row["release"] for row in deniable.json("releases", "list", "theme")["releases"]]
    assert lines_with(shown, f"Release {id}, charged", "ε = 0.5", f"to epochs {FIRST} to {LAST}")


@pytest.mark.slow
def test_each_mechanism_there_is_can_be_asked_and_shown(tmp_path: Path) -> None:
    """With the arguments that it needs: made, or refused in one sentence and not charged."""
    deniable = prepared(tmp_path, delta="0.01", more="cohorts = 64\n")
    needed = {"epsilon": "0.05", "delta": "1e-6", "k": "2", "alpha": "0.4", "workload": "points"}
    needed |= {"supply": "100", "none": "auto", "ranges": "2", "attributes": "a", "texts": "a"}
    made = set()
    for mechanism in kinds.RELEASE_KINDS:
        taken = [p.name for p in kinds.parameters(mechanism) if p.default in (None, "none")]
        words = [word for name in taken for word in (f"--{name}", needed[name])]
        result = deniable(*MAKE, mechanism, "theme", *words)
        assert (result.exit_code, "Release " in result.stdout) in {(0, True), (1, False)}
        assert result.exit_code == 0 or len(result.stderr.strip().splitlines()) == 1
        made |= {mechanism} if result.exit_code == 0 else set()
    assert made >= {"allocate", "exponential", "histogram", "median", "noisy-max", "top-k"}
    assert "price" not in made  # a theme has none
    listed = deniable.json("releases", "list", "theme")["releases"]
    assert {row["mechanism"] for row in listed} == made


@pytest.mark.slow
def test_a_refusal_names_spent_and_left_budget_and_so_does_its_price(
    deniable: Deniable,
) -> None:
    first = deniable.json(*MAKE, *MODE)
    deniable.done(*MAKE, *COUNTS)
    asked = (*COUNTS[:-1], "0.25")
    shown = deniable.done(*QUOTE, *asked)
    assert lines_with(
        shown, "It would be refused", "has epsilon 0 of 1 left", "costs 0.25", "1 was spent"
    )
    assert lines_with(shown, "the epoch with the least left", "–")
    refused = deniable.refused(*MAKE, *asked)
    assert "1 was spent" in refused
    assert first["release"] in refused


@pytest.mark.slow
def test_open_epochs_and_too_few_reports_end_with_75(deniable: Deniable, tmp_path: Path) -> None:
    assert "takes reports until" in deniable.refused(*MAKE, *MODE, "--to", str(TODAY), code=75)
    (tmp_path / "few").mkdir()
    few = prepared(tmp_path / "few", people=20)
    assert "have 40 reports, but 100 are needed" in few.refused(*MAKE, *MODE, code=75)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["make", "histogrm", "theme", "--epsilon", "1"], "Did you mean 'main releases make hist"),
        (["quote", "histogram", "theme"], "Missing option '--epsilon'. It takes a decimal text"),
        (["make", "histogram", "theme", "--epsilon", "1", "--k", "2"], "No such option '--k'"),
        (["make", "histogram", "theme", "--epsilom", "1"], "--epsilon"),
        (["make", "allocate", "theme", "--supply", "[1", "--epsilon", "1"], "is not a JSON list"),
        (["make", "histogram"], "Missing argument 'COLLECTION'"),
        (["ask", "theme", "0" * 16], "Missing option '--labels'"),
        (["ask", "theme", "0" * 16, "--labels", "a", "--epsilon", "1"], "--epsilon"),
        (["ask", "theme", "0" * 16, "--labels", "[a"], "is not a JSON list"),
    ],
    ids=" ".join,
)
def test_wrong_usage_asks_nobody_and_says_what_is_right(
    tmp_path: Path, words: list[str], message: str
) -> None:
    result = Deniable(tmp_path)("releases", *words)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert result.stdout == ""
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
def test_what_a_value_may_not_be_is_told_by_the_service(deniable: Deniable) -> None:
    assert "must lie in" in deniable.refused(*MAKE, *COUNTS[:-1], "21")
    assert "threshold" in deniable.refused(*MAKE, *MODE, "--score", "treshold")
    assert deniable.json("ledger")["collections"][0]["releases"] == []


@pytest.mark.parametrize("mechanism", kinds.RELEASE_KINDS)
@pytest.mark.parametrize("verb", ["quote", "make"])
def test_the_options_of_a_kind_are_its_own_arguments(verb: str, mechanism: str) -> None:
    here = {"collection", "first", "last", "url", "data", "as_json"}
    context = click.Context(releases)
    group = releases.get_command(context, verb)
    assert isinstance(group, click.Group)
    command = group.get_command(context, mechanism)
    assert command is not None
    taken = {p.name: p for p in kinds.parameters(mechanism)}
    assert {each.name for each in command.params} == taken.keys() | here
    assert not taken.keys() & here
    helped = {o.name: o for o in command.params if isinstance(o, click.Option)}
    for name, parameter in taken.items():
        assert parameter.accepted[1:] in (helped[name].help or "")
        assert helped[name].required == (parameter.default is None)
    assert len(taken) <= 6


def test_values_stay_text_and_lists_are_json() -> None:
    assert read_value("0.50") == "0.50"
    assert read_value('[1, "2"]') == [1, "2"]
    assert read_labels("dark, auto") == ["dark", "auto"]
    assert read_labels('["a,b", "c"]') == ["a,b", "c"]


@pytest.mark.slow
def test_a_ledger_of_nothing_says_so_and_one_of_several_epochs_shows_each(
    tmp_path: Path,
) -> None:
    empty = Deniable(tmp_path / "empty")
    (tmp_path / "empty").mkdir()
    empty.prepare()
    assert "No collection is registered" in empty.done("ledger")
    (tmp_path / "one").mkdir()
    deniable = prepared(tmp_path / "one")
    deniable.done(*MAKE, *MODE, "--to", str(FIRST))
    shown = deniable.done("ledger")
    assert lines_with(shown, f"epoch {FIRST} ", "ε = 0.5")
    assert lines_with(shown, "every other epoch", "ε = 1")
    assert lines_with(shown, "made")


def speaking(world: ReleaseWorld) -> Callable[[Target], ServiceClient]:
    def connected(target: Target) -> ServiceClient:
        client = httpx.Client(
            base_url="http://deniable.test",
            headers=world.service.authorization("analyst"),
            transport=httpx.WSGITransport(app=world.service.app.wsgi_app),
        )
        return ServiceClient(client, address="http://deniable.test")

    return connected


def talk(
    mechanism: str, arguments: Mapping[str, object], context: ReleaseContext
) -> PreparedRelease:
    """A session, under the name of a mechanism that the command knows."""
    return release_plans.prepare("talk", arguments, context)


def test_a_question_to_a_session_goes_to_its_address_with_its_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`talk` takes {"label": place}: it refuses ours in its own words, and charges nothing."""
    with opened(tmp_path, prepare=talk) as world:
        monkeypatch.setattr(Target, "connect", speaking(world))
        deniable = Deniable(tmp_path)
        opened_ = deniable.json(*MAKE, "histogram", "settings", "--epsilon", "0.1")
        shown = deniable.done("releases", "show", "settings", opened_["release"])
        asking = f"deniable releases ask {opened_['collection']} {opened_['release']} --labels A,B"
        assert asking in shown
        refused = deniable("releases", "ask", "settings", opened_["release"], "--labels", "a")
        assert refused.exit_code == 1
        assert "label must be a place from 0 to 1" in refused.stderr
        assert world.charges == 1


@pytest.mark.parametrize("radices", [(2, 3), (2, 2, 2)])
def test_a_session_over_a_record_says_how_to_ask_about_its_cells(radices: tuple[int, ...]) -> None:
    domain = record(*radices)
    option, example = shlex.split(question_option(list(domain.labels)))
    assert (option, example) == ("--cells", "a=l0, b=l0")
    assert read_label_set({"cells": [example]}, domain)[0].any()


@pytest.mark.parametrize(
    ("labels", "option"),
    [
        (["light", "dark"], "--labels A,B"),
        (["a=b, c", "d"], """--labels '["a=b, c", "d"]'"""),
        (3, "--labels A,B"),
        (["a=x, y, b=z"], "--cells 'a=x, y, b=z'"),
    ],
)
def test_a_session_over_labels_says_how_to_ask_about_them(labels: object, option: str) -> None:
    assert question_option(labels) == option


def test_the_error_of_a_price_is_a_number_without_an_exponent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _print_error_bars([BarDocument("cents of revenue", None, 76_980_123.4, 0.95)])
    assert lines_with(capsys.readouterr().out, "cents of revenue", "–", "76,980,000", "0.95")


def test_the_answer_of_a_session_is_shown_with_its_bars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = {
        "release": "0" * 16,
        "result": {"labels": ["a", "b"], "share": 0.25, "lower": None},
        "error_bars": [{"quantity": "share", "lower": 0.1, "upper": 0.4, "confidence": 0.95}],
        "questions_left": 1234,
    }
    asked: list[object] = []

    def respond(request: httpx.Request) -> httpx.Response:
        asked.append((request.url.path, json.loads(request.content)))
        return httpx.Response(200, json=answer)

    client = httpx.Client(base_url="http://x.test", transport=httpx.MockTransport(respond))
    made = ServiceClient(client, address="http://x.test")
    monkeypatch.setattr(Target, "connect", lambda _: made)
    words = ("releases", "ask", "theme", "f" * 16, "--labels", "a,b")
    shown = Deniable(tmp_path).done(*words)
    assert asked == [
        (f"/v1/collections/theme/releases/{'f' * 16}/questions", {"labels": ["a", "b"]})
    ]
    assert "share: 25.0%" in shown
    assert lines_with(shown, "share", "0.1", "0.4", "0.95")
    assert "New questions left: 1,234" in shown


@pytest.mark.slow
def test_with_releases_only_n_is_shown_and_small_epochs_are_named(
    tmp_path: Path,
) -> None:
    deniable = prepared(tmp_path, more='read = "releases"\nmin_batch = 150\n')
    days = ("--from", str(FIRST - 2), "--to", str(LAST))
    priced = deniable.done(*QUOTE, *COUNTS, *days)
    assert f"from epochs {FIRST} to {LAST}, 300 reports." in priced
    small = f"Too few reports to read: epochs {FIRST - 2} to {FIRST - 1}."
    assert small in priced
    assert small in deniable.done(*MAKE, *COUNTS, *days)
    listed = deniable.done("collections", "epochs", "list", "theme")
    assert lines_with(listed, str(FIRST), "closed", "150")
    assert lines_with(listed, str(FIRST - 1), "closed", "fewer than 150")
