"""Local randomizers: the registry. One file each; what is behind an id never changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import overload

from deniable_shared.chains import Renewed
from deniable_shared.domain import Bits, Domain
from deniable_shared.dyadic import parse_epsilon
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.contract import Chain, Mechanism, Renewable
from deniable_shared.mechanisms.grr import GeneralizedResponse
from deniable_shared.mechanisms.rr import BitwiseResponse
from deniable_shared.mechanisms.rr_sampled import SampledResponse, best_sample

__all__ = ["Chain", "Mechanism", "build", "default_id", "for_domain", "known"]

Epsilon = str | int | Fraction
_NONE: Mapping[str, object] = MappingProxyType({})


@overload
def build(
    id: str, *, domain_size: int, epsilon: Epsilon, permanent: None = None, **parameters: object
) -> Mechanism: ...
@overload
def build(
    id: str, *, domain_size: int, epsilon: Epsilon, permanent: Epsilon, **parameters: object
) -> Chain: ...
def build(
    id: str,
    *,
    domain_size: int,
    epsilon: Epsilon,
    permanent: Epsilon | None = None,
    **parameters: object,
) -> Mechanism:
    """A mechanism by id; ε is that of one whole report. ParameterError says what is possible.

    rr/1: domain_size = number of bits; distance = the most places in which two valid vectors
    differ (all, if not given). rr-sampled/1: the same, and sampled = how many of the bits a report
    tells (the number of least variance, if not given). grr/1: domain_size = number of choices.
    With `permanent`, the ε of a permanent answer, the mechanism is a Chain; it must exceed epsilon.
    """
    builder = _BUILDERS.get(id)
    if builder is None:
        raise ParameterError(f"mechanism id must be one of {', '.join(known())}, got {id!r:.80}")
    _check_integer("domain_size", domain_size)
    report = parse_epsilon(epsilon)
    if permanent is None:
        return builder(domain_size, report, report, parameters)
    first = builder(domain_size, parse_epsilon(permanent, argument="permanent"), report, parameters)
    return Renewed(first, report)


def known() -> tuple[str, ...]:
    """Ids of all mechanisms, sorted."""
    return tuple(sorted(_BUILDERS))


@overload
def for_domain(
    id: str,
    domain: Domain,
    epsilon: Fraction,
    *,
    permanent: None = None,
    parameters: Mapping[str, object] = _NONE,
) -> Mechanism: ...
@overload
def for_domain(
    id: str,
    domain: Domain,
    epsilon: Fraction,
    *,
    permanent: Fraction,
    parameters: Mapping[str, object] = _NONE,
) -> Chain: ...
def for_domain(
    id: str,
    domain: Domain,
    epsilon: Fraction,
    *,
    permanent: Fraction | None = None,
    parameters: Mapping[str, object] = _NONE,
) -> Mechanism:
    """The mechanism that answers for a domain; ParameterError if it is made for another type.

    `parameters` are those that the domain does not decide: {"sampled": t} of rr-sampled/1.
    """
    types = _TYPES.get(id, frozenset({domain.type}))
    if domain.type not in types:
        raise ParameterError(
            f"mechanism {id} answers for {' and '.join(sorted(types))}, not for {domain.type}: "
            f"use {default_id(domain)}"
        )
    if "distance" in parameters:
        raise ParameterError("distance follows from the domain: leave it out of the parameters")
    decided = {"distance": domain.distance} if isinstance(domain, Bits) else {}
    return build(
        id, domain_size=domain.size, epsilon=epsilon, permanent=permanent, **decided, **parameters
    )


def default_id(domain: Domain) -> str:
    """The mechanism of a collection that names none."""
    return BitwiseResponse.id if isinstance(domain, Bits) else GeneralizedResponse.id


def _bitwise(
    size: int, epsilon: Fraction, report: Fraction, parameters: Mapping[str, object]
) -> Renewable:
    _check_names(BitwiseResponse.id, parameters, "distance")
    return BitwiseResponse(size, epsilon, _integer(parameters, "distance", size))


def _sampled(
    size: int, epsilon: Fraction, report: Fraction, parameters: Mapping[str, object]
) -> Renewable:
    _check_names(SampledResponse.id, parameters, "distance", "sampled")
    distance = _integer(parameters, "distance", size)
    if "sampled" in parameters:
        return SampledResponse(size, epsilon, distance, _integer(parameters, "sampled", size))
    checked = SampledResponse(size, epsilon, distance, 1)
    return SampledResponse(size, epsilon, distance, best_sample(size, report, checked.distance))


def _generalized(
    size: int, epsilon: Fraction, report: Fraction, parameters: Mapping[str, object]
) -> Renewable:
    _check_names(GeneralizedResponse.id, parameters)
    return GeneralizedResponse(size, epsilon)


def _integer(parameters: Mapping[str, object], name: str, default: int) -> int:
    return _check_integer(name, parameters.get(name, default))


def _check_names(id: str, parameters: Mapping[str, object], *known: str) -> None:
    for name in parameters:
        if name not in known:
            raise ParameterError(
                f"{id} takes {', '.join(known) or 'no parameter'} "
                f"besides domain_size, epsilon and permanent, got {name!r:.80}"
            )


def _check_integer(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ParameterError(f"{name} must be an integer, got {type(value).__name__}")
    return value


_BUILDERS: Mapping[str, Callable[[int, Fraction, Fraction, Mapping[str, object]], Renewable]] = {
    BitwiseResponse.id: _bitwise,
    GeneralizedResponse.id: _generalized,
    SampledResponse.id: _sampled,
}
_TYPES = {
    kind.id: kind.domain_types for kind in (BitwiseResponse, GeneralizedResponse, SampledResponse)
}
