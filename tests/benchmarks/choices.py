"""Randomizing one of d labels by each mechanism for choices, compared with each peer's."""

from __future__ import annotations

from benchmarks import peer_choices
from benchmarks.measure import Contender, Effort, race
from benchmarks.randomize import KEY, LABELS
from benchmarks.results import Case, Result, at_most
from deniable_shared import mechanisms
from deniable_shared.randomness.coins import Coins

SIZES = (64, 1_000, 60_000, 262_143, 1_000_000)
UNARY = ("sue/1", "oue/1", "subset/1")
MOST_BITS = 4_096
CYCLIC, BEYOND = "cyclic/1", "projective/1"
LARGEST_CYCLIC, LARGEST_HADAMARD = 262_143, 65_536
BUDGET = 5.0


def run(effort: Effort) -> Result:
    """Five sizes; at each the mechanisms that take it."""
    cases = tuple(_case(size, effort) for size in SIZES)
    return Result(
        title="Randomize a choice",
        cases=cases,
        verdicts=tuple(
            at_most(
                f"randomize, {case.ours.name.removeprefix('deniable ')}, d = {size:,}",
                BUDGET,
                case.ours,
                bound="deriving the stream, its draws and the arithmetic",
            )
            for size, case in zip(SIZES, cases, strict=True)
        ),
        remarks=(
            "Mechanisms are built once before; ours derive a keyed stream for each answer. The "
            "first line is the one that the others are compared with: cyclic/1 up to the "
            f"{LARGEST_CYCLIC:,} choices that it takes, projective/1 (the same law, no table) "
            "beyond. Unary encodings and sets end at 4,096 labels, hadamard/1 at 65,536.",
            *([peer_choices.REMARK] if effort.peers else []),
        ),
    )


def _case(size: int, effort: Effort) -> Case:
    ids = [CYCLIC, BEYOND] if size <= LARGEST_CYCLIC else [BEYOND]
    ids += ["affine/1", *(["hadamard/1"] if size <= LARGEST_HADAMARD else [])]
    ids += UNARY if size <= MOST_BITS else ()
    contenders = [_ours(id, size) for id in ids]
    contenders += peer_choices.randomize(size) if effort.peers else []
    return Case(f"d = {size:,}, ε = 1", race(contenders, effort))


def _ours(id: str, size: int) -> Contender:
    mechanism = mechanisms.build(id, domain_size=size, epsilon="1")
    canonical = (size - 1).to_bytes(3, "big")
    return Contender(
        f"deniable {id}",
        "ours",
        lambda: mechanism.randomize(size - 1, Coins.derive(KEY, *LABELS, canonical)),
        note=f"{mechanism.payload_size:,} B",
    )
