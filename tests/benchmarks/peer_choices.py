"""The peers' randomizers for one of many labels, other than k-ary response."""

from __future__ import annotations

import math

from benchmarks.measure import Contender, Run
from benchmarks.peers import EPSILON, collect, module, opendp, randomize_choice

LARGEST_UNARY = 60_000
REMARK = (
    "The local hashing of pure-ldp and of multi-freq-ldpy hands a str to xxhash, which version 4 "
    "refuses, so it is left out where that is installed. pure-ldp's Hadamard response builds its "
    "matrix on first use. opendp has k-ary response (measured there, with the largest error "
    "of all at these sizes) and bit vectors."
)


def randomize(size: int) -> list[Contender]:
    """All that can be built and called here for so many labels."""
    return collect(
        lambda: _pure_ldp_unary(size),
        lambda: _pure_ldp_hashing(size),
        lambda: _pure_ldp_hadamard(size),
        lambda: _multi_freq_unary(size),
        lambda: _multi_freq_sets(size),
        lambda: _opendp_bits(size),
        lambda: _opendp_k_ary(size),
    )


def _callable(name: str, run: Run, note: str) -> Contender | None:
    """The contender, or None where its library no longer runs with what is installed."""
    try:
        run()
    except TypeError:
        return None
    return Contender(name, "peer", run, note=note)


def _pure_ldp_unary(size: int) -> Contender | None:
    library = module("pure_ldp.frequency_oracles")
    if library is None or size > LARGEST_UNARY:
        return None
    client = library.UEClient(epsilon=EPSILON, d=size, use_oue=True)
    return _callable("pure-ldp OUE", lambda: client.privatise(1), "Mersenne Twister, a bit a label")


def _pure_ldp_hashing(size: int) -> Contender | None:
    library = module("pure_ldp.frequency_oracles")
    if library is None:
        return None
    client = library.LHClient(epsilon=EPSILON, d=size, use_olh=True)
    return _callable("pure-ldp OLH", lambda: client.privatise(1), "Mersenne Twister")


def _pure_ldp_hadamard(size: int) -> Contender | None:
    library = module("pure_ldp.frequency_oracles")
    if library is None:
        return None
    server = library.HadamardResponseServer(EPSILON, size)
    client = library.HadamardResponseClient(EPSILON, size, server.get_hash_funcs())
    return _callable("pure-ldp Hadamard", lambda: client.privatise(1), "Mersenne Twister")


def _multi_freq_unary(size: int) -> Contender | None:
    library = module("multi_freq_ldpy.pure_frequency_oracles.UE")
    if library is None or size > LARGEST_UNARY:
        return None
    call = library.UE_Client
    return _callable(
        "multi-freq-ldpy OUE", lambda: call(1, size, EPSILON, True), "Mersenne Twister"
    )


def _multi_freq_sets(size: int) -> Contender | None:
    library = module("multi_freq_ldpy.pure_frequency_oracles.SS")
    if library is None or size > LARGEST_UNARY:
        return None
    call = library.SS_Client
    return _callable(
        "multi-freq-ldpy subset", lambda: call(1, size, EPSILON), "Mersenne Twister, a set"
    )


def _opendp_bits(size: int) -> Contender | None:
    library = opendp()
    if library is None or size > LARGEST_UNARY:
        return None
    flip = math.exp(EPSILON / 2)
    call = library.m.make_randomized_response_bitvec(
        library.bitvector_domain(max_weight=1), library.discrete_distance(), f=2 / (1 + flip)
    )
    one_hot = (1 << (8 * -(-size // 8) - 1)).to_bytes(-(-size // 8), "big")
    return _callable(
        "opendp bit vector (SUE)", lambda: call(one_hot), "exact, entropy of the system"
    )


def _opendp_k_ary(size: int) -> Contender | None:
    actual = [each for each in randomize_choice(size) if each.name == "opendp"]
    return Contender("opendp k-ary", "peer", actual[0].run, note=actual[0].note) if actual else None
