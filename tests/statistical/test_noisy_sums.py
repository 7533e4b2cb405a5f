"""Intervals of released sums: coverage and width, over n, ε, mechanisms and shapes of people.

A release covers a share if its noisy sum lies between two numbers, which are found by bisection.
How often it does is counted over many tallies of the mechanism's own law. The best width is
that of the middle 95% of both noises, for the widest population with this share: no interval that
holds for every such population can be narrower on the whole.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from deniable_aggregator.releases.kinds import prepare
from deniable_aggregator.releases.kinds.noisy_sums import PreparedSums
from deniable_estimators.inference.channel import Counts, Floats
from deniable_estimators.simulation import generator
from deniable_shared.mechanisms.protocols import Mechanism
from support.builders.release_contexts import context
from support.builders.small_mechanisms import chain, mechanism
from support.builders.small_readings import of_record
from support.oracles.message_laws import MessageLaw
from support.tiers import by_tier, grid, rows

DRAWS = by_tier(10_000, 60_000)
HALVINGS, FAR = 15, 16
"""Standard deviations of a share to either side: ends are exact to a thousandth of one."""

VALUES = 8
REQUESTS: dict[str, tuple[str, dict[str, object], Floats]] = {
    "mean": ("mean", {}, np.linspace(0, 1, VALUES)),
    "range": ("shares", {"ranges": "2..4"}, np.array([0, 0, 1, 1, 1, 0, 0, 0.0])),
    "cell": ("table", {"attributes": "a, b", "cell": "l1, l0"}, np.array([0, 0, 0, 0, 1, 1, 0, 0])),
    "text": ("texts", {"texts": "c, a, b, d, e, f, g, h"}, np.array([0, 0, 1, 0, 0, 0, 0, 0])),
}
"""The first sum of each, as weights of the values; a text's list is of all that people have."""
OF_RECORDS = ("pairs/1", "fourier/1")
OF_TEXTS = {
    "cms/1": {"tables": 3, "cells": 8},
    "hcms/1": {"tables": 4, "cells": 8},
    "prefix-hash/1": {"base": 5, "digits": 2, "tables": 1, "step": 0},
    "rappor/1": {"tables": 2, "cells": 8, "hashes": 1},
}
SHAPES = {
    "even": np.full(VALUES, 1 / VALUES),
    "steep": np.array([0.6, 0.2, 0.1, 0.05, 0.03, 0.01, 0.01, 0.0]),
    "two ends": np.array([0.5, 0, 0, 0, 0, 0, 0, 0.5]),
    "one value": np.array([0, 0, 1.0, 0, 0, 0, 0, 0]),
}
CASES = [
    (id, local, request)
    for id in ("duchi/1", "optimal-mean/1", "discrete-piecewise/1", "square-wave/1", "tree/1",
               "haar/1", "grr/1", "hadamard/1", "dbitflip/1")
    for local in ("1", "4")
    for request in ("mean", "range")
    if request == "mean" or id not in ("duchi/1", "optimal-mean/1", "discrete-piecewise/1")
] + [(id, local, "cell") for id in OF_RECORDS for local in ("1", "4")]  # fmt: skip
LISTED = [(id, local, "text") for id in OF_TEXTS for local in ("1", "4")]
"""Their intervals allow for texts outside the list, too, so they are wider than these need."""
USUAL = [("duchi/1", "1", "mean"), ("optimal-mean/1", "4", "mean"), ("haar/1", "1", "range"),
         ("tree/1", "1", "range"), ("square-wave/1", "1", "range"), ("pairs/1", "1", "cell"),
         ("fourier/1", "1", "cell"), ("hcms/1", "1", "text")]  # fmt: skip
SIZES = [(10, "1"), (10, "0.2"), (10, "4"), (100, "0.2"), (100, "1"), (3_000, "0.2"), (3_000, "4")]
"""Reports, and ε of the release."""


def is_long(case: tuple[str, str, str]) -> bool:
    """The other ε of the reports: another twenty minutes."""
    _, local, _ = case
    return local == "4"


def is_long_or_odd(case: tuple[str, str, str]) -> bool:
    """Or every second question."""
    return is_long(case) or (case in CASES and CASES.index(case) % 4 > 1)


@cache
def law_of(id: str, local: str) -> MessageLaw:
    if id in OF_RECORDS:
        return MessageLaw(of_record(id, 2, 2, 2, report=local))
    if id in OF_TEXTS:
        return MessageLaw(mechanism(id, 1, local, **OF_TEXTS[id]))
    return MessageLaw(mechanism(id, VALUES, local))


@cache
def chances_of(law: MessageLaw) -> tuple[Floats, Counts]:
    """(values, messages): the law of each value; and what each message adds to the tally."""
    texts = "text" in law.mechanism.domain_types
    values = [(ord("a") + place,) if texts else place for place in range(VALUES)]
    laws = [law.mechanism.pmf(value) for value in values]
    return np.array([[float(row[m]) for m in law.messages] for row in laws]), law.tallies


def released(built: Mechanism, request: str, n: int, epsilon: str) -> PreparedSums:
    kind, arguments, _ = REQUESTS[request]
    release = prepare(kind, {**arguments, "epsilon": epsilon}, context(built, n, numbers=True))
    assert isinstance(release, PreparedSums)
    return release


def limits(release: PreparedSums, share: float) -> tuple[float, float]:
    """Those of a noisy sum that is this share."""
    lower, upper = limits_of_each(release, np.array([share]))
    return float(lower[0]), float(upper[0])


def limits_of_each(release: PreparedSums, shares: Floats) -> tuple[Floats, Floats]:
    """Lower and upper limits of noisy sums that are these shares."""
    reading = release.reading
    raw = (shares - reading.offset[0]) * reading.scale
    drawn = release.of(np.rint(raw).astype(np.int64))
    return drawn.lower, drawn.upper


def repeated(release: PreparedSums, times: int) -> PreparedSums:
    """Its first sum so many times, with as much noise on each as on that one."""
    reading = release.reading
    rows_ = replace(
        reading,
        matrix=reading.matrix[:1].repeat(times, axis=0),
        offset=reading.offset[:1].repeat(times),
        low=reading.low[:1].repeat(times),
        high=reading.high[:1].repeat(times),
        ceilings=tuple(reading.ceilings[:1]) * times,
        shared=tuple(reading.shared[:1]) * times,
        floor=reading.floor[:1].repeat(times),
    )
    together = replace(release, reading=rows_)
    result = replace(together, epsilon=release.epsilon * release.decay / together.decay)
    assert result.decay == release.decay
    return result


def accepted(release: PreparedSums, truths: Floats) -> tuple[Floats, Floats]:
    """Between which shares the interval holds each truth.

    First the share where the upper limit reaches the truth, then that where the lower one passes
    it; the end of the range that is searched if no share does.
    """
    each = np.concatenate([truths, truths])
    noise = 2 / (float(release.decay) * release.reading.scale) ** 2
    reach = FAR * np.sqrt(float(release.reading.largest_variances()[0]) + noise)
    of_upper = np.arange(len(each)) < len(truths)
    low, high, twin = each - reach, each + reach, repeated(release, len(each))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        lower, upper = limits_of_each(twin, middle)
        beyond = np.where(of_upper, upper >= each, lower > each)
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return high[of_upper], low[~of_upper]


def shares(release: PreparedSums, law: MessageLaw, people: Floats, n: int) -> Floats:
    """Noisy shares of many releases. Messages that add the same to the sum are drawn as one."""
    each, tallies = chances_of(law)
    added, kind = np.unique((tallies @ release.reading.matrix.T)[:, 0], return_inverse=True)
    chances, draws = np.bincount(kind, people @ each), generator(n)
    seen = draws.multinomial(n, chances / chances.sum(), size=DRAWS)
    raw = seen @ added.astype(float)
    noise = draws.laplace(scale=1 / float(release.decay), size=DRAWS)
    return np.asarray(release.reading.offset[0] + (raw + noise) / release.reading.scale)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "epsilon"),
    rows(SIZES, by_default=SIZES[:1], long=lambda size: size != (3_000, "4")),
)
@pytest.mark.parametrize(
    ("id", "local", "sum_"), rows([*CASES, *LISTED], by_default=USUAL[::4], long=is_long_or_odd)
)
def test_intervals_cover_as_they_say_at_every_n(
    id: str, local: str, sum_: str, n: int, epsilon: str
) -> None:
    law = law_of(id, local)
    release = released(law.mechanism, sum_, n, epsilon)
    truths = np.array([people @ REQUESTS[sum_][2] for people in SHAPES.values()])
    ends = zip(*accepted(release, truths), strict=True)
    for (name, people), (low, high) in zip(SHAPES.items(), ends, strict=True):
        drawn = shares(release, law, people, n)
        covered = float(((low <= drawn) & (drawn <= high)).mean())
        assert covered >= 0.945 - 4 * np.sqrt(0.05 / DRAWS), (name, covered)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "epsilon"),
    rows(
        [(100, "1"), (3_000, "1"), (100_000, "1"), (3_000, "0.2"), (100_000, "0.2"), (3_000, "4")],
        by_default=[(3_000, "1")],
    ),
)
@pytest.mark.parametrize(
    ("id", "local", "sum_"),
    rows(CASES, by_default=[each for each in USUAL if each in CASES], long=is_long),
)
def test_intervals_are_hardly_wider_than_the_widest_population_needs(
    id: str, local: str, sum_: str, n: int, epsilon: str
) -> None:
    release = released(law_of(id, local).mechanism, sum_, n, epsilon)
    for truth in (0.3, 0.5):
        low, high = limits(release, truth)
        if low == 0 or high == 1:
            continue
        draws = generator(n)
        sigma = float(np.sqrt(release.reading.variances(np.array([truth]))[0]))
        both = draws.normal(scale=sigma, size=DRAWS) + draws.laplace(
            scale=1 / (float(release.decay) * release.reading.scale), size=DRAWS
        )
        best = float(np.diff(np.quantile(both, (0.025, 0.975)))[0])
        assert high - low <= 1.2 * best


@pytest.mark.slow
@pytest.mark.parametrize("id", grid(["tree/1", "haar/1", "optimal-mean/1"], by_default=["haar/1"]))
def test_reports_of_one_device_are_allowed_for(id: str) -> None:
    """Every device answers in all of five epochs, with one permanent answer."""
    built, epochs, devices = chain(id, VALUES, "1", "2"), 5, 400
    kind, arguments, row = REQUESTS["mean" if id == "optimal-mean/1" else "range"]
    given = context(built, devices * epochs, epochs=epochs, numbers=True)
    release = prepare(kind, {**arguments, "epsilon": "4"}, given)
    assert isinstance(release, PreparedSums)
    [low], [high] = accepted(release, np.array([SHAPES["steep"] @ row]))
    drawn = _of_devices(release, built, devices, epochs)
    assert ((low <= drawn) & (drawn <= high)).mean() >= 0.945 - 4 * np.sqrt(0.05 / len(drawn))


def _of_devices(release: PreparedSums, built: Mechanism, devices: int, epochs: int) -> Floats:
    """Releases over devices that repeat one permanent answer."""
    law, draws = MessageLaw(built), generator(7)
    first = built.first  # type: ignore[attr-defined]  # a chain
    said = (law.tallies @ release.reading.matrix.T)[:, 0].astype(float)
    each = [first.pmf(value) for value in range(VALUES)]
    permanent = SHAPES["steep"] @ [[float(row[m]) for m in law.messages] for row in each]
    renewed = np.array(
        [[float(first.rerandomized_pmf(m, built.renewal_threshold).get(other, 0))  # type: ignore[attr-defined]  # a chain
          for other in law.messages] for m in law.messages]
    )  # fmt: skip
    sums = []
    for _ in range(by_tier(1_500, 8_000)):
        answers = draws.multinomial(devices, permanent / permanent.sum())
        result = [draws.multinomial(count * epochs, chances) @ said
                for count, chances in zip(answers, renewed, strict=True) if count]  # fmt: skip
        sums.append(sum(result))
    noise = draws.laplace(scale=1 / float(release.decay), size=len(sums))
    return np.asarray(release.reading.offset[0] + (np.array(sums) + noise) / release.reading.scale)
