"""Recommends the mechanism of a collection: the shortest reports at almost the least error.

Of the registered mechanisms that answer for the domain, but for the baselines, those whose total
error is at most 1.05 times the least that any mechanism can have, R*(d, ε) of
`optimal_error`; or, if there are none, at most 1.05 times the least among them. Of these

    the one of the fewest bytes a report,
    then of those that a server counts in fewer than 16 additions a report, if there are any,
    then of those whose reports reveal nothing openly, if there are any, then of the least error,
    then of the fewest parameters to pin, then by id.

If reporting one choice is exactly optimal, (d − 1)(d − 2) ≤ 2E², that is `grr/1`. The work of a
device grows with the bytes it sends, so it needs no rule of its own. A number is asked as a choice:
which value how often; its mean and its distribution are other questions, to be named. A record gets
the least error of two attributes together (`record_recommendation`).
Bits are compared by the variance of one bit at frequency ½; of several, no least error is known.

Two reports of one permanent answer may share one bit at most unless `linkable` says otherwise:
without it, those that share less go first. Nothing here depends on the number of reports, and no
float decides but that of `linkage`, which the manifest's own rule reads as well.
Sources: docs/mathematics/planning.md, The mechanism of a question.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from deniable_aggregator.collections.authoring.record_recommendation import (
    best_record_mechanism,
)
from deniable_shared import mechanisms
from deniable_shared.analysis.optimal_error import least_error, total_error
from deniable_shared.domains import Bits, Domain, Record, Text
from deniable_shared.errors import ParameterError
from deniable_shared.manifest.linkage import linkage
from deniable_shared.manifest.rules import MAX_LINKAGE
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.structure import SampledBits
from deniable_shared.randomness.dyadic import parse_epsilon

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_shared.mechanisms import Mechanism
    from deniable_shared.mechanisms.protocols import Memoizable

GOOD_ENOUGH_RATIO = Fraction(21, 20)
"""Errors up to this many times the least one count as equally good."""

_MAX_ADDITIONS = 16
_EXACT = 1 + Fraction(1, 1 << 30)  # what the grid of 64-bit coins can cost, up to ε = 20


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The mechanism, the reason, and its error over the least possible, None if unknown."""

    id: str
    reason: str
    ratio_to_optimum: Fraction | None
    mechanism: Mechanism = field(repr=False)


@dataclass(frozen=True, slots=True)
class DomainShape:
    """The facts of a domain for a mechanism. `decided`: parameters that the domain fixes."""

    type: str
    size: int
    decided: Mapping[str, int] = field(default_factory=dict)


def recommend_for_domain(
    domain: Domain,
    epsilon: Fraction,
    *,
    permanent: Fraction | None = None,
    linkable: bool = False,
) -> Recommendation:
    """The mechanism of a domain; see `recommend`."""
    if isinstance(domain, Text):
        return _for_text(domain, epsilon, permanent)
    if isinstance(domain, Record):
        return _for_record(domain, epsilon, permanent, linkable)
    decided = {name: n for name, n in domain.mechanism_parameters.items() if isinstance(n, int)}
    return recommend(
        DomainShape(domain.type, domain.size, decided),
        epsilon,
        permanent=permanent,
        linkable=linkable,
    )


def recommend(
    shape: DomainShape,
    epsilon: Fraction,
    *,
    permanent: Fraction | None = None,
    linkable: bool = False,
) -> Recommendation:
    """The mechanism for a type of domain and its size, at the ε of one report.

    With `permanent` it is a chain, compared by one of its reports. Raises ParameterError
    if no mechanism answers.
    """
    parse_epsilon(epsilon)
    if permanent is not None and not epsilon < parse_epsilon(permanent, argument="permanent"):
        raise ParameterError(f"permanent must be more than epsilon = {epsilon}, got {permanent}")
    domain_type = "bits" if shape.type == Bits.type else "choice"
    candidates = list(_candidates(domain_type, shape.size, epsilon, permanent, shape.decided))
    if not candidates:
        raise ParameterError(
            f"no mechanism answers for a {shape.type} of size {shape.size} at this epsilon: "
            "use a smaller domain or another epsilon"
        )
    unlinked = [each for each in candidates if linkable or linkage(each) <= MAX_LINKAGE]
    best = _best(unlinked or candidates)
    any_best = best if len(unlinked) == len(candidates) else _best(candidates)
    ratio = ratio_to_optimum(best)
    reason = _reason(best, ratio)
    if best.id != any_best.id:
        reason += f"; {any_best.id} has less, with linkable = true"
    return Recommendation(best.id, reason, ratio, best)


def _for_text(domain: Text, epsilon: Fraction, permanent: Fraction | None) -> Recommendation:
    """The only mechanism for texts that is not a baseline."""
    (only,) = mechanisms.recommendable_ids(Text.type)
    if permanent is None:
        best = mechanisms.for_domain(only, domain, epsilon)
    else:
        best = mechanisms.for_domain(only, domain, epsilon, permanent=permanent)
    reason = f"the mechanism for texts without a list, in {_bytes(best)}"
    return Recommendation(best.id, reason, None, best)


def _for_record(
    domain: Record, epsilon: Fraction, permanent: Fraction | None, linkable: bool
) -> Recommendation:
    """The mechanism with the least error for two attributes that does not identify a device."""

    def with_permanent(once: Mechanism) -> Mechanism:
        if permanent is None:
            return once
        return mechanisms.for_domain(once.id, domain, epsilon, permanent=permanent)

    def hides(once: Mechanism) -> bool:
        return linkable or linkage(with_permanent(once)) <= MAX_LINKAGE

    best = with_permanent(best_record_mechanism(domain, epsilon, fits=hides))
    coverage = "all attributes" if "choice" in best.domain_types else "some of the attributes"
    reason = f"least error of two attributes together, by reporting {coverage}, in {_bytes(best)}"
    return Recommendation(best.id, reason, ratio_to_optimum(best), best)


def mechanism_error(mechanism: Mechanism) -> Fraction:
    """n times the total variance of all frequencies, for the people who answered.

    For bits: n times the variance of one bit at frequency ½, for people drawn independently. For
    some buckets of a number: with uniform answers.
    """
    p, q, fraction = mechanism.p, mechanism.q, mechanism.sampling_fraction
    structure = mechanism.structure
    if isinstance(structure, SampledBits) and structure.exclusive:
        size = mechanism.domain_size
        return total_error(p, q, size) / fraction + (1 / fraction - 1) * (1 - Fraction(1, size))
    if "choice" in mechanism.domain_types:
        return total_error(p, q, mechanism.domain_size)
    return (q * (1 - q) / (p - q) ** 2 + Fraction(1, 4)) / fraction


def ratio_to_optimum(mechanism: Mechanism) -> Fraction | None:
    """At least the total error over R*, by less than 2^−50 of it at ε ≥ 0.01.

    None for several bits and for means, of which no least error is known in closed form.
    """
    if "choice" in mechanism.domain_types:
        low, _ = least_error(mechanism.domain_size, mechanism.epsilon)
        return total_error(mechanism.p, mechanism.q, mechanism.domain_size) / low
    if mechanism.domain_size > 1 or "bits" not in mechanism.domain_types:
        return None
    low, _ = least_error(2, mechanism.epsilon)  # yes and no are a choice of two
    return total_error(mechanism.p, mechanism.q, 2) / low


def describe_ratio(ratio: Fraction) -> str:
    """A ratio to the least error, in words."""
    if ratio <= _EXACT:
        return "exactly the least error that any mechanism can have"
    if ratio >= 2:
        return f"{_tenths(ratio)} times the least error that any mechanism can have"
    least = "less than 0.1" if (above := 100 * (ratio - 1)) < Fraction(1, 10) else _tenths(above)
    return f"{least}% above the least error that any mechanism can have"


def _tenths(number: Fraction) -> str:
    """A number with one decimal, rounded up."""
    tenths = -(-number * 10 // 1)
    return f"{tenths // 10}.{tenths % 10}"


def _candidates(
    domain_type: str,
    size: int,
    epsilon: Fraction,
    permanent: Fraction | None,
    decided: Mapping[str, int],
) -> Iterator[Mechanism]:
    """Every mechanism that takes these parameters and has a known linkage."""
    for mechanism_id in mechanisms.recommendable_ids(domain_type):
        with suppress(ParameterError):  # too many labels for some
            if permanent is None:
                yield mechanisms.build(mechanism_id, domain_size=size, epsilon=epsilon, **decided)
                continue
            chain = mechanisms.build(
                mechanism_id, domain_size=size, epsilon=epsilon, permanent=permanent, **decided
            )
            if chain.structure is not None:
                yield chain


def _best(candidates: Sequence[Mechanism]) -> Mechanism:
    near = [each for each in candidates if (ratio_to_optimum(each) or 2) <= GOOD_ENOUGH_RATIO]
    if not near:
        errors = [(mechanism_error(each), each) for each in candidates]
        enough = min(error for error, _ in errors) * GOOD_ENOUGH_RATIO
        near = [each for error, each in errors if error <= enough]
    return near[0] if len(near) == 1 else min(near, key=_rank)


def _rank(mechanism: Mechanism) -> tuple[object, ...]:
    return (
        mechanism.payload_size,
        _additions(mechanism) >= _MAX_ADDITIONS,
        _payload_mechanism(mechanism).public_outcomes > 1,
        mechanism_error(mechanism),
        len(mechanisms.pinned_parameters(mechanism.id)),
        mechanism.id,
    )


def _additions(mechanism: Mechanism) -> Fraction:
    """How many integers of a tally one report changes; 1 if a tally counts messages."""
    form = _payload_mechanism(mechanism)
    if form.coordinates == 1 and form.tally_size == form.alphabet_size * form.public_outcomes:
        return Fraction(1)
    return form.sampling_fraction * (form.p + (form.tally_size - 1) * form.q)


def _payload_mechanism(mechanism: Mechanism) -> Memoizable:
    """The mechanism that makes the payload of a report."""
    return (
        mechanism.first if isinstance(mechanism, MemoizedChain) else cast("Memoizable", mechanism)
    )


def _reason(mechanism: Mechanism, ratio: Fraction | None) -> str:
    report = _bytes(mechanism)
    if ratio is None:
        bits = (
            "all bits"
            if mechanism.sampling_fraction == 1
            else f"1 in {float(1 / mechanism.sampling_fraction):.3g} bits"
        )
        return f"least variance of a bit, by reporting {bits}, in {report}"
    within = ", the fewest within 5%" if ratio <= GOOD_ENOUGH_RATIO else ""
    return f"{describe_ratio(ratio)}, in {report}{within}"


def _bytes(mechanism: Mechanism) -> str:
    size = mechanism.payload_size
    return f"{size:,} byte{'s' if size > 1 else ''} a report"
