"""Unlisted words: how many of the fifty commonest are detected, against the theory.

The words are the places of the tz database, which is in the public domain; a person has the place
of rank r with a chance proportional to 1/r. Reports follow the law of the device's own `randomize`.
"""

from __future__ import annotations

import hashlib
import math
import time
import zoneinfo
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from benchmarks import peer_words
from benchmarks.measure import Effort, Line
from benchmarks.results import Case, Result
from deniable_estimators.inference.heavy_hitters import BEAM, FINALISTS, find_heavy_hitters
from deniable_estimators.inference.utf8_candidates import CHARACTER_START, continuations
from deniable_shared.mechanisms.prefix_hash import HELD_OUT
from support.builders.text_populations import estimator_of, tally_of, zipf
from support.oracles.message_laws import generator

PEOPLE = 1_000_000
MAX_BYTES, TOP = 16, 50
EPSILONS = ("2", "4")
PEER = "pure-ldp, PEM over its count-mean sketch"


@dataclass(frozen=True, slots=True)
class Plan:
    """How reports are split, how many prefixes are kept, and whether others confirm the last."""

    step: int
    kept: int = TOP
    held_out: int = 0

    @property
    def groups(self) -> int:
        """Of the search."""
        return -(-MAX_BYTES // self.step)

    @property
    def parts(self) -> int:
        """Equal parts of the reports."""
        return self.groups + self.held_out


PLANS = {
    "PEM as predicted, steps of 1": Plan(1),
    "PEM as predicted, steps of 2": Plan(2),
    f"the same, {BEAM} kept, {HELD_OUT} parts held out, steps of 1": Plan(1, BEAM, HELD_OUT),
}


def run(effort: Effort) -> Result:
    """A million simulated users at ε = 2 and at 4."""
    words = _words()
    people = effort.sized(PEOPLE)
    return Result(
        title="Unlisted words",
        cases=tuple(
            case for epsilon in EPSILONS for case in _cases(words, epsilon, people, effort)
        ),
        remarks=(
            f"{len(words)} places of the tz database (public domain), in shuffled order, of weight "
            "1/rank. The prediction is that of docs/mathematics/texts.md, Recall of a prefix "
            "search, for PEM with the best oracle, all "
            "reports spent on the search, the 50 best prefixes kept, steps of one byte or of two; "
            "its precision is its recall. Ours keeps reports back to tell what it found: the last "
            "prediction is for reports split as ours are. Ours is above it because letters are "
            "taken to follow letters, frequent prefixes are taken out of what shares a code with "
            "them, and a word that has ended is confirmed by all longer groups. The constants of "
            "our search were chosen on this very list, so another list may gain less.",
            *([peer_words.REMARK] if effort.peers else []),
        ),
    )


def _words() -> list[bytes]:
    """Places, in an order that has nothing to do with their spelling."""
    places = {zone.rpartition("/")[2].lower().encode() for zone in zoneinfo.available_timezones()}
    short = (place for place in places if len(place) <= MAX_BYTES)
    return sorted(short, key=lambda place: hashlib.sha256(place).digest())


def _cases(words: list[bytes], epsilon: str, people: int, effort: Effort) -> list[Case]:
    estimator, shares = estimator_of(epsilon, MAX_BYTES), zipf(len(words))
    draw = generator()
    recalls, precisions, seconds = [], [], []
    for _ in range(effort.rounds):
        tally = tally_of(estimator, words, draw.multinomial(people, shares))
        started = time.perf_counter()
        texts = find_heavy_hitters(estimator, tally, people).texts
        seconds.append(time.perf_counter() - started)
        recalls.append(100 * len({*texts} & {*words[:TOP]}) / TOP)
        precisions.append(100 * sum(text in words for text in texts) / max(1, len(texts)))
    predicted = {
        name: 100 * _predicted(words, shares, float(epsilon), people, plan)
        for name, plan in PLANS.items()
    }
    title = f"n = {people:,}, ε = {epsilon}"
    cases = [
        Case(
            f"{title}: recall of the top {TOP}",
            (
                _line("deniable", "ours", "%", recalls),
                *(
                    _line(name, "theory", "%", [value] * len(recalls))
                    for name, value in predicted.items()
                ),
            ),
        ),
        Case(
            f"{title}: share of detected words that occur",
            (_line("deniable", "ours", "%", precisions),),
        ),
        Case(f"{title}: search", (_line("deniable", "ours", "s", seconds, higher=False),)),
    ]
    if effort.peers and (listed := _peer(words, epsilon, draw.multinomial(people, shares))):
        recall = 100 * len({*listed} & {*words[:TOP]}) / TOP
        precision = 100 * len({*listed} & {*words}) / TOP
        for case, mine, its in zip(cases, (recalls, precisions), (recall, precision), strict=False):
            first = (_line("deniable", "ours", "%", mine[:1]), _line(PEER, "peer", "%", [its]))
            cases.append(Case(f"{case.title}, one run", first))
    return cases


def _line(name: str, role: str, unit: str, values: list[float], *, higher: bool = True) -> Line:
    return Line(name, role, unit, tuple(values), higher_is_better=higher)


def _peer(words: list[bytes], epsilon: str, people: np.ndarray) -> list[bytes] | None:
    texts = [word.decode() for word in words]
    listed = peer_words.listed(texts, people.tolist(), float(epsilon), MAX_BYTES, TOP)
    return None if listed is None else [text.encode() for text in listed]


def _predicted(words: list[bytes], shares: np.ndarray, epsilon: float, n: int, plan: Plan) -> float:
    """Mean over the top words of Π over levels of Φ((F − τ)/σ_F), F the mass of the prefix."""
    variance = plan.parts / math.sinh(epsilon / 2) ** 2 / n
    tried = plan.kept * len(continuations(CHARACTER_START, plan.step, whole=False))
    recall = np.ones(len(words))
    for group in range(1, plan.groups + 1):
        prefixes = [word[: group * plan.step] for word in words]
        masses: dict[bytes, float] = {}
        for prefix, share in zip(prefixes, shares.tolist(), strict=True):
            masses[prefix] = masses.get(prefix, 0.0) + share
        known = np.array(list(masses.values()))
        spread = np.sqrt(variance + plan.parts * known * (2 - known) / n)
        cut = _cut(known, spread, math.sqrt(variance), tried, plan.kept)
        kept = dict(zip(masses, _normal((known - cut) / spread), strict=True))
        recall *= [kept[prefix] for prefix in prefixes]
    if plan.held_out:
        noise = math.sqrt(variance / plan.held_out)
        least = NormalDist().inv_cdf(1 - 0.025 / FINALISTS) * noise
        recall *= _normal(
            (shares - least)
            / np.sqrt(noise**2 + plan.parts / plan.held_out * shares * (2 - shares) / n)
        )
    return float(recall[:TOP].mean())


def _cut(known: np.ndarray, spread: np.ndarray, noise: float, tried: int, most: int) -> float:
    """τ: as many of those tried and of those that exist are above it as are kept."""
    low, high = -1.0, 2.0
    for _ in range(60):
        middle = (low + high) / 2
        above = (
            tried * (1 - NormalDist().cdf(middle / noise))
            + _normal((known - middle) / spread).sum()
        )
        low, high = (middle, high) if above > most else (low, middle)
    return low


def _normal(values: np.ndarray) -> np.ndarray:
    return np.array([NormalDist().cdf(value) for value in values.tolist()])
