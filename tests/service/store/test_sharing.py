"""Notes, alerts and their calls as rows, in both databases."""

from __future__ import annotations

from deniable_aggregator.store.rows import AlertRow, DeliveryRow, NoteRow
from support.builders.databases import AnyStore
from support.builders.store_reports import COLLECTION

NOTES = [NoteRow(f"n{at}", at, "released 2.0", "ana", 5) for at in (100, 200)]
ALERT = AlertRow("a1", "https://example.org/", b"key", "ana", 5, 1, "0.05", 9, 10)
CALL = DeliveryRow("d1", "a1", ALERT.url, ALERT.secret, b"{}", 50)


def test_notes_come_back_in_the_order_of_time_until_they_are_removed(store: AnyStore) -> None:
    for note in reversed(NOTES):
        store.add_note(COLLECTION, note, audit=None)
    assert store.notes(COLLECTION) == NOTES
    assert store.remove_note(COLLECTION, "n100", audit=None)
    assert not store.remove_note(COLLECTION, "n100", audit=None)
    assert store.notes(COLLECTION) == NOTES[1:]


def test_a_look_is_noted_once_and_its_call_waits_until_it_was_made(store: AnyStore) -> None:
    store.add_alert(COLLECTION, ALERT, audit=None)
    assert store.record_look("a1", 11, CALL)
    assert not store.record_look("a1", 11, CALL)
    assert [row.compared for row in store.alerts(COLLECTION)] == [11]
    assert store.due_deliveries(49, 9) == []
    [due] = store.due_deliveries(50, 9)
    assert due == CALL
    store.record_attempt(due, following=110, sent=None, audit=None)
    assert [row.attempts for row in store.due_deliveries(110, 9)] == [1]
    store.record_attempt(due, following=None, sent=111, audit=None)
    assert store.due_deliveries(10_000, 9) == []


def test_an_alert_that_was_ended_looks_and_calls_no_more(store: AnyStore) -> None:
    store.add_alert(COLLECTION, ALERT, audit=None)
    store.record_look("a1", 11, CALL)
    assert store.end_alert(COLLECTION, "a1", 60, audit=None)
    assert not store.end_alert(COLLECTION, "a1", 61, audit=None)
    assert store.due_deliveries(10_000, 9) == []
    assert not store.record_look("a1", 12, None)
    assert [row.ended for row in store.alerts(COLLECTION)] == [60]


def test_a_collection_that_is_deleted_takes_them_along(store: AnyStore) -> None:
    store.add_note(COLLECTION, NOTES[0], audit=None)
    store.add_alert(COLLECTION, ALERT, audit=None)
    store.record_look("a1", 11, CALL)
    store.delete_collection(COLLECTION, lambda used: None, audit=None)
    assert store.due_deliveries(10_000, 9) == []
    assert COLLECTION not in store.collections()
