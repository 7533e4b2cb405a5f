"""What shuffling leaves of ε: among all who answer, or among the honest of a relay's batch.

One report of a batch of B, of which a share β is made up, hides among n = (1 − β)B honest ones: (ε,
δ) is the least of two bounds, that of every randomizer (`accounting.shuffle`) and the
privacy blanket of this mechanism (`blanket`). It is about one report, and about a reader who sees
batches but not senders.

Over all epochs: a person who is asked once has sent one report. Fresh answers have coins of their
own each epoch, so k of them cost kε at kδ. Answers from one permanent answer do not: whoever knows
which batches a person was in may look for the answer that is in all of them, and as the others
change from batch to batch, they do not hide it (exact:
tests/service/collections/planning/test_anonymity). For these nothing but the local ε of the whole
life is claimed.
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
"""The share of a batch that is taken for made up where nobody says another."""

CONDITIONS = (
    "the relay passes on no batch of fewer reports, keeps nothing and tells nobody who sent what",
    "this share of each batch, and no more, is not honest: made up, or told to somebody",
    "it speaks of reports that came through the relay, one by one, and of who sees no senders",
    "no report carries an extension in its header, or a voucher",
)


@dataclass(frozen=True, slots=True)
class Anonymity:
    """(ε, δ) of one report, and of all that one person ever sends (δ 0: the local ε alone)."""

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
    """Of reports of this mechanism in batches of `batch`; `lifetime` is the local ε of it all."""
    if isinstance(batch, bool) or batch < 2:
        raise ParameterError(f"batch must be at least 2, got {batch}")
    if not 0 <= liars < 1:
        raise ParameterError(f"liars must lie in [0, 1), got {liars}")
    honest = max(1, int((1 - liars) * batch))
    epsilon = shuffled_epsilon(mechanism, honest, delta)
    answers = {"once": 1, "fresh": int(lifetime / mechanism.epsilon)}.get(repeat)
    whole, missed = float(lifetime), 0.0
    if answers is not None and answers * epsilon < whole:
        whole, missed = answers * epsilon, answers * float(delta)
    return Anonymity(batch, liars, honest, epsilon, float(delta), whole, missed)


def shuffled_epsilon(mechanism: Mechanism, reports: int, delta: str) -> float:
    """ε of one of so many honest reports whose senders nobody knows; never above its own ε."""
    return _least_epsilon(mechanism.epsilon, Blanket.of(mechanism), reports, delta)


@lru_cache(maxsize=256)
def _least_epsilon(local: Fraction, blanket: Blanket | None, reports: int, delta: str) -> float:
    bounds = [float(shuffle.shuffled_epsilon(local=local, reports=reports, delta=delta))]
    if blanket is not None:
        bounds.append(blanket.epsilon(reports, float(delta)))
    return min(bounds)
