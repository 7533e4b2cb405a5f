"""The client: one method for each address of the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from msgspec.structs import replace

from deniable_aggregator.client.connection import JSON, Answer, Arguments, Connection
from deniable_aggregator.client.errors import COMMAND_CURES
from deniable_aggregator.documents.access import (
    AuditDocument,
    CreatedLinkDocument,
    CreatedReadLinkDocument,
    CreatedTokenDocument,
    ReadLinksDocument,
    SessionsDocument,
    TokensDocument,
    UserDocument,
    UsersDocument,
    VoucherDocument,
    VoucherKeyDocument,
)
from deniable_aggregator.documents.alerts import AlertsDocument, CreatedAlertDocument
from deniable_aggregator.documents.collections import (
    AppliedDocument,
    ArchivedDocument,
    ClosedDocument,
    ClosedEpochDocument,
    CollectionsDocument,
    EpochsDocument,
    NoteDocument,
    NotesDocument,
    ReadyDocument,
    RotatedDocument,
)
from deniable_aggregator.documents.comparison import ComparisonDocument
from deniable_aggregator.documents.estimates import (
    EstimatesByEpochDocument,
    EstimatesDocument,
    SeriesDocument,
    SeriesRow,
)
from deniable_aggregator.documents.releases import (
    AnswerDocument,
    LedgerDocument,
    QuoteDocument,
    ReconciledDocument,
    ReleaseDocument,
    ReleasesDocument,
)
from deniable_shared.wire.dsse import MEDIA_TYPE as ENVELOPE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    import httpx


class ServiceClient:
    """Requests to one service. Use as a context manager.

    Each method raises ServiceError if the service refuses, UnreachableError if nothing answers.
    A collection is named by its id or its name. `accept` is the media type of the answer's body.
    """

    def __init__(
        self,
        http: httpx.Client,
        *,
        address: str,
        cures: Mapping[str, str] = COMMAND_CURES,
        close: Callable[[], None] | None = None,
    ) -> None:
        """`cures`: problem → remedy, for the messages of errors. `close` runs at the end."""
        self.address = address
        self._service = Connection(http, address, cures)
        self._close = close

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close sockets, and unlock the directory if this process has locked it."""
        self._service.http.close()
        if self._close is not None:
            self._close()

    # Collections.

    def collections(self, *, archived: bool = False) -> Answer[CollectionsDocument]:
        """The collections; archived ones only if `archived`."""
        given = {"archived": "true"} if archived else {}
        return self._service.read(CollectionsDocument, "/v1/collections", given)

    def manifest(self, collection: str, *, version: int | None = None) -> bytes:
        """The signed manifest, the newest by default: a DSSE envelope."""
        path = f"{_path_of(collection)}/manifest"
        return self._service.send("GET", path, {"version": version}, accept=ENVELOPE)

    def apply(
        self, collection: str, envelope: bytes, *, replace: bool = False
    ) -> Answer[AppliedDocument]:
        """Register a signed manifest. With `replace` its name may move from another collection."""
        path, arguments = _path_of(collection), {"replace": "true"} if replace else {}
        body = self._service.send("PUT", path, arguments, content=envelope, content_type=ENVELOPE)
        return Answer(body, AppliedDocument, self.address + path)

    def close_collection(self, collection: str) -> Answer[ClosedDocument]:
        """End a collection permanently."""
        return self._service.post(ClosedDocument, f"{_path_of(collection)}/close")

    def archive(self, collection: str, *, undo: bool = False) -> Answer[ArchivedDocument]:
        """Take a collection off the lists, or with `undo` put it on them again."""
        return self._service.post(ArchivedDocument, f"{_path_of(collection)}/{'un' * undo}archive")

    def delete_collection(self, collection: str) -> None:
        """Delete a collection before its first epoch begins."""
        self._service.send("DELETE", _path_of(collection))

    # Epochs and estimates.

    def epochs(self, collection: str, *, accept: str = JSON) -> Answer[EpochsDocument]:
        """The epochs that have reports, and the rejected reports by reason."""
        return self._service.read(EpochsDocument, f"{_path_of(collection)}/epochs", accept=accept)

    def close_epoch(self, collection: str, epoch: int) -> Answer[ClosedEpochDocument]:
        """Close an epoch, also before its time."""
        return self._service.post(
            ClosedEpochDocument, f"{_path_of(collection)}/epochs/{epoch}/close", {"early": "true"}
        )

    def estimates(
        self, collection: str, arguments: Arguments, *, accept: str = JSON
    ) -> Answer[EstimatesDocument]:
        """Estimates of all selected epochs together."""
        path = f"{_path_of(collection)}/estimates"
        return self._service.read(EstimatesDocument, path, arguments, accept=accept)

    def estimates_by_epoch(
        self, collection: str, arguments: Arguments, *, accept: str = JSON
    ) -> Answer[EstimatesByEpochDocument]:
        """Estimates of each epoch by itself."""
        given = {**arguments, "group_by": "epoch"}
        path = f"{_path_of(collection)}/estimates"
        return self._service.read(EstimatesByEpochDocument, path, given, accept=accept)

    def comparison(
        self, collection: str, arguments: Arguments, *, accept: str = JSON
    ) -> Answer[ComparisonDocument]:
        """The changes between the two selected periods."""
        path = f"{_path_of(collection)}/comparison"
        return self._service.read(ComparisonDocument, path, arguments, accept=accept)

    def series(self, collection: str, arguments: Arguments) -> SeriesDocument:
        """Raw estimates, one row for each epoch and label, from all pages."""
        rows: list[SeriesRow] = []
        too_few: list[int] = []
        following = arguments
        while True:
            answer = self._service.read(SeriesDocument, f"{_path_of(collection)}/series", following)
            page = answer.document
            rows += page.rows
            too_few += page.too_few_reports
            if page.next is None:
                return replace(page, rows=rows, too_few_reports=too_few)
            following = {**arguments, "from": page.next}

    # Releases and the ledger.

    def releases(self, collection: str, *, accept: str = JSON) -> Answer[ReleasesDocument]:
        """The releases, oldest first, without results."""
        return self._service.read(
            ReleasesDocument, f"{_path_of(collection)}/releases", accept=accept
        )

    def release(self, collection: str, release: str) -> Answer[ReleaseDocument]:
        """One release as it was made."""
        return self._service.read(
            ReleaseDocument, f"{_path_of(collection)}/releases/{_step(release)}"
        )

    def make_release(
        self, collection: str, request: Mapping[str, object]
    ) -> Answer[ReleaseDocument]:
        """Charge and draw a release; the same request again returns the same release for free."""
        return self._service.post(ReleaseDocument, f"{_path_of(collection)}/releases", body=request)

    def quote(self, collection: str, request: Mapping[str, object]) -> Answer[QuoteDocument]:
        """The price of a release. Nothing is charged."""
        body = {**request, "cost": True}
        return self._service.post(QuoteDocument, f"{_path_of(collection)}/releases", body=body)

    def ask(
        self,
        collection: str,
        release: str,
        labels: Sequence[object] = (),
        *,
        cells: Sequence[str] = (),
    ) -> Answer[AnswerDocument]:
        """The answer to a question to an open session: labels, or of a record also cells."""
        body = {"cells": list(cells)} if cells else {"labels": list(labels)}
        path = f"{_path_of(collection)}/releases/{_step(release)}/questions"
        return self._service.post(AnswerDocument, path, body=body)

    def ledger(
        self, collection: str | None = None, *, accept: str = JSON
    ) -> Answer[LedgerDocument]:
        """The spent and remaining budget; of every collection by default."""
        return self._service.read(
            LedgerDocument, "/v1/ledger", {"collection": collection}, accept=accept
        )

    def reconcile(self) -> Answer[ReconciledDocument]:
        """Add the charges that an older database lacks, and continue with it."""
        return self._service.post(ReconciledDocument, "/v1/ledger/reconcile")

    # Keys, log and health.

    def keys(self) -> bytes:
        """The key list that devices get: a DSSE envelope."""
        return self._service.send("GET", "/v1/keys", accept=ENVELOPE)

    def rotate_keys(self, suite: int, *, now: bool = False) -> Answer[RotatedDocument]:
        """Make the next key of a suite; with `now` it is active at once."""
        arguments = {"suite": suite, "now": "true" if now else None}
        return self._service.post(RotatedDocument, "/v1/keys/rotate", arguments)

    def log_page(self, first: int) -> bytes:
        """A page of the log from entry `first` on, as JSON: see `journal.parse_log_page`."""
        return self._service.send("GET", "/v1/log", {"from": first})

    def ready(self) -> Answer[ReadyDocument]:
        """Whether the service is ready, check by check."""
        return self._service.read(ReadyDocument, "/readyz")

    def voucher_key(
        self, collection: str, *, epoch: int | None = None
    ) -> Answer[VoucherKeyDocument]:
        """The key of a collection's vouchers in an epoch, the present one by default."""
        path = f"{_path_of(collection)}/voucher-key"
        return self._service.post(VoucherKeyDocument, path, {"epoch": epoch})

    def replace_voucher_key(self, collection: str) -> Answer[VoucherKeyDocument]:
        """A new voucher key, for the epochs that have no report yet."""
        return self._service.post(VoucherKeyDocument, f"{_path_of(collection)}/voucher-key/replace")

    def issue_voucher(
        self, collection: str, person: str, *, epoch: int | None = None
    ) -> Answer[VoucherDocument]:
        """The voucher of a person in an epoch, the present one by default."""
        body = {"person": person, "epoch": epoch}
        return self._service.post(VoucherDocument, f"{_path_of(collection)}/vouchers", body=body)

    # Access.

    def tokens(self) -> Answer[TokensDocument]:
        """Every token ever made, without the secret."""
        return self._service.read(TokensDocument, "/v1/tokens")

    def make_token(
        self,
        role: str,
        label: str,
        *,
        collections: Sequence[str] = (),
        expires_days: int | None = None,
    ) -> Answer[CreatedTokenDocument]:
        """A new token with its secret; for these collections, or all."""
        body = {
            "role": role,
            "label": label,
            "collections": list(collections) or None,
            "expires_days": expires_days,
        }
        return self._service.post(CreatedTokenDocument, "/v1/tokens", body=body)

    def revoke_token(self, token_id: str) -> None:
        """End a token at once."""
        self._service.send("DELETE", f"/v1/tokens/{_step(token_id)}")

    def notes(self, collection: str) -> Answer[NotesDocument]:
        """The notes on a collection's time axis."""
        return self._service.read(NotesDocument, f"{_path_of(collection)}/notes")

    def add_note(self, collection: str, day: str, text: str) -> Answer[NoteDocument]:
        """A note at a day, or at a day and time of UTC."""
        body = {"day": day, "text": text}
        return self._service.post(NoteDocument, f"{_path_of(collection)}/notes", body=body)

    def remove_note(self, collection: str, note_id: str) -> None:
        """Remove a note."""
        self._service.send("DELETE", f"{_path_of(collection)}/notes/{_step(note_id)}")

    def alerts(self, collection: str) -> Answer[AlertsDocument]:
        """The alerts of a collection, without the keys of their signatures."""
        return self._service.read(AlertsDocument, f"{_path_of(collection)}/alerts")

    def make_alert(
        self, collection: str, url: str, *, periods: int, risk: float
    ) -> Answer[CreatedAlertDocument]:
        """A new alert, with the key of its signatures."""
        body = {"url": url, "periods": periods, "risk": risk}
        return self._service.post(CreatedAlertDocument, f"{_path_of(collection)}/alerts", body=body)

    def end_alert(self, collection: str, alert_id: str) -> None:
        """End an alert at once."""
        self._service.send("DELETE", f"{_path_of(collection)}/alerts/{_step(alert_id)}")

    def read_links(self, collection: str) -> Answer[ReadLinksDocument]:
        """The read-only links to a collection, without the secrets."""
        return self._service.read(ReadLinksDocument, f"{_path_of(collection)}/links")

    def make_read_link(
        self, collection: str, label: str, *, expires_days: int
    ) -> Answer[CreatedReadLinkDocument]:
        """A new read-only link, with its secret."""
        body = {"label": label, "expires_days": expires_days}
        return self._service.post(
            CreatedReadLinkDocument, f"{_path_of(collection)}/links", body=body
        )

    def end_read_link(self, collection: str, link_id: str) -> None:
        """End a read-only link, and the sessions that it began."""
        self._service.send("DELETE", f"{_path_of(collection)}/links/{_step(link_id)}")

    def users(self) -> Answer[UsersDocument]:
        """The people who have a password."""
        return self._service.read(UsersDocument, "/v1/users")

    def add_user(
        self, name: str, role: str, *, password: str, collections: Sequence[str] = ()
    ) -> Answer[UserDocument]:
        """Add a person with a password, for these collections or all."""
        body = {"name": name, "role": role, "password": password}
        return self._service.post(
            UserDocument, "/v1/users", body={**body, "collections": list(collections) or None}
        )

    def remove_user(self, name: str) -> None:
        """End a person's password, sessions and links."""
        self._service.send("DELETE", f"/v1/users/{_step(name)}")

    def sessions(self) -> Answer[SessionsDocument]:
        """The people who are signed in."""
        return self._service.read(SessionsDocument, "/v1/sessions")

    def end_session(self, session_id: str) -> None:
        """Sign a person out."""
        self._service.send("DELETE", f"/v1/sessions/{_step(session_id)}")

    def make_sign_in_link(
        self, name: str, role: str, *, collections: Sequence[str] = ()
    ) -> Answer[CreatedLinkDocument]:
        """A new one-time sign-in link."""
        body = {"name": name, "role": role, "collections": list(collections) or None}
        return self._service.post(CreatedLinkDocument, "/v1/sign-in-links", body=body)

    def audit(
        self, first: int, wanted: Arguments | None = None, *, accept: str = JSON
    ) -> Answer[AuditDocument]:
        """A page of the audit log, from entry `first` on; `wanted` chooses entries."""
        arguments = {"from": first, **(wanted or {})}
        return self._service.read(AuditDocument, "/v1/audit", arguments, accept=accept)


def _path_of(collection: str) -> str:
    """The address of a collection."""
    return f"/v1/collections/{_step(collection)}"


def _step(name: str) -> str:
    """A name as one segment of a path; a name of only dots is escaped, too."""
    return quote(name, safe="") if name.strip(".") else "%2E" * len(name)
