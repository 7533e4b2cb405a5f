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
def world(tmp_path: Path) -> Iterator[ReleaseWorld]:
    with opened(tmp_path) as world:
        yield world


def talk(world: ReleaseWorld) -> str:
    """The id of an open session."""
    release = world.releases.release(world.collection, asked("0.4", mechanism="talk"), audit=None)
    assert document(release)["questions"] is True
    return release.row.release


def ask(world: ReleaseWorld, release: str, label: object) -> object:
    answer = world.releases.sessions.ask(world.collection, release, {"label": label}, audit=None)
    assert answer.release == release
    return answer.result


def left(world: ReleaseWorld, release: str) -> int:
    return world.releases.sessions.left(world.collection, release)


def restarted(world: ReleaseWorld) -> ReleaseWorld:
    """Another process over the same store."""
    return ReleaseWorld(world.world, world.collection, world.prepare)


def test_opening_is_charged_once_and_questions_are_free(world: ReleaseWorld) -> None:
    release = talk(world)
    assert talk(world) == release
    for label in (0, 1, 0):
        ask(world, release, label)
    assert world.charges == 1


def test_the_same_question_has_the_same_answer_before_and_after_a_restart(
    world: ReleaseWorld,
) -> None:
    release = talk(world)
    answers = [ask(world, release, label) for label in (0, 1)]
    assert [ask(world, release, label) for label in (0, 1)] == answers
    assert [ask(restarted(world), release, label) for label in (0, 1)] == answers


def test_each_answer_was_kept_before_it_was_shown(world: ReleaseWorld) -> None:
    release = talk(world)
    store = world.world.service.store
    assert store.records(release) == [b"[]"]
    answer = ask(world, release, 1)
    assert isinstance(answer, dict)
    assert store.records(release, 1) == [f"[1, {answer['count']}]".encode()]


def test_two_processes_that_take_turns_tell_one_story_and_draw_nothing_in_vain(
    world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, kept = world.world.service.store, []
    honest = store.add_record

    def watched(release: str, number: int, record: bytes, *, audit: AuditEntry | None) -> bool:
        kept.append(honest(release, number, record, audit=audit))
        return kept[-1]

    monkeypatch.setattr(store, "add_record", watched)
    release = talk(world)
    other = restarted(world)
    first = ask(world, release, 0)
    assert ask(other, release, 0) == first
    second = ask(other, release, 1)
    assert ask(world, release, 1) == second
    assert kept == [True, True]


def test_threads_and_processes_that_ask_at_once_never_show_two_answers(
    world: ReleaseWorld,
) -> None:
    release = talk(world)
    processes = [world, *(restarted(world) for _ in range(4))]
    with ThreadPoolExecutor(20) as pool:
        answers = list(
            pool.map(lambda n: (n % 2, str(ask(processes[n % 5], release, n % 2))), range(60))
        )
    assert len(set(answers)) == 2
    assert len(world.world.service.store.records(release)) == 3


def test_a_session_whose_number_was_taken_is_thrown_away_unshown(
    world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = talk(world)
    other = restarted(world)
    overtaking = [True]
    honest = Conversation.ask

    def overtaken(self: Conversation, question: Mapping[str, object]) -> object:
        if overtaking.pop() if overtaking else False:
            ask(other, release, 0)
        return honest(self, question)

    monkeypatch.setattr(Conversation, "ask", overtaken)
    answer = ask(world, release, 0)
    assert ask(other, release, 0) == answer
    assert len(world.world.service.store.records(release)) == 2


def test_more_sessions_than_are_held_in_memory_go_on_from_their_records(
    world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST_OPEN", 1)
    one = talk(world)
    request = asked("0.1", mechanism="talk", epochs=over(FIRST))
    two = world.releases.release(world.collection, request, audit=None).row.release
    answers = [ask(world, name, 0) for name in (one, two)]
    assert [ask(world, name, 0) for name in (one, two)] == answers


@pytest.mark.parametrize("label", [2, -1, "0", None, 0.0, True, [0]])
def test_a_question_that_is_not_taken_is_refused_and_the_session_goes_on(
    world: ReleaseWorld, label: object
) -> None:
    release = talk(world)
    answer = ask(world, release, 0)
    with pytest.raises(Problem, match="label must be a place from 0 to 1") as caught:
        ask(world, release, label)
    assert caught.value.slug == "invalid-argument"
    assert ask(world, release, 0) == answer


def test_a_new_question_past_the_planned_number_is_refused(
    world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Talk, "questions", 1)
    release = talk(world)
    assert left(world, release) == 1
    answer = ask(world, release, 0)
    assert left(world, release) == 0
    for process in (world, restarted(world)):
        with pytest.raises(Problem, match="has answered the 1 questions") as caught:
            ask(process, release, 1)
        assert caught.value.slug == "conflict"
        assert ask(process, release, 0) == answer
    assert len(world.world.service.store.records(release)) == 2


def test_each_answer_says_how_many_questions_are_left(world: ReleaseWorld) -> None:
    release = talk(world)
    answers = [
        world.releases.sessions.ask(world.collection, release, {"label": label}, audit=None)
        for label in (0, 0, 1, 0)
    ]
    assert [answer.questions_left for answer in answers] == [1, 1, 0, 0]


def test_a_session_with_more_answers_than_planned_goes_on_answering_those(
    world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sessions of earlier versions had no bound."""
    release = talk(world)
    answers = [ask(world, release, label) for label in (0, 1)]
    monkeypatch.setattr(Talk, "questions", 1)
    assert left(world, release) == 0
    assert [ask(restarted(world), release, label) for label in (0, 1)] == answers


def test_questions_at_once_from_all_processes_do_not_pass_the_planned_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Talk, "questions", 3)
    with opened(tmp_path, type="choice", labels=tuple("abcdefgh"), empty=True) as world:
        world.count(FIRST, [bytes([place % 8]) for place in range(16)])
        release = talk(world)
        processes = [world, *(restarted(world) for _ in range(4))]

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
        assert len(world.world.service.store.records(release)) == 1 + 3


def test_a_release_that_opened_nothing_takes_no_questions(world: ReleaseWorld) -> None:
    release = world.releases.release(world.collection, asked(), audit=None).row.release
    with pytest.raises(Problem, match="it opened no session") as caught:
        ask(world, release, 0)
    assert caught.value.slug == "conflict"


def test_a_session_of_another_collection_is_not_found(world: ReleaseWorld) -> None:
    with pytest.raises(Problem, match="has no release"):
        ask(world, "00" * 8, 0)


def test_a_session_of_another_version_of_the_law_ends(world: ReleaseWorld) -> None:
    @dataclass(frozen=True, slots=True)
    class Newer(Talk):
        version: int = 2

    def prepare(
        mechanism: str, arguments: Mapping[str, object], context: ReleaseContext
    ) -> PreparedRelease:
        return Newer(context, Fraction(2, 5))

    release = talk(world)
    newer = ReleaseWorld(world.world, world.collection, prepare)
    with pytest.raises(Problem, match="another version of talk"):
        ask(newer, release, 0)


def test_a_raised_min_batch_does_not_end_a_session_that_was_paid_for(world: ReleaseWorld) -> None:
    release = talk(world)
    answer = ask(world, release, 0)
    world.follow({"min_batch": 99})
    assert ask(world, release, 0) == answer


def test_what_breaks_in_a_question_is_answered_with_one_fixed_sentence(
    world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: Conversation, question: object) -> None:
        raise RuntimeError(f"these are the counts: {self.tallies.counts}")

    release = talk(world)
    monkeypatch.setattr(Conversation, "ask", broken)
    with pytest.raises(Problem) as caught:
        ask(world, release, 0)
    assert (caught.value.slug, caught.value.detail) == ("release-failed", sessions.UNANSWERED)
    assert "counts" not in caplog.text
    monkeypatch.undo()
    assert ask(world, release, 0)


def test_a_crash_before_the_result_leaves_no_record_and_the_session_opens_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as world:
        store = world.world.service.store
        monkeypatch.setattr(store, "store_result", _lost)
        with pytest.raises(Problem, match="at no cost"):
            talk(world)
        [charge] = store.charges(world.collection.id)
        assert store.records(charge.release) == []
        monkeypatch.undo()
        assert talk(world) == charge.release
        assert world.charges == 1


def _lost(*_: object) -> None:
    raise OSError("the disk is gone")
