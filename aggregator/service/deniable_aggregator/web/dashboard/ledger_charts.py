"""Charts of budgets: what is left of each collection's, and what each epoch has left.

Budgets are exact decimals; a chart draws them as floats and its table says them as they are. Where
there is a limit to ρ that is drawn, else ε.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import url_for

from deniable_aggregator.documents.describe import cost_words, when
from deniable_aggregator.web.dashboard.charts import Cell, Chart
from deniable_aggregator.web.dashboard.formatting import plural
from deniable_aggregator.web.dashboard.release_charts import short_price
from deniable_shared.manifest.epochs import epoch_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.releases import (
        AccountDocument,
        CostDocument,
        RemainingDocument,
        SpentEpochsDocument,
    )

MOST_DRAWN = 200


def installation_budgets(
    accounts: Sequence[AccountDocument], files: Mapping[str, str] | None = None
) -> Chart:
    """How much of its budget each collection has spent on one installation."""
    shares = [_share(account.installation) for account in accounts]
    return Chart(
        name="budgets",
        title="Privacy budget spent on one installation",
        summary=f"Budgets of {plural(len(accounts), 'question')}; the table has every number",
        kind="bars",
        drawing={
            "rows": [
                {"label": account.name, "value": share, "lower": None, "upper": None, "sure": True}
                for account, share in zip(accounts, shares, strict=True)
            ],
            "most": 1,
        },
        columns=("Question", "Spent", "Left", "Limit", "Least left of a period", "Releases"),
        rows=[_row(account) for account in accounts],
        files=files,
    )


def epoch_budgets(
    collection: Collection, account: AccountDocument, files: Mapping[str, str] | None = None
) -> Chart | None:
    """What releases have charged to each epoch; None where there was none."""
    if not account.epochs:
        return None
    runs = account.epochs
    key, symbol = ("epsilon", "ε") if account.per_epoch.rho is None else ("rho", "ρ")
    drawn = [
        {
            "label": label,
            "value": _amount(run.spent, key),
            "lower": None,
            "upper": None,
            "sure": True,
        }
        for label, run in _by_epoch(collection, runs)
    ]
    return Chart(
        name="spent",
        title=f"Budget spent in each period, in {symbol} (limit {getattr(account.per_epoch, key)})",
        summary=f"{plural(len(drawn), 'period')} with releases; the table has every number",
        kind="columns" if len(drawn) > 1 else "bars",
        drawing={"rows": drawn, "most": _amount(account.per_epoch, key) or None},
        columns=("Period", "Spent", "Left", "Limit"),
        rows=[_run(collection, run) for run in runs],
        unit=" ",
        digits=2,
        files=files,
    )


def _by_epoch(
    collection: Collection, runs: Sequence[SpentEpochsDocument]
) -> Iterator[tuple[str, SpentEpochsDocument]]:
    """Each epoch by itself, the newest ones."""
    every = [(epoch, run) for run in runs for epoch in range(run.first, run.last + 1)]
    for epoch, run in every[-MOST_DRAWN:]:
        yield _start(collection, epoch), run


def _run(collection: Collection, run: SpentEpochsDocument) -> tuple[Cell, ...]:
    first, last = _start(collection, run.first), _start(collection, run.last)
    name = first if run.first == run.last else f"{first} to {last}"
    return (
        Cell(name, note=f"{run.first}" if run.first == run.last else f"{run.first} to {run.last}"),
        Cell(short_price(run.spent)),
        Cell(cost_words(run.left)),
        Cell(cost_words(run.limit)),
    )


def _row(account: AccountDocument) -> tuple[Cell, ...]:
    whole = account.installation
    return (
        Cell(account.name, href=url_for("dashboard.ledger", collection=account.collection)),
        Cell(short_price(whole.spent)),
        Cell(cost_words(whole.left)),
        Cell(cost_words(whole.limit)),
        Cell(cost_words(_least(account))),
        Cell(str(len(account.releases)), len(account.releases)),
    )


def _least(account: AccountDocument) -> CostDocument:
    """Of the epoch that has least left, or of one that has all of it."""
    if not account.epochs:
        return account.per_epoch
    key = "epsilon" if account.per_epoch.rho is None else "rho"
    return min((run.left for run in account.epochs), key=lambda left: _amount(left, key))


def _share(whole: RemainingDocument) -> float:
    """1 where a release without such a cost was made, or where there is no budget at all."""
    key = "epsilon" if whole.limit.rho is None else "rho"
    limit = _amount(whole.limit, key)
    spent = getattr(whole.spent, key)
    return 1.0 if spent is None or not limit else min(float(spent) / limit, 1.0)


def _amount(cost: CostDocument, key: str) -> float:
    amount = getattr(cost, key)
    return 0.0 if amount is None else float(amount)


def _start(collection: Collection, epoch: int) -> str:
    return when(epoch_start(epoch, collection.manifest.epoch_seconds))
