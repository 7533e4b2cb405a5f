"""The mechanisms there are, through the whole way: any arguments, any collection, real ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable_aggregator.releases import kinds
from deniable_aggregator.releases.context import context_of
from deniable_aggregator.releases.kinds import error_simulation
from deniable_aggregator.releases.request import ReleaseRequest, request_terms
from deniable_aggregator.releases.service import ReleaseService
from deniable_gateway.problem import Problem
from support.builders.release_requests import OF_DOMAINS, REQUESTS
from support.builders.release_world import FIRST, LAST, ReleaseWorld, opened
from support.tiers import by_tier

NAMES = sorted(kinds.RELEASE_KINDS)
ARGUMENTS = sorted({p.name for name in NAMES for p in kinds.parameters(name)})
CENTRAL = 'central = { per_epoch = "99", per_installation = "99", delta = "0.01" }\n'
LABELS = {"bits": ("dark_mode", "beta"), "choice": ("1", "2", "5", "10")}
CHOICES_ONLY = {"allocate", "median", "mwem", "price", "queries", "small-db"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
LIKELY = st.sampled_from(
    ["0.5", "1", "20", "1e-6", "mode", "quantile", "threshold", "revenue", "gumbel", 1, 2, 3]
)


@pytest.fixture(scope="module", params=LABELS)
def release_world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ReleaseWorld]:
    runs = by_tier(error_simulation.FEWEST_RUNS, error_simulation.MOST_RUNS)
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(error_simulation, "MOST_RUNS", runs)
        folder: Path = tmp_path_factory.mktemp(request.param)
        made = stack.enter_context(
            opened(
                folder,
                central=CENTRAL,
                prepare=kinds.prepare,
                empty=True,
                more="cohorts = 64\n",
                type=request.param,
                labels=LABELS[request.param],
            )
        )
        for epoch in (FIRST, LAST):
            made.count(epoch, [b"\x00" if request.param == "choice" else b"\x80"] * 1000)
        yield made


@pytest.mark.slow
@settings(max_examples=by_tier(15, 60), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    mechanism=st.sampled_from(NAMES),
    arguments=st.dictionaries(
        st.sampled_from(ARGUMENTS) | st.text(max_size=5), LIKELY | JSON, max_size=5
    ),
    cost=st.booleans(),
)
def test_no_arguments_break_a_release(
    release_world: ReleaseWorld, mechanism: str, arguments: dict[str, object], cost: bool
) -> None:
    """Asked, priced, made or refused with a reason; never an error of the server."""
    body = {**arguments, "mechanism": mechanism, "cost": cost}
    for reserved in ("from", "to", "epochs"):
        body.pop(reserved, None)
    answer = release_world.service.send(
        "POST", "/v1/collections/settings/releases", "analyst", json=body
    )
    assert answer.status_code in (200, 201, 400, 409), answer.data


@pytest.mark.slow
def test_each_mechanism_is_made_and_planned_again_from_its_own_parameters(
    release_world: ReleaseWorld,
) -> None:
    """What a charge keeps of a request is enough to make it, or to resume it."""
    store = release_world.service.running.store
    facts = context_of(store, release_world.collection, (FIRST, LAST))
    domain = release_world.collection.manifest.domain.type
    requests = [each for each in REQUESTS if domain == "choice" or each[0] not in CHOICES_ONLY]
    for mechanism, arguments in requests:
        release = release_world.releases.release(
            release_world.collection, ReleaseRequest(mechanism, arguments), audit=None
        )
        [row] = [
            row
            for row in store.charges(release_world.collection.id)
            if row.release == release.row.release
        ]
        terms = json.loads(row.terms)
        again = kinds.prepare(terms["mechanism"], terms["parameters"], facts)
        assert request_terms(again) == row.terms
        assert str(again.guarantee.epsilon) == row.epsilon
    assert {name for name, _ in REQUESTS} | OF_DOMAINS.keys() == set(NAMES)


@pytest.mark.slow
def test_a_session_answers_the_same_over_http_and_after_a_restart(
    release_world: ReleaseWorld,
) -> None:
    if release_world.collection.manifest.domain.type == "bits":
        with pytest.raises(Problem, match="one label of several"):
            release_world.releases.release(
                release_world.collection, ReleaseRequest("queries", {"epsilon": "8"}), audit=None
            )
        return
    release = release_world.releases.release(
        release_world.collection, ReleaseRequest("queries", {"epsilon": "8"}), audit=None
    )
    path = f"/v1/collections/settings/releases/{release.row.release}/questions"
    answers = []
    for _ in range(2):
        store, clock = release_world.service.running.store, release_world.service.clock
        release_world.service.running.releases = ReleaseService(
            store, clock=clock, prepare=kinds.prepare
        )
        answer = release_world.service.send("POST", path, "analyst", json={"labels": ["2", "1"]})
        assert answer.status_code == 200, answer.data
        answers.append(json.loads(answer.data))
    assert answers[0] == answers[1]
    assert answers[0]["result"]["labels"] == ["1", "2"]
