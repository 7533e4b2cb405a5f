"""Counting opened payloads: the only work that grows with the number of reports."""

from __future__ import annotations

import numpy as np

from benchmarks import peer_servers
from benchmarks.measure import Contender, Effort, race
from benchmarks.results import Case, Result, at_most
from deniable_estimators.mechanisms import estimator_for
from deniable_shared import mechanisms

NANO = 1e9
CHOICES = 1000
BATCH = 1000
GOLDEN = 2654435761  # Knuth's multiplicative hash: payloads without a generator
HISTOGRAM_BUDGET = 2.0
UNARY_BUDGET = 150.0
MESSAGES = (
    ("cyclic/1", 1_000),
    ("cyclic/1", 60_000),
    ("projective/1", 60_000),
    ("hadamard/1", 60_000),
)


def run(effort: Effort) -> Result:
    """A histogram, in bulk and in a commit's size, and vectors of 8 and of 1,000 bits."""
    bulk = _choice(effort.sized(1_000_000), effort)
    messages = {
        (id, size): _messages(id, size, effort.sized(1_000_000), effort) for id, size in MESSAGES
    }
    unary = _bits(1000, effort.sized(100_000, least=2_000), effort)
    bound = "one pass over the payloads and one over the counts"
    return Result(
        title="Tally",
        cases=(
            bulk,
            *messages.values(),
            _choice(BATCH, effort),
            _bits(8, effort.sized(1_000_000), effort),
            unary,
        ),
        verdicts=(
            at_most("tally, histogram", HISTOGRAM_BUDGET, bulk.ours, bound=bound),
            *(
                at_most(f"tally, {id}, d = {size:,}", HISTOGRAM_BUDGET, case.ours, bound=bound)
                for (id, size), case in messages.items()
            ),
            at_most("tally, unary d = 1,000", UNARY_BUDGET, unary.ours, bound="unpacking the bits"),
        ),
        remarks=(
            "Ours takes packed payloads as they were opened; peers get the form their own clients "
            "return (a Python list, an array of one byte or float a bit), made beforehand.",
        ),
    )


def _scatter(count: int, below: int) -> np.ndarray:
    return (np.arange(count, dtype=np.uint64) * GOLDEN) % (1 << 32) * below >> 32


def _choice(count: int, effort: Effort) -> Case:
    estimator = estimator_for(mechanisms.build("grr/1", domain_size=CHOICES, epsilon="1"))
    indices = _scatter(count, CHOICES).astype(np.int64)
    payloads = indices.astype(">u2").view(np.uint8).reshape(count, 2)
    contenders = [
        Contender("deniable", "ours", lambda: estimator.tally(payloads), operations=count),
        Contender(
            "numpy bincount",
            "limit",
            lambda: np.bincount(indices, minlength=CHOICES),
            operations=count,
            note="of indices already decoded to int64",
        ),
        *(peer_servers.tally_choice(indices, CHOICES) if effort.peers else []),
    ]
    return Case(
        f"grr histogram, d = {CHOICES:,}, {count:,} reports",
        race(contenders, effort, unit="ns", per_second=NANO),
    )


def _messages(id: str, size: int, count: int, effort: Effort) -> Case:
    mechanism = mechanisms.build(id, domain_size=size, epsilon="1")
    estimator = estimator_for(mechanism)
    codes, width = _scatter(count, mechanism.tally_size).astype(np.int64), mechanism.payload_size
    payloads = np.ascontiguousarray(
        codes.astype(">u8").view(np.uint8).reshape(count, 8)[:, 8 - width :]
    )
    contenders = [
        Contender("deniable", "ours", lambda: estimator.tally(payloads), operations=count),
        Contender(
            "numpy bincount",
            "limit",
            lambda: np.bincount(codes, minlength=mechanism.tally_size),
            operations=count,
            note="of messages already decoded to int64",
        ),
    ]
    return Case(
        f"{id} messages, d = {size:,}, {mechanism.tally_size:,} of them, {count:,} reports",
        race(contenders, effort, unit="ns", per_second=NANO),
    )


def _bits(length: int, count: int, effort: Effort) -> Case:
    estimator = estimator_for(mechanisms.build("rr/1", domain_size=length, epsilon="1", distance=2))
    size = -(-length // 8)
    payloads = (_scatter(count * size, 256)).astype(np.uint8).reshape(count, size)
    words = payloads.reshape(-1).view(np.uint64 if payloads.size % 8 == 0 else np.uint8)
    contenders = [
        Contender("deniable", "ours", lambda: estimator.tally(payloads), operations=count),
        Contender(
            "reading the bytes",
            "limit",
            lambda: np.bitwise_xor.reduce(words),
            operations=count,
            note="xor of all words, no count",
        ),
        Contender(
            "numpy unpackbits + sum",
            "limit",
            lambda: np.unpackbits(payloads[:BATCH], axis=1).sum(axis=0),
            operations=BATCH,
            note="the textbook kernel",
        ),
        *(_peers(payloads, length) if effort.peers else []),
    ]
    return Case(
        f"rr, {length:,} bits, {count:,} reports",
        race(contenders, effort, unit="ns", per_second=NANO),
    )


def _peers(payloads: np.ndarray, length: int) -> list[Contender]:
    return peer_servers.tally_bits(np.unpackbits(payloads[:2_000], axis=1)[:, :length])
