"""The order of things: what is valid is charged, then drawn, then kept once, then shown."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.documents.releases import CostDocument
from deniable_aggregator.queries.releases import release, releases
from deniable_aggregator.releases.kinds.contract import (
    PreparedRelease,
    ReleaseContext,
    ReleaseResult,
    Tallies,
)
from deniable_aggregator.releases.service import FAILED
from deniable_aggregator.store.rows import ChargeCheck, ChargeRow
from deniable_central.errors import AccountError
from deniable_central.guarantee import pure_rho
from deniable_gateway.problem import Problem
from deniable_shared.randomness.coins import Coins
from support.builders.release_world import (
    FIRST,
    LAST,
    OPEN,
    ReleaseWorld,
    asked,
    document,
    opened,
    over,
)
from support.doubles.release_plans import Counts


@pytest.fixture
def release_world(tmp_path: Path) -> Iterator[ReleaseWorld]:
    with opened(tmp_path) as release_world:
        yield release_world


def refused(release_world: ReleaseWorld, request: object) -> Problem:
    with pytest.raises(Problem) as caught:
        release_world.releases.release(release_world.collection, request, audit=None)  # type: ignore[arg-type]  # a request, as `asked` makes it
    return caught.value


def test_a_release_shows_its_result_and_everything_that_may_be_said_of_it(
    release_world: ReleaseWorld,
) -> None:
    release = document(
        release_world.releases.release(release_world.collection, asked("0.25"), audit=None)
    )
    assert release["collection"] == release_world.collection.id
    assert (release["mechanism"], release["version"]) == ("counts", 1)
    assert release["parameters"] == {"epsilon": "0.25", "delta": "0"}
    assert (release["epochs"], release["n"]) == ([FIRST, LAST], 10)
    assert (release["unit"], release["adjacency"]) == ("one report", "replace")
    assert release["guarantee"] == {"epsilon": "0.25", "rho": "0.0310883", "delta": "0"}
    assert set(release["result"]) == {"counts"}  # type: ignore[call-overload]  # a document has values of many types
    assert len(release["error_bars"]) == 1  # type: ignore[arg-type]  # a document has values of many types


def test_what_a_cost_is_rounded_to_is_never_below_it(release_world: ReleaseWorld) -> None:
    release = document(
        release_world.releases.release(release_world.collection, asked("0.25"), audit=None)
    )
    exact = pure_rho(Fraction(1, 4))
    printed = Fraction(release["guarantee"]["rho"])  # type: ignore[index]  # a document has values of many types
    assert exact <= printed <= exact * Fraction(100001, 100000)


def test_a_release_is_in_the_log_behind_its_salt(release_world: ReleaseWorld) -> None:
    row = release_world.releases.release(release_world.collection, asked(), audit=None).row
    entry = release_world.service.running.store.log()[-1]
    assert (entry.type, len(row.salt)) == ("release", 32)
    assert entry.body_hash == sha256(row.salt + row.document).digest()


def test_the_same_request_again_is_the_same_release_and_free(release_world: ReleaseWorld) -> None:
    first = release_world.releases.release(release_world.collection, asked("0.5"), audit=None)
    again = release_world.releases.release(
        release_world.collection, asked("0.50", delta="0"), audit=None
    )
    assert (first.new, again.new) == (True, False)
    assert again.row == first.row
    assert release_world.charges == 1


@pytest.mark.slow
def test_one_request_from_fifty_threads_is_charged_and_shown_once(
    release_world: ReleaseWorld,
) -> None:
    with ThreadPoolExecutor(50) as pool:
        releases = list(
            pool.map(
                lambda _: release_world.releases.release(
                    release_world.collection, asked("0.4"), audit=None
                ),
                range(50),
            )
        )
    assert len({each.row.document for each in releases}) == 1
    assert sum(each.new for each in releases) == 1
    assert release_world.charges == 1


@pytest.mark.parametrize(
    "other",
    [
        asked("0.2"),
        asked("0.1", mechanism="talk"),
        asked("0.1", epochs=over(FIRST)),
    ],
)
def test_another_request_pays(release_world: ReleaseWorld, other: object) -> None:
    release_world.releases.release(release_world.collection, asked("0.1"), audit=None)
    assert release_world.releases.release(release_world.collection, other, audit=None).new  # type: ignore[arg-type]  # a request, as `asked` makes it
    assert release_world.charges == 2


def test_another_version_of_a_mechanism_never_answers_from_the_cache(
    tmp_path: Path,
) -> None:
    @dataclass(frozen=True, slots=True)
    class Newer(Counts):
        version: int = 2

    def prepare(
        mechanism: str, arguments: Mapping[str, object], context: ReleaseContext
    ) -> PreparedRelease:
        return Newer(context, Fraction(1, 10))

    with opened(tmp_path) as release_world:
        release_world.releases.release(release_world.collection, asked("0.1"), audit=None)
        newer = ReleaseWorld(release_world.service, release_world.collection, prepare)
        assert newer.releases.release(release_world.collection, asked("0.1"), audit=None).new
        assert newer.charges == 2


@pytest.mark.slow
def test_fifty_releasing_threads_get_no_more_than_the_rest_of_a_budget(
    release_world: ReleaseWorld,
) -> None:
    def ask(number: int) -> bool:
        with suppress(Problem):
            request = asked(f"0.1{number:02d}", epochs=over(FIRST))
            return release_world.releases.release(release_world.collection, request, audit=None).new
        return False

    with ThreadPoolExecutor(50) as pool:
        granted = list(pool.map(ask, range(50)))
    rows = release_world.service.running.store.charges(release_world.collection.id)
    assert 3 <= sum(granted) == len(rows) <= 4
    assert sum(Fraction(row.epsilon or 0) for row in rows) <= Fraction(1, 2)


def test_a_charge_between_decision_and_writing_is_decided_again(
    release_world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = release_world.service.running.store
    honest = store.charge

    def late(row: ChargeRow, decide: ChargeCheck, *, audit: AuditEntry | None) -> ChargeRow:
        monkeypatch.undo()
        release_world.releases.release(release_world.collection, asked("0.3"), audit=None)
        return honest(row, decide, audit=audit)

    monkeypatch.setattr(store, "charge", late)
    assert "0.3 was spent" in refused(release_world, asked("0.4")).detail
    assert release_world.charges == 1


def test_a_request_that_another_process_pays_now_is_not_refused(
    release_world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = release_world.service.running.store
    honest, made = store.charges, []

    def late(collection: str) -> list[ChargeRow]:
        monkeypatch.undo()
        made.append(
            release_world.releases.release(release_world.collection, asked("0.4"), audit=None)
        )
        return honest(collection)

    monkeypatch.setattr(store, "charges", late)
    assert (
        release_world.releases.release(release_world.collection, asked("0.4"), audit=None).row
        == made[0].row
    )
    assert release_world.charges == 1


def test_what_is_gone_is_told_with_what_is_left_and_who_spent_it(
    release_world: ReleaseWorld,
) -> None:
    first = release_world.releases.release(release_world.collection, asked("0.4"), audit=None)
    problem = refused(release_world, asked("0.2", epochs=over(LAST)))
    assert (problem.slug, problem.status) == ("budget-exhausted", 409)
    problem_document = problem.document()
    assert [problem_document[name] for name in ("limit", "spent", "asked", "left")] == [
        "0.5",
        "0.4",
        "0.2",
        "0.1",
    ]
    assert problem_document["releases"] == [first.row.release]
    assert problem.detail == (
        f"epoch {LAST} has epsilon 0.1 of 0.5 left for releases, and this one costs 0.2 "
        f"(0.4 was spent by {first.row.release}): read other epochs, or ask for epsilon 0.1 at most"
    )
    assert release_world.charges == 1


def test_an_installation_pays_for_each_report_it_may_have(tmp_path: Path) -> None:
    more = 'repeat = "fresh"\nepsilon_lifetime = "20"\n'
    central = 'central = { per_epoch = "9", per_installation = "1.5", delta = "0" }\n'
    with opened(tmp_path, more=more, central=central) as release_world:
        release = document(
            release_world.releases.release(release_world.collection, asked("0.5"), audit=None)
        )
        assert release["promise"]["reports"] == 2  # type: ignore[index]  # a document has values of many types
        assert release["promise"]["installation"]["epsilon"] == "1"  # type: ignore[index]  # a document has values of many types
        assert "one installation in epochs" in refused(release_world, asked("0.3")).detail
        assert release_world.releases.release(
            release_world.collection, asked("0.25"), audit=None
        ).new


def test_a_lowered_budget_counts_from_then_on(release_world: ReleaseWorld) -> None:
    release_world.releases.release(release_world.collection, asked("0.4"), audit=None)
    release_world.follow({"central.per_epoch": "0.3"})
    problem = refused(release_world, asked("0.1"))
    assert (problem.extra["limit"], problem.extra["left"]) == ("0.3", "0")


REFUSED = [
    (asked(epochs=over(OPEN)), "epoch-open", f"epoch {OPEN} takes reports until"),
    (asked(epochs=over(FIRST, OPEN)), "epoch-open", "closed epochs only"),
    (asked(epochs=over(FIRST - 1)), "too-few-reports", "0 reports, but 3 are needed"),
    (asked(epochs=over(3)), "invalid-argument", "epochs with tallies"),
    (asked("0.001"), "invalid-argument", "epsilon must lie in [0.01, 20]"),
    (asked(mechanism="guess"), "invalid-argument", "counts, talk"),
]


def test_what_cannot_be_made_is_refused_before_anything_is_charged(
    release_world: ReleaseWorld,
) -> None:
    for request, slug, words in REFUSED:
        problem = refused(release_world, request)
        assert problem.slug == slug, words
        assert words in problem.detail
        assert release_world.charges == 0


def test_fewer_reports_than_min_batch_are_not_released(tmp_path: Path) -> None:
    with opened(tmp_path, min_batch=11) as release_world:
        assert "10 reports, but 11 are needed" in refused(release_world, asked()).detail
        assert release_world.charges == 0


def test_a_quote_says_the_price_and_what_is_left_and_charges_nothing(
    release_world: ReleaseWorld,
) -> None:
    before = release_world.service.digest()
    quote = release_world.releases.quote(release_world.collection, asked("0.2"))
    assert quote.guarantee == CostDocument(epsilon="0.2", rho="0.0199336", delta="0")
    assert quote.budget.epoch.left.epsilon == "0.5"
    assert quote.expected
    assert (quote.stored, quote.refusal) == (None, None)
    assert not hasattr(quote, "result")
    assert release_world.service.digest() == before


def test_a_quote_says_that_a_request_was_paid_for_or_would_not_be_admitted(
    release_world: ReleaseWorld,
) -> None:
    made = release_world.releases.release(
        release_world.collection, asked("0.4"), audit=None
    ).row.release
    assert release_world.releases.quote(release_world.collection, asked("0.4")).stored == made
    assert "0.1 of 0.5 left" in str(
        release_world.releases.quote(release_world.collection, asked("0.2")).refusal
    )


@dataclass(frozen=True, slots=True)
class Broken(Counts):
    """Fails in the draw, with the counts in its words."""

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        raise RuntimeError(f"cannot draw from {tallies.counts.tolist()}")


def broken(
    mechanism: str, arguments: Mapping[str, object], context: ReleaseContext
) -> PreparedRelease:
    return Broken(context, Fraction(1, 10))


def test_a_failure_behind_the_charge_keeps_it_and_says_one_fixed_sentence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(tmp_path, prepare=broken) as release_world, caplog.at_level(logging.DEBUG):
        problem = refused(release_world, asked())
        [charge] = release_world.service.running.store.charges(release_world.collection.id)
        assert (problem.slug, problem.detail) == ("release-failed", FAILED)
        assert problem.__cause__ is None
        mine = [record for record in caplog.records if record.name.startswith("deniable")]
        assert [record.getMessage() for record in mine] == [
            f"release {charge.release} of {release_world.collection.id} failed"
        ]
        assert mine[0].exc_info is None


def test_a_release_without_a_document_is_refused_before_the_charge(
    tmp_path: Path,
) -> None:
    def prepare(
        mechanism: str, arguments: Mapping[str, object], context: ReleaseContext
    ) -> PreparedRelease:
        return Counts(context, Fraction(1, 10), law=object())  # type: ignore[arg-type]  # a law that fails

    with opened(tmp_path, prepare=prepare) as release_world:
        with pytest.raises(TypeError):
            release_world.releases.release(release_world.collection, asked(), audit=None)
        assert release_world.charges == 0


def test_a_failed_request_is_made_later_for_free_under_its_name(
    tmp_path: Path,
) -> None:
    with opened(tmp_path, prepare=broken) as release_world:
        refused(release_world, asked())
        [charge] = release_world.service.running.store.charges(release_world.collection.id)
        assert (
            releases(release_world.service.running.store, release_world.collection)
            .releases[0]
            .state
            == "charged"
        )
        with pytest.raises(Problem, match="charged but not made"):
            release(release_world.service.running.store, release_world.collection, charge.release)
        mended = ReleaseWorld(release_world.service, release_world.collection)
        stored = mended.releases.release(release_world.collection, asked("0.1"), audit=None)
        assert (stored.new, stored.row.release) == (True, charge.release)
        assert mended.charges == 1
        assert (
            releases(release_world.service.running.store, release_world.collection)
            .releases[0]
            .state
            == "made"
        )


def test_a_budget_with_delta_admits_releases_within_half_of_it(tmp_path: Path) -> None:
    central = 'central = { per_epoch = "1", per_installation = "2", delta = "0.000004" }\n'
    with opened(tmp_path, central=central) as release_world:
        for epsilon in ("0.1", "0.11"):
            release_world.releases.release(
                release_world.collection, asked(epsilon, delta="1/1000000"), audit=None
            )
        problem = refused(release_world, asked("0.12", delta="1/1000000"))
        assert (problem.extra["currency"], problem.extra["left"]) == ("delta", "0")


def test_what_the_account_does_not_take_is_refused_and_nothing_charged(
    release_world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise AccountError("deltas must add up to less than 1")

    monkeypatch.setattr("deniable_aggregator.releases.service._BudgetCheck.__call__", refuse)
    assert refused(release_world, asked()).slug == "invalid-argument"
    assert release_world.charges == 0


def test_what_cannot_be_said_of_a_release_is_refused_before_the_charge(
    release_world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unspeakable(*arguments: object, **named: object) -> None:
        raise AccountError("local must lie in (0, 20]")

    monkeypatch.setattr("deniable_aggregator.releases.service.planned_document", unspeakable)
    assert refused(release_world, asked()).slug == "invalid-argument"
    assert release_world.charges == 0
