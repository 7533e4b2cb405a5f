"""Exact probabilities of all that a device sends over several epochs.

A history is a value for each epoch, None where nothing was recorded and nothing is sent. Devices
are small functions over the shipped mechanisms, run on every path of the coins; `fresh_law` and
`memoized_law` say the same in one line of mathematics each, for spaces too large to enumerate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product

from deniable_shared.mechanisms import Chain, Mechanism
from deniable_shared.randomness.coins import Coins
from support.doubles.scripted_coins import exact_law
from support.oracles.privacy_checks import Encoded

Values = Sequence[Encoded | None]
Reports = tuple[bytes, ...]
Device = Callable[[Values, Coins], Reports]
History = dict[bytes, Fraction]


def fresh_device(mechanism: Mechanism, *, paid: int) -> Device:
    """A new draw in each of the first `paid` epochs, counted by the calendar."""

    def run(values: Values, coins: Coins) -> Reports:
        kept = [value for value in values[:paid] if value is not None]
        return tuple(mechanism.randomize(value, coins) for value in kept)

    return run


def memoized_device(chain: Chain, *, hold: int, paid: int, phase: int = 0) -> Device:
    """A permanent answer a hold, by its first value, for `paid` holds; the last serves for ever."""

    def run(values: Values, coins: Coins) -> Reports:
        reports = []
        for value, tosses in _with_tosses(values, hold, paid, phase):
            if tosses:
                permanent = chain.memoize(value, coins)
            reports.append(chain.rerandomize(permanent, coins))
        return tuple(reports)

    return run


def _with_tosses(
    values: Values, hold: int, paid: int, phase: int
) -> Iterator[tuple[Encoded, bool]]:
    """Every recorded value, and whether it is the first of a hold that is paid for."""
    seen: set[int] = set()
    for epoch, value in enumerate(values):
        if value is not None:
            here = (epoch + phase) // hold
            yield value, here not in seen and len(seen) < paid
            seen.add(here)


def law_of_device(device: Device, values: Values) -> History:
    """The exact law of all reports together, over all coins."""
    return exact_law(lambda coins: b"".join(device(values, coins)), most_draws=len(values) + 1)


def fresh_law(mechanism: Mechanism, values: Values, *, paid: int) -> History:
    """Independent draws: the product of their laws."""
    return _product([mechanism.pmf(value) for value in values[:paid] if value is not None])


def memoized_law(chain: Chain, values: Values, *, hold: int, paid: int, phase: int = 0) -> History:
    """The product over permanent answers of the law of the reports that renew each."""
    laws = [chain.pmf_history(span) for span in spans_of(values, hold, paid, phase)]
    return _product([{b"".join(key): chance for key, chance in law.items()} for law in laws])


def spans_of(values: Values, hold: int, paid: int, phase: int = 0) -> list[list[Encoded]]:
    """The values recorded while each permanent answer served, its own first."""
    spans: list[list[Encoded]] = []
    for value, tosses in _with_tosses(values, hold, paid, phase):
        if tosses:
            spans.append([])
        spans[-1].append(value)
    return spans


def _product(laws: Sequence[History]) -> History:
    joint: History = {b"": Fraction(1)}
    for law in laws:
        joint = {
            sent + payload: chance * likely
            for sent, chance in joint.items()
            for payload, likely in law.items()
        }
    return joint


def all_histories(inputs: Sequence[Encoded], epochs: int, silent: int = 0) -> Iterator[Values]:
    """Every sequence of values, but for the epochs whose bit of `silent` is set."""
    choices = [[None] if silent >> epoch & 1 else inputs for epoch in range(epochs)]
    return iter(product(*choices))
