"""The subject of a plan without ε: a domain, the wanted answer, and the mechanism for it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from deniable_aggregator.collections.authoring.recommendation import (
    DomainShape,
    Recommendation,
    describe_ratio,
    ratio_to_optimum,
    recommend,
    recommend_for_domain,
)
from deniable_aggregator.collections.planning.targets import TARGETS, Target
from deniable_aggregator.collections.planning.variance import HalfWidth, Precision
from deniable_shared import mechanisms
from deniable_shared.domains import Domain, Number, Record, Text
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from fractions import Fraction

    from deniable_shared.mechanisms import Mechanism

ASKS = ("labels", "mean", "ranges")
"""The targets of a question for a number."""

_SIZED = ("bits", "choice", "number", "text")
_OF_TYPE = {"record": "tables", "text": "texts"}
_UNKNOWN = "no least error is known of several bits"


@dataclass(frozen=True, slots=True)
class Scenario:
    """The parts of a plan that do not depend on ε; `domain` is set if mechanisms need it."""

    type: str
    size: int
    decided: Mapping[str, int]
    named: str | None
    linkable: bool
    target: Target | None = None
    domain: Domain | None = None

    @classmethod
    def of(
        cls,
        domain: Domain | int,
        domain_type: str,
        asks: str,
        mechanism: str | None,
        linkable: bool,
    ) -> Scenario:
        """A scenario. Raises ParameterError for an impossible one."""
        if isinstance(domain, bool):
            raise ParameterError("domain must be a domain or its size, got a bool")
        if asks not in ASKS:
            raise ParameterError(f"asks must be one of {', '.join(ASKS)}, got {asks!r:.40}")
        if isinstance(domain, int) and domain_type not in _SIZED:
            cure = ": give the record itself" if domain_type == "record" else ""
            raise ParameterError(
                f"type must be bits, choice, number or text, got {domain_type!r:.40}{cure}"
            )
        if isinstance(domain, int) and domain_type == Text.type:
            domain = Text(domain)
        kind = domain_type if isinstance(domain, int) else domain.type
        if asks != "labels" and kind != Number.type:
            raise ParameterError(f"asks must be labels but for a number, got {asks} of a {kind}")
        if isinstance(domain, int) and kind in ("choice", "number") and domain < 2:
            raise ParameterError(
                f"domain must have at least 2 labels or steps, got {domain}: with one, everyone "
                "answers the same"
            )
        target = TARGETS.get(_OF_TYPE.get(kind, asks))
        if isinstance(domain, int):
            return cls(kind, domain, {}, mechanism, linkable, target)
        decided = {name: n for name, n in domain.mechanism_parameters.items() if isinstance(n, int)}
        full_domain = domain if kind in _OF_TYPE else None
        return cls(kind, _size(domain), decided, mechanism, linkable, target, full_domain)

    @property
    def radices(self) -> tuple[int, ...]:
        """The number of labels of each attribute of a record."""
        return self.domain.radices if isinstance(self.domain, Record) else ()

    @property
    def unknown(self) -> str:
        """Why there is no ratio to the optimum."""
        return self.target.unknown if self.target else _UNKNOWN

    def about(self, frequency: float) -> str:
        """The quantity that the errors are about."""
        return self.target.description if self.target else f"a label near {frequency:g}"

    def precision(self, mechanism: Mechanism, frequency: float, population: bool) -> Precision:
        """The precision of the wanted answer."""
        if self.target is None:
            return Precision(mechanism, frequency, population)
        return self.target.of(mechanism, frequency, population, self.radices)

    def answer(
        self, epsilon: Fraction, permanent: Fraction | None, shows: HalfWidth | None = None
    ) -> Recommendation:
        """The named mechanism, else the recommended one.

        Where intervals differ by more than their variance, the one that is narrowest in what a
        collection `shows`; without that, for many users.
        """
        if self.named is not None:
            built = self._build(self._checked_id(self.named), epsilon, permanent)
            ratio = None if self.target else ratio_to_optimum(built)
            reason = "named" if ratio is None else f"named; {describe_ratio(ratio)}"
            return Recommendation(built.id, reason, ratio, built)
        if self.domain is not None:
            recommendation = recommend_for_domain(
                self.domain, epsilon, permanent=permanent, linkable=self.linkable
            )
            return Recommendation(
                recommendation.id, recommendation.reason, None, recommendation.mechanism
            )
        if self.target is not None:
            return self._most_precise(self.target, epsilon, permanent, shows)
        return recommend(
            DomainShape(self.type, self.size, self.decided),
            epsilon,
            permanent=permanent,
            linkable=self.linkable,
        )

    def pinned(self, mechanism_id: str, epsilon: Fraction) -> dict[str, int]:
        """The parameters that a manifest would fix, chosen for one report, also in a chain."""
        once = self._build(mechanism_id, epsilon, None)
        return {name: getattr(once, name) for name in mechanisms.pinned_parameters(mechanism_id)}

    def _checked_id(self, mechanism_id: str) -> str:
        """The id, if that mechanism has the wanted answer. Raises ParameterError if not."""
        if self.target:
            able = mechanisms.ids_for_target(self.target.name)
        else:
            able = mechanisms.ids_for_domain_type(self._domain_type)
        if mechanism_id not in able:
            raise ParameterError(
                f"mechanism must measure {'this' if self.target else 'frequencies'}, one of "
                f"{', '.join(able)}, got {mechanism_id!r:.80}"
            )
        return mechanism_id

    @property
    def _domain_type(self) -> str:
        return "bits" if self.type == "bits" else "choice"

    def _most_precise(
        self, target: Target, epsilon: Fraction, permanent: Fraction | None, shows: HalfWidth | None
    ) -> Recommendation:
        """The mechanism with the narrowest interval or the least variance; in a tie the first."""
        built = list(self._mechanisms(target, epsilon, permanent))
        if not built:
            raise ParameterError(
                f"no mechanism can do this for {self.size:,} values at this ε: use fewer steps"
            )

        def wide(mechanism: Mechanism) -> float:
            precision = self.precision(mechanism, 0.5, shows is None or shows.population)
            return precision.variance if shows is None else shows(precision)

        best = min(built, key=wide)
        size = best.payload_size
        reason = f"{target.best}, in {size:,} byte{'s' if size > 1 else ''} a report"
        return Recommendation(best.id, reason, None, best)

    def _mechanisms(
        self, target: Target, epsilon: Fraction, permanent: Fraction | None
    ) -> Iterator[Mechanism]:
        for mechanism_id in mechanisms.ids_for_target(target.name, epsilon):
            with suppress(ParameterError):  # too many values for some
                yield self._build(mechanism_id, epsilon, permanent)

    def _build(self, mechanism_id: str, epsilon: Fraction, permanent: Fraction | None) -> Mechanism:
        if self.domain is not None:
            if permanent is None:
                return mechanisms.for_domain(mechanism_id, self.domain, epsilon)
            return mechanisms.for_domain(mechanism_id, self.domain, epsilon, permanent=permanent)
        size = self.size
        if permanent is None:
            return mechanisms.build(mechanism_id, domain_size=size, epsilon=epsilon, **self.decided)
        return mechanisms.build(
            mechanism_id, domain_size=size, epsilon=epsilon, permanent=permanent, **self.decided
        )


def _size(domain: Domain) -> int:
    """Combinations of a record, bytes of a text, else labels."""
    if isinstance(domain, Record):
        return prod(domain.radices)
    return domain.max_bytes if isinstance(domain, Text) else domain.size
