"""Local randomizers: the registry. One file each; what is behind an id never changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from deniable_shared.domain import Bits, Domain
from deniable_shared.dyadic import parse_epsilon
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.contract import Mechanism
from deniable_shared.mechanisms.grr import GeneralizedResponse
from deniable_shared.mechanisms.rr import BitwiseResponse

__all__ = ["Mechanism", "build", "default_id", "for_domain", "known"]


def build(
    id: str, *, domain_size: int, epsilon: str | int | Fraction, **parameters: object
) -> Mechanism:
    """A mechanism by id; ε is that of one whole report. ParameterError says what is possible.

    rr/1: domain_size = number of bits; distance = the most places in which two valid vectors
    differ (all, if not given). grr/1: domain_size = number of choices.
    """
    builder = _BUILDERS.get(id)
    if builder is None:
        raise ParameterError(f"mechanism id must be one of {', '.join(known())}, got {id!r:.80}")
    _check_integer("domain_size", domain_size)
    return builder(domain_size, parse_epsilon(epsilon), parameters)


def known() -> tuple[str, ...]:
    """Ids of all mechanisms, sorted."""
    return tuple(sorted(_BUILDERS))


def for_domain(id: str, domain: Domain, epsilon: Fraction) -> Mechanism:
    """The mechanism that answers for a domain; ParameterError if it is made for another type."""
    parameters = {"distance": domain.distance} if id == BitwiseResponse.id else {}
    types = _TYPES.get(id, frozenset({domain.type}))
    if domain.type not in types:
        raise ParameterError(
            f"mechanism {id} answers for {' and '.join(sorted(types))}, not for {domain.type}: "
            f"use {default_id(domain)}"
        )
    return build(id, domain_size=domain.size, epsilon=epsilon, **parameters)


def default_id(domain: Domain) -> str:
    """The mechanism of a collection that names none."""
    return BitwiseResponse.id if isinstance(domain, Bits) else GeneralizedResponse.id


def _bitwise(domain_size: int, epsilon: Fraction, parameters: Mapping[str, object]) -> Mechanism:
    _check_names(BitwiseResponse.id, parameters, "distance")
    distance = parameters.get("distance", domain_size)
    return BitwiseResponse(domain_size, epsilon, _check_integer("distance", distance))


def _generalized(
    domain_size: int, epsilon: Fraction, parameters: Mapping[str, object]
) -> Mechanism:
    _check_names(GeneralizedResponse.id, parameters)
    return GeneralizedResponse(domain_size, epsilon)


def _check_names(id: str, parameters: Mapping[str, object], *known: str) -> None:
    for name in parameters:
        if name not in known:
            raise ParameterError(
                f"{id} takes {', '.join(known) or 'no parameter'} "
                f"besides domain_size and epsilon, got {name!r:.80}"
            )


def _check_integer(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ParameterError(f"{name} must be an integer, got {type(value).__name__}")
    return value


_BUILDERS: Mapping[str, Callable[[int, Fraction, Mapping[str, object]], Mechanism]] = {
    BitwiseResponse.id: _bitwise,
    GeneralizedResponse.id: _generalized,
}
_TYPES = {kind.id: kind.domain_types for kind in (BitwiseResponse, GeneralizedResponse)}
