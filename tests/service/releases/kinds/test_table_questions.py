"""Questions over records whose reports contain tables: what one report moves, means, errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.releases.kinds import error_simulation, prepare
from deniable_aggregator.releases.kinds.contract import ReleaseContext
from deniable_aggregator.releases.kinds.label_workloads import read_label_set
from deniable_aggregator.releases.kinds.table_questions import TableQuestions
from deniable_central.pmf import Pmf
from deniable_central.queries import OnlinePlan, SessionDemand
from deniable_estimators.simulation import generator, simulated_tally
from deniable_shared.domains import Choice
from deniable_shared.errors import DeniableError, ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.protocols import Mechanism
from support.builders.record_domains import record
from support.builders.release_contexts import Vector, context, neighbours, tallies
from support.builders.small_mechanisms import mechanism
from support.builders.small_readings import TABLES, of_record
from support.oracles.central_queries import binomial_tail
from support.oracles.message_laws import MessageLaw
from support.oracles.mwem_pmf import mwem_pmf
from support.oracles.neighbour_pmfs import check_pure
from support.oracles.online_pmf import online_pmf
from support.oracles.selection_checks import FALSE_ALARM
from support.tiers import by_tier, rows

SMALLEST = {"pairs": of_record("pairs/1", 2, 2), "fourier": of_record("fourier/1", 2, 2)}
N = 1000


def reading(built: Mechanism, n: int = N, **more: Any) -> TableQuestions:
    return TableQuestions.of(context(built, n, **more))


def every_question(questions: TableQuestions) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Each table, and each set of its cells as a row over all combinations."""
    for axes in questions.tables():
        cell_of = questions._cell_of(axes)
        for cells in product((0, 1), repeat=int(cell_of.max()) + 1):
            yield axes, np.array(cells)[cell_of]


@pytest.mark.parametrize("name", sorted(TABLES))
def test_one_report_moves_each_question_by_what_is_stated(name: str) -> None:
    questions = reading(TABLES[name])
    added = MessageLaw(TABLES[name]).tallies
    most, _ = questions.of_any_question(beta=0.05)
    for _, row in every_question(questions):
        answers = added @ questions.weights(row[None])[0][0]
        assert questions.moves(row[None]) == answers.max() - answers.min() <= most
    widest = max(questions.moves(row[None]) for _, row in every_question(questions))
    assert most <= widest * 1.0001


@pytest.mark.parametrize("name", sorted(TABLES))
def test_raw_answers_have_the_mean_of_the_truth(name: str) -> None:
    questions, law = reading(TABLES[name]), MessageLaw(TABLES[name])
    chances = _chances(law)
    for _, row in every_question(questions):
        weights, offsets = questions.weights(row[None])
        means = N * (chances @ law.tallies @ weights[0]) + offsets[0]
        slack = N * questions._counts / 2 + 1
        assert np.abs(means - N * float(questions.gain) * row).max() <= slack


@pytest.mark.parametrize("name", sorted(TABLES))
def test_variances_are_the_largest_of_any_people(name: str) -> None:
    questions, law = reading(TABLES[name]), MessageLaw(TABLES[name])
    shares = np.linspace(0, 1, 201)
    chances = _chances(law)
    for axes, row in every_question(questions):
        if not 0 < row.sum() < len(row):
            continue
        weights, offsets = questions.weights(row[None])
        said = (law.tallies @ weights[0] + offsets[0] / N) / float(questions.gain)
        moments = chances @ said**2
        inside, outside = moments[row == 1].max(), moments[row == 0].max()
        spread = shares * inside + (1 - shares) * outside - shares**2
        cells = questions._question(row)[0], int(questions._question(row)[1].sum())
        if cells[0] == axes:
            assert spread.max() == pytest.approx(questions.variances(axes)[cells[1]], rel=1e-3)


@pytest.mark.parametrize("name", ["pairs-2-2-3-chain", "fourier-2-2-2-chain"])
def test_reports_of_one_device_share_their_permanent_answer(name: str) -> None:
    built = TABLES[name]
    assert isinstance(built, MemoizedChain)
    once, twice = (reading(built, epochs=epochs) for epochs in (1, 2))
    for axes in once.tables():
        own, both = once.variances(axes), twice.variances(axes)
        permanent = TableQuestions.of(context(built.first, N)).variances(axes)
        shared = both - own
        assert (shared <= own + 1e-9).all()
        assert (shared <= permanent * 1.5 + 1e-9).all()


def test_fresh_reports_of_one_device_share_its_answer_alone() -> None:
    """An answer that is 0 or 1 varies by at most a quarter among people."""
    built = of_record("pairs/1", 2, 2)
    once, twice = (reading(built, repeat="fresh", epochs=epochs) for epochs in (1, 2))
    for axes in once.tables():
        own, both = once.variances(axes), twice.variances(axes)
        assert both == pytest.approx(own + np.minimum(own, 0.25))


def coarse(release: Any, gain: Fraction) -> Any:
    """The same release with a coarse unit, so that all noise within reach can be enumerated."""
    return replace(release, reading=replace(release.reading, gain=gain))


@pytest.mark.parametrize("name", sorted(SMALLEST))
def test_no_report_replaced_moves_mwem_by_more_than_epsilon(name: str) -> None:
    built, given = SMALLEST[name], context(SMALLEST[name], 2)
    workload = [{"cells": ["a=l0"]}, {"cells": ["a=l0, b=l1"]}]
    release = coarse(
        prepare("mwem", {"workload": workload, "rounds": 1, "epsilon": "2"}, given), Fraction(1)
    )

    def law(counts: Vector) -> Pmf[Any]:
        return mwem_pmf(release.linear, release.reading.counts(tallies(counts, 2)), reach=9)

    check_pure(law, neighbours(built, 2), release.guarantee)


@pytest.mark.parametrize("name", sorted(SMALLEST))
def test_no_report_replaced_moves_a_small_database_by_more_than_epsilon(name: str) -> None:
    built, given = SMALLEST[name], context(SMALLEST[name], 2)
    request = {"workload": "tables", "alpha": "0.9", "epsilon": "2"}
    release: Any = prepare("small-db", request, given)
    check_pure(
        lambda counts: release.pmf(tallies(counts, 2)), neighbours(built, 2), release.guarantee
    )


@pytest.mark.parametrize("name", sorted(SMALLEST))
def test_no_report_replaced_moves_a_session_by_more_than_epsilon(name: str) -> None:
    built, third = SMALLEST[name], Fraction(2, 3)
    questions = replace(reading(built, 2), gain=Fraction(1))
    moves, _ = questions.of_any_question(beta=0.05)
    demand = SessionDemand(rows=2, domain=4, queries=2, gain=questions.gain, moves=moves)
    session = OnlinePlan(demand, (third, third, third), 1, 2)
    queries = [np.array([1, 1, 0, 0]), np.array([0, 1, 0, 0])]

    def law(counts: Vector) -> Pmf[Any]:
        return online_pmf(session, questions.counts(tallies(counts, 2)), queries, reach=4)

    check_pure(law, neighbours(built, 2), session.guarantee)


@pytest.mark.statistical
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("id", "kind"),
    rows(
        product(["pairs/1", "fourier/1"], ["mwem", "queries"]),
        by_default=[("pairs/1", "mwem"), ("fourier/1", "queries")],
        long=[("pairs/1", "queries"), ("fourier/1", "mwem")],
    ),
)
def test_answers_are_within_the_bar_of_the_truth(id: str, kind: str) -> None:
    """100 releases miss at most 5% each: above 20 is below 1e-6."""
    built, n, draws = of_record(id, 2, 2, 2), 100_000, generator()
    shares = np.array([0.4, 0.2, 0.1, 0.05, 0.05, 0.1, 0.05, 0.05])
    more = {"workload": "tables"} if kind == "mwem" else {"questions": 12}
    release: Any = prepare(kind, {**more, "epsilon": "2"}, context(built, n))
    tables = prepare("mwem", {"workload": "tables", "epsilon": "2"}, context(built, n))
    truth, missed = tables.label_sets.workload.matrix @ shares, 0  # type: ignore[attr-defined]  # an mwem
    assert (release.expected[-1].upper or 1) < 0.6
    for _ in range(100):
        tally = simulated_tally(built, np.arange(8), draws.multinomial(n, shares), draws=draws)
        answers = _answers(release, tallies(tuple(tally.tolist()), n))
        missed += any(
            not low <= true <= high for (low, high), true in zip(answers, truth, strict=True)
        )
    assert binomial_tail(100, 0.05, missed) > FALSE_ALARM


def _answers(release: Any, counted: Any) -> list[tuple[float, float]]:
    """Limits of all cells of all tables."""
    if release.mechanism == "mwem":
        rows = release.draw(counted).result["answers"]
    else:
        session, _ = release.open(counted, list[bytes]().append)
        named = prepare("mwem", {"workload": "tables", "epsilon": "1"}, release.context)
        cells = [name["cell"] for name in named.label_sets.names]  # type: ignore[attr-defined]  # an mwem
        rows = [session.ask({"cells": [cell]}).result for cell in cells]
    return [(row["lower"], row["upper"]) for row in rows]


@pytest.mark.slow
@pytest.mark.deeper
@pytest.mark.parametrize(
    ("id", "kind"),
    rows(
        product(["pairs/1", "fourier/1"], ["mwem", "queries"]),
        by_default=[("fourier/1", "mwem"), ("pairs/1", "queries")],
    ),
)
def test_usual_errors_are_simulated_and_the_same_each_time(
    id: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = by_tier(error_simulation.FEWEST_RUNS, error_simulation.MOST_RUNS)
    monkeypatch.setattr(error_simulation, "MOST_RUNS", runs)
    given = context(of_record(id, 2, 2, 2), 50_000)
    more = {"workload": "tables"} if kind == "mwem" else {"questions": 3}
    release: Any = prepare(kind, {**more, "epsilon": "2"}, given)
    [typical] = release.typical
    assert 0 < typical.median <= typical.p95 < (release.expected[-1].upper or 1)
    assert release.typical == (typical,)


def test_the_same_cells_are_one_question_and_its_answer_survives_a_restart() -> None:
    given = context(of_record("pairs/1", 2, 2, 2), N)
    release: Any = prepare("queries", {"epsilon": "1"}, given)
    tally = tuple([N] + [0] * (given.mechanism.tally_size - 1))
    kept = list[bytes]()
    session, _ = release.open(tallies(tally, N), kept.append)
    answer = session.ask({"cells": ["b=l1, a=l0"]})
    assert answer.result["cells"] == ["a=l0, b=l1"]
    again = release.resume(tallies(tally, N), kept, kept.append)
    assert again.knows({"cells": ["a=l0,b=l1"]})
    assert again.ask({"cells": ["a=l0, b=l1"]}) == answer
    json.dumps(dict(answer.result), allow_nan=False)


def test_cells_are_the_combinations_that_have_their_labels() -> None:
    domain = record(2, 3)
    row, name = read_label_set({"cells": ["b=l2", "b=l0, a=l1"]}, domain)
    assert row.tolist() == [0, 0, 1, 1, 0, 1]
    assert name == {"cells": ["a=l1, b=l0", "b=l2"]}


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        "a=l0",
        ["a=l9"],
        ["a=l0, a=l1"],
        ["nothing"],
        [3],
        ["a=l0 b=l1"],
        ["a=l0, "],
        ["b=l0, "],
        [""],
    ],
)
def test_other_cells_are_refused_with_an_example(wrong: object) -> None:
    with pytest.raises(ParameterError, match="cells must be"):
        read_label_set({"cells": wrong}, record(2, 3))


def test_labels_that_a_record_lacks_are_refused_with_cells_instead() -> None:
    hint = r"own, got 'a=l0': of a record, use cells \(--cells\), like \"a=l0\"$"
    with pytest.raises(ParameterError, match=hint):
        read_label_set({"labels": ["a=l0"]}, record(2, 3))
    with pytest.raises(ParameterError, match=r"own, got 'a=l0'$"):
        read_label_set({"labels": ["a=l0"]}, Choice(("x", "y")))


REFUSED: list[tuple[str, ReleaseContext, dict[str, object], str]] = [
    (
        "mwem",
        context(of_record("pairs/1", 2, 2, 2), N),
        {"workload": "points"},
        "at most 2 attributes, got one about a, b, c: a report of pairs/1",
    ),
    (
        "small-db",
        context(of_record("fourier/1", 2, 2, 2), N),
        {"workload": [{"cells": ["a=l0, b=l0, c=l0"]}], "alpha": "0.5"},
        "at most 2 attributes, got one about a, b, c: a report of fourier/1",
    ),
    ("queries", context(of_record("fourier/1", *[2] * 17), N), {}, "at most 65,536 combinations"),
    ("queries", context(of_record("pairs/1", 40, 40), N), {}, "at most 1,024 cells.*use table"),
    ("queries", context(of_record("pairs/1", 2, 2), 1 << 31), {}, "release fewer epochs"),
    ("mwem", context(mechanism("haar/1", 4), N), {"workload": "points"}, "counts of labels"),
    (
        "queries",
        replace(context(of_record("pairs/1", 2, 2), N), domain=Choice(("a", "b", "c", "d"))),
        {},
        "pairs/1 needs answers that are records",
    ),
]


@pytest.mark.parametrize(("kind", "given", "more", "message"), REFUSED)
def test_what_tables_do_not_answer_is_refused_before_the_charge(
    kind: str, given: ReleaseContext, more: dict[str, object], message: str
) -> None:
    with pytest.raises(DeniableError, match=message):
        prepare(kind, {**more, "epsilon": "1"}, given)


def test_a_question_about_three_attributes_is_refused_and_keeps_nothing() -> None:
    given = context(of_record("pairs/1", 2, 2, 2), N)
    release: Any = prepare("queries", {"epsilon": "1"}, given)
    kept = list[bytes]()
    session, _ = release.open(
        tallies(tuple([N] + [0] * (given.mechanism.tally_size - 1)), N), kept.append
    )
    with pytest.raises(ParameterError, match="at most 2 attributes, got one about a, b, c"):
        session.ask({"cells": ["a=l0, b=l0, c=l0"]})
    assert len(kept) == 1


def test_everybody_and_no_person_are_certain() -> None:
    questions = reading(of_record("pairs/1", 2, 2))
    rows = np.array([[1, 1, 1, 1], [0, 0, 0, 0]])
    weights, offsets = questions.weights(rows)
    assert not weights.any()
    assert offsets.tolist() == [N * questions.gain, 0]
    assert questions.moves(rows) == 0


def _chances(law: MessageLaw) -> Any:
    rows = [law.mechanism.pmf(value) for value in law.inputs]
    return np.array([[float(row[message]) for message in law.messages] for row in rows])
