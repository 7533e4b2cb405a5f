"""The most likely frequencies, if the tally is the histogram of the messages.

M[y, v] = out + (in − out)·1[v ∈ S(y)] has two levels, so Mx and Mᵀs are sums over supports, which
the estimator computes. Other tallies have only supports, not which message had which. So they have
no likelihood, unless a report supports a single code. The maximum is that for independent devices.
Source: docs/mathematics/numbers.md, The likeliest distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from deniable_estimators.inference.channel import Counts, Floats
from deniable_estimators.inference.likelihood import Fit, fit
from deniable_estimators.inference.support_counts import HistogramEstimator
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from deniable_estimators.inference.protocols import HasMechanism
    from deniable_shared.mechanisms.protocols import Mechanism

_TOLERANCE = 0.02  # standard errors of the gradient: a few nats
_Sums = Callable[[Floats], Floats]


@runtime_checkable
class HasMessageLaw(Protocol):
    """An estimator that may know the law of its messages."""

    def message_law(self) -> TwoLevelLaw | None:
        """Return M of one report; None if a tally does not count messages."""


def maximum_likelihood(estimator: HasMechanism, tally: Counts) -> Fit:
    """Return the most likely distribution of the labels, and how far it may be from the maximum.

    Raises ParameterError for a mechanism whose tally does not count messages, and for an empty
    tally.
    """
    return fit(law_of_messages(estimator), tally, tolerance=_TOLERANCE)


@dataclass(frozen=True, slots=True)
class TwoLevelLaw:
    """Pr[y | v] is `inside` if y supports v, else `outside`.

    `supporters` returns, for each message, Σ of x over the values that it supports. `supporting`
    returns, for each value, Σ of s over the messages that support it, of one vector s or of many.
    """

    values: int
    inside: float
    outside: float
    supporters: _Sums
    supporting: _Sums

    def messages(self, distribution: Floats) -> Floats:
        """Return Mx."""
        more = (self.inside - self.outside) * self.supporters(distribution)
        shares: Floats = self.outside * distribution.sum() + more
        return shares

    def back(self, scores: Floats) -> Floats:
        """Return Mᵀs."""
        return self._back(scores, self.inside, self.outside)

    def back_squares(self, scores: Floats) -> Floats:
        """Return (M ∘ M)ᵀs."""
        return self._back(scores, self.inside**2, self.outside**2)

    def _back(self, scores: Floats, inside: float, outside: float) -> Floats:
        every = scores.sum(axis=-1, keepdims=True)
        sums: Floats = outside * every + (inside - outside) * self.supporting(scores)
        return sums


def counts_messages(estimator: HasMechanism) -> bool:
    """Whether every tally is the histogram of messages whose law the estimator knows."""
    return isinstance(estimator, HasMessageLaw) and isinstance(estimator, HistogramEstimator)


def law_of_messages(estimator: HasMechanism) -> TwoLevelLaw:
    """Return M of one report. Raises ParameterError if the tally does not count messages."""
    law = estimator.message_law() if isinstance(estimator, HasMessageLaw) else None
    if law is None:
        raise ParameterError(
            f'projection must not be "mle" for {estimator.mechanism.id}: its tally holds how many '
            "reports support each label, and which of them came together in one report decides "
            "the likelihood"
        )
    return law


def two_level_law(
    mechanism: Mechanism, supporting: int, messages: int, sums: tuple[_Sums, _Sums]
) -> TwoLevelLaw:
    """Return the law of `messages` messages, `supporting` of which support each value."""
    p = float(mechanism.p)
    levels = p / supporting, (1 - p) / (messages - supporting)
    return TwoLevelLaw(mechanism.domain_size, *levels, *sums)


def one_code_law(mechanism: Mechanism, codes: int) -> TwoLevelLaw:
    """Return the law of messages of one code: the counts of codes are the counts of messages."""
    d = mechanism.domain_size

    def forward(x: Floats) -> Floats:
        return np.concatenate([x, np.zeros(codes - d)])

    def backward(scores: Floats) -> Floats:
        return np.array(scores[..., :d])

    return two_level_law(mechanism, 1, codes, (forward, backward))
