"""An audit of a million serialized reports, made as devices make them: a stream for each answer."""

from __future__ import annotations

import secrets
from collections import Counter
from fractions import Fraction
from typing import NamedTuple

import pytest

from deniable_shared.domains import Bits, Domain
from deniable_shared.mechanisms import Mechanism, for_domain
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import threshold
from support.oracles.privacy_checks import Encoded, choices, with_threshold
from support.oracles.report_audit import Counts, proven_epsilon
from support.tiers import grid

PLAIN = {"bits": "rr/1", "choice": "grr/1"}


class Audit(NamedTuple):
    domain: Domain
    epsilon: str
    values: tuple[Encoded, Encoded]

    def mechanism(self) -> Mechanism:
        return for_domain(PLAIN[self.domain.type], self.domain, Fraction(self.epsilon))


ONE_BIT = Bits(("a",))
THREE_BITS = Bits(("a", "b", "c"))
ONE_HOT = Bits(tuple("abcdefghij"), one_hot=True)
FIRST, LAST = (1, *[0] * 9), (*[0] * 9, 1)

AUDITS = {
    "one bit, 0.5": Audit(ONE_BIT, "0.5", ((0,), (1,))),
    "one bit, 1": Audit(ONE_BIT, "1", ((0,), (1,))),
    "one bit, 4": Audit(ONE_BIT, "4", ((0,), (1,))),
    "three bits, 1": Audit(THREE_BITS, "1", ((0, 0, 0), (1, 1, 1))),
    "three bits, 4": Audit(THREE_BITS, "4", ((0, 1, 0), (1, 0, 1))),
    "one-hot of ten, 2": Audit(ONE_HOT, "2", (FIRST, LAST)),
    "two choices, 1": Audit(choices(2), "1", (0, 1)),
    "four choices, 0.5": Audit(choices(4), "0.5", (0, 3)),
    "eight choices, 2": Audit(choices(8), "2", (0, 7)),
    "eight choices, 4": Audit(choices(8), "4", (3, 4)),
}
REPORTS = 1_000_000 // len(AUDITS)
FALSE_ALARM = 1e-6 / len(AUDITS)


def sent(audit: Audit, mechanism: Mechanism) -> Counts:
    """Payloads of 10^5 devices, half of them for each value, each with a key of its own."""
    return {
        value: Counter(payload(audit, mechanism, value) for _ in range(REPORTS // 2))
        for value in audit.values
    }


def payload(audit: Audit, mechanism: Mechanism, value: Encoded) -> bytes:
    form = audit.domain.canonical(value)  # type: ignore[arg-type]  # a value of this domain
    return mechanism.randomize(value, Coins.derive(secrets.token_bytes(32), b"audit", form))


@pytest.mark.statistical
@pytest.mark.parametrize("name", AUDITS)
def test_a_million_reports_prove_no_more_than_the_claim(name: str) -> None:
    """n = 10 · 10^5; Chernoff limits; false alarm ≤ 1e-6 over all ten together."""
    audit = AUDITS[name]
    mechanism = audit.mechanism()
    assert proven_epsilon(sent(audit, mechanism), false_alarm=FALSE_ALARM) <= mechanism.epsilon


@pytest.mark.statistical
@pytest.mark.parametrize("name", grid(AUDITS, by_default=list(AUDITS)[::2], long=AUDITS))
def test_the_audit_sees_a_claim_that_is_a_third_too_low(name: str) -> None:
    """n = 10^5 each: what is proven lies over eight of its standard deviations above the claim."""
    audit = AUDITS[name]
    result = audit._replace(epsilon=str(float(Fraction(audit.epsilon) * 4 / 3))[:8]).mechanism()
    assert proven_epsilon(sent(audit, result), false_alarm=FALSE_ALARM) > Fraction(audit.epsilon)


@pytest.mark.statistical
def test_the_audit_sees_epsilon_spent_on_each_bit() -> None:
    """n = 10^5: ε = 1 on each of three bits, which is 3 in all, against a claim of 1."""
    audit = AUDITS["three bits, 1"]
    per_bit = with_threshold(audit.mechanism(), threshold(Fraction(1)))
    assert proven_epsilon(sent(audit, per_bit), false_alarm=FALSE_ALARM) > 2
