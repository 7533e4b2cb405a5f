"""Linkage: how well two reports of one permanent answer betray that one device sent both.

The mutual information, in bits, of two reports of one permanent answer, when the value is uniform;
for bit vectors the sum over bits, each fair. Then each symbol of the permanent answer is uniform.
Each report keeps a symbol with probability a, so one report is the other sent through a channel
that keeps a symbol with probability c = a²:

    I = ((1 + (K−1)c)/K)·log2(1 + (K−1)c) + ((K−1)(1 − c)/K)·log2(1 − c)        for each symbol

What a report tells openly is told by both: it adds log2 of the number of choices. Where some codes
stand for no choice, the value is taken as uniform over all codes: a bit that is not fair tells
less. For affine/1 the number is that of the d choices to a relative 0.2% from d = 64 on; below, it
is at most 8% too little where it is more than 0.001 bits.

The d bits of a unary encoding are neither fair nor independent: one choice is behind them all. With
X the choice, R and R′ the reports and R_v one bit,

    I(R; R′) ≤ I(R; X) + I(R; R′ | X) ≤ Σ_v I(R_v; X) + Σ_v I(R_v; R′_v | X)

and that bound, of which every term belongs to one bit, is the number given. Of `dbitflip/1`, which
tells t of d such bits, it is t/d of that bound; of one bit it is that bit's, exactly.

Outputs in a window around a number are not uniform either, though the number is: those near the
ends are rarer. With π their law in the permanent answer, m = aπ + (1 − a)/K that of a report,

    I = Σ P(y, y′)·log2(P(y, y′)/(m_y m_y′))      P = m_y m_y′ − a²π_y π_y′ + a²π_y·1[y = y′]

summed over classes of outputs that are as likely.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain

if TYPE_CHECKING:
    from deniable_shared.mechanisms.protocols import Mechanism

__all__ = ["linkage"]


def linkage(mechanism: Mechanism) -> float:
    """Bits by which two reports of one permanent answer are linked; 0 for reports that keep none.

    Off by at most 1e-12 for each symbol, and by a relative 1e-15 for the open part and for symbols
    of more than 2^1000 values. ParameterError for a chain of a mechanism without a structure.
    """
    if not isinstance(mechanism, MemoizedChain):
        return float(0)
    first = mechanism.first
    if first.structure is None:
        raise ParameterError(
            f"linkage is not available for {mechanism.id}, so it keeps no permanent answers: "
            'use repeat = "once" or "fresh"'
        )
    return first.structure.linkage(first.p, first.q, mechanism.keep_probability)
