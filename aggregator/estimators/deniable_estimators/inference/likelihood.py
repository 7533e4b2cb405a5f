"""The most likely distribution behind a histogram of messages, by expectation maximisation.

    x ← x ∘ g      g = Mᵀ(f ⊘ Mx)      f: share of each message, M[y, v] = Pr[y | v]

Each step raises the likelihood. At its maximum g ≤ 1, and g = 1 wherever x > 0 (Karush, Kuhn,
Tucker). At any other point the maximum is higher by at most n·(max g − 1) nats. This certificate
decides when to stop: for the true distribution g_v − 1 has a standard error of √(χ²_v/n), with

    χ²_v = Σ_y M[y, v]²/(Mx)_y − 1

and once no value exceeds `tolerance` times its own, more steps fit noise. Steps are squared
(Varadhan, Roland 2008), and undone if they would lower the likelihood.

`fit_smoothed` averages neighbours, (1, 2, 1)/4, after each step (EMS). For smooth distributions the
error is smaller; it blurs others, even with many reports. It has no certificate, and stops when the
likelihood does.
Sources: Dempster, Laird, Rubin 1977; Li et al. 2020; docs/mathematics/numbers.md, The likeliest
distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_estimators.inference.channel import Counts, Floats

_MOST_STEPS = 20_000
_STILL = 1e-3  # nats


class MessageLaw(Protocol):
    """The law of messages, given the distribution of the values."""

    @property
    def values(self) -> int:
        """The number of values."""
        ...

    def messages(self, distribution: Floats) -> Floats:
        """Return Mx, float64[messages]."""
        ...

    def back(self, scores: Floats) -> Floats:
        """Return Mᵀs, float64[values]."""
        ...

    def back_squares(self, scores: Floats) -> Floats:
        """Return (M ∘ M)ᵀs, float64[values]."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A distribution. Its log-likelihood is below the largest by at most `short` nats."""

    distribution: Floats
    short: float
    steps: int


@dataclass(slots=True)
class _Iterate:
    """A distribution, its log-likelihood over n, and the factors g of the next step."""

    x: Floats
    likelihood: float
    factors: Floats
    messages: Floats

    @property
    def following(self) -> Floats:
        return self.x * self.factors


def fit(law: MessageLaw, counts: Counts, *, tolerance: float = 0.5) -> Fit:
    """Return the maximum of the likelihood, up to `tolerance` standard errors of its gradient.

    Raises ParameterError without messages, or if the tolerance is not positive.
    """
    if not tolerance > 0:
        raise ParameterError(f"tolerance must be positive, got {tolerance}")
    n = int(counts.sum())
    point, steps = None, 0
    for steps, point in enumerate(ascent(law, counts), 1):  # noqa: B007  (both are used below)
        chi = law.back_squares(1 / point.messages) - 1
        if (point.factors - 1 <= tolerance * np.sqrt(np.maximum(chi, 0.0) / n)).all():
            break
    if point is None:
        raise ParameterError("counts must hold at least one message")
    return Fit(point.x, n * max(float(point.factors.max()) - 1, 0.0), steps)


def ascent(law: MessageLaw, counts: Counts) -> Iterator[_Iterate]:
    """Yield points of rising likelihood, from the uniform distribution on; at most 20,000."""
    n = int(counts.sum())
    if not n:
        return
    share = counts / n
    here = _at(law, share, np.full(law.values, 1 / law.values))
    yield here
    for _ in range(_MOST_STEPS // 3):
        first = _at(law, share, here.following)
        second = _at(law, share, first.following)
        leap = _at(law, share, _extrapolate(here.x, first.x, second.x))
        here = leap if leap.likelihood >= second.likelihood else second
        yield here


def _at(law: MessageLaw, share: Floats, x: Floats) -> _Iterate:
    messages = law.messages(x)
    some = share > 0
    likelihood = float(share[some] @ np.log(messages[some]))
    return _Iterate(x, likelihood, law.back(share / messages), messages)


def _extrapolate(start: Floats, first: Floats, second: Floats) -> Floats:
    """Return a point as far along the two steps as they suggest, without zeros."""
    step, bend = first - start, second - 2 * first + start
    turn = float(np.sqrt(bend @ bend))
    far = max(float(np.sqrt(step @ step)) / turn, 1.0) if turn else 1.0
    ahead: Floats = np.maximum(start + 2 * far * step + far * far * bend, second * 1e-3)
    ahead /= ahead.sum()
    return ahead


def fit_smoothed(law: MessageLaw, counts: Counts) -> Floats:
    """Return the fixed point of smoothing and fitting (EMS).

    Raises ParameterError without messages.
    """
    n = int(counts.sum())
    if not n:
        raise ParameterError("counts must hold at least one message")
    share = counts / n
    here = _at(law, share, np.full(law.values, 1 / law.values))
    for _ in range(_MOST_STEPS):
        ahead = _at(law, share, _averaged(here.following))
        if abs(ahead.likelihood - here.likelihood) * n < _STILL:
            break
        here = ahead
    return here.x


def _averaged(x: Floats) -> Floats:
    """Return (1, 2, 1)/4 inside, (2, 1)/3 at the ends, scaled to a sum of 1."""
    mixed = np.empty_like(x)
    mixed[1:-1] = (x[:-2] + 2 * x[1:-1] + x[2:]) / 4
    mixed[0], mixed[-1] = (2 * x[0] + x[1]) / 3, (2 * x[-1] + x[-2]) / 3
    mixed /= mixed.sum()
    return mixed
