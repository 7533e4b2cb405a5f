"""What uses a mechanism, where toy/1 is one: the linter, plans, estimates, linkage, releases."""

from __future__ import annotations

import numpy as np

from deniable_aggregator.collections.authoring.linter import lint
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.planning import plan
from deniable_aggregator.releases import kinds
from deniable_aggregator.releases.kinds.contract import ReleaseContext, Tallies, TallyPart
from deniable_aggregator.releases.kinds.sensitivity import label_sensitivity
from deniable_central.accounting import Installation
from deniable_estimators.inference.set_laws import estimate_label_set
from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.simulation import generator, simulated_tally
from deniable_shared import mechanisms
from deniable_shared.domains import Record
from deniable_shared.manifest.linkage import linkage
from deniable_shared.manifest.model import Manifest

FILE = """
name = "drinks"
purpose = "What do people drink?"
owner = "privacy@example.org"
epsilon = "1"
mechanism = "toy/1"
valid_from = 2026-12-01
expires = 2027-06-01
{more}
[domain]
type = "choice"
labels = ["tea", "water", "milk", "juice"]
"""
ONCE = mechanisms.build("toy/1", domain_size=4, epsilon="1")
PEOPLE = np.array([40_000, 30_000, 20_000, 10_000])
TALLY = simulated_tally(ONCE, np.arange(4), PEOPLE, draws=generator(1))
N = int(TALLY.sum())


def manifest(more: str = "") -> Manifest:
    return manifest_from_toml(FILE.format(more=more), ingest=["https://telemetry.example.org"])


def lint_it() -> None:
    assert any("reports" in str(each) for each in lint(manifest(), now=1.79e9))
    released = lint(manifest('read = "releases"'), now=1.79e9)
    assert not any("no release reads" in str(each) for each in released)


def plan_it() -> None:
    labels = ("no", "yes")
    record = Record((("beta", labels), ("dark", labels)))
    for domain in (4, record):
        for repeat in ("once", "memoized"):
            planned = plan(domain, "1", 100_000, mechanism="toy/1", repeat=repeat)
            other = plan(domain, "1", 100_000, mechanism="grr/1", repeat=repeat)
            assert planned.half_width == other.half_width
            assert plan(domain, "1", 100_000, repeat=repeat).half_width <= planned.half_width
    assert "toy/1" in mechanisms.ids_for_target("tables")


def link_it() -> None:
    toy, other = (
        mechanisms.build(each, domain_size=4, epsilon="1", permanent="2")
        for each in ("toy/1", "grr/1")
    )
    assert linkage(toy) == linkage(other) > 0


def estimate_it() -> None:
    estimator = estimator_for(ONCE)
    estimate = estimator.estimate(TALLY, N)
    errors = np.abs(estimate.frequencies - PEOPLE / PEOPLE.sum())
    assert errors.max() < 6 * estimate.std_errors.max()
    both = estimate_label_set(estimator, ONCE, TALLY, N, (0, 1))
    assert both.lower < 0.7 < both.upper


def release_it() -> None:
    assert "toy/1" in mechanisms.releasable_ids()
    assert (label_sensitivity(ONCE).l1, label_sensitivity(ONCE).linf) == (2, 1)
    installation = Installation(1, ONCE.epsilon)
    context = ReleaseContext(
        "drinks-aaaaaa", manifest().domain, ONCE, "once", "releases", (0,), N, 1, installation
    )
    release = kinds.prepare("histogram", {"epsilon": "1"}, context)
    assert release.draw(Tallies((TallyPart(0, 0, N, TALLY),))).result


if __name__ == "__main__":
    for use in (lint_it, plan_it, link_it, estimate_it, release_it):
        use()
