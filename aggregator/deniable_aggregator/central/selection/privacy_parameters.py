"""Declaration: what the owner of the scores says about them, and the decay that follows.

    weight ∝ e^(decay · score)      decay = ε/D, D the range sensitivity
    D = max over neighbours of (max_r d_r − min_r d_r),   d_r = score_r − score'_r

    sensitivity Δ            |d_r| ≤ Δ                             D = 2Δ
    sensitivity Δ, monotone  add/remove, all d_r of one sign       D = Δ
    range sensitivity        the scores may move, if together      D as declared

On a grid of step h a rounded score moves by up to ⌈Δ/h⌉ steps, and rounded scores may part by one
step more than ⌈D/h⌉: two scores that move alike can fall on different sides of a step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from operator import index
from typing import Required, TypedDict

from deniable_aggregator.central.adjacency import Adjacency, parse_adjacency
from deniable_aggregator.central.errors import SensitivityError
from deniable_shared.dyadic import parse_epsilon

Epsilon = str | int | Fraction
Sensitivity = int | Fraction

SMALLEST_EPSILON = Fraction(1, 10**6)
SMALLEST_SENSITIVITY = Fraction(1, 1 << 62)
LARGEST_SENSITIVITY = Fraction(1 << 62)


class Declared(TypedDict, total=False):
    """The keywords of every mechanism of this room."""

    epsilon: Required[Epsilon]
    sensitivity: Sensitivity | None
    range_sensitivity: Sensitivity | None
    monotone: bool
    adjacency: str


class Form(StrEnum):
    """How the declared sensitivity bounds what one row does to two scores."""

    EACH = "each score moves by at most this"
    MONOTONE = "each score moves by at most this, all of them the same way"
    RANGE = "any two scores move apart by at most this"


@dataclass(frozen=True, slots=True)
class Declaration:
    """ε of the whole release, and a sensitivity in units of the score. Built by `declare`."""

    epsilon: Fraction
    adjacency: Adjacency
    sensitivity: Fraction
    form: Form

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise SensitivityError(f"epsilon must be positive, got {self.epsilon}")
        if not SMALLEST_SENSITIVITY <= self.sensitivity <= LARGEST_SENSITIVITY:
            raise SensitivityError(
                f"a sensitivity must lie in [2^-62, 2^62], got {float(self.sensitivity):.3g}"
            )

    def decay(self, step: Fraction | None = None) -> Fraction:
        """ε/D, with D in steps of the grid, or in units of the score where there is none."""
        if step is None:
            apart = self.sensitivity * (2 if self.form is Form.EACH else 1)
            return self.epsilon / apart
        steps = math.ceil(self.sensitivity / step)
        apart_on = {Form.EACH: 2 * steps, Form.MONOTONE: steps, Form.RANGE: steps + 1}
        return self.epsilon / apart_on[self.form]

    def share(self, parts: int) -> Declaration:
        """The same scores at ε/parts, for one of several draws."""
        return replace(self, epsilon=self.epsilon / parts)


@lru_cache(maxsize=1024, typed=True)  # 1.0 must not find what was read for 1
def declare(
    *,
    epsilon: Epsilon,
    sensitivity: Sensitivity | None = None,
    range_sensitivity: Sensitivity | None = None,
    monotone: bool = False,
    adjacency: str = "replace",
) -> Declaration:
    """Read a declaration exactly: ε in [10^−6, 20], sensitivities as int or Fraction.

    SensitivityError for both or neither, and for `monotone` where it promises nothing.
    """
    neighbours = parse_adjacency(adjacency)
    form, declared = _form(sensitivity, range_sensitivity)
    if monotone:
        if form is Form.RANGE or neighbours is Adjacency.REPLACE:
            raise SensitivityError(
                'monotone halves the noise for sensitivity under adjacency "add/remove" only; '
                "under replace, or for scores that move together, declare range_sensitivity"
            )
        form = Form.MONOTONE
    exact = _exact(declared, "sensitivity" if range_sensitivity is None else "range_sensitivity")
    return Declaration(parse_epsilon(epsilon, low=SMALLEST_EPSILON), neighbours, exact, form)


def _form(each: Sensitivity | None, apart: Sensitivity | None) -> tuple[Form, Sensitivity]:
    if each is not None and apart is None:
        return Form.EACH, each
    if apart is not None and each is None:
        return Form.RANGE, apart
    raise SensitivityError(
        "exactly one of sensitivity (how far one row moves a score) and range_sensitivity (how far "
        f"one row moves two apart) must be given, got {'neither' if each is None else 'both'}"
    )


def _exact(value: Sensitivity, argument: str) -> Fraction:
    if isinstance(value, Fraction):
        return value
    try:
        return Fraction(index(value))
    except TypeError:
        raise SensitivityError(
            f"{argument} must be an int or a Fraction, got {type(value).__name__}: "
            "write 0.5 as Fraction(1, 2)"
        ) from None
