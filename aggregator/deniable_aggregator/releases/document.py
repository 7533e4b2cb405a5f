"""What is shown of a release, of its price and of the ledger, as JSON objects.

Every field is a function of public facts but `result` and `error_bars`, which are functions of the
draw. ε, ρ and δ are decimal texts: costs rounded up, what is left rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from deniable_aggregator.central.account import (
    Account,
    Limit,
    Promise,
    Spending,
    promise,
)
from deniable_aggregator.central.account.decimals import at_least, at_most
from deniable_aggregator.central.aggregate.contract import Drawn, Facts, Plan
from deniable_aggregator.central.guarantee import Guarantee
from deniable_aggregator.central.release import ErrorBar
from deniable_aggregator.releases.request import opens_session

__all__ = [
    "Document",
    "answered",
    "bars",
    "budget_left",
    "cost",
    "guaranteed",
    "ledger_epochs",
    "limit_of",
    "public",
    "released",
    "remaining",
    "spent_of",
]

Document = dict[str, object]

READERS = "readers who are not the operator"
EVERYBODY = "everybody who may read, the operator included"


def public(plan: Plan, facts: Facts, *, too_few: Sequence[int] = ()) -> Document:
    """What is known of a release before it is drawn, and stays so.

    `too_few` were asked for and are not read: they have fewer reports than `min_batch`.
    """
    document: Document = {
        "collection": facts.collection,
        "mechanism": plan.mechanism,
        "version": plan.version,
        "parameters": dict(plan.parameters),
        "epochs": list(facts.epochs),
        "n": facts.n,
        "law": plan.law,
        "unit": "one report",
        "adjacency": str(plan.guarantee.adjacency),
        "guarantee": guaranteed(plan.guarantee),
        "promise": _promised(promise(plan.guarantee, facts.installation, read=facts.read), facts),
        "questions": opens_session(plan),
    }
    return document | {"too_few_reports": list(too_few)} if too_few else document


def released(release: str, created: int, known: Document, drawn: Drawn) -> Document:
    """What is kept and shown for ever; `known` is what was `public` before."""
    return {
        "release": release,
        "created": created,
        **known,
        "result": dict(drawn.result),
        "error_bars": bars(drawn.error_bars),
    }


def answered(release: str, drawn: Drawn, *, questions_left: int) -> Document:
    """The answer to a question in an open session."""
    return {
        "release": release,
        "result": dict(drawn.result),
        "error_bars": bars(drawn.error_bars),
        "questions_left": questions_left,
    }


def cost(
    known: Document,
    expected: Iterable[ErrorBar],
    *,
    budget: Document,
    after: Document | None,
    stored: str | None,
    refusal: str | None,
) -> Document:
    """What a release would cost and how far off it may be; nothing was charged.

    `after` is the budget behind it, the same where it was paid for, none where it is refused.
    """
    return {
        **known,
        "expected": bars(expected),
        "budget": budget,
        "after": after,
        "stored": stored,
        "refusal": refusal,
    }


def budget_left(account: Account, epochs: Iterable[int]) -> Document:
    """To a release that reads these epochs: of the worst of them, and of one installation."""
    spent = [account.spent(epoch) for epoch in epochs]
    budget = account.budget
    return {
        "epoch": remaining(budget.of_epoch, _worst(spent)),
        "installation": remaining(budget.of_installation, account.spent_by_installation()),
    }


def ledger_epochs(account: Account) -> list[Document]:
    """Charged epochs, those that follow each other with equal spending together."""
    runs: list[tuple[int, int, Spending]] = []
    for epoch in sorted({epoch for charge in account.charges for epoch in charge.epochs}):
        spent = account.spent(epoch)
        if runs and runs[-1][1] == epoch - 1 and runs[-1][2] == spent:
            runs[-1] = (runs[-1][0], epoch, spent)
        else:
            runs.append((epoch, epoch, spent))
    limit = account.budget.of_epoch
    return [
        {"first": first, "last": last, **remaining(limit, spent)} for first, last, spent in runs
    ]


def remaining(limit: Limit, spent: Spending) -> Document:
    """Limit, spent and left; a release is admitted if ε or, where there is a limit, ρ suffices."""
    return {"limit": limit_of(limit), "spent": spent_of(spent), "left": _left(limit, spent)}


def limit_of(limit: Limit) -> Document:
    """`delta` is what the δ of releases may add up to; `rho` null: only ε counts."""
    return {
        "epsilon": at_least(limit.epsilon),
        "rho": _written(limit.rho, at_least),
        "delta": at_least(limit.own_delta),
    }


def spent_of(spent: Spending) -> Document:
    """`epsilon` null: a release without one was made."""
    return {
        "epsilon": _written(spent.epsilon, at_most),
        "rho": at_most(spent.rho),
        "delta": at_most(spent.delta),
    }


def guaranteed(guarantee: Guarantee) -> Document:
    """ε, ρ and δ; null where the mechanism claims none."""
    return {
        "epsilon": _written(guarantee.epsilon, at_most),
        "rho": _written(guarantee.rho, at_most),
        "delta": at_most(guarantee.delta),
    }


def bars(found: Iterable[ErrorBar]) -> list[Document]:
    """An end that is missing or infinite is null."""
    return [
        {
            "quantity": bar.quantity,
            "lower": _finite(bar.lower),
            "upper": _finite(bar.upper),
            "confidence": float(bar.confidence),
        }
        for bar in found
    ]


def _promised(promised: Promise, facts: Facts) -> Document:
    """The contraction stands only where nothing but releases may be read."""
    sealed = facts.read == "releases"
    return {
        "protects": "reports and true values" if sealed else "local only",
        "against": READERS if sealed else EVERYBODY,
        "reports": promised.reports,
        "report": guaranteed(promised.report),
        "installation": (
            None if promised.installation is None else guaranteed(promised.installation)
        ),
        "local": at_most(promised.local),
        "true_values": guaranteed(promised.true_values) if sealed else None,
    }


def _left(limit: Limit, spent: Spending) -> Document:
    rho = None if limit.rho is None else _rest(limit.rho, spent.rho)
    return {
        "epsilon": at_least(_rest(limit.epsilon, spent.epsilon)),
        "rho": _written(rho, at_least),
        "delta": at_least(_rest(limit.own_delta, spent.delta)),
    }


def _rest(limit: Fraction, spent: Fraction | None) -> Fraction:
    return Fraction(0) if spent is None else max(limit - spent, Fraction(0))


def _worst(spent: Sequence[Spending]) -> Spending:
    epsilons = [each.epsilon for each in spent if each.epsilon is not None]
    return Spending(
        max(epsilons) if len(epsilons) == len(spent) else None,
        max(each.rho for each in spent),
        max(each.delta for each in spent),
    )


def _written(value: Fraction | None, rounded: Callable[[Fraction], str]) -> str | None:
    return None if value is None else rounded(value)


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
