"""Local hashing: how often each function and cell is reported, and the estimates of the choices.

    c_x = Σ_a n[a, h_a(x)]        f̂_x = (c_x/n − q)/(p − q)

Over all K codes Σ_x c_x = (K/g)·n. The tally is the histogram of the M·g messages. Codes from d on
have no label. The sums are those of `inference.linear_hash_sums`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_estimators.inference.label_sums import MessageSums
from deniable_estimators.inference.linear_hash_sums import (
    cells_of_values,
    hashed,
    supports_of_codes,
)
from deniable_estimators.inference.message_laws import TwoLevelLaw, two_level_law
from deniable_estimators.inference.payload_arrays import first_round_as
from deniable_estimators.inference.sampling import Generator, different_cells, senders
from deniable_shared.mechanisms.loloha import LocalHashing

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts, Floats
    from deniable_shared.mechanisms.protocols import Mechanism


@dataclass(frozen=True, slots=True)
class LocalHashingEstimator(MessageSums):
    """The estimator of "loloha/1". Its tally is the histogram of the messages."""

    default_projection: ClassVar[str] = "simplex"
    estimand: ClassVar[str] = "labels"
    mechanism: Mechanism
    repeat: str = "once"

    @property
    def _first_round(self) -> LocalHashing:
        """The mechanism, or the first round of the chain."""
        return first_round_as(self.mechanism, LocalHashing, LocalHashing.id)

    def code_supports(self, tallies: Counts) -> Counts:
        """Return supports of all K codes; those from `domain_size` on have no label."""
        form = self._first_round
        rows = tallies.reshape(-1, form.tally_size)
        sums = [supports_of_codes(row, form.field_order, form.dimension) for row in rows]
        return np.array(sums, dtype=np.int64).reshape(*tallies.shape[:-1], form.codes)

    def message_law(self) -> TwoLevelLaw:
        """The law of messages, computed digit by digit."""
        form = self._first_round
        d, family = form.domain_size, (form.field_order, form.dimension)

        def forward(x: Floats) -> Floats:
            return cells_of_values(np.concatenate([x, np.zeros(form.codes - d)]), *family)

        def backward(scores: Floats) -> Floats:
            each = [supports_of_codes(row, *family)[:d] for row in np.atleast_2d(scores)]
            return np.array(each).reshape(*scores.shape[:-1], d)

        sums = (forward, backward)
        return two_level_law(self.mechanism, form.public_outcomes, form.tally_size, sums)

    def held(self, weights: Counts) -> Counts:
        """Σ of the weights of the codes that each message supports: int64[…, tally_size], exact."""
        form = self._first_round
        unused = np.zeros((*weights.shape[:-1], form.codes - weights.shape[-1]), dtype=np.int64)
        rows = np.concatenate([weights, unused], axis=-1).reshape(-1, form.codes)
        sums = [cells_of_values(row, form.field_order, form.dimension) for row in rows]
        return np.array(sums, dtype=np.int64).reshape(*weights.shape[:-1], form.tally_size)

    def sample_tally(self, values: Counts, people: Counts, draws: Generator) -> Counts:
        """Draw a function for each person, and its cell with noise."""
        form = self._first_round
        g, tally = form.field_order, np.zeros(form.tally_size, dtype=np.int64)
        for truth in senders(values, people):
            functions = draws.integers(0, form.public_outcomes, len(truth))
            cells = hashed(functions, truth, g, form.dimension)
            lies = draws.random(len(truth)) >= float(self.mechanism.p)
            cells = different_cells(cells, lies, g, draws)
            tally += np.bincount(functions * g + cells, minlength=len(tally))
        return tally

    def supports(self, tallies: Counts) -> Counts:
        return self.code_supports(tallies)[..., : self.mechanism.domain_size]
