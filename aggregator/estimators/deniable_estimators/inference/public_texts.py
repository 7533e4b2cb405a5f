"""Texts of a public list, with public weights: see `public_scores` and `texts`.

    φ_v = (tables/B)·Σ_b (bit_b − q)/(p − q)      over the bits b of a report that concern v, B bits
                                                  of all tables together

The score is 0 if no bit concerns v. A⁻¹ removes what listed texts add to each other; it depends
only on the hashes. What other texts add has mean 0 over the choice of hashes, and variance at most
β/((1 − β)·B): without looking at the data, only Σf² ≤ 1 is known.

Source: docs/mathematics/texts.md, What collisions add.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from deniable_estimators.inference.protocols import TextEstimator
from deniable_estimators.inference.public_scores import Ceiling, PublicScores
from deniable_estimators.inference.texts import agreeing_codes, spelling
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_estimators.inference.channel import Counts, Floats

_MOST_NUMBERS = 1 << 26
_AT_ONCE = 1 << 12


@runtime_checkable
class PublicTexts(TextEstimator, Protocol):
    """An estimator of texts that knows what its messages add to the support of a code."""

    def counting(self) -> Counts:
        """0 or 1 for each count of one table: 1 for those that together count its reports."""
        ...

    def supporting(self, codes: Counts) -> Counts:
        """[codes, counts of one table]: 1 for those that together count the support of a code."""
        ...


def public_texts(estimator: PublicTexts, texts: Sequence[bytes]) -> PublicScores:
    """Return the scores of one sum for each text. Raises ParameterError for too many texts."""
    size = estimator.mechanism.tally_size
    if len(texts) * size > _MOST_NUMBERS:
        raise ParameterError(
            f"texts must be at most {_MOST_NUMBERS // size:,} of {estimator.mechanism.id} here, "
            f"got {len(texts):,}: list fewer"
        )
    raw, bits = _raw(estimator, texts)
    shared = agreeing_codes(estimator, texts)
    beta = estimator.agreeing
    mixed: Floats = np.linalg.pinv((shared - beta) / (1 - beta)).astype(np.float64)
    for at in range(0, size, _AT_ONCE):  # a second array may take hundreds of megabytes
        raw[:, at : at + _AT_ONCE] = mixed @ raw[:, at : at + _AT_ONCE]
    low, high = _ends(estimator, bits, mixed)
    floor = np.abs(mixed) @ np.sqrt(beta / ((1 - beta) * bits.sum(axis=1)))
    ceilings = _ceilings(estimator, bits, mixed)
    return PublicScores(raw, np.zeros(len(texts)), low, high, ceilings, floor=floor**2)


def _raw(estimator: PublicTexts, texts: Sequence[bytes]) -> tuple[Floats, Floats]:
    """Return φ before A⁻¹, [texts, tally_size], and each text's bits, [texts, tables]."""
    coding, mechanism = estimator.coding, estimator.mechanism
    p, q, many = float(mechanism.p), float(mechanism.q), coding.all_tables
    counting, size = estimator.counting(), mechanism.tally_size // many
    raw, bits = np.zeros((len(texts), many, size)), np.zeros((len(texts), many))
    for group, spelled in spelling(coding, texts):
        for table, codes in zip(
            coding.tables_of(group), estimator.codes(group, texts), strict=True
        ):
            for code in codes:
                there = np.flatnonzero(spelled & (code >= 0))
                raw[there, table] += estimator.supporting(code[there]) - q * counting
                bits[there, table] += 1
    raw *= (many / bits.sum(axis=1) / (p - q))[:, None, None]
    return raw.reshape(len(texts), -1), bits


def _ends(estimator: PublicTexts, bits: Floats, mixed: Floats) -> tuple[Floats, Floats]:
    """Return bounds of the least and the largest score of a report."""
    p, q = float(estimator.mechanism.p), float(estimator.mechanism.q)
    most = bits.shape[1] / bits.sum(axis=1) * bits.max(axis=1) / (p - q)
    plus, minus = np.maximum(mixed, 0), np.maximum(-mixed, 0)
    low = -(plus @ (q * most) + minus @ ((1 - q) * most))
    high = plus @ ((1 - q) * most) + minus @ (q * most)
    return low, high


def _ceilings(estimator: PublicTexts, bits: Floats, mixed: Floats) -> tuple[Ceiling, ...]:
    """H after A⁻¹, by the triangle inequality: the root of a sum is at most the sum of roots."""
    p, q = float(estimator.mechanism.p), float(estimator.mechanism.q)
    every = bits.sum(axis=1)
    scale = bits.shape[1] / (every * (p - q)) ** 2
    others = np.sqrt(scale * every * q * (1 - q))
    squares = (bits**2).sum(axis=1) * (p - q) ** 2
    own = np.sqrt(scale * (every * max(p * (1 - p), q * (1 - q)) + squares))
    most, held = np.maximum(own, others), np.abs(mixed)
    rest = held @ most - np.diagonal(held) * most
    none, one = (rest + np.diagonal(held) * each for each in (others, own))
    return tuple(
        Ceiling.between(low, high)
        for low, high in zip((none**2).tolist(), (one**2).tolist(), strict=True)
    )
