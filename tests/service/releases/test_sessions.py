"""Sessions: opened once, asked for free, restarted anywhere, and no number kept twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.releases import sessions
from deniable_aggregator.releases.kinds.contract import PreparedRelease, ReleaseContext
from deniable_gateway.problem import Problem
from support.builders.release_world import FIRST, ReleaseWorld, asked, document, opened, over
from support.doubles.release_plans import Conversation, Talk


@pytest.fixture
def release_world(tmp_path: Path) -> Iterator[ReleaseWorld]:
    with opened(tmp_path) as release_world:
        yield release_world


def talk(release_world: ReleaseWorld) -> str:
    """The id of an open session."""
    release = release_world.releases.release(
        release_world.collection, asked("0.4", mechanism="talk"), audit=None
    )
    assert document(release)["questions"] is True
    return release.row.release


def ask(release_world: ReleaseWorld, release: str, label: object) -> object:
    answer = release_world.releases.sessions.ask(
        release_world.collection, release, {"label": label}, audit=None
    )
    assert answer.release == release
    return answer.result


def left(release_world: ReleaseWorld, release: str) -> int:
    return release_world.releases.sessions.left(release_world.collection, release)


def restarted(release_world: ReleaseWorld) -> ReleaseWorld:
    """Another process over the same store."""
    return ReleaseWorld(release_world.service, release_world.collection, release_world.prepare)


def test_opening_is_charged_once_and_questions_are_free(release_world: ReleaseWorld) -> None:
    release = talk(release_world)
    assert talk(release_world) == release
    for label in (0, 1, 0):
        ask(release_world, release, label)
    assert release_world.charges == 1


@pytest.mark.slow
def test_the_same_question_has_the_same_answer_before_and_after_a_restart(
    release_world: ReleaseWorld,
) -> None:
    release = talk(release_world)
    answers = [ask(release_world, release, label) for label in (0, 1)]
    assert [ask(release_world, release, label) for label in (0, 1)] == answers
    assert [ask(restarted(release_world), release, label) for label in (0, 1)] == answers


def test_each_answer_was_kept_before_it_was_shown(release_world: ReleaseWorld) -> None:
    release = talk(release_world)
    store = release_world.service.running.store
    assert store.records(release) == [b"[]"]
    answer = ask(release_world, release, 1)
    assert isinstance(answer, dict)
    assert store.records(release, 1) == [f"[1, {answer['count']}]".encode()]


def test_two_processes_in_turn_give_one_history_without_lost_draws(
    release_world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, kept = release_world.service.running.store, []
    honest = store.add_record

    def watched(release: str, number: int, record: bytes, *, audit: AuditEntry | None) -> bool:
        kept.append(honest(release, number, record, audit=audit))
        return kept[-1]

    monkeypatch.setattr(store, "add_record", watched)
    release = talk(release_world)
    other = restarted(release_world)
    first = ask(release_world, release, 0)
    assert ask(other, release, 0) == first
    second = ask(other, release, 1)
    assert ask(release_world, release, 1) == second
    assert kept == [True, True]


@pytest.mark.slow
def test_threads_and_processes_that_ask_at_once_never_show_two_answers(
    release_world: ReleaseWorld,
) -> None:
    release = talk(release_world)
    processes = [release_world, *(restarted(release_world) for _ in range(4))]
    with ThreadPoolExecutor(20) as pool:
        answers = list(
            pool.map(lambda n: (n % 2, str(ask(processes[n % 5], release, n % 2))), range(60))
        )
    assert len(set(answers)) == 2
    assert len(release_world.service.running.store.records(release)) == 3


def test_a_session_whose_number_was_taken_is_thrown_away_unshown(
    release_world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = talk(release_world)
    other = restarted(release_world)
    overtaking = [True]
    honest = Conversation.ask

    def overtaken(self: Conversation, question: Mapping[str, object]) -> object:
        if overtaking.pop() if overtaking else False:
            ask(other, release, 0)
        return honest(self, question)

    monkeypatch.setattr(Conversation, "ask", overtaken)
    answer = ask(release_world, release, 0)
    assert ask(other, release, 0) == answer
    assert len(release_world.service.running.store.records(release)) == 2


def test_more_sessions_than_are_held_in_memory_go_on_from_their_records(
    release_world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST_OPEN", 1)
    one = talk(release_world)
    request = asked("0.1", mechanism="talk", epochs=over(FIRST))
    two = release_world.releases.release(release_world.collection, request, audit=None).row.release
    answers = [ask(release_world, name, 0) for name in (one, two)]
    assert [ask(release_world, name, 0) for name in (one, two)] == answers


def test_a_question_that_is_not_taken_is_refused_and_the_session_goes_on(
    release_world: ReleaseWorld,
) -> None:
    release = talk(release_world)
    answer = ask(release_world, release, 0)
    for label in (2, -1, "0", None, 0.0, True, [0]):
        with pytest.raises(Problem, match="label must be a place from 0 to 1") as caught:
            ask(release_world, release, label)
        assert caught.value.slug == "invalid-argument", label
        assert ask(release_world, release, 0) == answer, label


def test_a_new_question_past_the_planned_number_is_refused(
    release_world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Talk, "questions", 1)
    release = talk(release_world)
    assert left(release_world, release) == 1
    answer = ask(release_world, release, 0)
    assert left(release_world, release) == 0
    for process in (release_world, restarted(release_world)):
        with pytest.raises(Problem, match="has answered the 1 questions") as caught:
            ask(process, release, 1)
        assert caught.value.slug == "conflict"
        assert ask(process, release, 0) == answer
    assert len(release_world.service.running.store.records(release)) == 2


@pytest.mark.slow
def test_each_answer_says_how_many_questions_are_left(release_world: ReleaseWorld) -> None:
    release = talk(release_world)
    answers = [
        release_world.releases.sessions.ask(
            release_world.collection, release, {"label": label}, audit=None
        )
        for label in (0, 0, 1, 0)
    ]
    assert [answer.questions_left for answer in answers] == [1, 1, 0, 0]


def test_a_session_with_more_answers_than_planned_goes_on_answering_those(
    release_world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sessions of earlier versions had no bound."""
    release = talk(release_world)
    answers = [ask(release_world, release, label) for label in (0, 1)]
    monkeypatch.setattr(Talk, "questions", 1)
    assert left(release_world, release) == 0
    assert [ask(restarted(release_world), release, label) for label in (0, 1)] == answers


@pytest.mark.slow
def test_concurrent_questions_never_exceed_the_planned_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Talk, "questions", 3)
    with opened(tmp_path, type="choice", labels=tuple("abcdefgh"), empty=True) as release_world:
        release_world.count(FIRST, [bytes([place % 8]) for place in range(16)])
        release = talk(release_world)
        processes = [release_world, *(restarted(release_world) for _ in range(4))]

        refused = set()

        def asking(number: int) -> bool:
            for _ in range(100):
                try:
                    ask(processes[number % 5], release, number % 8)
                except Problem as problem:
                    if problem.slug != "unavailable":
                        refused.add(problem.slug)
                        return False
                else:
                    return True
            raise AssertionError("never answered")

        with ThreadPoolExecutor(20) as pool:
            answered = list(pool.map(asking, range(40)))
        assert any(answered)
        assert refused == {"conflict"}
        assert len(release_world.service.running.store.records(release)) == 1 + 3


def test_a_release_that_opened_nothing_takes_no_questions(release_world: ReleaseWorld) -> None:
    release = release_world.releases.release(
        release_world.collection, asked(), audit=None
    ).row.release
    with pytest.raises(Problem, match="it opened no session") as caught:
        ask(release_world, release, 0)
    assert caught.value.slug == "conflict"


def test_a_session_of_another_collection_is_not_found(release_world: ReleaseWorld) -> None:
    with pytest.raises(Problem, match="has no release"):
        ask(release_world, "00" * 8, 0)


def test_a_session_of_another_version_of_the_law_ends(release_world: ReleaseWorld) -> None:
    @dataclass(frozen=True, slots=True)
    class Newer(Talk):
        version: int = 2

    def prepare(
        mechanism: str, arguments: Mapping[str, object], context: ReleaseContext
    ) -> PreparedRelease:
        return Newer(context, Fraction(2, 5))

    release = talk(release_world)
    newer = ReleaseWorld(release_world.service, release_world.collection, prepare)
    with pytest.raises(Problem, match="another version of talk"):
        ask(newer, release, 0)


def test_a_raised_min_batch_does_not_end_a_session_that_was_paid_for(
    release_world: ReleaseWorld,
) -> None:
    release = talk(release_world)
    answer = ask(release_world, release, 0)
    release_world.follow({"min_batch": 99})
    assert ask(release_world, release, 0) == answer


def test_what_breaks_in_a_question_is_answered_with_one_fixed_sentence(
    release_world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: Conversation, question: object) -> None:
        raise RuntimeError(f"these are the counts: {self.tallies.counts}")

    release = talk(release_world)
    monkeypatch.setattr(Conversation, "ask", broken)
    with pytest.raises(Problem) as caught:
        ask(release_world, release, 0)
    assert (caught.value.slug, caught.value.detail) == ("release-failed", sessions.UNANSWERED)
    assert "counts" not in caplog.text
    monkeypatch.undo()
    assert ask(release_world, release, 0)


def test_after_a_crash_before_the_result_the_session_opens_for_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as release_world:
        store = release_world.service.running.store
        monkeypatch.setattr(store, "store_result", _lost)
        with pytest.raises(Problem, match="free of charge"):
            talk(release_world)
        [charge] = store.charges(release_world.collection.id)
        assert store.records(charge.release) == []
        monkeypatch.undo()
        assert talk(release_world) == charge.release
        assert release_world.charges == 1


def _lost(*_: object) -> None:
    raise OSError("the disk is gone")


def test_a_session_that_others_ask_all_the_time_is_to_be_asked_again(
    release_world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, other = talk(release_world), restarted(release_world)
    monkeypatch.setattr(sessions, "ATTEMPTS", 2)
    honest, labels = Conversation.ask, iter([1, 0])

    def overtaken(self: Conversation, question: Mapping[str, object]) -> object:
        with monkeypatch.context() as patch:
            patch.setattr(Conversation, "ask", honest)
            ask(other, release, next(labels))
        return honest(self, question)

    monkeypatch.setattr(Conversation, "ask", overtaken)
    with pytest.raises(Problem, match="other processes are asking release") as problem:
        ask(release_world, release, 0)
    assert (problem.value.slug, problem.value.retry_after) == ("unavailable", 1)


def test_a_session_over_deleted_tallies_takes_no_more_questions(
    release_world: ReleaseWorld,
) -> None:
    release = talk(release_world)
    ask(release_world, release, 0)
    store, collection = release_world.service.running.store, release_world.collection
    assert store.expire_epoch(collection.id, FIRST, release_world.service.clock())
    with pytest.raises(Problem, match="read epochs whose tallies are deleted"):
        ask(release_world, release, 1)
