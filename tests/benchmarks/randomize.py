"""Randomizing one answer, the derivation of its coins included: no peer remembers its toss."""

from __future__ import annotations

from hashlib import shake_256

from benchmarks import peers
from benchmarks.measure import Contender, Effort, race
from benchmarks.results import Case, Result, Verdict, at_most
from deniable_shared import mechanisms
from deniable_shared.domains import MAX_CHOICES
from deniable_shared.mechanisms import Mechanism
from deniable_shared.randomness.coins import Coins

KEY = bytes(range(32))
LABELS = (b"deniable/1 coins", b"\x01", bytes(32), bytes(4))
PLANES = 64
LARGEST = min(1_000_000, MAX_CHOICES)
BUDGETS = {"rr, 1 bit": 3.0, "grr, d = ": 5.0, "rr, 1,000 bits": 20.0}


def run(effort: Effort) -> Result:
    """One bit, eight bits, a thousand bits of a one-hot vector, and choices of three sizes."""
    cases = [_bits(1, effort), _bits(8, effort), _bits(1000, effort)]
    cases += [_choice(size, effort) for size in (10, 1000, LARGEST)]
    return Result(
        title="Randomize one answer",
        cases=tuple(cases),
        verdicts=tuple(verdict for case in cases for verdict in _verdicts(case)),
        remarks=(
            "Ours derives a SHAKE-256 stream from the device's key and the value and reads exact "
            "64-bit coins from it; the limit is that hash alone, for the bytes the answer needs.",
            "Peers whose note says Mersenne Twister use a generator whose past and future can be "
            "computed from its output, and probabilities rounded to a float: faster, another job.",
            f"Our k-ary domains end at {MAX_CHOICES:,} choices; the largest case has {LARGEST:,}.",
        ),
    )


def _bits(length: int, effort: Effort) -> Case:
    mechanism = mechanisms.build("rr/1", domain_size=length, epsilon="1", distance=min(2, length))
    value = (1,) + (0,) * (length - 1)
    size = -(-length // 8)
    contenders = [
        _ours(mechanism, value, bytes(size)),
        _stream(PLANES * size),
        *(_peers_of_bits(length) if effort.peers else []),
    ]
    return Case(f"rr, {length:,} bit{'s' * (length > 1)}", race(contenders, effort))


def _peers_of_bits(length: int) -> list[Contender]:
    return peers.randomize_bit() if length == 1 else peers.randomize_bits(length)


def _choice(size: int, effort: Effort) -> Case:
    mechanism = mechanisms.build("grr/1", domain_size=size, epsilon="1")
    contenders = [
        _ours(mechanism, 1, bytes(mechanism.payload_size)),
        _stream(8 + mechanism.payload_size),
        *(peers.randomize_choice(size) if effort.peers else []),
    ]
    return Case(f"grr, d = {size:,}", race(contenders, effort))


def _ours(mechanism: Mechanism, value: int | tuple[int, ...], canonical: bytes) -> Contender:
    labels = (*LABELS, canonical)
    return Contender(
        "deniable",
        "ours",
        lambda: mechanism.randomize(value, Coins.derive(KEY, *labels)),
        note="keyed stream, exact",
    )


def _stream(size: int) -> Contender:
    seed = b"".join(len(part).to_bytes(2, "big") + part for part in (KEY, *LABELS))
    return Contender(
        "SHAKE-256 alone", "limit", lambda: shake_256(seed).digest(size), note=f"{size:,} bytes"
    )


def _verdicts(case: Case) -> list[Verdict]:
    for start, limit in BUDGETS.items():
        if case.title.startswith(start):
            stream = case.line("SHAKE-256 alone")
            bound = f"SHAKE-256 of {stream.note} takes {stream.median:.2g} µs of it"
            return [at_most(f"randomize, {case.title}", limit, case.ours, bound=bound)]
    return []
