"""The peers' clients, called the way their own documentation calls them.

A peer that is not installed, or does not import, is left out of the race; `report()` says why.
"""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable
from importlib import metadata
from typing import Any

from benchmarks.measure import Contender

EPSILON = 1.0
COMPANIONS = {
    "diffprivlib": "needs scikit-learn < 1.9 to import at all",
    "multi-freq-ldpy": "numba compiles its clients; the first call is not timed",
    "opendp": "every call crosses from Python into Rust",
    "pure-ldp": "needs scikit-learn and statsmodels to import at all, and declares neither",
}


def module(name: str) -> Any | None:
    """The module, or None where it cannot be imported."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError:
        return None


def report() -> list[tuple[str, str, str]]:
    """(distribution, version or why not, remark) of every peer."""
    probes = {
        "diffprivlib": "diffprivlib",
        "multi-freq-ldpy": "multi_freq_ldpy.pure_frequency_oracles.GRR",
        "opendp": "opendp.prelude",
        "pure-ldp": "pure_ldp.frequency_oracles",
    }
    return [(name, _state(name, probe), COMPANIONS[name]) for name, probe in probes.items()]


def _state(distribution: str, probe: str) -> str:
    try:
        version = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"
    return version if module(probe) else f"{version}, does not import"


def collect(*builders: Callable[[], Contender | None]) -> list[Contender]:
    """Those that can be built here."""
    return [contender for builder in builders if (contender := builder()) is not None]


def randomize_choice(size: int) -> list[Contender]:
    """k-ary randomized response of one value out of `size`."""
    return collect(
        lambda: _multi_freq_choice(size),
        lambda: _pure_ldp_choice(size),
        lambda: _opendp_choice(size),
    )


def randomize_bit() -> list[Contender]:
    """Warner's binary response."""
    return collect(
        lambda: _multi_freq_choice(2),
        lambda: _pure_ldp_choice(2),
        _opendp_bit,
        _diffprivlib_bit,
    )


def randomize_bits(length: int) -> list[Contender]:
    """Symmetric unary encoding: every bit of a vector flipped on its own."""
    return collect(
        lambda: _multi_freq_unary(length),
        lambda: _pure_ldp_unary(length),
        lambda: _opendp_bits(length),
    )


def _multi_freq_choice(size: int) -> Contender | None:
    library = module("multi_freq_ldpy.pure_frequency_oracles.GRR")
    if library is None:
        return None
    call = library.GRR_Client
    note = "Mersenne Twister, float probability" + ("; lists all values" if size > 2 else "")
    return Contender("multi-freq-ldpy", "peer", lambda: call(1, size, EPSILON), note=note)


def _pure_ldp_choice(size: int) -> Contender | None:
    library = module("pure_ldp.frequency_oracles")
    if library is None:
        return None
    client = library.DEClient(epsilon=EPSILON, d=size)
    return Contender(
        "pure-ldp", "peer", lambda: client.privatise(1), note="Mersenne Twister, float probability"
    )


def opendp() -> Any | None:
    """OpenDP's prelude with what randomized response needs switched on."""
    library = module("opendp.prelude")
    if library is not None:
        library.enable_features("contrib")
    return library


def _opendp_choice(size: int) -> Contender | None:
    library = opendp()
    if library is None:
        return None
    truthful = math.exp(EPSILON) / (math.exp(EPSILON) + size - 1)
    call = library.m.make_randomized_response(list(range(size)), truthful)
    return Contender("opendp", "peer", lambda: call(1), note="exact, operating system's entropy")


def _opendp_bit() -> Contender | None:
    library = opendp()
    if library is None:
        return None
    truthful = math.exp(EPSILON) / (math.exp(EPSILON) + 1)
    call = library.m.make_randomized_response_bool(truthful)
    return Contender("opendp", "peer", lambda: call(True), note="exact, operating system's entropy")


def _opendp_bits(length: int) -> Contender | None:
    library = opendp()
    if library is None:
        return None
    call = library.m.make_randomized_response_bitvec(
        library.bitvector_domain(max_weight=1), library.discrete_distance(), f=0.5
    )
    one_hot = (1 << (8 * -(-length // 8) - 1)).to_bytes(-(-length // 8), "big")
    return Contender("opendp", "peer", lambda: call(one_hot), note="exact, entropy of the system")


def _diffprivlib_bit() -> Contender | None:
    library = module("diffprivlib.mechanisms")
    if library is None:
        return None
    mechanism = library.Binary(epsilon=EPSILON, value0="no", value1="yes")
    return Contender(
        "diffprivlib", "peer", lambda: mechanism.randomise("yes"), note="float probability"
    )


def _multi_freq_unary(length: int) -> Contender | None:
    library = module("multi_freq_ldpy.pure_frequency_oracles.UE")
    if library is None:
        return None
    call = library.UE_Client
    return Contender(
        "multi-freq-ldpy",
        "peer",
        lambda: call(1, length, EPSILON, False),
        note="Mersenne Twister, float probability",
    )


def _pure_ldp_unary(length: int) -> Contender | None:
    library = module("pure_ldp.frequency_oracles")
    if library is None:
        return None
    client = library.UEClient(epsilon=EPSILON, d=length)
    return Contender(
        "pure-ldp", "peer", lambda: client.privatise(1), note="Mersenne Twister, float probability"
    )


def import_statements() -> dict[str, str]:
    """What an application writes to begin with each peer that imports here."""
    statements = {
        "diffprivlib": "diffprivlib",
        "multi-freq-ldpy": "multi_freq_ldpy.pure_frequency_oracles.GRR",
        "opendp": "opendp.prelude",
        "pure-ldp": "pure_ldp.frequency_oracles",
    }
    return {name: probe for name, probe in statements.items() if module(probe) is not None}
