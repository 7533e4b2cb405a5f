"""Planning: estimates the error and cost of a question before it is asked."""

from __future__ import annotations

from deniable_aggregator.collections.planning.blanket import Blanket
from deniable_aggregator.collections.planning.plan import Plan, RepeatCost, plan

__all__ = ["Blanket", "Plan", "RepeatCost", "plan"]
