"""The reason for a manifest's mechanism, compared with the present recommendation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.collections.authoring.recommendation import (
    describe_ratio,
    ratio_to_optimum,
    recommend_for_domain,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_shared.manifest.model import Manifest


def mechanism_reason(manifest: Manifest) -> Mapping[str, object]:
    """The reason for the mechanism, and its total error over the least possible."""
    best = recommend_for_domain(
        manifest.domain,
        manifest.epsilon_report,
        permanent=manifest.epsilon_permanent,
        linkable=manifest.linkable,
    )
    ratio = ratio_to_optimum(manifest.mechanism())
    reason = "named in the file" if ratio is None else f"named in the file; {describe_ratio(ratio)}"
    return {
        "reason": best.reason if best.id == manifest.mechanism_id else reason,
        "ratio_to_optimum": None if ratio is None else float(ratio),
        "recommended": best.id,
    }
