"""Mechanisms that tell a mean: exactly private, exactly unbiased, of the variance they state."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from deniable_shared.domains import Number
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms import Chain, Mechanism, build, for_domain
from deniable_shared.mechanisms.discrete_piecewise import (
    PiecewiseMean,
    best_window,
    worst_variance,
)
from deniable_shared.mechanisms.optimal_mean import OptimalMean, best_shape, worst_case
from deniable_shared.mechanisms.windowed_mean import WindowedMean, moments
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import at_most_exp
from support.oracles.privacy_checks import (
    EACH_EPSILON,
    check_follows_pmf,
    check_private,
    check_tight,
    largest_ratio,
    laws,
    with_threshold,
)
from support.tiers import by_tier, grid, rows

IDS = ("duchi/1", "discrete-piecewise/1", "optimal-mean/1")
SHAPES: list[dict[str, int]] = [{}, {"outputs": 3, "window": 1}, {"outputs": 7, "window": 5}]
CASES: list[tuple[str, int, dict[str, int]]] = [("duchi/1", d, {}) for d in (2, 3, 6)]
CASES += [("discrete-piecewise/1", d, shape) for d in (2, 4) for shape in SHAPES]
SMALL: dict[str, dict[str, int]] = {
    "duchi/1": {},
    "discrete-piecewise/1": {"outputs": 5, "window": 3},
    "optimal-mean/1": {"odds": 200_000, "outputs": 5, "window": 2},
}
FITTED = [{}, SMALL["optimal-mean/1"]]
CASES += [("optimal-mean/1", d, shape) for d in (2, 4) for shape in FITTED]
WINDOW = CASES[6]
"""Of four values, as the mechanism itself chooses it: up to half a minute."""
QUICK = [CASES[3], *(case for case in CASES[::2] if case != WINDOW)]


def made(id: str, d: int, shape: dict[str, int], epsilon: Fraction) -> Mechanism:
    return build(id, domain_size=d, epsilon=epsilon, **shape)


@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=str)
@pytest.mark.parametrize(
    ("id", "d", "shape"), rows(CASES, by_default=QUICK, long=[WINDOW]), ids=str
)
def test_no_payload_tells_two_answers_apart_by_more_than_e_to_the_epsilon(
    id: str, d: int, shape: dict[str, int], epsilon: Fraction
) -> None:
    mechanism = made(id, d, shape, epsilon)
    of = laws(mechanism, range(d))
    check_private(of, epsilon)
    check_follows_pmf(mechanism, range(d))
    if epsilon <= 4:
        check_tight(of, epsilon)
    raised = with_threshold(mechanism, mechanism.threshold + 1)
    assert not at_most_exp(largest_ratio([raised.pmf(value) for value in range(d)]), epsilon)


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("steps", [1, 4, 13])
def test_the_mean_is_exactly_unbiased(id: str, steps: int) -> None:
    mechanism = build(id, domain_size=steps + 1, epsilon="1.5")
    for value in range(steps + 1):
        assert position(mechanism, value) == Fraction(value, steps)


def position(mechanism: Mechanism, value: int) -> Fraction:
    """What the estimator makes of the expected output."""
    law = mechanism.pmf(value)
    if not isinstance(mechanism, WindowedMean):
        return (law[b"\1"] - mechanism.q) / (mechanism.p - mechanism.q)
    scores, window = mechanism.scores, mechanism.window
    mean = sum(scores[payload[0]] * chance for payload, chance in law.items())
    gain = (mechanism.p - mechanism.q) / window * sum(scores[mechanism.outputs - window :])
    return Fraction(1, 2) + mean / gain / 2


@pytest.mark.deeper
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2), Fraction(4)], ids=str)
@pytest.mark.parametrize(("outputs", "window"), [(3, 1), (7, 3), (31, 9)])
def test_the_worst_variance_bounds_that_of_every_answer_and_little_more(
    epsilon: Fraction, outputs: int, window: int
) -> None:
    mechanism = build(
        "discrete-piecewise/1", domain_size=61, epsilon=epsilon, outputs=outputs, window=window
    )
    gain = (mechanism.p - mechanism.q) * Fraction(outputs - window, 2)
    variances = []
    for value in range(0, 61, by_tier(3, 1)):
        law = mechanism.pmf(value)
        moment = sum((y[0] - Fraction(outputs - 1, 2)) ** 2 * p for y, p in law.items())
        variances.append(moment / gain**2 - (Fraction(2 * value, 60) - 1) ** 2)
    bound = worst_variance(epsilon, outputs, window)
    assert max(variances) <= bound <= max(variances) + Fraction(2, outputs - window) ** 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "hybrid"),
    rows([("3", 0.432), ("4", 0.219), ("6", 0.0704)], by_default=[("3", 0.432)]),
)
def test_from_three_on_the_worst_variance_is_below_the_hybrid_mechanism(
    epsilon: str, hybrid: float
) -> None:
    assert worst_variance(Fraction(epsilon), *best_window(Fraction(epsilon))) < hybrid


def test_a_manifest_pins_the_window_of_one_report_also_for_a_chain() -> None:
    chain = build("discrete-piecewise/1", domain_size=9, epsilon="3", permanent="6")
    plain = build("discrete-piecewise/1", domain_size=9, epsilon="3")
    assert isinstance(plain, PiecewiseMean)
    first = getattr(chain, "first")  # noqa: B009  (a Chain does not promise it)
    assert (
        (first.outputs, first.window) == (plain.outputs, plain.window) == best_window(Fraction(3))
    )


@pytest.mark.parametrize("id", IDS)
def test_a_chain_of_means_costs_what_it_says(id: str) -> None:
    shape = SMALL[id]
    chain: Chain = build(id, domain_size=3, epsilon="1", permanent="2", **shape)
    check_private([chain.pmf(value) for value in range(3)], Fraction(1))
    check_tight([chain.pmf(value) for value in range(3)], Fraction(1))
    for epochs in (2, 3):
        histories = [chain.pmf_history([value] * epochs) for value in range(3)]
        largest = max(
            max(h[y] for h in histories) / min(h[y] for h in histories) for y in histories[0]
        )
        assert at_most_exp(largest, Fraction(2))


@pytest.mark.parametrize("id", IDS)
def test_a_mean_is_asked_of_numbers_alone(id: str) -> None:
    minutes = Number(Fraction(0), Fraction(240), Fraction(5))
    assert for_domain(id, minutes, Fraction(1)).domain_size == 49


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("value", [-1, 9, "3", None, (0, 1)], ids=repr)
def test_what_is_no_index_is_refused(id: str, value: object) -> None:
    with pytest.raises(DomainError):
        build(id, domain_size=9, epsilon="1").randomize(value, Coins.derive(b"k"))  # type: ignore[arg-type]  # a wrong type is the point


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("payload", [b"", b"\x80", b"\0\0", b"\xff"], ids=repr)
def test_what_is_no_output_is_refused(id: str, payload: bytes) -> None:
    with pytest.raises(DecodeError, match=r"payload must (be 1 bytes|hold a number in)"):
        build(id, domain_size=9, epsilon="1").validate(payload)


FIT = {"odds": 200_000, "outputs": 5, "window": 2}


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ({"outputs": 5, "window": 2}, "odds, outputs and window together"),
        (FIT | {"outputs": 33}, r"outputs must lie in \[2, 32\], got 33"),
        (FIT | {"window": 3}, r"window must lie in \[1, outputs/2\], got 3"),
        (FIT | {"window": 0}, r"window must lie in \[1, outputs/2\], got 0"),
        (FIT | {"odds": 65_536}, r"odds must lie in \(65536, 35184372088832\], got 65536"),
        (FIT | {"odds": 2**46}, "odds must lie in"),
        ({"odds": 10**13, "outputs": 31, "window": 13}, "scores that rise at these outputs"),
    ],
)
def test_scores_that_cannot_be_are_refused(shape: dict[str, int], reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        build("optimal-mean/1", domain_size=9, epsilon="1", **shape)


@pytest.mark.parametrize("epsilon", grid(["0.01", "1", "4", "20"], by_default=["1", "4"]))
def test_scores_mirror_each_other_and_no_answer_is_told_much_worse(epsilon: str) -> None:
    mechanism = build("optimal-mean/1", domain_size=2, epsilon=epsilon)
    assert isinstance(mechanism, OptimalMean)
    assert list(mechanism.scores) == [-score for score in reversed(mechanism.scores)]
    starts = moments(mechanism.scores, mechanism.window, mechanism.p)
    variances = [moment - place * place for place, moment in starts[1:-1]]
    worst = worst_case(Fraction(epsilon))
    assert worst - min(variances) <= max(b[0] - a[0] for a, b in pairwise(starts)) ** 2 / 2
    assert max(variances) <= worst


@pytest.mark.slow
@pytest.mark.deeper
def test_the_worst_case_is_that_of_every_answer_between_and_is_reached() -> None:
    mechanism = build("optimal-mean/1", domain_size=2001, epsilon="2")
    assert isinstance(mechanism, OptimalMean)
    unit = (mechanism.p - mechanism.q) / mechanism.window * sum(mechanism.scores[-10:])
    assert mechanism.window == 10
    variances = []
    for value in range(0, 1001, by_tier(4, 1)):
        law = mechanism.pmf(value)
        moment = sum(mechanism.scores[y[0]] ** 2 * chance for y, chance in law.items())
        variances.append(moment / unit**2 - (Fraction(2 * value, 2000) - 1) ** 2)
    assert max(variances) <= worst_case(Fraction(2)) <= max(variances) * Fraction(1001, 1000)


def test_scores_are_those_of_one_report_also_for_a_chain() -> None:
    chain = build("optimal-mean/1", domain_size=9, epsilon="3", permanent="6")
    plain = build("optimal-mean/1", domain_size=9, epsilon="3")
    first = getattr(chain, "first")  # noqa: B009  (a Chain does not promise it)
    assert isinstance(plain, OptimalMean)
    assert first.scores == plain.scores
    assert (first.outputs, first.window, first.odds) == best_shape(Fraction(3))


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ({"outputs": 7}, "outputs and window together"),
        ({"outputs": 6, "window": 3}, "outputs must be odd"),
        ({"outputs": 129, "window": 3}, r"in \[3, 127\], got 129"),
        ({"outputs": 7, "window": 7}, r"in \[1, 5\], got 7"),
        ({"outputs": 7, "window": 2}, "window must be odd"),
    ],
)
def test_shapes_that_cannot_be_are_refused(shape: dict[str, int], reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        build("discrete-piecewise/1", domain_size=9, epsilon="1", **shape)
