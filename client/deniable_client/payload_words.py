"""Describes a waiting report in one sentence: what it says, and how likely that is true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_shared.domains import Bits, Text
from deniable_shared.mechanisms.structure import (
    Design,
    IndependentBits,
    OneOf,
    SampledBits,
    Subset,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from deniable_client._recording.prepared_collection import PreparedCollection

__all__ = ["list_labels", "percent", "sentence_of"]

_MOST_LABELS = 12
_MOST_ANSWERS = 4_096
_POINTING = (OneOf, Subset, Design, IndependentBits, SampledBits)
_WORDLESS = "This report cannot be put in words"


def sentence_of(prepared: PreparedCollection | None, payload: bytes) -> str:
    """Return the sentence for a report's `payload`.

    Some payloads have none, and the sentence says so.
    """
    if prepared is None:
        return f"{_WORDLESS}: its question is no longer part of this app."
    domain, structure = prepared.manifest.domain, prepared.mechanism.structure
    if isinstance(domain, Text) or not isinstance(structure, _POINTING):
        return f"{_WORDLESS}: it is a part of a scrambled answer."
    if domain.size > _MOST_ANSWERS:
        return f"{_WORDLESS}: it points to some of {domain.size:,} answers."
    if isinstance(domain, Bits):
        return _of_bits(prepared, domain.labels, payload)
    return _of_answers(prepared, domain.labels, payload)


def list_labels(labels: Sequence[str]) -> str:
    """The first labels, and how many more there are."""
    more = len(labels) - _MOST_LABELS
    return ", ".join(labels[:_MOST_LABELS]) + (f" and {more:,} more" if more > 0 else "")


def percent(share: Fraction) -> str:
    """Return the share in percent, rounded up to a tenth, but below 100 unless it is everything."""
    tenths = -(-share * 1000 // 1)
    if tenths == 1000 and share < 1:
        return "more than 99.9 %"
    return f"{tenths // 10}.{tenths % 10} %"


def _of_bits(prepared: PreparedCollection, labels: Sequence[str], payload: bytes) -> str:
    said = {label: prepared.mechanism.supports(payload, n) for n, label in enumerate(labels)}
    parts = []
    for word, value in (("yes to ", True), ("no to ", False)):
        if chosen := [label for label, bit in said.items() if bit is value]:
            parts.append(word + list_labels(chosen))
    silent = sum(bit is None for bit in said.values())
    rest = f" and nothing of {silent:,} more" if silent else ""
    return (
        f"This report says {' and '.join(parts)}{rest}. A true yes is sent as yes with a chance of "
        f"{percent(prepared.mechanism.p)}, a true no with a chance of "
        f"{percent(prepared.mechanism.q)}."
    )


def _of_answers(prepared: PreparedCollection, labels: Sequence[str], payload: bytes) -> str:
    supports = prepared.mechanism.supports
    chosen = [label for n, label in enumerate(labels) if supports(payload, n)]
    if len(chosen) == 1:
        pointing = chosen[0]
    else:
        pointing = f"{len(chosen):,} of {len(labels):,} answers"
        pointing += f": {list_labels(chosen)}" if chosen else ""
    return (
        f"This report points to {pointing}. A report points to the true answer with a chance of "
        f"{percent(prepared.mechanism.p)}, to any other one with a chance of "
        f"{percent(prepared.mechanism.q)}."
    )
