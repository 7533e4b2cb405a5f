"""Which tallies one report can add, by mechanism: what every sensitivity of this room is made of.

    one of      one of K counts goes up by one                  grr/1
    points      the same; labels are sums of counts             cyclic/1, projective/1, hadamard/1
    sets        w of K counts go up by one                      subset/1, affine/1
    free bits   any set of m counts goes up by one              rr/1, sue/1, oue/1
    told bits   t of m places are told, any of them as ones     rr-sampled/1

All messages a sender can make are possible whatever the value, so it does not matter which values
are valid; a chain sends the messages of its first mechanism. A new mechanism is one more function
in `_KNOWN`, and nothing else here or in `reach` changes. Messages of which nothing supports a label
or not (means, waves, tables, texts) have no readings, and no releases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from deniable_aggregator.central.aggregate.bit_messages import FreeBits, ToldBits
from deniable_aggregator.central.aggregate.message_contract import LabelReach, Messages
from deniable_aggregator.central.aggregate.point_messages import OneOf, Points
from deniable_aggregator.central.aggregate.set_messages import Arcs, Subsets
from deniable_shared.chains import Renewed
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.contract import Mechanism

__all__ = ["LabelReach", "Messages", "known", "messages_of"]

_UNIT_BITS = 16


def known() -> tuple[str, ...]:
    """The ids of the mechanisms whose messages this room knows, sorted."""
    return tuple(sorted(_KNOWN))


def messages_of(mechanism: Mechanism) -> Messages:
    """The messages of a mechanism or of a chain; ParameterError for one that is not known."""
    if mechanism.id not in _KNOWN:
        raise ParameterError(
            f"mechanism must be one of {', '.join(known())} for central releases, got "
            f"{mechanism.id!r:.80}: estimates of this collection can be read, releases cannot; "
            "name one of these in a collection that is to be released from"
        )
    return _KNOWN[mechanism.id](mechanism.first if isinstance(mechanism, Renewed) else mechanism)


def _one_of(form: Any) -> Messages:
    return OneOf(form.tally_size)


def _free_bits(form: Any) -> Messages:
    return FreeBits(form.tally_size)


def _told_bits(form: Any) -> Messages:
    unit = 1 << _UNIT_BITS
    return ToldBits(form.domain_size, form.sampled, unit, round(form.q * unit))


def _subsets(form: Any) -> Messages:
    return Subsets(form.domain_size, form.subset_size)


def _arcs(form: Any) -> Messages:
    return Arcs(form.domain_size, form.modulus, form.subset_size)


_KNOWN: Mapping[str, Callable[[Any], Messages]] = MappingProxyType(
    {
        "affine/1": _arcs,
        "cyclic/1": Points.of_geometry,
        "grr/1": _one_of,
        "hadamard/1": Points.of_signs,
        "oue/1": _free_bits,
        "projective/1": Points.of_geometry,
        "rr-sampled/1": _told_bits,
        "rr/1": _free_bits,
        "subset/1": _subsets,
        "sue/1": _free_bits,
    }
)
