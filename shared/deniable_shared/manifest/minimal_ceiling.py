"""The smallest limits that an app needs for its collections."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_shared.randomness.dyadic import format_epsilon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.manifest.model import Manifest


@dataclass(frozen=True, slots=True)
class MinimalCeiling:
    """The smallest limits in an app's Ceiling that admit its collections."""

    epsilon_per_report: Fraction
    epsilon_permanent: Fraction
    epsilon_lifetime: Fraction

    def __str__(self) -> str:
        """Return the limits as an app writes them."""
        limits = ", ".join(f'{name}="{text}"' for name, text in self.to_json().items())
        return f"Ceiling({limits})"

    def to_json(self) -> dict[str, str]:
        """Return exact decimals as texts."""
        return {
            "epsilon_per_report": format_epsilon(self.epsilon_per_report),
            "epsilon_permanent": format_epsilon(self.epsilon_permanent),
            "epsilon_lifetime": format_epsilon(self.epsilon_lifetime),
        }

    @classmethod
    def admitting(cls, manifests: Sequence[Manifest]) -> MinimalCeiling:
        """The limits under which a device answers all manifests as long as their lifetimes pay.

        A ledger group never costs more than its largest lifetime.
        """
        groups: dict[str, list[Manifest]] = {}
        for manifest in manifests:
            groups.setdefault(manifest.ledger_group, []).append(manifest)
        largest = max(manifest.epsilon_report for manifest in manifests)
        permanent = [each.epsilon_permanent for each in manifests if each.epsilon_permanent]
        return cls(
            epsilon_per_report=largest,
            epsilon_permanent=max(permanent, default=largest),
            epsilon_lifetime=sum(map(_cost, groups.values()), Fraction(0)),
        )


def _cost(group: Sequence[Manifest]) -> Fraction:
    paid = sum((manifest.schedule.lifetime_cost for manifest in group), Fraction(0))
    return min(paid, max(manifest.epsilon_lifetime for manifest in group))
