"""From a tally to frequencies, standard errors and intervals."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv, ndtri

from benchmarks import peer_servers
from benchmarks.measure import Contender, Effort, race
from benchmarks.results import Case, Result, at_most
from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.simulation import generator, simulated_tally
from deniable_shared import mechanisms
from deniable_shared.mechanisms import Mechanism

REPORTS = 1_000_000
MILLI = 1e3
BUDGET = 10.0
SIZES = (10, 1000, 10_000)
DECODED = {10_000: 10.0, 60_000: 150.0}
"""Sizes whose messages have to be decoded, and the milliseconds that this may take."""

TAIL = 0.025
GOLDEN_RATIO = 0.6180339887498949


def run(effort: Effort) -> Result:
    """Choices of three sizes, a million reports each, values falling off as 1/rank."""
    cases = [_choice(size, effort) for size in SIZES]
    largest = cases[-1]
    exact = largest.line("scipy beta quantiles")
    decoded = {size: _decoded(size, effort) for size in DECODED}
    bound = f"exact (Clopper–Pearson) bounds for all labels would take {exact.median:.2g} ms"
    return Result(
        title="Estimate",
        cases=(*cases, *decoded.values()),
        verdicts=(
            at_most("estimate, d = 10,000, ε = 1", BUDGET, largest.ours, bound=bound),
            *(
                at_most(
                    f"decode and estimate, cyclic/1, d = {size:,}, ε = 1",
                    limit,
                    decoded[size].ours,
                    bound="Fourier transforms, then intervals of all labels",
                )
                for size, limit in DECODED.items()
            ),
        ),
        remarks=(
            "Ours returns frequencies, standard errors, 95% intervals and trust bounds; peers "
            "return frequencies only. The limits are numpy's debiasing alone and scipy's beta "
            "quantiles for both ends of every label. cyclic/1, projective/1 and hadamard/1 decode "
            "the supports of all labels first, by a transform; how many reports there are does "
            "not matter to them, and does to pure-ldp, which decodes report by report.",
        ),
    )


def _choice(size: int, effort: Effort) -> Case:
    mechanism = mechanisms.build("grr/1", domain_size=size, epsilon="1")
    estimator = estimator_for(mechanism)
    tally = _plausible(mechanism, size)
    n = int(tally.sum())
    p, q = float(mechanism.p), float(mechanism.q)
    contenders = [
        Contender(
            "deniable", "ours", lambda: estimator.estimate(tally, n), note="with 95% intervals"
        ),
        Contender(
            "numpy debiasing", "limit", lambda: (tally / n - q) / (p - q), note="frequencies only"
        ),
        Contender(
            "scipy beta quantiles",
            "limit",
            lambda: _beta_bounds(tally, n),
            note="both ends, all labels",
        ),
        *(peer_servers.estimate_choice(tally, n) if effort.peers else []),
        *(peer_servers.estimate_by_hadamard(size) if effort.peers and size == SIZES[-1] else []),
    ]
    return Case(
        f"grr, d = {size:,}, n = {n:,}", race(contenders, effort, unit="ms", per_second=MILLI)
    )


def _decoded(size: int, effort: Effort) -> Case:
    contenders = [_decoder(id, size) for id in ("cyclic/1", "projective/1", "hadamard/1")]
    contenders += peer_servers.estimate_by_hadamard(size) if effort.peers else []
    return Case(
        f"decode, d = {size:,}, ε = 1", race(contenders, effort, unit="ms", per_second=MILLI)
    )


def _decoder(id: str, size: int) -> Contender:
    mechanism = mechanisms.build(id, domain_size=size, epsilon="1")
    estimator = estimator_for(mechanism)
    values = np.arange(size)
    people = np.rint(REPORTS / np.arange(1, size + 1) / np.log(size)).astype(np.int64)
    tally = simulated_tally(mechanism, values[people > 0], people[people > 0], draws=generator())
    n = int(tally.sum())
    return Contender(
        f"deniable {id}", "ours", lambda: estimator.estimate(tally, n), note="with 95% intervals"
    )


def _plausible(mechanism: Mechanism, size: int) -> np.ndarray:
    """Expected counts, scattered as a sample's are: the normal's quantiles in shuffled order."""
    weights = 1 / np.arange(1, size + 1)
    shares = float(mechanism.q) + float(mechanism.p - mechanism.q) * weights / weights.sum()
    scatter = ndtri((np.arange(size) * GOLDEN_RATIO + 0.5) % 1)
    return np.asarray(np.rint(REPORTS * shares + np.sqrt(REPORTS * shares) * scatter), np.int64)


def _beta_bounds(tally: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    return (
        betaincinv(tally, n - tally + 1.0, TAIL),
        betaincinv(tally + 1.0, n - tally, 1 - TAIL),
    )
