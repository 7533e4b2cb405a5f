"""Tables of notes on the time axis, of alerts, and of their webhook calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.store import audit_log
from deniable_aggregator.store.common_tables import CommonTables
from deniable_aggregator.store.rows import AlertRow, DeliveryRow, NoteRow
from deniable_aggregator.store.statements import read_rows

if TYPE_CHECKING:
    from deniable_aggregator.access.audit import AuditEntry

_ADD_NOTE = """
insert into notes (id, collection, at, body, author, created) values (?, ?, ?, ?, ?, ?)"""
_NOTES = "select id, at, body, author, created from notes where collection = ? order by at, id"
_REMOVE_NOTE = "delete from notes where collection = ? and id = ?"
_ADD = """
insert into alerts
(id, collection, url, secret, author, created, periods, risk, looks, compared)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_ALERTS = """
select id, url, secret, author, created, periods, risk, looks, compared, ended from alerts
where collection = ? order by created, id"""
_END = "update alerts set ended = ? where collection = ? and id = ? and ended is null"
_LOOKED = "update alerts set compared = ? where id = ? and compared < ? and ended is null"
_ADD_DELIVERY = """
insert into deliveries (id, alert, body, created, attempts, next) values (?, ?, ?, ?, 0, ?)"""
_DUE = """
select deliveries.id, alerts.id as alert, url, secret, body, deliveries.created, attempts
from deliveries join alerts on alerts.id = deliveries.alert
where next <= ? and ended is null order by next, deliveries.id limit ?"""
_ATTEMPTED = "update deliveries set attempts = ?, next = ?, sent = ? where id = ?"


class SharingTables(CommonTables):
    """See `protocols.Sharing`."""

    def add_note(self, collection: str, row: NoteRow, *, audit: AuditEntry | None) -> None:
        values = (row.id, self._number(collection), row.at, row.body, row.author, row.created)
        with self._connections.write() as db:
            db.execute(_ADD_NOTE, values)
            audit_log.append(db, audit)

    def notes(self, collection: str) -> list[NoteRow]:
        with self._connections.read() as db:
            return list(read_rows(NoteRow, db.execute(_NOTES, (self._number(collection),))))

    def remove_note(self, collection: str, note_id: str, *, audit: AuditEntry | None) -> bool:
        number = self._number(collection)
        with self._connections.write() as db:
            removed = bool(db.execute(_REMOVE_NOTE, (number, note_id)).rowcount)
            if removed:
                audit_log.append(db, audit)
        return removed

    def add_alert(self, collection: str, row: AlertRow, *, audit: AuditEntry | None) -> None:
        start = (row.id, self._number(collection), row.url, row.secret, row.author, row.created)
        with self._connections.write() as db:
            db.execute(_ADD, (*start, row.periods, row.risk, row.looks, row.compared))
            audit_log.append(db, audit)

    def alerts(self, collection: str) -> list[AlertRow]:
        with self._connections.read() as db:
            return list(read_rows(AlertRow, db.execute(_ALERTS, (self._number(collection),))))

    def end_alert(
        self, collection: str, alert_id: str, now: float, *, audit: AuditEntry | None
    ) -> bool:
        number = self._number(collection)
        with self._connections.write() as db:
            ended = bool(db.execute(_END, (int(now), number, alert_id)).rowcount)
            if ended:
                audit_log.append(db, audit)
        return ended

    def record_look(self, alert_id: str, epoch: int, call: DeliveryRow | None) -> bool:
        with self._connections.write() as db:
            first = bool(db.execute(_LOOKED, (epoch, alert_id, epoch)).rowcount)
            if first and call is not None:
                values = (call.id, alert_id, call.body, call.created, call.created)
                db.execute(_ADD_DELIVERY, values)
        return first

    def due_deliveries(self, now: float, most: int) -> list[DeliveryRow]:
        with self._connections.read() as db:
            return list(read_rows(DeliveryRow, db.execute(_DUE, (int(now), most))))

    def record_attempt(
        self,
        call: DeliveryRow,
        *,
        following: int | None,
        sent: int | None,
        audit: AuditEntry | None,
    ) -> None:
        with self._connections.write() as db:
            db.execute(_ATTEMPTED, (call.attempts + 1, following, sent, call.id))
            audit_log.append(db, audit)
