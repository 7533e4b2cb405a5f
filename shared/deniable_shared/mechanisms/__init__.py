"""Local randomizers and their registry. One file each; the behaviour of an id never changes."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, cast, overload

from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.protocols import Chain, Mechanism
from deniable_shared.randomness.dyadic import parse_epsilon

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_shared.domains import Domain
    from deniable_shared.mechanisms import (  # noqa: F401  (a tool that bundles an app follows these lines)
        affine,
        cms,
        cyclic,
        dbitflip,
        discrete_piecewise,
        duchi,
        fourier,
        grr,
        haar,
        hadamard,
        hcms,
        loloha,
        optimal_mean,
        oue,
        pairs,
        prefix_hash,
        projective,
        rappor,
        rr,
        rr_sampled,
        square_wave,
        subset,
        sue,
        tree,
    )
    from deniable_shared.mechanisms.protocols import (
        MechanismClass,
        Memoizable,
        RecordMechanismClass,
    )

__all__ = [
    "Chain",
    "Mechanism",
    "baseline_ids",
    "build",
    "for_domain",
    "ids_for_domain_type",
    "ids_for_target",
    "mechanism_ids",
    "pinned_parameters",
    "recommendable_ids",
    "releasable_ids",
]

Epsilon = str | int | Fraction
_NONE: Mapping[str, object] = MappingProxyType({})


@overload
def build(
    mechanism_id: str,
    *,
    domain_size: int,
    epsilon: Epsilon,
    permanent: None = None,
    **parameters: object,
) -> Mechanism: ...
@overload
def build(
    mechanism_id: str,
    *,
    domain_size: int,
    epsilon: Epsilon,
    permanent: Epsilon,
    **parameters: object,
) -> Chain: ...
def build(
    mechanism_id: str,
    *,
    domain_size: int,
    epsilon: Epsilon,
    permanent: Epsilon | None = None,
    **parameters: object,
) -> Mechanism:
    """Return a mechanism by id, at the ε of one whole report.

    - rr/1: domain_size = number of bits; distance = the most places in which two valid vectors
      differ (all, if not given).
    - rr-sampled/1: as rr/1, and sampled = how many of the bits a report contains (the number of
      least variance, if not given).
    - pairs/1, fourier/1: domain_size = number of combinations, radices = the number of labels of
      each attribute; ways of fourier/1 = the most attributes of a marginal (2, if not given).
    - prefix-hash/1, cms/1, hcms/1, rappor/1: domain_size = the most bytes.
    - The others: domain_size = number of choices.

    With `permanent`, the ε of a permanent answer, the mechanism is a Chain; it must exceed epsilon.
    Raises ParameterError, naming the accepted range, if an argument is wrong.
    """
    if mechanism_id not in _CLASSES:
        raise ParameterError(_unknown(mechanism_id))
    kind = _kind(mechanism_id)
    size, report = _integer("domain_size", domain_size), parse_epsilon(epsilon)
    if permanent is None:
        return _created(kind, size, report, report, parameters)
    whole = parse_epsilon(permanent, argument="permanent")
    return MemoizedChain(_created(kind, size, whole, report, parameters), report)


def mechanism_ids() -> tuple[str, ...]:
    """Return the ids of all mechanisms, sorted."""
    return tuple(sorted(_CLASSES))


def ids_for_domain_type(domain_type: str) -> tuple[str, ...]:
    """Return the ids of the mechanisms for a type of domain, sorted."""
    return tuple(
        mechanism_id
        for mechanism_id in mechanism_ids()
        if domain_type in _kind(mechanism_id).domain_types
    )


def baseline_ids() -> tuple[str, ...]:
    """Return the ids of the mechanisms that are never recommended, sorted."""
    return _BASELINES


def recommendable_ids(domain_type: str) -> tuple[str, ...]:
    """Return `ids_for_domain_type` without the baselines."""
    return tuple(each for each in ids_for_domain_type(domain_type) if each not in baseline_ids())


def releasable_ids() -> tuple[str, ...]:
    """Return the ids of the mechanisms whose reports central releases can read, sorted."""
    return tuple(each for each in mechanism_ids() if _kind(each).releasable)


def ids_for_target(target: str, epsilon: Fraction | None = None) -> tuple[str, ...]:
    """Return the ids of the mechanisms that estimate a target; the first one wins a tie.

    With the ε of a report, return only those that may be the best. See `MechanismClass.targets`.
    """
    return tuple(
        kind.id
        for kind in map(_kind, _CLASSES)
        if target in kind.targets and (epsilon is None or epsilon >= kind.compared_from)
    )


def pinned_parameters(mechanism_id: str) -> tuple[str, ...]:
    """Return the names of the parameters that a manifest stores; none for an unknown mechanism."""
    return _kind(mechanism_id).parameters if mechanism_id in _CLASSES else ()


@overload
def for_domain(
    mechanism_id: str,
    domain: Domain,
    epsilon: Fraction,
    *,
    permanent: None = None,
    parameters: Mapping[str, object] = _NONE,
) -> Mechanism: ...
@overload
def for_domain(
    mechanism_id: str,
    domain: Domain,
    epsilon: Fraction,
    *,
    permanent: Fraction,
    parameters: Mapping[str, object] = _NONE,
) -> Chain: ...
def for_domain(
    mechanism_id: str,
    domain: Domain,
    epsilon: Fraction,
    *,
    permanent: Fraction | None = None,
    parameters: Mapping[str, object] = _NONE,
) -> Mechanism:
    """Return the mechanism for a domain.

    `parameters` are those that the domain does not decide, like {"sampled": t} of rr-sampled/1.
    Raises ParameterError if the mechanism does not fit the type of the domain.
    """
    registered = mechanism_id in _CLASSES
    types = _kind(mechanism_id).domain_types if registered else frozenset({domain.type})
    if domain.type not in types:
        raise ParameterError(
            f"mechanism {mechanism_id} answers for {', '.join(sorted(types))}, "
            f"not for {domain.type}: use {' or '.join(ids_for_domain_type(domain.type))}"
        )
    takes = _DECIDED.get(types, ())
    decided = {name: value for name, value in domain.mechanism_parameters.items() if name in takes}
    for name in decided.keys() & parameters.keys():
        raise ParameterError(f"{name} follows from the domain: leave it out of the parameters")
    return build(
        mechanism_id,
        domain_size=domain.size,
        epsilon=epsilon,
        permanent=permanent,
        **decided,
        **parameters,
    )


def _kind(mechanism_id: str) -> MechanismClass | RecordMechanismClass:
    """Import a mechanism where it is asked for: a device needs those of its own collections.

    With all of them `import deniable_client` would take 1.4 times as long.
    """
    module = mechanism_id.partition("/")[0].replace("-", "_")
    kind: MechanismClass | RecordMechanismClass = getattr(
        import_module(f"{__name__}.{module}"), _CLASSES[mechanism_id]
    )
    return kind


def _unknown(mechanism_id: str) -> str:
    """Return why there is no such mechanism."""
    if mechanism_id.partition("/")[0].lower() in _SPLIT:
        return (
            "mechanism id must not split one ε over the attributes of a record, got "
            f"{mechanism_id!r:.80}: each would get a share of ε, with many times the error. "
            "Use pairs/1, which reports two of them at all of ε"
        )
    if mechanism_id.partition("/")[0].lower() in _WITH_FAKES:
        return (
            f"mechanism id must keep ε for whole records, got {mechanism_id!r:.80}: random "
            "sampling with fake data (RS+FD) reports the sampled attribute at "
            "ε′ = ln(m(e^ε − 1) + 1), and two records that differ in all m attributes are "
            "distinguished with all of ε′: 1.490 for two attributes where 1 is claimed. "
            "Use pairs/1, which says publicly which attributes it reports, at ε"
        )
    return f"mechanism id must be one of {', '.join(mechanism_ids())}, got {mechanism_id!r:.80}"


def _created(
    kind: MechanismClass | RecordMechanismClass,
    size: int,
    epsilon: Fraction,
    report: Fraction,
    parameters: Mapping[str, object],
) -> Memoizable:
    given = _given(kind, parameters)
    if kind.domain_types != {"record"}:
        return cast("MechanismClass", kind).create(size, epsilon, report=report, given=given)
    radices = _radices(parameters.get("radices"), size)
    of_records = cast("RecordMechanismClass", kind)
    return of_records.create(radices, epsilon, report=report, given=given)


def _radices(radices: object, size: int) -> tuple[int, ...]:
    if not isinstance(radices, tuple) or not radices:
        raise ParameterError("radices must hold the number of labels of each attribute")
    shape = tuple(_integer("radices", radix) for radix in radices)
    if prod(shape) != size:
        raise ParameterError(f"domain_size must be the product of the radices, got {size}")
    return shape


def _given(
    kind: MechanismClass | RecordMechanismClass, parameters: Mapping[str, object]
) -> dict[str, int]:
    """Return the parameters without radices.

    Raises ParameterError if one is unknown or no integer.
    """
    takes = (*_DECIDED.get(kind.domain_types, ()), *kind.parameters)
    for name in parameters:
        if name not in takes:
            raise ParameterError(
                f"{kind.id} takes {', '.join(takes) or 'no parameter'} "
                f"besides domain_size, epsilon and permanent, got {name!r:.80}"
            )
    whole = {name: value for name, value in parameters.items() if name != "radices"}
    return {name: _integer(name, value) for name, value in whole.items()}


def _integer(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ParameterError(f"{name} must be an integer, got {type(value).__name__}")
    return value


_SPLIT = frozenset({"spl", "split"})
_WITH_FAKES = frozenset({"rs+fd", "rsfd", "rs-fd", "rs+rfd", "rsrfd", "rs-rfd"})

_DECIDED: Mapping[frozenset[str], tuple[str, ...]] = MappingProxyType(
    {frozenset({"bits"}): ("distance",), frozenset({"record"}): ("radices",)}
)
"""Parameters that the domain decides, so manifests do not name them."""

_CLASSES: Mapping[str, str] = MappingProxyType(
    {
        "affine/1": "AffineResponse",
        "rr/1": "BitwiseResponse",
        "cyclic/1": "CyclicResponse",
        "grr/1": "GeneralizedResponse",
        "haar/1": "HaarResponse",
        "subset/1": "SubsetResponse",
        "hadamard/1": "HadamardResponse",
        "loloha/1": "LocalHashing",
        "optimal-mean/1": "OptimalMean",
        "discrete-piecewise/1": "PiecewiseMean",
        "prefix-hash/1": "PrefixHash",
        "projective/1": "ProjectiveResponse",
        "rr-sampled/1": "SampledResponse",
        "square-wave/1": "SquareWave",
        "tree/1": "TreeResponse",
        "dbitflip/1": "BucketFlips",
        "cms/1": "CountMeanSketch",
        "hcms/1": "HadamardSketch",
        "duchi/1": "OneBitMean",
        "oue/1": "OptimizedUnary",
        "rappor/1": "Rappor",
        "sue/1": "SymmetricUnary",
        "pairs/1": "SampledPairs",
        "fourier/1": "FourierMarginals",
    }
)
"""The registry: the class of each id; its module has the name of the id. Of two that are equally
good for a target, the earlier one is taken.
"""

_BASELINES = ("cms/1", "dbitflip/1", "duchi/1", "hcms/1", "oue/1", "rappor/1", "sue/1")
"""Kept for comparison and to read old reports: for labels another one is better.

The mean of a number at small ε is the one case in which a plan takes one of them, duchi/1.
"""
