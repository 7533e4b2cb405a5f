"""The likeliest frequencies, where the tally is the histogram of the messages themselves.

M[y, v] = out + (in − out)·1[v ∈ S(y)]: two levels, so that Mx and Mᵀs are sums over supports, taken
as the estimator takes them. Other tallies hold supports; which message supported what is gone, and
with it the likelihood, unless a report supports one code alone. The maximum is that of reports of
independent devices. Source: local-dp §14.
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

_TOLERANCE = 0.02  # standard errors of the gradient: a few nats, in twice the steps of half of one
_Sums = Callable[[Floats], Floats]


@runtime_checkable
class HasMessageLaw(Protocol):
    """An estimator that may know the law of its messages."""

    def message_law(self) -> TwoLevelLaw | None:
        """M of one report; None where a tally does not hold messages."""


def maximum_likelihood(estimator: HasMechanism, tally: Counts) -> Fit:
    """Maximum likelihood over distributions of the labels, and how far it may be from the best.

    ParameterError for a mechanism whose tally is not of messages, and for an empty tally.
    """
    return fit(law_of_messages(estimator), tally, tolerance=_TOLERANCE)


@dataclass(frozen=True, slots=True)
class TwoLevelLaw:
    """Pr[y | v] is `inside` if y supports v, else `outside`.

    `supporters`: Σ of x over the values that a message supports, for each message; `supporting`: Σ
    of s over the messages that support a value, for each value, of one vector s or of many.
    """

    values: int
    inside: float
    outside: float
    supporters: _Sums
    supporting: _Sums

    def messages(self, distribution: Floats) -> Floats:
        """Mx."""
        more = (self.inside - self.outside) * self.supporters(distribution)
        shares: Floats = self.outside * distribution.sum() + more
        return shares

    def back(self, scores: Floats) -> Floats:
        """Mᵀs."""
        return self._back(scores, self.inside, self.outside)

    def back_squares(self, scores: Floats) -> Floats:
        """(M ∘ M)ᵀs."""
        return self._back(scores, self.inside**2, self.outside**2)

    def _back(self, scores: Floats, inside: float, outside: float) -> Floats:
        every = scores.sum(axis=-1, keepdims=True)
        sums: Floats = outside * every + (inside - outside) * self.supporting(scores)
        return sums


def counts_messages(estimator: HasMechanism) -> bool:
    """Whether every tally is the histogram of messages whose law the estimator knows."""
    return isinstance(estimator, HasMessageLaw) and isinstance(estimator, HistogramEstimator)


def law_of_messages(estimator: HasMechanism) -> TwoLevelLaw:
    """M of one report; ParameterError for a mechanism whose tally does not hold messages."""
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
    """The law of `messages`, of which so many support one value; the sums as in `TwoLevelLaw`."""
    p = float(mechanism.p)
    levels = p / supporting, (1 - p) / (messages - supporting)
    return TwoLevelLaw(mechanism.domain_size, *levels, *sums)


def one_code_law(mechanism: Mechanism, codes: int) -> TwoLevelLaw:
    """Messages of one code: the counts of codes say all that a message says of its sender."""
    d = mechanism.domain_size

    def forward(x: Floats) -> Floats:
        return np.concatenate([x, np.zeros(codes - d)])

    def backward(scores: Floats) -> Floats:
        return np.array(scores[..., :d])

    return two_level_law(mechanism, 1, codes, (forward, backward))
