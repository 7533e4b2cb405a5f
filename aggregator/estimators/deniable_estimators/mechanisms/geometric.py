"""Geometric responses: how often each point is reported, and the estimates of the choices.

    c_v = Σ of the reports of the w points that support v        f̂_v = (c_v/n − q)/(p − q)

Over all K codes, used or not, Σ_v c_v = w·n and Σ_v f̂_v = 1 for every set of reports. The tally is
the histogram of the K points. K − d codes have no meaning: their estimates are 0 except for noise
for all answers, and cost nothing to keep.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_estimators.inference.label_sums import MessageSums
from deniable_estimators.inference.message_laws import TwoLevelLaw, two_level_law
from deniable_estimators.inference.payload_arrays import first_round
from deniable_estimators.inference.sampling import Generator, senders
from deniable_shared.algebra.difference_sets import difference_set
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.geometric import GeometricResponse

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts, Floats
    from deniable_shared.mechanisms.protocols import Mechanism


@dataclass(frozen=True, slots=True)
class GeometricEstimator(MessageSums):
    """Counts the points, and computes the supports of all codes from them."""

    default_projection: ClassVar[str] = "simplex"
    estimand: ClassVar[str] = "labels"
    mechanism: Mechanism
    repeat: str = "once"

    @property
    def first_round(self) -> GeometricResponse:
        """The mechanism, or the first round of the chain."""
        first = first_round(self.mechanism)
        if not isinstance(first, GeometricResponse):
            raise ParameterError(f"mechanism must be of a geometry, got {self.mechanism.id}")
        return first

    @staticmethod
    @abstractmethod
    def supports_of_codes(tallies: Counts, q: int, t: int) -> Counts:
        """How many reports support each of the K codes: int64[…, K] of tallies int64[…, K]."""

    @staticmethod
    @abstractmethod
    def sums_of_points(weights: Counts, q: int, t: int) -> Counts:
        """Σ of the weights of the codes that each point supports: [..., K] of weights [..., K]."""

    @staticmethod
    @abstractmethod
    def shares_of_codes(scores: Floats, q: int, t: int) -> Floats:
        """Return `supports_of_codes` of floats, up to rounding."""

    @staticmethod
    @abstractmethod
    def shares_of_points(shares: Floats, q: int, t: int) -> Floats:
        """Return `sums_of_points` of the floats of one row, up to rounding."""

    def message_law(self) -> TwoLevelLaw:
        """The law of messages, computed by Fourier transform."""
        form = self.first_round
        d, k, space = form.domain_size, form.alphabet_size, (form.field_order, form.dimension)

        def forward(x: Floats) -> Floats:
            return self.shares_of_points(np.concatenate([x, np.zeros(k - d)]), *space)

        def backward(scores: Floats) -> Floats:
            return self.shares_of_codes(scores, *space)[..., :d]

        return two_level_law(self.mechanism, form.support_size, k, (forward, backward))

    def held(self, weights: Counts) -> Counts:
        """Σ of the weights of the codes that each message supports: int64[…, tally_size], exact."""
        form = self.first_round
        unused = np.zeros(
            (*weights.shape[:-1], form.alphabet_size - weights.shape[-1]), dtype=np.int64
        )
        codes = np.concatenate([weights, unused], axis=-1)
        return self.sums_of_points(codes, form.field_order, form.dimension)

    def code_supports(self, tallies: Counts) -> Counts:
        """Return supports of all K codes; those from `domain_size` on have no label."""
        form = self.first_round
        return self.supports_of_codes(tallies, form.field_order, form.dimension)

    def supports(self, tallies: Counts) -> Counts:
        return self.code_supports(tallies)[..., : self.mechanism.domain_size]


def sample_distances(
    form: GeometricResponse, p: float, values: Counts, people: Counts, draws: Generator
) -> Counts:
    """Draw a distance on the circle of the codes for each person, in the difference set or not."""
    k, w = form.alphabet_size, form.support_size
    members = np.array(difference_set(form.field_order, form.dimension), dtype=np.int64)
    others = np.setdiff1d(np.arange(k), members)
    tally = np.zeros(k, dtype=np.int64)
    for truth in senders(values, people):
        near = members[draws.integers(0, w, len(truth))]
        far = others[draws.integers(0, k - w, len(truth))]
        inside = draws.random(len(truth)) < p
        tally += np.bincount((truth + np.where(inside, near, far)) % k, minlength=k)
    return tally
