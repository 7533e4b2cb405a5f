"""How good a selected candidate is: bounds for every data set, over the mechanism's coins.

    tail   Pr[score ≤ OPT − (ln(|R|/|R_OPT|) + t)/decay] ≤ e^−t
    mean   E[score] ≥ OPT − ln(|R|/|R_OPT|)/decay
    base   Pr[score ≤ OPT − 2t] ≤ e^(−decay·t)/μ(S_t),   S_t = {score > OPT − t}, μ adds up to 1
    base   scores ≥ 0, OPT > 0, t ≥ ln(OPT/(t·μ(S_t)))/decay   ⇒   E[score] ≥ OPT − 3t

decay = ε/D, so for a textbook sensitivity 1/decay = 2Δ/ε. Lengths are in units of the score and
rounded up; |R_OPT| ≥ 1 and μ(S_t) are about the data unless bounded from what is public.
McSherry, Talwar 2007; permute-and-flip keeps tail and mean.
Source: docs/mathematics/selection.md, How far below the best.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from deniable_central.release import ErrorBar
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from fractions import Fraction

    from deniable_central.selection.privacy_parameters import PrivacyParameters

_UP = 1 + 1e-12


def shortfall(privacy: PrivacyParameters, *, candidates: int, beta: float, best: int = 1) -> float:
    """Return the most by which the score is below the best, except with probability beta."""
    _check(candidates, best)
    return tail_length(privacy.decay(), candidates / best / _chance(beta))


def mean_shortfall(privacy: PrivacyParameters, *, candidates: int, best: int = 1) -> float:
    """Return the most by which the score is below the best, on average."""
    _check(candidates, best)
    return tail_length(privacy.decay(), candidates / best)


def epsilon_for(
    shortfall: float, privacy: PrivacyParameters, *, candidates: int, beta: float
) -> float:
    """Return the least ε at which the score is at most `shortfall` below, except with chance beta.

    The ε in `privacy` does not matter.
    """
    if not shortfall > 0:
        raise ParameterError(f"shortfall must be positive, got {shortfall}")
    _check(candidates, 1)
    apart = privacy.epsilon / privacy.decay()
    return math.log(candidates / _chance(beta)) * float(apart) / shortfall * _UP


def tail_by_measure(privacy: PrivacyParameters, *, t: float, share: float) -> float:
    """A bound of Pr[score ≤ OPT − 2t], if a share μ(S_t) of the measure is within t of the best."""
    if not t > 0:
        raise ParameterError(f"t must be positive, got {t}")
    return min(1.0, math.exp(-float(privacy.decay()) * t) / _share(share) * _UP)


def mean_shortfall_by_measure(
    privacy: PrivacyParameters, *, t: float, share: float, best_score: float, least_score: float
) -> float:
    """Return 3t, the most that the score is below the best on average, if t is large enough.

    Raises ParameterError for scores that may be negative: for them the statement is false. (Scores
    10^−9 and −1 of measures 10^−6 and 1 − 10^−6 at decay 1 and t = 0.001 have the mean −1.)
    """
    if least_score < 0 or not best_score > 0:
        raise ParameterError(
            "this holds for scores of at least 0 and a best above 0 only, got least_score "
            f"{least_score} and best_score {best_score}: add a constant, or use mean_shortfall"
        )
    if not t > 0:
        raise ParameterError(f"t must be positive, got {t}")
    least = math.log(best_score / (t * _share(share))) / float(privacy.decay())
    if t < least * _UP:
        raise ParameterError(f"t must be at least ln(OPT/(t·share))/decay = {least:.6g}, got {t}")
    return 3 * t


def tail_length(decay: Fraction, odds: float) -> float:
    """Return ln(odds)/decay, rounded up: how far below the top a weight is 1/odds of the top's."""
    return max(0.0, math.log(odds)) / float(decay) * _UP


def geometric_tail_length(decay: Fraction, odds: float) -> int:
    """Return the least t that two geometric noises exceed in difference with chance ≤ 1/odds.

    Pr[N − N' ≥ t] = z^t (t + (1 + z²)/(1 − z²) + z/(1 − z)) (1 − z)/(1 + z)² for t ≥ 0.
    """
    rate = float(decay)
    z, rest = math.exp(-rate), -math.expm1(-rate)
    above = 1
    constant = (1 + z * z) / (rest * (1 + z)) + z / rest

    def tail(t: int) -> float:
        return math.exp(-rate * t) * (t + constant) * rest / (1 + z) ** 2 * _UP

    while tail(above) * odds > 1:
        above *= 2
    low = above // 2
    while above - low > 1:
        middle = (low + above) // 2
        low, above = (low, middle) if tail(middle) * odds <= 1 else (middle, above)
    return above - 1


def _check(candidates: int, best: int) -> None:
    if not 1 <= best <= candidates:
        raise ParameterError(f"best must lie in [1, candidates], got {best} of {candidates}")


def _chance(beta: float) -> float:
    if not 0 < beta < 1:
        raise ParameterError(f"beta must lie in (0, 1), got {beta}")
    return beta


def _share(share: float) -> float:
    if not 0 < share <= 1:
        raise ParameterError(f"share must lie in (0, 1], got {share}")
    return share


CONFIDENCE = 0.95
SHORTFALL = "score below the best"


def selection_bar(levels: float, step: Fraction | None, quantity: str = SHORTFALL) -> ErrorBar:
    """Return the error bar for `levels` below the top; a grid's floor adds one step."""
    whole = math.floor(levels)
    upper = whole if step is None else (whole + 1) * float(step)
    return ErrorBar(quantity, 0.0, float(upper), CONFIDENCE)
