"""Simulated tallies have the law of the clients' own, for every registered mechanism."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from importlib import import_module
from itertools import product

import numpy as np
import pytest

from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.simulation import generator, simulated_tally, simulated_texts
from deniable_shared import mechanisms
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import Mechanism
from support.oracles.likelihood_ratio import likelihood_ratio
from support.oracles.privacy_checks import by_size
from support.tiers import grid, rows

special = import_module("scipy.special")

FALSE_ALARM = 1e-8
TIMES = 3_000
SLOW_CHAINS = [
    (id, True) for id in ("discrete-piecewise/1", "optimal-mean/1", "rr-sampled/1", "square-wave/1")
]
"""Four to twenty seconds of draws each."""

Law = dict[tuple[int, ...], float]


def built(id: str, size: int = 3, epsilon: str = "1", *, chain: bool = False) -> Mechanism:
    if chain:
        return mechanisms.build(id, domain_size=size, epsilon=epsilon, permanent="4")
    return mechanisms.build(id, domain_size=size, epsilon=epsilon)


def unequal(mechanism: Mechanism) -> list[int] | list[list[int]]:
    """Two answers as far apart as can be."""
    if mechanism.domain_types == {"bits"}:
        return [[0] * mechanism.domain_size, [1] * mechanism.domain_size]
    return [0, mechanism.domain_size - 1]


def exact(mechanism: Mechanism) -> Law:
    """The law of the tally of the two, by enumeration of all pairs of messages."""
    estimator = estimator_for(mechanism)
    laws = []
    for value in unequal(mechanism):
        law: dict[tuple[int, ...], Fraction] = {}
        for message, chance in mechanism.pmf(value).items():
            tally = tuple(estimator.tally(np.frombuffer(message, np.uint8)[None, :]).tolist())
            law[tally] = law.get(tally, Fraction()) + chance
        laws.append(law)
    both: Law = {}
    for (one, likely), (other, chance) in product(laws[0].items(), laws[1].items()):
        tally = tuple(map(sum, zip(one, other, strict=True)))
        both[tally] = both.get(tally, 0.0) + float(likely * chance)
    return both


def surprise(drawn: Counter[tuple[int, ...]], law: Law) -> float:
    """The chance of a χ² as large as the likelihood ratio, tallies of fewer than 8 taken together.

    Those may be expected once in fifty runs, and one of them alone must not be a surprise: to the
    ratio it adds 6, to Pearson's sum 50.
    """
    assert set(drawn) <= set(law)
    times = sum(drawn.values())
    cells = [(drawn[tally], times * chance) for tally, chance in law.items()]
    often = [cell for cell in cells if cell[1] >= 8]
    rare = [cell for cell in cells if cell[1] < 8]
    if rare:
        often.append((sum(seen for seen, _ in rare), sum(expected for _, expected in rare)))
    seen, expected = np.array([cell for cell in often if cell[1] > 0]).T
    ratio = likelihood_ratio(seen, expected)
    return float(special.chdtrc(len(often) - 1, ratio)) if len(often) > 1 else 1.0


def draw(mechanism: Mechanism) -> Counter[tuple[int, ...]]:
    draws = generator()
    values = np.array(unequal(mechanism))
    return Counter(
        tuple(simulated_tally(mechanism, values, np.array([1, 1]), draws=draws).tolist())
        for _ in range(TIMES)
    )


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("id", "chain"),
    rows(
        product(by_size(), [False, True]),
        by_default=lambda row: row not in SLOW_CHAINS,
        long=SLOW_CHAINS,
    ),
)
def test_two_people_give_every_tally_as_often_as_the_pmf_says(id: str, chain: bool) -> None:
    """n = 3,000 tallies; likelihood ratio; false alarm 1e-8 each."""
    mechanism = built(id, chain=chain)
    assert surprise(draw(mechanism), exact(mechanism)) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("chain", [False, True], ids=["plain", "chain"])
@pytest.mark.parametrize(
    ("id", "size", "parameters"),
    [
        ("tree/1", 4, {"fan_out": 2}),
        ("tree/1", 5, {"fan_out": 3}),
        ("haar/1", 6, {}),
        ("pairs/1", 6, {"radices": (2, 3)}),
        ("pairs/1", 8, {"radices": (2, 2, 2)}),
        ("fourier/1", 8, {"radices": (2, 2, 2)}),
        ("fourier/1", 16, {"radices": (2, 2, 2, 2), "ways": 3}),
    ],
)
def test_so_do_mechanisms_that_tell_of_one_level_or_one_pair(
    id: str, size: int, parameters: dict[str, object], chain: bool
) -> None:
    """n = 3,000 tallies of several levels; likelihood ratio; false alarm 1e-8 each."""
    permanent = {"permanent": "4"} if chain else {}
    mechanism: Mechanism = mechanisms.build(  # type: ignore[call-overload]  # one dict has values of many types
        id, domain_size=size, epsilon="1", **permanent, **parameters
    )
    assert surprise(draw(mechanism), exact(mechanism)) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("chain", [False, True], ids=["plain", "chain"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"base": 2, "digits": 2, "tables": 1, "step": 1},
        {"base": 3, "digits": 2, "tables": 2, "step": 0},
    ],
    ids=str,
)
def test_texts_give_every_message_as_often_as_the_pmf_says(
    parameters: dict[str, int], chain: bool
) -> None:
    """n = 200,000 reports of one text; likelihood ratio; false alarm 1e-8 each."""
    permanent = {"permanent": "4"} if chain else {}
    mechanism: Mechanism = mechanisms.build(
        "prefix-hash/1", domain_size=2, epsilon="1", **permanent, **parameters
    )
    law = mechanism.pmf(tuple(b"no"))
    expected = 200_000 * np.array([float(law[message]) for message in sorted(law)])
    tally = simulated_texts(mechanism, [b"no", b"ja"], [200_000, 0])
    ratio = likelihood_ratio(tally, expected)
    assert special.chdtrc(len(expected) - 1, ratio) > FALSE_ALARM
    other = simulated_texts(mechanism, [b"no", b"ja"], [0, 200_000])
    ratio = likelihood_ratio(other, expected)
    assert special.chdtrc(len(expected) - 1, ratio) < FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("id", grid(by_size(), by_default=by_size()[::2], long=by_size()))
def test_the_law_of_another_epsilon_is_told_apart(id: str) -> None:
    """n = 3,000 tallies at ε = 3 against the law of ε = 1, all other parameters the same."""
    one = built(id)
    pinned = {name: getattr(one, name) for name in mechanisms.pinned_parameters(id)}
    other = mechanisms.build(id, domain_size=3, epsilon="3", **pinned)
    assert surprise(draw(other), exact(one)) < FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("id", mechanisms.ids_for_domain_type("choice"))
def test_a_million_people_are_estimated_within_their_errors(id: str) -> None:
    """n = 10^6, 40 labels: |z| < 7 for each, false alarm below 1e-9 over all."""
    mechanism = built(id, size=40)
    people = np.arange(40) * 1_000 + 5_500
    n = int(people.sum())
    tally = simulated_tally(mechanism, np.arange(40), people)
    estimate = estimator_for(mechanism).estimate(tally, n)
    z = (estimate.frequencies - people / n) / estimate.std_errors
    assert n == 1_000_000
    assert np.abs(z).max() < 7
    assert np.abs(z).max() > 0.1


@pytest.mark.slow
def test_every_person_is_counted() -> None:
    """A tally of messages adds up to the people, one of sets to w times as many."""
    people = np.array([300_000, 0, 7, 1])
    for id, each in (("grr/1", 1), ("hadamard/1", 1), ("subset/1", 2), ("affine/1", None)):
        mechanism = mechanisms.build(id, domain_size=4, epsilon="0.2")
        per_report = each or getattr(mechanism, "subset_size")  # noqa: B009  (the protocol does not promise it)
        tally = simulated_tally(mechanism, np.arange(4), people)
        assert tally.sum() == per_report * people.sum()
        assert tally.shape == (mechanism.tally_size,)


def test_a_seed_repeats_and_nobody_gives_an_empty_tally() -> None:
    mechanism = built("affine/1", size=10)
    one, two = (
        simulated_tally(mechanism, [3], [500], draws=generator(seed=7)).tolist() for _ in range(2)
    )
    assert one == two
    for id in by_size():
        nobody = built(id)
        tally = simulated_tally(nobody, unequal(nobody), [0, 0])
        assert tally.tolist() == [0] * nobody.tally_size


def test_texts_that_nobody_can_have_are_refused() -> None:
    hashed = mechanisms.build("prefix-hash/1", domain_size=2, epsilon="1")
    with pytest.raises(ParameterError, match="use simulated_texts"):
        simulated_tally(hashed, [1], [1])
    with pytest.raises(ParameterError, match=r"mechanism must be prefix-hash/1, got grr/1"):
        simulated_texts(built("grr/1"), [b"a"], [1])
    for text in (b"", b"abc"):
        with pytest.raises(ParameterError, match="1 to 2 bytes"):
            simulated_texts(hashed, [text], [1])
    for people in ([1, 2], [-1], [0.5]):
        with pytest.raises(ParameterError, match="people must be 1 integers"):
            simulated_texts(hashed, [b"a"], people)


@pytest.mark.parametrize(
    ("id", "values", "people", "reason"),
    [
        ("grr/1", [3], [1], r"values must lie in \[0, 2\]"),
        ("grr/1", [0, 1], [1], "one number for each"),
        ("grr/1", [0.5], [1], "must be integers"),
        ("grr/1", [1], [-1], "people must be at least 0"),
        ("rr/1", [1], [1], "rows of bits"),
        ("rr/1", [[0, 1]], [1], "3 bits a row"),
        ("rr/1", [[0, 1, 2]], [1], r"values must lie in \[0, 1\]"),
    ],
)
def test_what_nobody_can_answer_is_refused(
    id: str, values: list[object], people: list[int], reason: str
) -> None:
    with pytest.raises(ParameterError, match=reason):
        simulated_tally(built(id), np.array(values), people)
