"""The coins of one epoch's report: from a course and a value to the next course and a payload.

A pure function: nothing is read or written here, and the same course, question and value give the
same report, on this device, its clone or its restored backup.
"""

from __future__ import annotations

from typing import NamedTuple, cast

from deniable_client import keychain
from deniable_client.course import Course
from deniable_client.outcome import Outcome
from deniable_client.question import Encoded, Question
from deniable_client.repeats import Turn
from deniable_shared.coins import Coins
from deniable_shared.mechanisms import Chain

__all__ = ["Tossed", "toss", "tosses"]


class Tossed(NamedTuple):
    """What one epoch came to: `paid` if there was a toss, a report unless the outcome says so."""

    outcome: Outcome
    course: Course
    paid: bool = False
    payload: bytes | None = None
    report_id: bytes = b""


def tosses(course: Course, turn: Turn) -> bool:
    """Whether the turn begins a hold; otherwise its permanent answer is there."""
    return course.permanent is None or course.hold != turn.hold


def toss(
    question: Question, course: Course, turn: Turn, answer: tuple[Encoded, bytes], *, pays: bool
) -> Tossed:
    """The report of an epoch that the rule of repetition does not refuse.

    Where the budget does not pay (`pays`), the last permanent answer serves.
    """
    if not tosses(course, turn):
        outcome = Outcome.HELD if course.tossed == turn.hold else Outcome.REPEATED
        return _renewed(question, course, turn, outcome)
    key = keychain.advance(course.key or b"", turn.hold - course.at)
    settled = course._replace(
        key=keychain.step(key),
        at=turn.hold + 1,
        first=turn.epoch if course.first is None else course.first,
        hold=turn.hold,
        asked=int(_asked(question, key, turn)),
    )
    if not settled.asked:
        return Tossed(Outcome.NOT_SAMPLED, settled)
    if question.manifest.repeat != "memoized":
        return _tossed(question, settled, turn, answer, key)
    if not pays:
        return _renewed(question, settled, turn, Outcome.REPEATED)
    return _permanent(question, settled, turn, answer, key)


def _asked(question: Question, key: bytes, turn: Turn) -> bool:
    if question.sampling is None:
        return True
    coins = keychain.sampling_coins(key, identity=question.identity, hold=turn.hold)
    return coins.bernoulli(question.sampling)


def _tossed(
    question: Question, course: Course, turn: Turn, answer: tuple[Encoded, bytes], key: bytes
) -> Tossed:
    encoded, canonical = answer
    payload = question.mechanism.randomize(encoded, *_coins(question, key, turn, canonical))
    report_id = keychain.report_id(key, collection=question.manifest.collection, epoch=turn.epoch)
    return Tossed(Outcome.QUEUED, course, True, payload, report_id)


def _permanent(
    question: Question, course: Course, turn: Turn, answer: tuple[Encoded, bytes], key: bytes
) -> Tossed:
    encoded, canonical = answer
    chain = cast(Chain, question.mechanism)
    permanent = chain.permanent(encoded, *_coins(question, key, turn, canonical))
    course = course._replace(tossed=turn.hold, permanent=permanent)
    return _renewed(question, course, turn, Outcome.QUEUED)._replace(paid=True)


def _coins(
    question: Question, key: bytes, turn: Turn, canonical: bytes
) -> tuple[Coins, Coins | None]:
    """Those of the value, and those of what is told openly if anything is."""
    identity, hold = question.identity, turn.hold
    coins = keychain.coins(key, identity=identity, hold=hold, value=canonical)
    if not question.open:
        return coins, None
    return coins, keychain.public_coins(key, identity=identity, hold=hold)


def _renewed(question: Question, course: Course, turn: Turn, outcome: Outcome) -> Tossed:
    epoch, permanent = turn.epoch, course.permanent or b""
    begun = epoch if course.epoch_at is None else course.epoch_at
    key = keychain.advance(course.epoch_key or b"", epoch - begun)
    coins = keychain.renewal_coins(
        key, identity=question.identity, epoch=epoch, permanent=permanent
    )
    payload = cast(Chain, question.mechanism).renew(permanent, coins)
    report_id = keychain.report_id(key, collection=question.manifest.collection, epoch=epoch)
    course = course._replace(epoch_key=keychain.step(key), epoch_at=epoch + 1)
    return Tossed(outcome, course, False, payload, report_id)
