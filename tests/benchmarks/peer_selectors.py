"""The peers' exponential mechanisms, one release from a vector of scores, building included."""

from __future__ import annotations

import numpy as np

from benchmarks.measure import Contender
from benchmarks.peers import EPSILON, collect, module, opendp

SENSITIVITY = 1


def select_one(scores: np.ndarray) -> list[Contender]:
    """ε = 1 at sensitivity 1, so weights e^(score/2), as ours."""
    return [
        *collect(lambda: _opendp_select(scores), lambda: _diffprivlib_select(scores)),
        _gumbel_max(scores),
        _softmax_choice(scores),
    ]


def _opendp_select(scores: np.ndarray) -> Contender | None:
    library = opendp()
    if library is None:
        return None
    domain = library.vector_domain(library.atom_domain(T=library.i64))
    metric = library.linf_distance(T=library.i64)
    measure = library.zero_concentrated_divergence()  # under which its law is this one
    build = library.m.make_noisy_max

    def run() -> object:
        return build(domain, metric, measure, scale=2 * SENSITIVITY / EPSILON)(scores)

    return Contender("opendp", "peer", run, note="exact, by rejection: time follows the scores")


def _diffprivlib_select(scores: np.ndarray) -> Contender | None:
    library = module("diffprivlib.mechanisms")
    if library is None:
        return None
    utility = scores.tolist()

    def run() -> object:
        mechanism = library.Exponential(epsilon=EPSILON, sensitivity=SENSITIVITY, utility=utility)
        return mechanism.randomise()

    return Contender("diffprivlib", "peer", run, note="float probabilities, one uniform float")


def _gumbel_max(scores: np.ndarray) -> Contender:
    generator = np.random.default_rng()  # noqa: TID251  (what an analyst would write)
    weight = EPSILON / (2 * SENSITIVITY)

    def run() -> object:
        return int((weight * scores + generator.gumbel(size=len(scores))).argmax())

    return Contender("numpy, Gumbel and argmax", "peer", run, note="float noise, PCG64")


def _softmax_choice(scores: np.ndarray) -> Contender:
    generator = np.random.default_rng()  # noqa: TID251  (what an analyst would write)
    weight = EPSILON / (2 * SENSITIVITY)

    def run() -> object:
        weights = np.exp(weight * (scores - scores.max()))
        return int(generator.choice(len(scores), p=weights / weights.sum()))

    return Contender("numpy, softmax and choice", "peer", run, note="float probabilities, PCG64")
