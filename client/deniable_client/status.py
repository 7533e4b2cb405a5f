"""Whether anything is recorded and sent, and each reason if not: `Client.status()`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_client.consent import Consent
from deniable_client.errors import StorageError
from deniable_client.opt_outs import Denial

if TYPE_CHECKING:
    from deniable_client._recording.known_collections import KnownCollections
    from deniable_client._state.installation import ConsentGate
    from deniable_client._state.state import State

__all__ = ["TROUBLE", "Status", "read_status"]

TROUBLE = frozenset({"log-forked", "misconfigured", "over-ceiling", "policy-unreadable", "storage"})
"""Reasons that no person chose: something is broken."""

_CONSENT = {
    Consent.DENIED: Denial("declined", "you said no"),
    Consent.UNKNOWN: Denial("not-asked", "you were not asked yet"),
}


@dataclass(frozen=True, slots=True)
class Status:
    """`consent` is the person's decision. `silences` are all reasons why nothing is recorded now.

    The code of a reason is one of: misconfigured, closed, storage, log-forked, declined, not-asked,
    do-not-track, deniable-disable, app-switch, ci, policy, policy-unreadable, no-questions,
    over-ceiling.
    """

    consent: Consent
    silences: tuple[Denial, ...] = ()

    @property
    def on(self) -> bool:
        """Whether an answer would be recorded now."""
        return not self.silences

    @property
    def may_ask(self) -> bool:
        """Whether the app may ask the person now: no decision yet, and no other reason."""
        return [each.reason for each in self.silences] == ["not-asked"]

    def __str__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        """One sentence for the person."""
        if self.on:
            return "Telemetry is on: you agreed."
        return f"Telemetry is off: {'; '.join(each.text for each in self.silences)}."

    def to_json(self) -> dict[str, object]:
        """Return plain types for an app's own diagnostics."""
        return {
            "on": self.on,
            "consent": str(self.consent),
            "reasons": [each.reason for each in self.silences],
            "text": self.text,
        }


def read_status(
    state: State, gate: ConsentGate, collections: KnownCollections, now: float
) -> Status:
    """Return the status.

    Never raises: a state file that cannot be read, or at the last attempt not written, is a reason,
    too. One that another process only holds for a moment is none.
    """
    silences: list[Denial] = []
    if gate.fault is not None:
        silences.append(Denial("misconfigured", f"the app is configured wrongly ({gate.fault})"))
    if state.closed:
        return Status(gate.consent, (*silences, Denial("closed", "the app has closed it")))
    try:
        gate.look()
    except StorageError as error:
        return Status(gate.word, (*silences, Denial("storage", str(error))))
    failure = state.failure  # read once: another thread may end it
    if failure and not failure.locked and gate.word is Consent.GRANTED:  # else nothing is written
        silences.append(Denial("storage", failure.text))
    if gate.forked is not None:
        silences.append(Denial("log-forked", f"the operator contradicted itself ({gate.forked})"))
    if gate.word in _CONSENT:
        silences.append(_CONSENT[gate.word])
    silences += gate.opt_outs.denials()
    if gate.fault is None:
        silences += _without_a_question(collections, now)
    return Status(gate.word, tuple(silences))


def _without_a_question(collections: KnownCollections, now: float) -> list[Denial]:
    """Why no question can be answered now; empty if one can."""
    live = [each for each in collections.prepared if each.live(now)]
    if not live:
        return [Denial("no-questions", "this app asks nothing now")]
    if not any(collections.find(each.manifest.name, now) is each for each in live):
        return [Denial("over-ceiling", "its questions cost more privacy than this app allows")]
    return []
