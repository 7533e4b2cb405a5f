"""Local randomizers: the registry. One file each; what is behind an id never changes."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import overload

from deniable_shared.chains import Renewed
from deniable_shared.domain import Bits, Domain
from deniable_shared.dyadic import parse_epsilon
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.affine import AffineResponse
from deniable_shared.mechanisms.contract import Chain, Kind, Mechanism
from deniable_shared.mechanisms.cyclic import CyclicResponse
from deniable_shared.mechanisms.discrete_piecewise import PiecewiseMean
from deniable_shared.mechanisms.duchi import OneBitMean
from deniable_shared.mechanisms.grr import GeneralizedResponse
from deniable_shared.mechanisms.hadamard import HadamardResponse
from deniable_shared.mechanisms.oue import OptimizedUnary
from deniable_shared.mechanisms.projective import ProjectiveResponse
from deniable_shared.mechanisms.rr import BitwiseResponse
from deniable_shared.mechanisms.rr_sampled import SampledResponse
from deniable_shared.mechanisms.subset import SubsetResponse
from deniable_shared.mechanisms.sue import SymmetricUnary

__all__ = [
    "Chain",
    "Mechanism",
    "build",
    "default_id",
    "for_domain",
    "for_type",
    "known",
    "pinned",
]

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
    tells (the number of least variance, if not given). The others: domain_size = number of choices.
    With `permanent`, the ε of a permanent answer, the mechanism is a Chain; it must exceed epsilon.
    """
    kind = _BY_ID.get(id)
    if kind is None:
        raise ParameterError(f"mechanism id must be one of {', '.join(known())}, got {id!r:.80}")
    size, given = _integer("domain_size", domain_size), _given(kind, parameters)
    report = parse_epsilon(epsilon)
    if permanent is None:
        return kind.create(size, report, report=report, given=given)
    whole = parse_epsilon(permanent, argument="permanent")
    return Renewed(kind.create(size, whole, report=report, given=given), report)


def known() -> tuple[str, ...]:
    """Ids of all mechanisms, sorted."""
    return tuple(sorted(_BY_ID))


def for_type(domain_type: str) -> tuple[str, ...]:
    """Ids of the mechanisms that answer for a type of domain, sorted."""
    return tuple(id for id in known() if domain_type in _BY_ID[id].domain_types)


def pinned(id: str) -> tuple[str, ...]:
    """Names of the parameters that a manifest pins for a mechanism; none for an unknown one."""
    return _BY_ID[id].parameters if id in _BY_ID else ()


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
    types = _BY_ID[id].domain_types if id in _BY_ID else frozenset({domain.type})
    if domain.type not in types:
        raise ParameterError(
            f"mechanism {id} answers for {', '.join(sorted(types))}, not for {domain.type}: "
            f"use {default_id(domain)}"
        )
    decided = domain.decides
    for name in decided.keys() & parameters.keys():
        raise ParameterError(f"{name} follows from the domain: leave it out of the parameters")
    return build(
        id, domain_size=domain.size, epsilon=epsilon, permanent=permanent, **decided, **parameters
    )


def default_id(domain: Domain) -> str:
    """The mechanism of a collection that names none."""
    return BitwiseResponse.id if isinstance(domain, Bits) else GeneralizedResponse.id


def _given(kind: Kind, parameters: Mapping[str, object]) -> dict[str, int]:
    """The parameters, if the mechanism takes each of them and all are integers."""
    takes = (*_DECIDED.get(kind.domain_types, ()), *kind.parameters)
    for name in parameters:
        if name not in takes:
            raise ParameterError(
                f"{kind.id} takes {', '.join(takes) or 'no parameter'} "
                f"besides domain_size, epsilon and permanent, got {name!r:.80}"
            )
    return {name: _integer(name, value) for name, value in parameters.items()}


def _integer(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ParameterError(f"{name} must be an integer, got {type(value).__name__}")
    return value


_DECIDED = {frozenset({"bits"}): ("distance",)}
"""Parameters that the domain decides, and so no manifest names."""

_KINDS: tuple[Kind, ...] = (
    AffineResponse,
    BitwiseResponse,
    CyclicResponse,
    GeneralizedResponse,
    HadamardResponse,
    OneBitMean,
    OptimizedUnary,
    PiecewiseMean,
    ProjectiveResponse,
    SampledResponse,
    SubsetResponse,
    SymmetricUnary,
)
_BY_ID: Mapping[str, Kind] = {kind.id: kind for kind in _KINDS}
