"""Releases whose noise is for half of what one report moves: an audit has to find each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from deniable_aggregator.releases.kinds.allocate import PreparedAllocation
from deniable_aggregator.releases.kinds.histogram import PreparedHistogram
from deniable_aggregator.releases.kinds.noisy_sums import PreparedSums
from deniable_central.queries import Mwem, OnlinePlan
from deniable_central.selection import PrivacyParameters
from deniable_central.stability import StabilityTest

NOISY = (PreparedAllocation, PreparedHistogram, PreparedSums)


def halved_sensitivity(patch: pytest.MonkeyPatch) -> None:
    """Every decay is twice what it must be, and every distance twice as long."""
    for kind in NOISY:
        decay = vars(kind)["decay"].fget
        patch.setattr(kind, "decay", property(_twice(decay)))
    patch.setattr(PrivacyParameters, "decay", _twice(PrivacyParameters.decay))
    patch.setattr(Mwem, "decay", _twice(Mwem.decay))
    decays = vars(OnlinePlan)["decays"].fget
    patch.setattr(
        OnlinePlan, "decays", property(lambda plan: tuple(2 * each for each in decays(plan)))
    )
    for name in ("release", "pmf"):
        patch.setattr(StabilityTest, name, _farther(getattr(StabilityTest, name)))


def _twice(decay: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given, **named: 2 * decay(*given, **named)


def _farther(method: Callable[..., Any]) -> Callable[..., Any]:
    def doubled(test: Any, proposal: Any, *given: Any, **named: Any) -> Any:
        far = replace(proposal, distance=2 * proposal.distance)
        return method(test, far, *given, **named)

    return doubled
