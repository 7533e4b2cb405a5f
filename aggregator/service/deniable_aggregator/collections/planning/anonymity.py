"""The ε that remains after shuffling: among all reports, or among the honest ones of a batch.

One report of a batch of B, of which a share β is fake, hides among n = (1 − β)B honest ones: (ε,
δ) is the least of two bounds, that of every randomizer (`accounting.shuffle`) and the
privacy blanket of this mechanism (`blanket`). It is about one report, and about a reader who sees
batches but not senders.

Over all epochs: a person who is asked once has sent one report. Fresh answers have their own coins
each epoch, so k of them cost kε at kδ. Answers from one permanent answer do not: an attacker who
knows a person's batches may look for the answer that is in all of them, and the other reports,
which change from batch to batch, do not hide it (exact:
tests/service/collections/planning/test_anonymity). For these only the local ε of the whole life is
claimed.

Source: docs/mathematics/planning.md, The privacy blanket.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from deniable_aggregator.collections.planning.blanket import Blanket
from deniable_central.accounting import shuffle
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from fractions import Fraction

    from deniable_shared.mechanisms import Mechanism

DELTA = "0.000001"
LIARS = 0.5
"""The share of a batch that is assumed to be fake by default."""

CONDITIONS = (
    "the relay passes on no smaller batch, keeps nothing and never reveals who sent which report",
    "at most this share of each batch is not honest: fake, or known to an attacker",
    "it covers single reports that came through the relay, against readers who see no senders",
    "no report has an extension in its header, or a voucher",
)


@dataclass(frozen=True, slots=True)
class Anonymity:
    """(ε, δ) of one report, and of all reports of one person (δ = 0: only the local ε)."""

    batch: int
    liars: float
    reports: int
    epsilon: float
    delta: float
    epsilon_all: float
    delta_all: float
    conditions: tuple[str, ...] = CONDITIONS


def shuffle_anonymity(
    mechanism: Mechanism,
    *,
    batch: int,
    liars: float = LIARS,
    repeat: str,
    lifetime: Fraction,
    delta: str = DELTA,
) -> Anonymity:
    """The anonymity of reports in batches of `batch`; `lifetime`: local ε of all reports."""
    if isinstance(batch, bool) or batch < 2:
        raise ParameterError(f"batch must be at least 2, got {batch}")
    if not 0 <= liars < 1:
        raise ParameterError(f"liars must be in [0, 1), got {liars}")
    honest = max(1, int((1 - liars) * batch))
    epsilon = shuffled_epsilon(mechanism, honest, delta)
    answers = {"once": 1, "fresh": int(lifetime / mechanism.epsilon)}.get(repeat)
    whole, missed = float(lifetime), 0.0
    if answers is not None and answers * epsilon < whole:
        whole, missed = answers * epsilon, answers * float(delta)
    return Anonymity(batch, liars, honest, epsilon, float(delta), whole, missed)


def shuffled_epsilon(mechanism: Mechanism, reports: int, delta: str) -> float:
    """ε of one of `reports` honest reports with unknown senders; never above its own ε."""
    return _least_epsilon(mechanism.epsilon, Blanket.of(mechanism), reports, delta)


@lru_cache(maxsize=256)
def _least_epsilon(local: Fraction, blanket: Blanket | None, reports: int, delta: str) -> float:
    bounds = [float(shuffle.shuffled_epsilon(local=local, reports=reports, delta=delta))]
    if blanket is not None:
        bounds.append(blanket.epsilon(reports, float(delta)))
    return min(bounds)
