"""The peers' aggregators: the server's side of each job."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.measure import Contender, Run
from benchmarks.peers import EPSILON, collect, module, opendp


def tally_choice(indices: np.ndarray, size: int) -> list[Contender]:
    """Count k-ary reports; the peers get at most 20,000, since some loop in Python."""
    some = indices[:20_000]
    return collect(
        lambda: _pure_ldp_tally("DEServer", size, some.tolist(), note="a Python call per report"),
        lambda: _multi_freq_tally_choice(some, size),
        lambda: _opendp_tally_choice(some, size),
    )


def tally_bits(rows: np.ndarray) -> list[Contender]:
    """Add up a batch of bit vectors, one uint8 per bit as the peers keep them."""
    some = rows[:2_000]
    return collect(
        lambda: _pure_ldp_tally(
            "UEServer", some.shape[1], list(some), note="a numpy addition per report"
        ),
        lambda: _multi_freq_tally_bits(some),
        lambda: _opendp_tally_bits(some),
    )


def _pure_ldp_tally(server: str, size: int, reports: list[Any], *, note: str) -> Contender | None:
    library = module("pure_ldp.frequency_oracles")
    if library is None:
        return None
    make = getattr(library, server)

    def run() -> object:
        counter = make(epsilon=EPSILON, d=size)
        counter.aggregate_all(reports)
        return counter

    return Contender("pure-ldp", "peer", run, operations=len(reports), note=note)


def _multi_freq_tally_choice(indices: np.ndarray, size: int) -> Contender | None:
    library = module("multi_freq_ldpy.pure_frequency_oracles.GRR")
    if library is None:
        return None
    reports = indices.tolist()
    run: Run = lambda: library.GRR_Aggregator_MI(reports, size, EPSILON)  # noqa: E731  (one line shows it)
    return Contender(
        "multi-freq-ldpy", "peer", run, operations=len(reports), note="its estimate is included"
    )


def _multi_freq_tally_bits(rows: np.ndarray) -> Contender | None:
    library = module("multi_freq_ldpy.pure_frequency_oracles.UE")
    if library is None:
        return None
    reports = list(rows.astype(np.float64))
    run: Run = lambda: library.UE_Aggregator_MI(reports, EPSILON, False)  # noqa: E731  (one line shows it)
    return Contender(
        "multi-freq-ldpy", "peer", run, operations=len(reports), note="its estimate is included"
    )


def _opendp_tally_choice(indices: np.ndarray, size: int) -> Contender | None:
    library = opendp()
    if library is None:
        return None
    space = library.vector_domain(library.atom_domain(T=int)), library.symmetric_distance()
    count = library.t.make_count_by_categories(
        *space, categories=list(range(size)), null_category=False
    )
    reports = indices.astype(np.int32)
    return Contender("opendp", "peer", lambda: count(reports), operations=len(reports))


def _opendp_tally_bits(rows: np.ndarray) -> Contender | None:
    library = module("opendp.measurements")
    if library is None or opendp() is None:
        return None
    reports = [np.packbits(row).tobytes() for row in rows]
    run: Run = lambda: library.debias_randomized_response_bitvec(reports, 0.5)  # noqa: E731  (one line shows it)
    return Contender("opendp", "peer", run, operations=len(reports), note="debiasing is included")


def estimate_choice(tally: np.ndarray, n: int) -> list[Contender]:
    """Debias a k-ary tally; no peer gives intervals."""
    return collect(
        lambda: _pure_ldp_estimate("DEServer", tally, n),
        lambda: _multi_freq_estimate(tally, n),
    )


def _pure_ldp_estimate(server: str, tally: np.ndarray, n: int) -> Contender | None:
    library = module("pure_ldp.frequency_oracles")
    if library is None:
        return None
    counter = getattr(library, server)(epsilon=EPSILON, d=len(tally), index_mapper=int)
    counter.aggregated_data, counter.n = tally.astype(np.float64), n
    everything = range(len(tally))

    def run() -> object:
        counter.last_estimated = 0
        return counter.estimate_all(everything, suppress_warnings=True)

    return Contender("pure-ldp", "peer", run, note="no intervals")


def _multi_freq_estimate(tally: np.ndarray, n: int) -> Contender | None:
    library = module("multi_freq_ldpy.estimators.Histogram_estimator")
    if library is None:
        return None
    truthful = math.exp(EPSILON) / (math.exp(EPSILON) + len(tally) - 1)
    other = (1 - truthful) / (len(tally) - 1)
    counts = tally.astype(np.float64)
    note = "no intervals; clipped and renormalised, biased"
    return Contender(
        "multi-freq-ldpy", "peer", lambda: library.MI(counts, n, truthful, other), note=note
    )


def estimate_by_hadamard(size: int, reports: int = 20_000) -> list[Contender]:
    """Another mechanism for the same question, whose server keeps and decodes every report."""
    library = module("pure_ldp.frequency_oracles")
    if library is None:
        return []
    server = library.HadamardResponseServer(EPSILON, size)
    client = library.HadamardResponseClient(EPSILON, size, server.get_hash_funcs())
    server.aggregate_all([client.privatise(1 + number % size) for number in range(reports)])
    note = f"another mechanism, decodes {reports:,} reports; no intervals"
    return [Contender("pure-ldp, Hadamard", "peer", server._update_estimates, note=note)]
