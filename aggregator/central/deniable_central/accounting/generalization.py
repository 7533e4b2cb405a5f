"""Adaptive data analysis: what privacy implies for the population that the rows are drawn from.

S holds n rows drawn independently from P; f: X → [0, 1] is chosen by an ε-DP analysis of S.

    given what was released   |E[f(S)] − f(P)| ≤ tanh(ε/4), for every outcome and every f
    answers                   within α of f(S) but with probability β
                              ⇒ within α + tanh(ε/4) + c of f(P) but with β/c          any c
    under (ε, δ)              within α + (e^ε − 1) + c + 2d but with β/c + δ/d          any c, d

Given the outcome, each row's law is reweighted by factors within e^ε of each other. This moves the
mean of f by at most tanh(ε/4). That is half of the usual bound, and randomized response of 1 +
e^(ε/2) choices reaches it. Given the outcome, S is a new draw from its posterior (and so is f). So
if answer and posterior mean differ by more than α + c, the new S is off with probability above c.
Dwork et al. 2015; Jung, Ligett, Neel, Roth, Sharifi-Malvajerdi, Shenfeld 2020.

Source: docs/mathematics/accounting.md, What holds beyond the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_central.accounting.group import replacement_guarantee
from deniable_central.accounting.parameters import Epsilon, read_epsilon
from deniable_central.accounting.rational_bounds import exp, sqrt, tanh
from deniable_central.errors import AccountError
from deniable_central.guarantee import Guarantee, round_up

if TYPE_CHECKING:
    from fractions import Fraction


def transfer_gap(epsilon: Epsilon) -> Fraction:
    """How far population and rows differ on average, for any f in [0, 1] chosen under ε-DP."""
    return round_up(tanh(read_epsilon(epsilon) / 4)[1])


def population_error(
    guarantee: Guarantee, *, alpha: Fraction, beta: Fraction, failure: Fraction
) -> Fraction:
    """Return how far all answers are from the population at most, except with chance `failure`.

    alpha, beta: answers are within alpha of the rows' own mean, all at once, except with chance
    beta. Raises AccountError unless failure > beta + delta, and without an ε.
    """
    outer = replacement_guarantee(guarantee)
    if outer.epsilon is None:
        raise AccountError("answers about a population need a release of pure or (epsilon, delta)")
    if not 0 <= beta + outer.delta < failure < 1:
        raise AccountError(
            f"failure must lie between beta + delta = {float(beta + outer.delta):.3g} and 1, "
            f"got {float(failure):.3g}"
        )
    if not outer.delta:
        return round_up(alpha + transfer_gap(outer.epsilon) + beta / failure)
    slack = (sqrt(beta)[1] + sqrt(2 * outer.delta)[1]) ** 2 / failure  # the best c + 2d
    return round_up(alpha + exp(outer.epsilon)[1] - 1 + slack)
