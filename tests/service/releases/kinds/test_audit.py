"""Every kind of release at 100,000 reports: exact ratios of neighbours, and what draws prove."""

from __future__ import annotations

from fractions import Fraction

import pytest

from deniable_aggregator.releases.kinds import RELEASE_KINDS
from support.builders.release_contexts import PRICES
from support.builders.small_mechanisms import SMALL, mechanism
from support.builders.small_readings import READINGS
from support.mutants.releases import halved_sensitivity
from support.oracles.release_audit import COHORTS, SUMS, Audit, exact
from support.oracles.release_draws import has_bounded_range, proven
from support.tiers import grid

SLACK = 1e-9
QUICK = {"exponential", "median", "noisy-max", "price", "top-k"}
"""A draw takes a tenth of a millisecond; one of a kind with sums takes three."""

FOUR = SMALL["grr-4"]
DELTA = {"delta": "0.01"}
AUDITS = {
    "allocate": Audit("allocate", FOUR, {"none": "label 0", "supply": 9}, epochs=2),
    "exponential, mode": Audit("exponential", FOUR, {"score": "mode"}),
    "exponential, mode of sets": Audit("exponential", SMALL["subset-2-of-4"], {"score": "mode"}),
    "exponential, mode of bits": Audit("exponential", SMALL["oue-3"], {"score": "mode"}),
    "exponential, quantile": Audit("exponential", FOUR, {"score": "quantile"}),
    "exponential, quantile of ranges": Audit(
        "exponential", READINGS["tree-5"], {"score": "quantile"}
    ),
    "exponential, threshold": Audit("exponential", FOUR, {"score": "threshold", "level": "0.25"}),
    "histogram": Audit("histogram", FOUR),
    "histogram of bits": Audit("histogram", SMALL["rr-2"]),
    "mean": Audit("mean", READINGS["optimal-3"]),
    "mean of waves": Audit("mean", READINGS["wave-4"]),
    "median": Audit("median", FOUR, DELTA),
    "median of ranges": Audit("median", READINGS["haar-4"], {**DELTA, "quantile": "0.25"}),
    "mwem": Audit("mwem", FOUR, {"workload": "points", "rounds": 1}),
    "noisy-max, exponential": Audit("noisy-max", FOUR, {"noise": "exponential"}),
    "noisy-max, geometric": Audit("noisy-max", SMALL["grr-2"], {"noise": "geometric"}),
    "noisy-max, gumbel": Audit("noisy-max", FOUR, {"noise": "gumbel"}),
    "price": Audit("price", FOUR, {}, labels=PRICES),
    "queries": Audit("queries", mechanism("grr/1", 4, "2"), {"questions": 1, "epsilon": "8"}),
    "sample-aggregate": Audit("sample-aggregate", FOUR, DELTA, cohorts=COHORTS),
    "shares": Audit("shares", READINGS["tree-5"], {"ranges": "2"}),
    "small-db": Audit("small-db", FOUR, {"workload": "points", "alpha": "0.7"}),
    "table": Audit("table", READINGS["pairs-2-3"], {"attributes": "a, b"}),
    "table of parities": Audit("table", READINGS["fourier-2-2"], {"attributes": "a, b"}),
    "texts": Audit("texts", READINGS["hcms-1"], {"texts": "a, b"}),
    "top-k": Audit("top-k", FOUR, {"k": 2}),
    "top-k of texts": Audit("top-k", READINGS["hcms-1"], {"k": 1, "texts": "a, b"}),
}
ONE_OF_EACH_KIND = [
    *("allocate", "exponential, mode of sets", "histogram", "mean", "median of ranges", "mwem"),
    *("noisy-max, geometric", "price", "queries", "sample-aggregate", "shares", "small-db"),
    *("table of parities", "texts", "top-k"),
]
SLOW = {"queries", "sample-aggregate", "small-db"}
"""Half a minute of draws each."""

FALSE_ALARM = 1e-6 / len(AUDITS)
TOO_RARE = {
    "exponential, quantile of ranges",
    "mwem",
    "queries",
    "table",
    "table of parities",
    "texts",
    "top-k",
}
"""What parts neighbours the most is too rare to be seen in so many draws; the laws show it."""
SEEN = [each for each in AUDITS if each not in TOO_RARE]
SOME_SEEN = ["exponential, mode", "median", "shares"]
MORE = {"mean of waves": 8_000, "noisy-max, geometric": 100_000, "shares": 10_000}
"""Draws that show half a sensitivity: fewer may miss it by chance."""


def draws_of(audit: Audit, release: object) -> int:
    """Of each neighbour: as many as take some seconds."""
    if audit.kind in QUICK:
        return 20_000
    return 3_000 if isinstance(release, SUMS) else 5_000


def test_every_kind_is_audited() -> None:
    assert {audit.kind for audit in AUDITS.values()} == {*RELEASE_KINDS}
    assert {AUDITS[name].kind for name in ONE_OF_EACH_KIND} == {*RELEASE_KINDS}


@pytest.mark.deeper
@pytest.mark.slow
@pytest.mark.parametrize("name", grid(AUDITS, by_default=ONE_OF_EACH_KIND))
def test_no_law_at_100_000_reports_parts_by_more_than_the_price(name: str) -> None:
    release = AUDITS[name].prepared()
    found, claimed = exact(AUDITS[name], release), release.guarantee
    assert found.delta <= claimed.delta + Fraction(1, 10**30)
    if not claimed.delta:
        assert found.epsilon <= claimed.epsilon + SLACK
    if has_bounded_range(release):
        assert found.range <= claimed.epsilon + SLACK


@pytest.mark.deeper
@pytest.mark.slow
@pytest.mark.parametrize("name", grid(AUDITS, by_default=["histogram", "median", "price"]))
def test_the_exact_audit_finds_half_a_sensitivity(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    halved_sensitivity(monkeypatch)
    release = AUDITS[name].prepared()
    found, claimed = exact(AUDITS[name], release), release.guarantee
    if claimed.delta:
        assert found.delta > claimed.delta * Fraction(5, 4)
    else:
        seen = found.range if has_bounded_range(release) else found.epsilon
        assert seen > claimed.epsilon * Fraction(5, 4)


@pytest.mark.statistical
@pytest.mark.parametrize(
    "name",
    grid(AUDITS, by_default=[n for n in ONE_OF_EACH_KIND if n not in SLOW][::2], long=AUDITS),
)
def test_draws_prove_no_more_than_the_price(name: str) -> None:
    """n = 100,000 reports, 3,000 draws or more of both; false alarm ≤ 1e-6 over all kinds."""
    release = AUDITS[name].prepared()
    least = proven(
        AUDITS[name], release, draws=draws_of(AUDITS[name], release), false_alarm=FALSE_ALARM
    )
    assert least <= release.guarantee.epsilon


@pytest.mark.statistical
@pytest.mark.parametrize("name", grid(SEEN, by_default=SOME_SEEN, long=SEEN))
def test_draws_find_half_a_sensitivity(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    halved_sensitivity(monkeypatch)
    release = AUDITS[name].prepared()
    draws = MORE.get(name, draws_of(AUDITS[name], release))
    least = proven(AUDITS[name], release, draws=draws, false_alarm=FALSE_ALARM)
    assert least > release.guarantee.epsilon
