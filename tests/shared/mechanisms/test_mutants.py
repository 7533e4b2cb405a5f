"""Known mistakes, and the check that sees each one; the same checks pass on what is shipped."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest

from deniable_shared.domains import Bits, Domain
from deniable_shared.mechanisms import Mechanism, for_domain
from deniable_shared.mechanisms.affine import AffineResponse
from deniable_shared.mechanisms.cyclic import CyclicResponse
from deniable_shared.mechanisms.grr import GeneralizedResponse
from deniable_shared.mechanisms.hadamard import HadamardResponse
from deniable_shared.mechanisms.oue import OptimizedUnary
from deniable_shared.mechanisms.projective import ProjectiveResponse
from deniable_shared.mechanisms.rr import BitwiseResponse
from deniable_shared.mechanisms.rr_sampled import SampledResponse
from deniable_shared.mechanisms.subset import SubsetResponse
from deniable_shared.mechanisms.sue import SymmetricUnary
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import threshold
from support.oracles.privacy_checks import (
    EPSILONS,
    check_follows_pmf,
    check_private,
    choices,
    laws,
    valid_inputs,
    with_threshold,
)

pytestmark = pytest.mark.exhaustive

Value = int | Sequence[int]
Build = Callable[[Fraction], Mechanism]

THREE_BITS = Bits(("a", "b", "c"))
FOUR = choices(4)

PLAIN = {"bits": "rr/1", "choice": "grr/1"}


def shipped(domain: Domain) -> Build:
    return lambda epsilon: for_domain(PLAIN[domain.type], domain, epsilon)


def raised(domain: Domain) -> Build:
    """T rounded up instead of down."""

    def build(epsilon: Fraction) -> Mechanism:
        mechanism = shipped(domain)(epsilon)
        return with_threshold(mechanism, mechanism.threshold + 1)

    return build


def float_probability(epsilon: Fraction) -> Mechanism:
    """The probability computed in floats, then compared with 64 exact bits."""
    e = math.exp(epsilon)
    return with_threshold(shipped(FOUR)(epsilon), int(e / (e + 3) * 2**64))


def epsilon_per_bit(epsilon: Fraction) -> Mechanism:
    """All of ε for each bit."""
    return with_threshold(shipped(THREE_BITS)(epsilon), threshold(epsilon))


class FloatCoin(GeneralizedResponse):
    """`random() < p`: 53 bits against a float."""

    __slots__ = ()

    def randomize(self, value: Value, coins: Coins, public: Coins | None = None) -> bytes:
        assert isinstance(value, int)
        e = math.exp(self.epsilon)
        truthful = coins.bits(53) / 2**53 < e / (e + self.domain_size - 1)
        other = coins.below(self.domain_size - 1)
        return bytes([value if truthful else other + (other >= value)])


class AtMostThreshold(GeneralizedResponse):
    """`<=` where `<` belongs."""

    __slots__ = ()

    def randomize(self, value: Value, coins: Coins, public: Coins | None = None) -> bytes:
        assert isinstance(value, int)
        truthful = coins.bits(64) <= self.threshold
        other = coins.below(self.domain_size - 1)
        return bytes([value if truthful else other + (other >= value)])


class ModuloBias(GeneralizedResponse):
    """The other choice by a remainder instead of by rejection."""

    __slots__ = ()

    def randomize(self, value: Value, coins: Coins, public: Coins | None = None) -> bytes:
        assert isinstance(value, int)
        truthful = coins.bernoulli(self.threshold)
        other = coins.bits(8) % (self.domain_size - 1)
        return bytes([value if truthful else other + (other >= value)])


class ForgottenSkip(GeneralizedResponse):
    """The last choice is never a lie, and the truth is one more often than it should be."""

    __slots__ = ()

    def randomize(self, value: Value, coins: Coins, public: Coins | None = None) -> bytes:
        assert isinstance(value, int)
        truthful = coins.bernoulli(self.threshold)
        other = coins.below(self.domain_size - 1)
        return bytes([value if truthful else other])


class FirstChoiceAsItIs(GeneralizedResponse):
    """A harmless-looking answer is reported truthfully, without a coin."""

    __slots__ = ()

    def randomize(self, value: Value, coins: Coins, public: Coins | None = None) -> bytes:
        return bytes(1) if value == 0 else super().randomize(value, coins)


class TruthAsItIs(BitwiseResponse):
    """A vector without a yes is reported as it is."""

    __slots__ = ()

    def randomize(self, value: Value, coins: Coins, public: Coins | None = None) -> bytes:
        assert not isinstance(value, int)
        return super().randomize(value, coins) if any(value) else bytes(self.payload_size)


class LastBitNotFlipped(BitwiseResponse):
    """One bit short."""

    __slots__ = ()

    def randomize(self, value: Value, coins: Coins, public: Coins | None = None) -> bytes:
        assert not isinstance(value, int)
        payload = super().randomize([*value[:-1], 0], coins)[0] & 0b1100_0000
        return bytes([payload | value[-1] << 5])


class OneCoinForAllBits(BitwiseResponse):
    """All bits flipped together."""

    __slots__ = ()

    def randomize(self, value: Value, coins: Coins, public: Coins | None = None) -> bytes:
        assert not isinstance(value, int)
        flip = coins.bernoulli(2**64 - self.threshold)
        return bytes([sum((bit ^ flip) << 7 - place for place, bit in enumerate(value))])


class TellsOfAOneIfThereIsAny(SampledResponse):
    """The places are not tossed, they are those of interest."""

    __slots__ = ()

    def randomize(self, value: Value, coins: Coins, public: Coins | None = None) -> bytes:
        assert not isinstance(value, int)
        place = list(value).index(1) if 1 in value else coins.below(self.domain_size)
        result = value[place] ^ coins.bernoulli(2**64 - self.threshold)
        return bytes([2 * place + result])


class OnePlaceTooOften(SampledResponse):
    """The first place by a remainder."""

    __slots__ = ()

    def randomize(self, value: Value, coins: Coins, public: Coins | None = None) -> bytes:
        assert not isinstance(value, int)
        place = coins.bits(2) % self.domain_size
        return bytes([2 * place + (value[place] ^ coins.bernoulli(2**64 - self.threshold))])


class LieFromAllSets(SubsetResponse):
    """A set that should not hold the true choice is drawn from all of them."""

    __slots__ = ()

    def randomize(self, value: Value, coins: Coins, public: Coins | None = None) -> bytes:
        result = super().randomize(value, coins)
        inside = self.supports(result, value) if isinstance(value, int) else False
        return result if inside else self.rerandomize(result, 0, coins)


class ShiftWithoutMultiplier(AffineResponse):
    """b = r − x, where c was drawn for nothing."""

    __slots__ = ()

    def randomize(self, value: Value, coins: Coins, public: Coins | None = None) -> bytes:
        assert isinstance(value, int)
        before, shift = divmod(super().randomize(value, coins)[0], self.modulus)
        return bytes([before * self.modulus + (shift + before * value) % self.modulus])


class LieFromAnyDistance(CyclicResponse):
    """The distance of a lie is not moved past the members of the set."""

    __slots__ = ()

    def _draw_code(self, index: int, inside: bool, near: int, far: int) -> int:
        lie = (index + far) % self.alphabet_size
        return super()._draw_code(index, inside, near, far) if inside else lie


class PlaceNotSolvedFor(ProjectiveResponse):
    """The digit at the place of a value is drawn as if all digits before it were 0."""

    __slots__ = ()

    def _draw_code(self, index: int, inside: bool, near: int, far: int) -> int:
        return super()._draw_code(0, inside, near, far)


class OwnBitAsItIs(OptimizedUnary):
    """The bit of the choice is sent truthfully, not tossed."""

    __slots__ = ()

    def _flip_bits(self, shift: int, coins: Coins) -> int:
        return super()._flip_bits(shift, coins) | 1 << shift


class CoefficientOfTheValue(HadamardResponse):
    """The coefficient is one of which the choice has odd parity, if there is any."""

    __slots__ = ()

    def randomize(self, value: Value, coins: Coins, public: Coins | None = None) -> bytes:
        assert isinstance(value, int)
        result = coins.bernoulli(self.threshold)
        return (
            bytes([2 * ((value & -value) - 1) + result]) if value else super().randomize(0, coins)
        )


def epsilon_per_bit_of_an_encoding(epsilon: Fraction) -> Mechanism:
    """All of ε for each of the two bits in which choices differ."""
    return with_threshold(SymmetricUnary(4, epsilon), threshold(epsilon))


def all_epsilon_for_each_bit_told(epsilon: Fraction) -> Mechanism:
    return with_threshold(SampledResponse(3, epsilon, 3, 2), threshold(epsilon))


def sampled(kind: type[SampledResponse]) -> Build:
    return lambda epsilon: kind(3, epsilon, 3, 1)


def grr(kind: type[GeneralizedResponse]) -> Build:
    return lambda epsilon: kind(4, epsilon)


def subset(kind: type[SubsetResponse]) -> Build:
    return lambda epsilon: kind(4, epsilon, 2)


def affine(kind: type[AffineResponse]) -> Build:
    return lambda epsilon: kind(4, epsilon, 5, 2)


def rr(kind: type[BitwiseResponse]) -> Build:
    return lambda epsilon: kind(3, epsilon, 3)


MUTANTS: dict[str, tuple[Domain, Build]] = {
    "the threshold of bits is rounded up": (THREE_BITS, raised(THREE_BITS)),
    "the threshold of choices is rounded up": (FOUR, raised(FOUR)),
    "the probability is computed in floats": (FOUR, float_probability),
    "the coin is a float": (FOUR, grr(FloatCoin)),
    "a coin that equals the threshold is a yes": (FOUR, grr(AtMostThreshold)),
    "the other choice is drawn by a remainder": (FOUR, grr(ModuloBias)),
    "the last choice is never a lie": (FOUR, grr(ForgottenSkip)),
    "the first choice is reported as it is": (FOUR, grr(FirstChoiceAsItIs)),
    "each bit spends all of epsilon": (THREE_BITS, epsilon_per_bit),
    "a vector without a yes is reported as it is": (THREE_BITS, rr(TruthAsItIs)),
    "the last bit is never flipped": (THREE_BITS, rr(LastBitNotFlipped)),
    "one coin flips all bits": (THREE_BITS, rr(OneCoinForAllBits)),
    "a place that holds a yes is preferred": (THREE_BITS, sampled(TellsOfAOneIfThereIsAny)),
    "the first place is drawn too often": (THREE_BITS, sampled(OnePlaceTooOften)),
    "a lie may be a set that holds the choice": (FOUR, subset(LieFromAllSets)),
    "the shift ignores its multiplier": (FOUR, affine(ShiftWithoutMultiplier)),
    "a lie may be at the distance of a member": (
        FOUR,
        lambda epsilon: LieFromAnyDistance(4, epsilon, 2, 3),
    ),
    "the digit at the place of a value ignores the digits before it": (
        FOUR,
        lambda epsilon: PlaceNotSolvedFor(4, epsilon, 2, 3),
    ),
    "the bit of the choice is not randomized": (FOUR, lambda epsilon: OwnBitAsItIs(4, epsilon)),
    "the coefficient depends on the value": (
        FOUR,
        lambda epsilon: CoefficientOfTheValue(4, epsilon),
    ),
    "each bit of an encoding spends all of epsilon": (FOUR, epsilon_per_bit_of_an_encoding),
    "each sampled bit spends all of epsilon": (THREE_BITS, all_epsilon_for_each_bit_told),
}
ANOTHER_LAW = [
    "the coin is a float",
    "a coin that equals the threshold is a yes",
    "the other choice is drawn by a remainder",
    "the last choice is never a lie",
    "the first choice is reported as it is",
    "a vector without a yes is reported as it is",
    "the last bit is never flipped",
    "one coin flips all bits",
    "a place that holds a yes is preferred",
    "the first place is drawn too often",
    "the bit of the choice is not randomized",
    "the coefficient depends on the value",
    "a lie may be a set that holds the choice",
    "the shift ignores its multiplier",
    "a lie may be at the distance of a member",
    "the digit at the place of a value ignores the digits before it",
]
ONLY_ANOTHER_LAW = [
    "the last choice is never a lie",
    "the first place is drawn too often",
    "the shift ignores its multiplier",
    "the digit at the place of a value ignores the digits before it",
]


def check_promise(domain: Domain, build: Build) -> None:
    """ε holds for every ε, on the exact law of what `randomize` does."""
    for epsilon in EPSILONS:
        check_private(laws(build(epsilon), valid_inputs(domain)), epsilon)


def check_pmf(domain: Domain, build: Build) -> None:
    for epsilon in EPSILONS:
        check_follows_pmf(build(epsilon), valid_inputs(domain))


@pytest.mark.parametrize("name", [name for name in MUTANTS if name not in ONLY_ANOTHER_LAW])
def test_exact_privacy_sees(name: str) -> None:
    with pytest.raises(AssertionError):
        check_promise(*MUTANTS[name])


@pytest.mark.parametrize("name", ANOTHER_LAW)
def test_comparison_with_the_pmf_sees(name: str) -> None:
    with pytest.raises(AssertionError):
        check_pmf(*MUTANTS[name])


@pytest.mark.parametrize("domain", [THREE_BITS, FOUR], ids=["bits", "choice"])
def test_both_checks_pass_what_is_shipped(domain: Domain) -> None:
    check_promise(domain, shipped(domain))
    check_pmf(domain, shipped(domain))
