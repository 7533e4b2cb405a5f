"""Seals and sends one report, and decides by the reply what happens next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from deniable_client._recording import manifests
from deniable_client._state import outbox
from deniable_client._uploading import retry_policy
from deniable_client._uploading.retry_policy import Action
from deniable_client.address import Address, route
from deniable_client.errors import (
    ClientError,
    HaltedError,
    RefusedError,
    RejectedError,
    TransportError,
)
from deniable_client.vouching import Vouchers, extensions_for
from deniable_shared.errors import EnvelopeError
from deniable_shared.randomness.coins import Coins
from deniable_shared.wire.envelope import seal
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.replies import header_field, read_problem, read_statuses
from deniable_shared.wire.report import (
    MEDIA_TYPE,
    Extension,
    Plaintext,
    Report,
    ReportHeader,
    encode_upload,
    padded_size,
    seal_info,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from deniable_client._state.outbox import OutboxRow, QueuedReport
    from deniable_client._state.state import State
    from deniable_client._uploading.server_keys import ServerKeys
    from deniable_client._uploading.timed_transport import TimedTransport
    from deniable_client.transport import Reply
    from deniable_shared.manifest.epochs import Clock
    from deniable_shared.wire.key_list import PublicKey

_JITTER_STEPS = 1 << 32
_BUSY = ("too-many-requests", "unavailable")
_KEEPING = (Action.BACK_OFF, Action.LATER, Action.RESEAL, Action.AWAIT_VOUCHER)


@dataclass(frozen=True, slots=True)
class Decision:
    """What a reply means for one report: the action, why, and Retry-After in seconds.

    `date` is the Date of the reply; None if the reply is not the aggregator's own.
    """

    action: Action
    problem: str = ""
    retry_after: float | None = None
    date: str = ""


@dataclass(frozen=True, slots=True)
class SendResult:
    """The result for one row in one run."""

    sent: int = 0
    accepted: int = 0
    dropped: int = 0
    stop: bool = False
    problem: ClientError | None = None
    date: str = ""


class FetchManifest(Protocol):
    """Fetches a collection's newest manifest, from the address that was tried last."""

    def __call__(
        self, name_or_id: str, transport: TimedTransport, *, tried: Address | None = None
    ) -> ClientError | None:
        """Return the error if there is none or it is refused."""


class ReportSender:
    """Sends rows of the outbox, one by one. Never randomizes a payload again."""

    def __init__(
        self,
        state: State,
        *,
        addresses: Sequence[Address],
        server_keys: ServerKeys,
        fetch_manifest: FetchManifest,
        vouchers: Vouchers | None,
        clock: Clock,
    ) -> None:
        self._state = state
        self._addresses = addresses
        self._server_keys = server_keys
        self._fetch_manifest = fetch_manifest
        self._vouchers = vouchers
        self._clock = clock

    def send(self, row: OutboxRow, transport: TimedTransport) -> SendResult:
        """Seal and send one row. Raises ClientError if there is no key to seal to."""
        addresses = self._ordered_addresses(row)
        key = self._server_keys.active(transport, addresses)
        with self._state.reading() as db:
            report = outbox.read_report(db, row.collection, row.epoch)
            required = report and manifests.required(db, row.collection, report.manifest_version)
        if report is None:
            return SendResult()
        try:
            extensions = extensions_for(required or (), row.collection, row.epoch, self._vouchers)
        except RefusedError as error:
            return self._conclude(report, Decision(Action.AWAIT_VOUCHER, str(error)), 0, transport)
        decision, sent = self._post(report, extensions, key, transport, addresses[0])
        if decision is not None and decision.action is Action.RESEAL:
            decision, again = self._reseal(report, extensions, transport, addresses)
            sent += again
        if decision is None:
            return SendResult(sent)
        if len(addresses) > 1 and sent and _may_have_moved(decision):
            self._fetch_manifest(report.collection, transport, tried=addresses[0])
        return self._conclude(report, decision, sent, transport)

    def _ordered_addresses(self, row: OutboxRow) -> Sequence[Address]:
        """Return the addresses in the order of this attempt."""
        if len(self._addresses) == 1:
            return self._addresses
        with self._state.reading() as db:
            return route(self._addresses, manifests.ingest(db, row.collection), row.attempts)

    def _post(
        self,
        report: QueuedReport,
        extensions: tuple[Extension, ...],
        key: PublicKey,
        transport: TimedTransport,
        address: Address,
    ) -> tuple[Decision | None, int]:
        """Return the decision, None if sending is forbidden, and the number of requests."""
        url = address.reports(report.collection)
        try:
            request = _seal(report, extensions, key)
        except EnvelopeError as error:
            return Decision(Action.BACK_OFF, str(error)), 0
        with self._state.transaction(durable=True) as db:
            marked = outbox.mark_sending(db, report, request)
        if marked is None:
            return None, 0
        try:
            return read_reply(transport.post(url, request, MEDIA_TYPE), report.report_id), 1
        except TransportError as error:
            return Decision(Action.BACK_OFF, str(error)), 1

    def _reseal(
        self,
        report: QueuedReport,
        extensions: tuple[Extension, ...],
        transport: TimedTransport,
        addresses: Sequence[Address],
    ) -> tuple[Decision | None, int]:
        try:
            key = self._server_keys.renew(transport, addresses)
            return self._post(report, extensions, key, transport, addresses[0])
        except (TransportError, RefusedError, HaltedError) as error:
            return Decision(Action.BACK_OFF, str(error)), 0

    def _conclude(
        self, report: QueuedReport, decision: Decision, sent: int, transport: TimedTransport
    ) -> SendResult:
        problem = self._problem(report, decision, transport)
        with self._state.transaction() as db:
            dropped = self._write(db, report, decision)
        return SendResult(
            sent=sent,
            accepted=int(decision.action is Action.DONE),
            dropped=dropped,
            stop=decision.action is Action.DROP_AND_STOP,
            problem=problem,
            date=decision.date,
        )

    def _problem(
        self, report: QueuedReport, decision: Decision, transport: TimedTransport
    ) -> ClientError | None:
        if decision.action is Action.DONE:
            return None
        where = report.collection  # the same text in each epoch, so that it is logged once
        if decision.action in _KEEPING:
            return TransportError(f"{where}: {decision.problem}")
        if decision.action is Action.FETCH_MANIFEST:
            refusal = self._fetch_manifest(report.collection, transport)
            where += f"; {refusal}" if refusal else ""
        return RejectedError(decision.problem, where)

    def _write(self, db: sqlite3.Connection, report: QueuedReport, decision: Decision) -> int:
        if decision.action is Action.DONE:
            outbox.finish(db, report)
            return 0
        if decision.action is Action.DROP_COLLECTION:
            return outbox.drop_collection(db, report.collection, decision.problem)
        if decision.action in _KEEPING:
            self._postpone(db, report, decision)
            return 0
        return outbox.drop(db, report, decision.problem)

    def _postpone(self, db: sqlite3.Connection, report: QueuedReport, decision: Decision) -> None:
        now = self._clock()
        retry_after = (
            retry_policy.TOO_EARLY_SECONDS
            if decision.action is Action.LATER
            else decision.retry_after
        )
        wait = min(retry_after or 0.0, retry_policy.BACK_OFF_CAP_SECONDS)
        jitter = _random_seconds(retry_policy.back_off_span(report.attempts + 1))
        if decision.action is Action.RESEAL:
            jitter = 0.0  # the next wake-up is the wait
        if decision.action is Action.AWAIT_VOUCHER:
            jitter = _random_seconds(retry_policy.VOUCHER_SPAN_SECONDS)
        outbox.postpone(db, report, retry_at=now + wait + jitter, floor=now + wait if wait else 0.0)


def _may_have_moved(decision: Decision) -> bool:
    """Whether to try the next address: this one took no report and did not merely ask to wait."""
    return decision.action is Action.BACK_OFF and decision.problem not in _BUSY


def read_reply(reply: Reply, report_id: bytes) -> Decision:
    """Return the decision for the reply to a request with one report."""
    statuses = read_statuses(reply.status, reply.headers, reply.body)
    if statuses is None:
        return _read_refusal(reply)
    if any(status.report_id != report_id for status in statuses):
        return Decision(Action.BACK_OFF, "the answer is about another report")
    date = header_field(reply.headers, "date")
    if not statuses:
        return Decision(Action.DONE, date=date)
    code = statuses[0].error
    return Decision(retry_policy.for_code(code), _slug_of(code), reply.retry_after, date)


def _read_refusal(reply: Reply) -> Decision:
    """Return the decision for a request that failed, or that something else answered."""
    problem = read_problem(reply.status, reply.headers, reply.body)
    if problem is None:
        why = f"http-{reply.status}, which is not the aggregator's own answer"
        return Decision(Action.BACK_OFF, why, reply.retry_after)
    action = retry_policy.for_problem(problem.slug)
    return Decision(action, problem.slug, reply.retry_after, header_field(reply.headers, "date"))


def _seal(report: QueuedReport, extensions: tuple[Extension, ...], key: PublicKey) -> bytes:
    header = ReportHeader(report.report_id, report.epoch, report.manifest_version, key.id)
    info = seal_info(report.collection, report.manifest_digest, header)
    room = sum(len(extension.encode()) for extension in extensions)
    plaintext = Plaintext(report.payload, extensions).encode(padded_size(len(report.payload), room))
    sealed = seal(plaintext, public_key=key.public_key, info=info, suite=key.suite)
    return encode_upload([Report(header, sealed)])


def _slug_of(code: int) -> str:
    documented = code in set(ReportError)
    return ReportError(code).slug if documented else f"code-0x{code:02x}"


def _random_seconds(seconds: float) -> float:
    return seconds * Coins.system().below(_JITTER_STEPS) / _JITTER_STEPS
