"""The journal of an online session: JSON, one record for the opening and one for every new answer.

**As secret as the counts**: the opening has the noisy threshold, which is drawn once and decides
the whole session. Records are numbered from 0. Their store must refuse a number that it has
already, so that no two processes spend the same updates.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any

from deniable_central.errors import SessionError
from deniable_central.queries.online_plan import OnlinePlan, SessionDemand

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_central.queries.workload import Integers

FORMAT = "deniable-online/1"


@dataclass(frozen=True, slots=True)
class OpeningRecord:
    """Record 0: the plan, the noisy threshold, and the fingerprint of the counts."""

    plan: OnlinePlan
    noisy_threshold: int
    salt: str
    counts: str

    @classmethod
    def of(
        cls, plan: OnlinePlan, noisy_threshold: int, fingerprint: bytes, salt: bytes
    ) -> OpeningRecord:
        return cls(plan, noisy_threshold, salt.hex(), _keyed(salt, fingerprint))

    def is_of(self, fingerprint: bytes) -> bool:
        """Return whether these are the counts of the session."""
        return _keyed(bytes.fromhex(self.salt), fingerprint) == self.counts

    def to_bytes(self) -> bytes:
        """Return the record as one line of JSON."""
        record = {"number": 0, "format": FORMAT, **asdict(self)}
        return json.dumps(record, default=str, separators=(",", ":")).encode()

    @classmethod
    def read(cls, record: dict[str, Any]) -> OpeningRecord:
        plan, demand = record["plan"], record["plan"]["demand"]
        demand["gain"] = Fraction(demand["gain"])
        one, two, three = map(Fraction, plan["epsilons"])
        whole = OnlinePlan(
            SessionDemand(**demand), (one, two, three), plan["updates"], plan["threshold"]
        )
        return cls(whole, record["noisy_threshold"], record["salt"], record["counts"])


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """A query's key and its permanent answer; with the query itself if it taught."""

    number: int
    key: str
    count: int
    taught: list[int] | None

    def to_bytes(self) -> bytes:
        """Return the record as one line of JSON."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()


def query_key(query: Integers) -> str:
    """Return a key that only the same query has."""
    return sha256(query.astype("<i8").tobytes()).hexdigest()


def read_journal(records: Iterable[bytes]) -> tuple[OpeningRecord, list[AnswerRecord]]:
    """Return the opening and all answers.

    Raises SessionError unless every record is there once, in order.
    """
    answers: list[AnswerRecord] = []
    opening: OpeningRecord | None = None
    for number, text in enumerate(records):
        record = _parsed(text, number)
        try:
            if opening is None:
                opening = OpeningRecord.read(record)
            else:
                answers.append(AnswerRecord(**record))
        except (KeyError, TypeError, ValueError) as error:
            raise SessionError(_unreadable(number)) from error
    if opening is None:
        raise SessionError("a journal must hold its opening at least, got no record")
    return opening, answers


def _parsed(text: bytes, number: int) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except ValueError as error:
        raise SessionError(_unreadable(number)) from error
    if not isinstance(record, dict) or record.get("number") != number:
        raise SessionError(f"journal record {number} is missing, or another is in its place")
    if number == 0 and record.get("format") != FORMAT:
        raise SessionError(f"a journal must begin with an opening of format {FORMAT}")
    return record


def _unreadable(number: int) -> str:
    return (
        f"journal record {number} cannot be read: a record whose writing failed was never answered "
        "and may be dropped if it is the last; any other must be restored"
    )


def _keyed(salt: bytes, fingerprint: bytes) -> str:
    return blake2b(fingerprint, key=salt, digest_size=16).hexdigest()
