"""One report on its way: sealed late, sent once or twice, and what the answer makes of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from deniable_client import actions, manifests, outbox
from deniable_client.actions import Action
from deniable_client.address import Address, route
from deniable_client.errors import (
    ClientError,
    HaltedError,
    RefusedError,
    RejectedError,
    TransportError,
)
from deniable_client.keyring import Keyring
from deniable_client.line import Line
from deniable_client.outbox import Parcel, Waiting
from deniable_client.state import State
from deniable_client.transport import Reply
from deniable_client.vouching import Vouchers, extensions_for
from deniable_shared.coins import Coins
from deniable_shared.envelope import seal
from deniable_shared.epochs import Clock
from deniable_shared.errors import EnvelopeError
from deniable_shared.keylist import PublicKey
from deniable_shared.problems import ReportError
from deniable_shared.replies import field_of, read_problem, read_statuses
from deniable_shared.report import (
    MEDIA_TYPE,
    Extension,
    Plaintext,
    Report,
    ReportHeader,
    encode_upload,
    padded_size,
    seal_info,
)

__all__ = ["Answer", "Courier", "Delivered"]

_JITTER_STEPS = 1 << 32
_BUSY = ("too-many-requests", "unavailable")
_KEEPING = (Action.BACK_OFF, Action.LATER, Action.RESEAL, Action.AWAIT_VOUCHER)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reply means for one report: the action, why, and Retry-After in seconds.

    `date` is the Date of the reply, if the reply is the aggregator's own.
    """

    action: Action
    problem: str = ""
    retry_after: float | None = None
    date: str = ""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What became of one row in one run."""

    sent: int = 0
    accepted: int = 0
    dropped: int = 0
    stop: bool = False
    problem: ClientError | None = None
    date: str = ""


class FetchManifest(Protocol):
    """Asks for a collection's newest manifest, at the address that was tried last."""

    def __call__(
        self, name_or_id: str, line: Line, *, tried: Address | None = None
    ) -> ClientError | None:
        """The reason if there is none or it is refused."""


class Courier:
    """Sends rows of the outbox, one by one; nothing here tosses a coin over a payload."""

    def __init__(
        self,
        state: State,
        *,
        addresses: Sequence[Address],
        keyring: Keyring,
        fetch_manifest: FetchManifest,
        vouchers: Vouchers | None,
        clock: Clock,
    ) -> None:
        self._state = state
        self._addresses = addresses
        self._keyring = keyring
        self._fetch_manifest = fetch_manifest
        self._vouchers = vouchers
        self._clock = clock

    def deliver(self, row: Waiting, line: Line) -> Delivered:
        """Seal and send one row; a ClientError when there is no key to seal to."""
        places = self._places(row)
        key = self._keyring.active(line, places)
        with self._state.reading() as db:
            parcel = outbox.open_parcel(db, row.collection, row.epoch)
            required = parcel and manifests.required(db, row.collection, parcel.manifest_version)
        if parcel is None:
            return Delivered()
        try:
            extensions = extensions_for(required or (), row.collection, row.epoch, self._vouchers)
        except RefusedError as error:
            return self._conclude(parcel, Answer(Action.AWAIT_VOUCHER, str(error)), 0, line)
        answer, sent = self._send(parcel, extensions, key, line, places[0])
        if answer is not None and answer.action is Action.RESEAL:
            answer, again = self._reseal(parcel, extensions, line, places)
            sent += again
        if answer is None:
            return Delivered(sent)
        if len(places) > 1 and sent and _may_have_moved(answer):
            self._fetch_manifest(parcel.collection, line, tried=places[0])
        return self._conclude(parcel, answer, sent, line)

    def _places(self, row: Waiting) -> Sequence[Address]:
        """The addresses in the order of this attempt: the first takes the report."""
        if len(self._addresses) == 1:
            return self._addresses
        with self._state.reading() as db:
            return route(self._addresses, manifests.ingest(db, row.collection), row.attempts)

    def _send(
        self,
        parcel: Parcel,
        extensions: tuple[Extension, ...],
        key: PublicKey,
        line: Line,
        address: Address,
    ) -> tuple[Answer | None, int]:
        """The answer and the number of requests made; None if the row may not be sent any more."""
        url = address.reports(parcel.collection)
        try:
            request = _sealed(parcel, extensions, key)
        except EnvelopeError as error:
            return Answer(Action.BACK_OFF, str(error)), 0
        with self._state.transaction(durable=True) as db:
            marked = outbox.mark_sending(db, parcel, request)
        if marked is None:
            return None, 0
        try:
            return read_reply(line.post(url, request, MEDIA_TYPE), parcel.report_id), 1
        except TransportError as error:
            return Answer(Action.BACK_OFF, str(error)), 1

    def _reseal(
        self,
        parcel: Parcel,
        extensions: tuple[Extension, ...],
        line: Line,
        places: Sequence[Address],
    ) -> tuple[Answer | None, int]:
        try:
            key = self._keyring.renew(line, places)
            return self._send(parcel, extensions, key, line, places[0])
        except (TransportError, RefusedError, HaltedError) as error:
            return Answer(Action.BACK_OFF, str(error)), 0

    def _conclude(self, parcel: Parcel, answer: Answer, sent: int, line: Line) -> Delivered:
        problem = self._problem(parcel, answer, line)
        with self._state.transaction() as db:
            dropped = self._write(db, parcel, answer)
        return Delivered(
            sent=sent,
            accepted=int(answer.action is Action.DONE),
            dropped=dropped,
            stop=answer.action is Action.DROP_AND_STOP,
            problem=problem,
            date=answer.date,
        )

    def _problem(self, parcel: Parcel, answer: Answer, line: Line) -> ClientError | None:
        if answer.action is Action.DONE:
            return None
        where = f"{parcel.collection}, epoch {parcel.epoch}"
        if answer.action in _KEEPING:
            return TransportError(f"{where}: {answer.problem}")
        if answer.action is Action.FETCH_MANIFEST:
            refusal = self._fetch_manifest(parcel.collection, line)
            where += f"; {refusal}" if refusal else ""
        return RejectedError(answer.problem, where)

    def _write(self, db: sqlite3.Connection, parcel: Parcel, answer: Answer) -> int:
        if answer.action is Action.DONE:
            outbox.finish(db, parcel)
            return 0
        if answer.action is Action.DROP_COLLECTION:
            return outbox.drop_collection(db, parcel.collection, answer.problem)
        if answer.action in _KEEPING:
            self._postpone(db, parcel, answer)
            return 0
        return outbox.drop(db, parcel, answer.problem)

    def _postpone(self, db: sqlite3.Connection, parcel: Parcel, answer: Answer) -> None:
        now = self._clock()
        asked = actions.TOO_EARLY_SECONDS if answer.action is Action.LATER else answer.retry_after
        wait = min(asked or 0.0, actions.BACK_OFF_CAP_SECONDS)
        jitter = _below(actions.back_off_span(parcel.attempts + 1))
        if answer.action is Action.RESEAL:
            jitter = 0.0  # the next wake-up is the wait
        if answer.action is Action.AWAIT_VOUCHER:
            jitter = _below(actions.VOUCHER_SPAN_SECONDS)
        outbox.postpone(db, parcel, retry_at=now + wait + jitter, floor=now + wait if wait else 0.0)


def _may_have_moved(answer: Answer) -> bool:
    """Whether this address took no report and did not merely ask for patience."""
    return answer.action is Action.BACK_OFF and answer.problem not in _BUSY


def read_reply(reply: Reply, report_id: bytes) -> Answer:
    """The answer to a request with this one report."""
    statuses = read_statuses(reply.status, reply.headers, reply.body)
    if statuses is None:
        return _refused(reply)
    if any(status.report_id != report_id for status in statuses):
        return Answer(Action.BACK_OFF, "the answer is about another report")
    date = field_of(reply.headers, "date")
    if not statuses:
        return Answer(Action.DONE, date=date)
    code = statuses[0].error
    return Answer(actions.for_code(code), _code_slug(code), reply.retry_after, date)


def _refused(reply: Reply) -> Answer:
    """The answer to a request that failed as a whole, or that the aggregator did not answer."""
    problem = read_problem(reply.status, reply.headers, reply.body)
    if problem is None:
        why = f"http-{reply.status}, which is not the aggregator's own answer"
        return Answer(Action.BACK_OFF, why, reply.retry_after)
    action = actions.for_problem(problem.slug)
    return Answer(action, problem.slug, reply.retry_after, field_of(reply.headers, "date"))


def _sealed(parcel: Parcel, extensions: tuple[Extension, ...], key: PublicKey) -> bytes:
    header = ReportHeader(parcel.report_id, parcel.epoch, parcel.manifest_version, key.id)
    info = seal_info(parcel.collection, parcel.manifest_digest, header)
    room = sum(len(extension.encode()) for extension in extensions)
    plaintext = Plaintext(parcel.payload, extensions).encode(padded_size(len(parcel.payload), room))
    sealed = seal(plaintext, public_key=key.public_key, info=info, suite=key.suite)
    return encode_upload([Report(header, sealed)])


def _code_slug(code: int) -> str:
    known = code in set(ReportError)
    return ReportError(code).slug if known else f"code-0x{code:02x}"


def _below(seconds: float) -> float:
    return seconds * Coins.system().below(_JITTER_STEPS) / _JITTER_STEPS
