"""From a tally to frequencies, standard errors, intervals, projections and trust bounds."""

from __future__ import annotations

from deniable_aggregator.estimate.debias import FAMILIES, Estimate, check_epochs, debias

__all__ = ["FAMILIES", "Estimate", "check_epochs", "debias"]
