"""Linkage: how well two reports of one permanent answer reveal that one device sent both.

It is the mutual information, in bits, of two reports of one permanent answer. The value is uniform;
for bit vectors, each bit is fair and the bits add up. Then each symbol of the permanent answer is
uniform. Each report keeps a symbol with probability a. So one report is the other one, sent through
a channel that keeps a symbol with probability c = a²:

    I = ((1 + (K−1)c)/K)·log2(1 + (K−1)c) + ((K−1)(1 − c)/K)·log2(1 − c)        for each symbol

Both reports contain the public part of an answer: it adds log2 of the number of its possible
values. If some codes represent no choice, the value is taken as uniform over all codes: a bit that
is not fair reveals less. For affine/1 the number is that of the d choices, with a relative error of
0.2% from d = 64 on. For smaller d it is at most 8% too low if it is more than 0.001 bits.

The d bits of a unary encoding are neither fair nor independent: one choice decides them all. With
X the choice, R and R′ the reports and R_v one bit,

    I(R; R′) ≤ I(R; X) + I(R; R′ | X) ≤ Σ_v I(R_v; X) + Σ_v I(R_v; R′_v | X)

This bound is the result; each of its terms belongs to one bit. `dbitflip/1` reports t of d such
bits, so its result is t/d of the bound. The result for one bit is exact.

Outputs in a window around a number are not uniform, even if the number is: those near the ends are
rarer. With π their law in the permanent answer, m = aπ + (1 − a)/K that of a report,

    I = Σ P(y, y′)·log2(P(y, y′)/(m_y m_y′))      P = m_y m_y′ − a²π_y π_y′ + a²π_y·1[y = y′]

summed over classes of equally likely outputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain

if TYPE_CHECKING:
    from deniable_shared.mechanisms.protocols import Mechanism


def linkage(mechanism: Mechanism) -> float:
    """The bits by which two reports of one permanent answer are linked; 0 without such answers.

    The error is at most 1e-12 bits for each symbol. For the public part, and for symbols of more
    than 2^1000 values, it is at most a relative 1e-15. Raises ParameterError for a chain of a
    mechanism without a structure.
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
