"""The message space of each mechanism: every sensitivity here is computed from it.

    one of      one of K counts goes up by one                  `OneOf`
    points      the same; labels are sums of counts             `Design`, counted by message
    sets        w of K counts go up by one                      `Subset`, `Design` by code
    free bits   any set of m counts goes up by one              `IndependentBits`
    sampled     t of m coordinates, any of them as ones         `SampledBits`

A sender can make every message with every value, so it does not matter which values
are valid; a chain sends the messages of its first mechanism. Messages of which nothing
supports a label or not (means, waves, tables, texts) have no label counts: other kinds of release
read those (`tally_spaces`).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from deniable_aggregator.releases.kinds.bit_messages import (
    IndependentBitMessages,
    SampledBitMessages,
)
from deniable_aggregator.releases.kinds.point_messages import DesignPointMessages, LabelMessages
from deniable_aggregator.releases.kinds.set_messages import DesignSetMessages, SubsetMessages
from deniable_estimators.inference.payload_arrays import first_round
from deniable_estimators.inference.protocols import CodeSetEstimator
from deniable_estimators.mechanisms import estimator_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import releasable_ids
from deniable_shared.mechanisms.structure import (
    Design,
    IndependentBits,
    OneOf,
    SampledBits,
    Subset,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable_aggregator.releases.kinds.message_space import MessageSpace
    from deniable_shared.mechanisms.protocols import Mechanism

_UNIT_BITS = 16
_INSTEAD = MappingProxyType(
    {
        "mean": "mean",
        "distribution": "mean, shares, median, or exponential with score quantile",
        "tables": "table",
        "texts": "texts or top-k",
    }
)
"""The kinds of release that read an estimand without labels."""
LABELS = "labels"


def message_space_of(mechanism: Mechanism) -> MessageSpace:
    """The messages of a mechanism or chain. Raises ParameterError for an unknown one."""
    structure = mechanism.structure
    if structure is None:
        raise ParameterError(
            f"central releases are not available for {mechanism.id}: read its estimates instead"
        )
    if mechanism.releasable and type(structure) in _OF_STRUCTURE:
        return _OF_STRUCTURE[type(structure)](first_round(mechanism), structure)
    if mechanism.id in releasable_ids():
        raise ParameterError(
            f"this release needs counts of labels, which {mechanism.id} does not have: use "
            f"{_INSTEAD[estimand_of(mechanism)]}"
        )
    raise ParameterError(
        f"mechanism must be one of {', '.join(releasable_ids())} for central releases, got "
        f"{mechanism.id!r:.80}: this collection has estimates, but no releases; "
        "name one of these mechanisms in a new collection"
    )


def estimand_of(mechanism: Mechanism) -> str:
    """The kind of estimand, such as "labels" or "mean": see `Estimator.estimand`."""
    return estimator_for(mechanism).estimand


def _one_of(_form: Mechanism, structure: OneOf) -> MessageSpace:
    return LabelMessages(structure.codes)


def _free_bits(_form: Mechanism, structure: IndependentBits) -> MessageSpace:
    return IndependentBitMessages(structure.bits)


def _told_bits(form: Mechanism, structure: SampledBits) -> MessageSpace:
    unit = 1 << _UNIT_BITS
    return SampledBitMessages(structure.bits, structure.sampled, unit, round(form.q * unit))


def _subsets(_form: Mechanism, structure: Subset) -> MessageSpace:
    return SubsetMessages(structure.codes, structure.support_size)


def _design(form: Mechanism, structure: Design) -> MessageSpace:
    estimator = estimator_for(form)
    if isinstance(estimator, CodeSetEstimator):
        return DesignSetMessages(form.domain_size, structure, estimator)
    return DesignPointMessages.of(form, structure)


_OF_STRUCTURE: Mapping[type, Callable[..., MessageSpace]] = MappingProxyType(
    {
        Design: _design,
        IndependentBits: _free_bits,
        OneOf: _one_of,
        SampledBits: _told_bits,
        Subset: _subsets,
    }
)
