"""What is left of the budget of releases, and how much of it one release might spend."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING

from deniable_aggregator.queries.ledger import accounts
from deniable_aggregator.web.application import service

if TYPE_CHECKING:
    from deniable_aggregator.collections.registry import Collection

PART = 10
"""One release is suggested to spend the limit divided by this."""


@dataclass(frozen=True, slots=True)
class BudgetHint:
    """ε: the limit of an epoch, what the epoch with least left has, and what might be spent."""

    limit: str
    left: str
    suggested: str


def budget_hint(collection: Collection) -> BudgetHint | None:
    """None where no ε of an epoch is limited: ρ is counted instead, or nothing may be spent."""
    [account] = accounts(service().store, [collection])
    if account.per_epoch.epsilon is None or Decimal(account.per_epoch.epsilon) <= 0:
        return None
    limit = Decimal(account.per_epoch.epsilon)
    lefts = [
        account.installation.left.epsilon,
        *(run.left.epsilon for run in account.epochs),
    ]
    left = min([limit, *(Decimal(each) for each in lefts if each is not None)])
    return BudgetHint(_text(limit), _text(max(left, Decimal(0))), _suggested(limit, left))


def _suggested(limit: Decimal, left: Decimal) -> str:
    """A tenth of the limit to one figure, or all that is left; empty where nothing is."""
    if left <= 0:
        return ""
    part = limit / PART
    figure = part.quantize(Decimal(1).scaleb(part.adjusted()), rounding=ROUND_DOWN)
    return _text(min(figure, left))


def _text(number: Decimal) -> str:
    return f"{number.normalize():f}"
