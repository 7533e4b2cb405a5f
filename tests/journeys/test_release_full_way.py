"""The full way of a release: devices, HTTP, tally, ledger, draw; and bars that cover at its end.

Once with real clients over HTTP, where the answer must equal, to the last digit, the one made from
the payloads that left the devices and the same coins. Then the same parts 3,000 times without
envelopes and sockets, which change no integer: 12 million devices would take days.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from deniable_aggregator.releases import kinds
from deniable_aggregator.releases.kinds.contract import (
    PreparedRelease,
    ReleaseContext,
    ReleaseResult,
    Tallies,
    TallyPart,
)
from deniable_aggregator.releases.service import ReleaseService
from deniable_central.accounting import Installation
from deniable_client import Ceiling, Client, Reply
from deniable_client.transport import HttpTransport
from deniable_shared.mechanisms import build
from deniable_shared.randomness.coins import Coins
from deniable_shared.wire.report import Plaintext, decode_upload, seal_info
from support.builders.api_world import DAY, INGEST, TODAY, World, authored, opened
from support.builders.release_contexts import context
from support.oracles.message_laws import MessageLaw

LABELS = tuple(f"page {v}" for v in range(16))
CENTRAL = 'central = { per_epoch = "1", per_installation = "1", delta = "0" }\n'
ASKED: dict[str, object] = {"epsilon": "0.5"}
MODE: dict[str, object] = {"score": "mode", "epsilon": "0.5"}
PEOPLE = 20
RUNS, REPORTS, TRUTH = 3000, 4000, Fraction(3, 10)

_binomial = import_module("scipy.stats").binom


@dataclass
class Recorded:
    """A transport that keeps what left."""

    inner: HttpTransport
    uploads: list[bytes] = field(default_factory=list)

    def request(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        content_type: str | None = None,
        timeout: float = 10.0,
    ) -> Reply:
        if body is not None:
            self.uploads.append(body)
        return self.inner.request(method, url, body=body, content_type=content_type)


class Forced:
    """A plan that draws with coins that are known."""

    def __init__(self, prepared: PreparedRelease) -> None:
        self._prepared = prepared

    def __getattr__(self, name: str) -> Any:
        return getattr(self._prepared, name)

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        return self._prepared.draw(tallies, Coins.derive(b"full way"))


def forced(mechanism: str, arguments: Mapping[str, object], given: ReleaseContext) -> Any:
    return Forced(kinds.prepare(mechanism, arguments, given))


def answered(world: World, collection: Any) -> list[bytes]:
    """Every payload that left a device, opened: what was reported."""
    transport = Recorded(HttpTransport(httpx.WSGITransport(app=world.app.wsgi_app)))
    for person in range(PEOPLE):
        with Client(
            INGEST[0],
            trust=world.running.keys.trust,
            manifests=[world.signed(collection.manifest)],
            state=":memory:",
            ceiling=Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=4),
            transport=transport,
            clock=world.clock,
            background=False,
        ) as client:
            client.consent("granted")
            client.record("pages", LABELS[person % 5])
            assert client.flush(60.0, early=True).accepted == 1
    told: list[bytes] = []
    for body in transport.uploads:
        (report,) = decode_upload(body)
        opener = world.running.keys.opener(report.header.key_id)
        assert opener is not None
        info = seal_info(collection.id, collection.manifest.digest, report.header)
        told.append(Plaintext.decode(opener.open(report.sealed, info=info)).payload)
    return told


@pytest.mark.parametrize(("asked", "chosen"), [("grr/1", "grr/1"), ("auto", "affine/1")])
def test_releases_over_http_follow_from_payloads_and_coins(
    tmp_path: Path, asked: str, chosen: str
) -> None:
    with opened(tmp_path) as world:
        more = f'mechanism = "{asked}"\n{CENTRAL}'
        collection = world.register(authored("pages", type="choice", labels=LABELS, more=more))
        assert collection.mechanism.id == chosen
        store = world.running.store
        world.running.releases = ReleaseService(store, clock=world.clock, prepare=forced)
        told = answered(world, collection)
        world.clock.now += 9 * DAY
        shown, mode = (
            released(world, collection, {"mechanism": "histogram", **ASKED}),
            released(world, collection, {"mechanism": "exponential", **MODE}),
        )
    rows = np.array([list(payload) for payload in told], dtype=np.uint8)
    tally = Tallies((TallyPart(TODAY, 0, len(told), collection.estimator.tally(rows)),))
    known = ReleaseContext(
        collection=collection.id,
        domain=collection.manifest.domain,
        mechanism=collection.mechanism,
        repeat="once",
        read="live",
        live=True,
        epochs=(TODAY,),
        n=len(told),
        cohorts=1,
        installation=Installation.once(report=2),
    )
    expected = forced("histogram", ASKED, known).draw(tally)
    assert (shown["n"], shown["epochs"], len(told)) == (PEOPLE, [TODAY], PEOPLE)
    assert shown["result"] == json.loads(json.dumps(dict(expected.result)))
    assert shown["guarantee"]["epsilon"] == "0.5"
    assert mode["result"] == forced("exponential", MODE, known).draw(tally).result
    assert mode["result"]["label"] in LABELS


def released(world: World, collection: Any, request: Mapping[str, object]) -> Any:
    """What the HTTP API answers to an analyst."""
    path = f"/v1/collections/{collection.id}/releases"
    answer = world.send("POST", path, "analyst", json=request)
    assert answer.status_code == 201, answer.data
    return answer.get_json()


BUILT = build("grr/1", domain_size=16, epsilon="2")


def planned() -> Any:
    """ε = 2 of 4,000 answers to 16 labels, ε = 0.5 of the release: both kinds of noise matter."""
    return kinds.prepare("histogram", ASKED, context(BUILT, REPORTS))


def population() -> dict[Any, Fraction]:
    return {0: TRUTH} | dict.fromkeys(range(1, 16), (1 - TRUTH) / 15)


@cache
def chance_to_cover() -> float:
    """The law of a count, which is binomial, convolved with the law of the noise."""
    release = planned()
    share = float(BUILT.q + (BUILT.p - BUILT.q) * TRUTH)
    exact = _binomial.pmf(np.arange(REPORTS + 1), REPORTS, share)
    rate, far = float(release.decay), 400
    noise = np.tanh(rate / 2) * np.exp(-rate * np.abs(np.arange(-far, far + 1)))
    law = np.convolve(exact, noise)
    likely = np.flatnonzero(law > 1e-12)
    covered = 0.0
    for start in range(0, len(likely), 16):
        places = np.resize(likely[start : start + 16], 16)
        rows = release._estimates(places - far)
        for place, row in zip(likely[start : start + 16], rows, strict=False):
            covered += law[place] * (row["lower"] <= float(TRUTH) <= row["upper"])
    assert law[likely].sum() == pytest.approx(1, abs=1e-6)
    return covered


def test_a_bar_covers_in_95_percent_of_all_cases_give_or_take_one_exactly() -> None:
    assert chance_to_cover() == pytest.approx(0.95, abs=0.01)


@pytest.mark.statistical
@pytest.mark.long
def test_bars_cover_as_often_in_3000_runs_from_payload_to_release() -> None:
    """Misses are binomial of 3,000 and the exact chance, 4.6%: out of range in one run of 10^6."""
    law, release, misses = MessageLaw(BUILT), planned(), 0
    chances = np.array([float(chance) for chance in law.probabilities(population())])
    edges, messages = np.cumsum(chances), np.frombuffer(b"".join(law.messages), dtype=np.uint8)
    for _ in range(RUNS):
        words = np.frombuffer(Coins.system().bytes(8 * REPORTS), dtype=np.uint64) / 2.0**64
        payloads = messages[np.searchsorted(edges[:-1], words, side="right")][:, None]
        counts = law.estimator.tally(payloads)
        drawn: Any = release.draw(Tallies((TallyPart(0, 0, REPORTS, counts),))).result
        first = drawn["estimates"][0]
        misses += not first["lower"] <= float(TRUTH) <= first["upper"]
    least, most = _binomial.ppf([5e-7, 1 - 5e-7], RUNS, 1 - chance_to_cover())
    assert least <= misses <= most
