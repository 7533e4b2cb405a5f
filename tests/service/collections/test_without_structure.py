"""A mechanism without a structure: it is counted and read, and what needs a structure says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import pytest

from deniable_aggregator.collections.authoring.linter import lint
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.planning import plan
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.releases import kinds
from deniable_aggregator.releases.kinds.sensitivity import label_sensitivity
from deniable_estimators.simulation import generator, simulated_tally
from deniable_shared import mechanisms
from deniable_shared.errors import DeniableError, ParameterError
from deniable_shared.manifest.linkage import linkage
from deniable_shared.manifest.model import Manifest
from support.builders.api_world import DSSE, INGEST, TODAY, World, opened
from support.builders.record_domains import record
from support.builders.release_requests import OF_DOMAINS, REQUESTS
from support.doubles.toy_collections import Unstructured, registered, toml
from support.doubles.toy_mechanism import Toy

CENTRAL = 'central = { per_epoch = "99", per_installation = "99", delta = "0.01" }\ncohorts = 64'
ANSWERS: dict[str, list[object]] = {
    "choice": ["1", "2", "5", "5"],
    "number": [0, 5, 5, 20],
    "record": [{"os": "mac", "browser": "chrome"}, {"os": "linux", "browser": "chrome"}],
}
CLOSED = TODAY - 4
MEMOIZED = 'repeat = "memoized"\nlinkable = true'


@dataclass(frozen=True)
class Collections:
    world: World
    by_type: dict[str, Collection]

    def path(self, domain: str, rest: str = "") -> str:
        return f"/v1/collections/{self.by_type[domain].id}{rest}"

    def page(self, domain: str, rest: str = "") -> str:
        return f"/collections/{self.by_type[domain].id}{rest}"


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collections]:
    with ExitStack() as stack:
        stack.enter_context(registered(Unstructured))
        world = stack.enter_context(opened(tmp_path_factory.mktemp("toys")))
        made = {domain: world.register(authored(domain, CENTRAL)) for domain in ANSWERS}
        for domain, collection in made.items():
            for epoch in (CLOSED, TODAY):
                world.count(collection, ANSWERS[domain] * 100, epoch=epoch)
        yield Collections(world, made)


def authored(domain: str, more: str = "") -> Manifest:
    return manifest_from_toml(toml(domain, more), ingest=INGEST)


def refusal(toys: Collections, path: str, *, page: bool = False) -> str:
    """What a client or a person reads; one of the 4xx."""
    answer = (toys.world.page if page else toys.world.get)(path)
    assert 400 <= answer.status_code < 500, answer.text
    return answer.text


@pytest.mark.slow
def test_reports_are_uploaded_and_counted(toys: Collections) -> None:
    collection = toys.by_type["choice"]
    before = toys.world.get(toys.path("choice", "/estimates")).get_json()["n"]
    answer = toys.world.upload(collection, toys.world.report(collection, "5"))
    assert answer.status_code == 200
    assert toys.world.get(toys.path("choice", "/estimates")).get_json()["n"] == before + 1


@pytest.mark.parametrize("query", ["", "?group_by=epoch", "?family=all", "?significant=holm"])
@pytest.mark.parametrize("domain", ["choice", "number"])
def test_estimates_need_no_structure(toys: Collections, domain: str, query: str) -> None:
    answer = toys.world.get(toys.path(domain, "/estimates" + query))
    assert answer.status_code == 200 or (domain, query) == ("number", "?significant=holm")


@pytest.mark.slow
@pytest.mark.parametrize("rest", ["", "/compare", "/releases?mechanism=histogram"])
@pytest.mark.parametrize("domain", ANSWERS)
def test_pages_are_there(toys: Collections, domain: str, rest: str) -> None:
    assert toys.world.page(toys.page(domain, rest), "analyst").status_code == 200


@pytest.mark.parametrize(
    ("domain", "query"),
    [
        ("choice", "set=1,2"),
        ("record", "marginal=os"),
        ("record", "marginal=os,browser"),
        ("number", "range=0..5"),
        ("number", "quantile=0.5"),
    ],
)
def test_sums_of_labels_are_refused_by_name(toys: Collections, domain: str, query: str) -> None:
    assert "toy/1" in refusal(toys, toys.path(domain, f"/estimates?{query}"))


def test_a_page_says_that_there_is_no_table(toys: Collections) -> None:
    said = refusal(toys, toys.page("record", "?table=os"), page=True)
    assert "not available for toy/1" in said


@pytest.mark.parametrize("kind", sorted({*kinds.RELEASE_KINDS} - {"texts"}))
@pytest.mark.parametrize("cost", [True, False])
def test_each_release_is_refused_by_name(toys: Collections, kind: str, cost: bool) -> None:
    domain, arguments = OF_DOMAINS.get(kind) or ("choice", dict(REQUESTS)[kind])
    answer = toys.world.send(
        "POST",
        toys.path(domain, "/releases"),
        "analyst",
        json={"mechanism": kind, "cost": cost, **arguments},
    )
    assert answer.status_code == 400
    assert "toy/1" in answer.get_json()["detail"]


@pytest.mark.slow
def test_the_form_of_a_release_says_so_too(toys: Collections) -> None:
    query = "?mechanism=histogram&cost=true&epsilon=0.2"
    page = toys.world.page(toys.page("choice", f"/releases{query}"), "analyst")
    assert "not available for toy/1" in page.text


def test_linkage_is_refused_and_with_it_a_permanent_answer(toys: Collections) -> None:
    chain = mechanisms.build("toy/1", domain_size=4, epsilon="1", permanent="2")
    with pytest.raises(ParameterError, match="linkage is not available for toy/1"):
        linkage(chain)
    with pytest.raises(DeniableError, match="linkage is not available for toy/1"):
        authored("choice", MEMOIZED)


def test_how_far_a_report_moves_is_refused(toys: Collections) -> None:
    mechanism = mechanisms.build("toy/1", domain_size=4, epsilon="1")
    with pytest.raises(ParameterError, match="central releases are not available for toy/1"):
        label_sensitivity(mechanism)


def test_a_tally_is_simulated_by_the_law_of_the_mechanism(toys: Collections) -> None:
    for permanent in ({}, {"permanent": "2"}):
        mechanism = mechanisms.build("toy/1", domain_size=4, epsilon="1", **permanent)
        tally = simulated_tally(mechanism, np.arange(4), np.full(4, 100), draws=generator(1))
        assert tally.sum() == 400


@pytest.mark.slow
def test_plans_of_others_pass_it_over(toys: Collections) -> None:
    for repeat in ("once", "memoized"):
        assert plan(4, "1", 100_000, repeat=repeat).mechanism == "grr/1"
        assert plan(record(2, 2), "1", 100_000, repeat=repeat).mechanism == "grr/1"


@pytest.mark.slow
def test_a_plan_that_names_it_leaves_out_what_is_not_known(toys: Collections) -> None:
    named = plan(4, "1", 100_000, mechanism="toy/1")
    assert [way.repeat for way in named.repeats] == ["once", "fresh"]
    with pytest.raises(ParameterError, match="linkage is not available for toy/1"):
        plan(4, "1", 100_000, mechanism="toy/1", repeat="memoized")
    with pytest.raises(ParameterError, match="not available for toy/1"):
        plan(record(2, 2), "1", 100_000, mechanism="toy/1")


@pytest.mark.parametrize("domain", ANSWERS)
def test_the_linter_reads_its_collections(toys: Collections, domain: str) -> None:
    messages = [each.message for each in lint(authored(domain), now=1.79e9)]
    assert any("reports" in message for message in messages)
    assert ("sums of choices, and tables, are not available for toy/1" in messages) == (
        domain == "record"
    )


def test_the_linter_says_that_no_release_reads_it(toys: Collections) -> None:
    text = toml("choice").replace('"live"', '"releases"')
    messages = [each.message for each in lint(manifest_from_toml(text, ingest=INGEST), now=1.79e9)]
    assert any(message.startswith("no release reads toy/1") for message in messages)


def test_a_manifest_with_permanent_answers_is_refused_over_http(toys: Collections) -> None:
    """Signed by an operator whose program knows the structure."""
    with registered(Toy):
        manifest = authored("choice", MEMOIZED)
    path = f"/v1/collections/{manifest.collection}"
    body = toys.world.signed(manifest)
    answer = toys.world.send("PUT", path, data=body, content_type=DSSE)
    assert answer.status_code == 422
    assert "linkage is not available for toy/1" in answer.get_json()["detail"]
