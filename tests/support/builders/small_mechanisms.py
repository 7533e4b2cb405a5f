"""A small mechanism of each kind that central releases read."""

from __future__ import annotations

from deniable_shared import mechanisms
from deniable_shared.mechanisms.protocols import Mechanism


def mechanism(id: str, size: int, epsilon: str = "1", **parameters: int) -> Mechanism:
    return mechanisms.build(id, domain_size=size, epsilon=epsilon, permanent=None, **parameters)


def chain(id: str, size: int, epsilon: str = "1", permanent: str = "2", **given: int) -> Mechanism:
    return mechanisms.build(id, domain_size=size, epsilon=epsilon, permanent=permanent, **given)


SMALL = {
    "grr-2": mechanism("grr/1", 2),
    "grr-4": mechanism("grr/1", 4),
    "grr-chain": chain("grr/1", 3),
    "rr-2": mechanism("rr/1", 2),
    "rr-3-one-hot": mechanism("rr/1", 3, distance=2),
    "rr-chain": chain("rr/1", 2),
    "sampled-1-of-2": mechanism("rr-sampled/1", 2, sampled=1),
    "sampled-2-of-3": mechanism("rr-sampled/1", 3, sampled=2),
    "sampled-1-of-3": mechanism("rr-sampled/1", 3, sampled=1),
    "sampled-2-of-2-chain": chain("rr-sampled/1", 2, sampled=2),
    "subset-2-of-4": mechanism("subset/1", 4, subset_size=2),
    "subset-2-of-3-chain": chain("subset/1", 3, subset_size=2),
    "affine-4-of-5": mechanism("affine/1", 4, modulus=5, subset_size=2),
    "affine-3-chain": chain("affine/1", 3, modulus=3, subset_size=2),
    "cyclic-4-of-7": mechanism("cyclic/1", 4, field_order=2, dimension=3),
    "projective-4-of-7": mechanism("projective/1", 4, field_order=2, dimension=3),
    "hadamard-3": mechanism("hadamard/1", 3),
    "hadamard-4-chain": chain("hadamard/1", 4),
    "oue-3": mechanism("oue/1", 3),
    "sue-2-chain": chain("sue/1", 2),
    "loloha-4": mechanism("loloha/1", 4, field_order=2, dimension=2),
    "loloha-3-chain": chain("loloha/1", 3, field_order=2, dimension=2),
}
"""At most four labels, and ten messages or fewer."""

CHOICES = {name: built for name, built in SMALL.items() if "choice" in built.domain_types}
