"""The law of MWEM's measurements, written from its definition: for few rounds, queries and rows."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from deniable_central.pmf import Pmf
from deniable_central.queries.count_data import CountData
from deniable_central.queries.mwem import Measurement, Mwem, WeightUpdates
from deniable_central.queries.workload import Integers
from deniable_central.samplers.noise import Bounds, probability

_Path = tuple[tuple[Measurement, ...], Bounds]


def mwem_pmf(mechanism: Mwem, data: CountData, *, reach: int) -> Pmf[tuple[Measurement, ...]]:
    """The probability of all measurements whose noise is at most `reach`; not for release."""
    observed = mechanism.observe(data)
    paths: list[_Path] = [((), (Fraction(1), Fraction(1)))]
    for _ in range(mechanism.rounds):
        paths = [
            longer for path in paths for longer in _longer(mechanism, data, observed, path, reach)
        ]
    histories, bounds = zip(*paths, strict=True)
    lower, upper = zip(*bounds, strict=True)
    return Pmf(histories, lower, upper)


def _longer(
    mechanism: Mwem, data: CountData, observed: Integers, path: _Path, reach: int
) -> Iterator[_Path]:
    history, (low, high) = path
    course = WeightUpdates(mechanism.workload, float(data.gain * data.rows))
    for measured in history:
        course.follow(measured)
    selection = mechanism.selector(data).pmf(course.errors(observed))
    for query, least, most in zip(*_columns(selection), strict=True):
        decay = mechanism.decay(data, query)
        for noise in range(-reach, reach + 1):
            of_noise = probability(decay, noise)
            measured = Measurement(query, int(observed[query]) + noise)
            yield (*history, measured), (low * least * of_noise[0], high * most * of_noise[1])


def _columns(
    law: Pmf[int],
) -> tuple[tuple[int, ...], tuple[Fraction, ...], tuple[Fraction, ...]]:
    return law.outcomes, law.lower, law.upper
