"""Requests over collections: one spelling, prices before tallies, refusals that help."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.releases.kinds import RELEASE_KINDS, parameters, prepare
from deniable_aggregator.releases.kinds.contract import ReleaseResult
from deniable_central.errors import CentralError
from deniable_shared.domains import Number, Record
from deniable_shared.errors import ParameterError
from support.builders.release_contexts import PRICES, context, neighbours, tallies
from support.builders.small_mechanisms import SMALL, mechanism
from support.doubles.chosen_coins import Fixed
from support.oracles.selection_checks import check_follows
from support.tiers import by_tier

REQUESTS: list[tuple[str, dict[str, object]]] = [
    ("exponential", {"score": "mode", "epsilon": "1"}),
    ("exponential", {"score": "quantile", "epsilon": "1"}),
    ("exponential", {"score": "revenue", "epsilon": "1"}),
    ("exponential", {"score": "threshold", "level": "0.3", "epsilon": "1"}),
    ("noisy-max", {"noise": "geometric", "epsilon": "1"}),
    ("noisy-max", {"noise": "gumbel", "epsilon": "1"}),
    ("top-k", {"k": 3, "epsilon": "1"}),
    ("median", {"epsilon": "1", "delta": "0.4"}),
    ("histogram", {"epsilon": "1"}),
]


def called(value: object) -> str:
    return "-".join(map(str, value.values())) if isinstance(value, Mapping) else str(value)


def request(name: str, arguments: Mapping[str, object], n: int = 3) -> Any:
    return prepare(name, arguments, context(SMALL["grr-4"], n, labels=PRICES))


@pytest.mark.parametrize(("name", "arguments"), REQUESTS, ids=called)
def test_a_plan_has_one_spelling_that_reads_back_as_itself(
    name: str, arguments: dict[str, object]
) -> None:
    first = request(name, arguments)
    again = request(name, first.parameters)
    assert first.parameters == again.parameters
    assert json.loads(json.dumps(first.parameters)) == first.parameters
    assert (first.mechanism, first.version, first.law) == (name, 1, again.law)
    assert {parameter.name for parameter in parameters(name)} >= first.parameters.keys()


def test_equal_requests_are_spelled_alike() -> None:
    alike: list[tuple[object, str]] = [(2, "0.5"), ("2", "0.500")]
    spellings = [request("top-k", {"k": k, "epsilon": epsilon}).parameters for k, epsilon in alike]
    assert spellings[0] == spellings[1] == {"k": 2, "epsilon": "0.5"}
    deltas = ["1e-6", "0.000001", "1.0e-6"]
    requests = [{"epsilon": "01", "delta": delta} for delta in deltas]
    assert {request("median", a).parameters["delta"] for a in requests} == {"1e-6"}


@pytest.mark.deeper
@pytest.mark.parametrize(("name", "arguments"), REQUESTS, ids=called)
def test_neighbours_give_releases_equal_in_every_field_but_the_draw(
    name: str, arguments: dict[str, object]
) -> None:
    release, results = request(name, arguments), dict[str, ReleaseResult]()
    for pair in list(neighbours(SMALL["grr-4"], 3))[: by_tier(5, 40)]:
        for counts in pair:
            drawn = release.draw(tallies(counts, 3))
            assert drawn.error_bars == release.expected
            key = json.dumps(_draw(drawn.result))
            assert results.setdefault(key, drawn) == drawn


def _draw(result: Mapping[str, Any]) -> object:
    """What was drawn, of all that is shown."""
    if "estimates" in result:
        return [row["noisy"] for row in result["estimates"]]
    return result.get("indices", result.get("index"))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [each for each in REQUESTS if each[1].get("noise") != "geometric"],  # breaks its ties
    ids=called,
)
def test_the_same_coins_are_read_whatever_the_tally_holds(
    name: str, arguments: dict[str, object]
) -> None:
    release = request(name, arguments, n=1000)
    read = set()
    for counts in [(1000, 0, 0, 0), (0, 0, 0, 1000), (250, 250, 250, 250)]:
        coins = Fixed(rest=0x6B)
        release.draw(tallies(counts, 1000), coins)
        read.add(coins.read)
    assert len(read) == 1


@pytest.mark.parametrize(("name", "arguments"), REQUESTS, ids=called)
def test_results_are_json_and_bars_are_finite(name: str, arguments: dict[str, object]) -> None:
    release = request(name, arguments, n=1000)
    drawn = release.draw(tallies((500, 300, 150, 50), 1000))
    json.dumps(dict(drawn.result), allow_nan=False)
    ends = [end for bar in drawn.error_bars for end in (bar.lower, bar.upper)]
    assert ends
    assert np.isfinite([end for end in ends if end is not None]).all()


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "arguments"), REQUESTS[:8], ids=called)
def test_draws_follow_the_stated_law(name: str, arguments: dict[str, object]) -> None:
    """2,000 draws, chi-square, rejected at 1e-6."""
    release, counts = request(name, arguments, n=12), tallies((4, 2, 3, 3), 12)

    def draw() -> Any:
        drawn = _draw(release.draw(counts).result)
        if drawn is None and name == "exponential":
            return len(PRICES)  # "none of them" is the last candidate
        return tuple(drawn) if isinstance(drawn, list) else drawn

    check_follows(draw, release.pmf(counts), draws=2000)


def test_none_of_the_labels_is_an_answer_of_threshold() -> None:
    release = request("exponential", {"score": "threshold", "level": "1", "epsilon": "20"}, 4000)
    drawn = release.draw(tallies((1000, 1000, 1000, 1000), 4000))
    assert dict(drawn.result) == {"label": None, "index": None}


def test_a_median_nobody_can_turn_is_released_as_it_is() -> None:
    release = request("median", {"epsilon": "1", "delta": "1e-6"}, 4000)
    drawn = release.draw(tallies((0, 0, 4000, 0), 4000))
    assert drawn.result["label"] == "4"
    assert release.test.distance_for(0.95) == drawn.result["distance_needed"]


@pytest.mark.slow
def test_a_median_on_the_edge_is_withheld_and_the_bar_does_not_tell() -> None:
    release = request("median", {"epsilon": "1", "delta": "1e-6"}, 4000)
    near = next(
        c for c in range(2000) if release.pmf(tallies((c, 4000 - c, 0, 0), 4000)).outcomes[0] == 0
    )
    edge = release.draw(tallies((near, 4000 - near, 0, 0), 4000), Fixed(rest=0x6B))
    far = release.draw(tallies((4000, 0, 0, 0), 4000), Fixed(rest=0x6B))
    assert (edge.result["label"], far.result["label"]) == (None, "1")
    assert edge.error_bars == far.error_bars


REFUSED: list[tuple[str, dict[str, object], str]] = [
    ("exponental", {}, "did you mean exponential"),
    ("histogram", {"epsilom": "1"}, "did you mean epsilon"),
    ("histogram", {}, "histogram needs epsilon"),
    ("histogram", {"epsilon": 0.5}, 'text in quotes, like "0.5", got 0.5'),
    ("histogram", {"epsilon": "nan"}, "decimal"),
    ("histogram", {"epsilon": "21"}, "must lie in"),
    ("exponential", {"epsilon": "1", "score": "median"}, "score must not be 'median'"),
    (
        "exponential",
        {"epsilon": "1", "quantile": "0.5"},
        "needs score quantile, this request has score mode",
    ),
    ("exponential", {"epsilon": "1", "score": "quantile", "quantile": "1"}, r"\(0, 1\)"),
    ("exponential", {"epsilon": "1", "score": "quantile", "quantile": 0.5}, "decimal text"),
    ("exponential", {"epsilon": "1", "score": "threshold", "level": "0"}, r"\(0, 1\]"),
    ("noisy-max", {"epsilon": "1", "noise": "laplace"}, "exponential, geometric, gumbel"),
    ("top-k", {"epsilon": "1", "k": 5}, r"whole number in \[1, 4\]"),
    ("top-k", {"epsilon": "1", "k": True}, "whole number"),
    ("top-k", {"epsilon": "1", "k": 2.0}, "whole number"),
    ("median", {"epsilon": "1"}, "median needs delta"),
    ("median", {"epsilon": "1", "delta": "0"}, "delta must lie in"),
    ("median", {"epsilon": "1", "delta": "1e-30"}, "delta must lie in"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), REFUSED, ids=called)
def test_what_is_no_request_is_refused_with_what_would_be_one(
    name: str, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises((ParameterError, CentralError), match=message):
        request(name, arguments)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (("1", "2", "3", "inf"), "labels that are prices.*'inf'"),
        (("1", "2", "3", "1e9"), "labels that are prices"),
        (("1", "2", "3", "9999999999"), "nine digits"),
        (("1", "2", "3", "4.001"), "two after it"),
        (("1", "3", "2", "4"), "rising order"),
        (("1", "2", "2.00", "4"), "rising order"),
    ],
)
def test_prices_that_are_no_finite_exact_range_are_refused(
    labels: tuple[str, ...], message: str
) -> None:
    given = context(SMALL["grr-4"], 3, labels=labels)
    with pytest.raises(ParameterError, match=message):
        prepare("exponential", {"epsilon": "1", "score": "revenue"}, given)


def test_a_price_range_too_wide_for_exact_integers_is_refused() -> None:
    given = context(SMALL["grr-2"], 10**8, labels=("1", "999999999"))
    with pytest.raises(ParameterError, match="smaller prices or fewer epochs"):
        prepare("exponential", {"epsilon": "1", "score": "revenue"}, given)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("median", {"delta": "1e-6"}),
        ("exponential", {"score": "quantile"}),
        ("exponential", {"score": "revenue"}),
    ],
)
def test_bits_have_no_order_and_are_told_what_to_use(
    name: str, arguments: dict[str, object]
) -> None:
    with pytest.raises(
        ParameterError, match=r"labels in an order.*bits has no order: use mode, thr"
    ):
        prepare(name, {"epsilon": "1", **arguments}, context(SMALL["rr-2"], 3))


def test_numbers_are_ordered_and_records_are_not() -> None:
    steps = Number(Fraction(0), Fraction(3, 2), Fraction(1, 2))
    given = replace(context(SMALL["grr-4"], 3), domain=steps)
    prices = prepare("exponential", {"epsilon": "1", "score": "revenue"}, given)
    assert prepare("median", {"epsilon": "1", "delta": "0.1"}, given).mechanism == "median"
    assert prices.draw(tallies((0, 1, 1, 1), 3)).result["label"] in ("0", "0.5", "1", "1.5")
    both = Record((("os", ("a", "b")), ("beta", ("no", "yes"))))
    with pytest.raises(ParameterError, match="record has no order"):
        prepare("median", {"epsilon": "1", "delta": "0.1"}, replace(given, domain=both))


def test_too_large_domains_are_refused_at_once_with_an_alternative() -> None:
    wide = context(mechanism("grr/1", 5000), 10)
    prices = context(mechanism("grr/1", 600), 10)
    with pytest.raises(ParameterError, match=r"at most 4,096 labels.*use histogram"):
        prepare("median", {"epsilon": "1", "delta": "1e-6"}, wide)
    with pytest.raises(ParameterError, match="at most 512 labels"):
        prepare("exponential", {"epsilon": "1", "score": "revenue"}, prices)
    assert prepare("exponential", {"epsilon": "1"}, wide).mechanism == "exponential"


def test_noise_that_cannot_be_drawn_is_refused_before_the_charge() -> None:
    dear = context(SMALL["grr-2"], 10, labels=("1", "999999999"))
    arguments = {"epsilon": "0.000001", "score": "revenue", "noise": "geometric"}
    with pytest.raises(ParameterError, match="use noise gumbel or exponential"):
        prepare("noisy-max", arguments, dear)


def test_sums_that_one_report_moves_far_need_a_larger_epsilon() -> None:
    """Noise of a decay below 2^−50 is not drawn, so it must not be charged for."""
    wide, n = mechanism("dbitflip/1", 4096, sampled=16), 10
    given = context(wide, n, numbers=True)
    with pytest.raises(ParameterError, match=r"epsilon must be at least 0.000004 here, as one"):
        prepare("mean", {"epsilon": "0.000001"}, given)
    least = prepare("mean", {"epsilon": "0.000004"}, given)
    assert least.draw(tallies((0,) * wide.tally_size, n)).result


def test_one_bit_alone_has_no_mode() -> None:
    with pytest.raises(ParameterError, match="at least 2 labels"):
        prepare("exponential", {"epsilon": "1"}, context(mechanism("rr/1", 1), 3))


@pytest.mark.parametrize("name", sorted(RELEASE_KINDS))
def test_every_family_says_what_it_takes(name: str) -> None:
    taken = parameters(name)
    assert "epsilon" in {parameter.name for parameter in taken}
    assert all(parameter.accepted for parameter in taken)
