"""The client: what an app holds in its hands."""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from deniable_client import consent, opt_outs
from deniable_client.address import parse_addresses, parse_trust
from deniable_client.budget import Budget, budget_of
from deniable_client.calls import Calls
from deniable_client.ceiling import Ceiling
from deniable_client.consent import Consent
from deniable_client.errors import ClientError, ClosedError, ConfigurationError, StorageError
from deniable_client.installation import ConsentGate
from deniable_client.known_collections import KnownCollections
from deniable_client.outbox import waiting_count
from deniable_client.outcome import FlushResult, Outcome, RefreshResult
from deniable_client.recorder import Recorder
from deniable_client.refresher import Refresher
from deniable_client.scheduler import Scheduler
from deniable_client.state import State
from deniable_client.timed_transport import TimedTransport
from deniable_client.transport import HttpTransport, Transport
from deniable_client.uploader import Uploader

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from types import TracebackType

    from deniable_client.explanation import Explanation
    from deniable_client.sender import ReportSender
    from deniable_client.vouching import Vouchers
    from deniable_shared.manifest.epochs import Clock

__all__ = ["Client"]

_MOST_NOTES = 50
_MOST_WANTED = 64
_CHECKPOINT_SECONDS = 1.0
_REPORTED = frozenset({Outcome.QUEUED, Outcome.HELD, Outcome.REPEATED})


class Client:
    """Records answers that can always be denied, and uploads them in the background.

    `url` is the aggregator's address, or a list of up to 8: the first is where it is today, and a
    version that the operator signed may move a collection to the others. `trust` is the operator's
    public key or keys, `manifests` the signed collections the app ships (paths or bytes), `state`
    the path of one file that belongs to this installation and to no image, or ":memory:", `ceiling`
    the most ε this app ever gives away.
    `vouchers` is for collections that require a voucher: it is called with a collection's id and an
    epoch when a report of theirs is about to be sent, in the thread that sends, and returns what
    the app's own backend issued for this person, or None, and then the report waits.
    ConfigurationError for what only the developer can put right; trouble with the disk or the
    network is never raised here nor by `record`.

    Safe to use from many threads, from many processes on one state file, and across forks. For
    tests: `transport`, `clock` (unix seconds) and `background=False`, which leaves sending to
    `upload_due` and `flush`.
    """

    def __init__(  # noqa: PLR0913  (published: apps call it)
        self,
        url: str | Sequence[str],
        *,
        trust: str | Sequence[str],
        manifests: Sequence[str | os.PathLike[str] | bytes] = (),
        state: str | os.PathLike[str],
        ceiling: Ceiling,
        vouchers: Vouchers | None = None,
        transport: Transport | None = None,
        clock: Clock = time.time,
        background: bool = True,
    ) -> None:
        addresses, keys = parse_addresses(url), parse_trust(trust)
        if not isinstance(ceiling, Ceiling):
            raise ConfigurationError(
                "ceiling must be a Ceiling, like Ceiling(epsilon_per_report=2, "
                f"epsilon_permanent=4, epsilon_lifetime=8), got {type(ceiling).__name__}"
            )
        if vouchers is not None and not callable(vouchers):
            raise ConfigurationError(
                "vouchers must be a function of a collection's id and an epoch, "
                f"got {type(vouchers).__name__}"
            )
        transport = HttpTransport() if transport is None else transport
        self._calls = Calls()
        self._addresses = addresses
        self._trust = keys
        self._ceiling = ceiling
        self._vouchers = vouchers
        self._clock = clock
        self._background = background
        self._notes: deque[ClientError] = deque(maxlen=_MOST_NOTES)
        self._wanted: set[str] = set()
        self._state = State(state)
        self._gate = ConsentGate(self._state)
        self._collections = KnownCollections(
            self._state,
            trust=keys,
            origins=tuple(address.origin for address in addresses),
            ceiling=ceiling,
            vouchers=vouchers,
            clock=clock,
        )
        self._recorder = Recorder(
            self._state,
            gate=self._gate,
            collections=self._collections,
            ceiling=ceiling,
            clock=clock,
        )
        self._refresher = Refresher(
            self._collections, transport, calls=self._calls, addresses=addresses, gate=self._gate
        )
        self._uploader = Uploader(
            self._state,
            timed=partial(TimedTransport, transport, self._calls),
            gate=self._gate,
            make_sender=self._make_sender,
            record_defaults=self._recorder.record_defaults,
            clock=clock,
        )
        self._scheduler = Scheduler(self._wake_up)
        self._state.in_child += (
            self._calls.after_fork,
            self._uploader.after_fork,
            self._scheduler.after_fork,
        )
        self._start(manifests)

    def consent(self, answer: str | None = None) -> Consent:
        """The person's word: "granted" or "denied"; without an argument, what it is now.

        Until it is granted nothing is recorded or sent. "denied" wipes queue and keys, closes a
        socket that is open, and from then on none is opened; what was spent stays spent, so a later
        "granted" brings no new budget. StorageError if the answer could not be kept: after a
        "denied" this process keeps to it all the same.
        """
        if answer is None:
            self._gate.look()
            return self._gate.consent
        if consent.parse_consent(answer) is Consent.DENIED:
            self._deny()
        else:
            self._grant()
        return self._gate.consent

    def record(self, collection: str, value: object) -> Outcome:
        """Answer a collection, by name or id: the value is randomized now and goes no further.

        Never raises, never waits for the network. For a bits collection {label: bool, …} or a
        sequence of bools, for a choice its label or index.
        """
        try:
            outcome = self._record(collection, value)
        except ClosedError:
            return Outcome.CLOSED
        except StorageError as error:
            self._notes.append(error)
            return Outcome.DISABLED if error.permanent else Outcome.STORAGE_BUSY
        except Exception as error:  # whatever it is, it is not the host application's
            self._notes.append(ClientError(f"record failed with {type(error).__name__}"))
            return Outcome.DISABLED
        if outcome in _REPORTED:
            self._ensure_background()
        return outcome

    def preview(self, collection: str, value: object) -> Outcome:
        """What is wrong with a collection or a value, or QUEUED; looks at nothing else."""
        encoded = self._recorder.examine(collection, value)
        return encoded if isinstance(encoded, Outcome) else Outcome.QUEUED

    def budget(self) -> Budget:
        """The ε spent and left, in all and by name. StorageError if the state cannot be read."""
        with self._state.reading() as db:
            return budget_of(db, self._ceiling.epsilon_lifetime, self._collections.lifetimes)

    def explain(self) -> Explanation:
        """What this client reveals and has revealed, in numbers and in words to show to a person.

        StorageError if the state cannot be read.
        """
        from deniable_client.explanation import explain  # only who asks has to load it

        budget = self.budget()
        with self._state.reading() as db:
            return explain(
                db,
                url=" or ".join(each.origin + each.path for each in self._addresses),
                denied_by=opt_outs.denial(),
                budget=budget,
                ceiling=self._ceiling,
                collections=self._collections.prepared,
            )

    def refresh(self, timeout: float = 10.0, *, names: Sequence[str] = ()) -> RefreshResult:
        """Fetch manifests: of known collections, of `names`, of names `record` did not know.

        Takes up to `timeout` seconds. Nothing is fetched without consent.
        """
        if isinstance(names, str):
            raise ConfigurationError(f"names must be a list of names, got the single {names!r}")
        result = self._refresher.refresh((*names, *self._wanted), timeout)
        self._wanted -= set(result.collections)
        self._ensure_defaults()
        return result

    def flush(self, timeout: float = 10.0, early: bool = False) -> FlushResult:
        """Send every report that is due, within `timeout` seconds.

        `early` sends those too whose moment has not come. That moment is random so that when a
        report arrives does not show when it was recorded, so `early` is for demonstrations, tests
        and the last breath of a short-lived machine.
        """
        return self._with_notes(self._uploader.flush(timeout, early=early))

    def upload_due(self) -> FlushResult:
        """Do what a wake-up does: send one new report and at most three retries, if due."""
        return self._with_notes(self._uploader.wake_up())

    def forget(self) -> None:
        """On uninstall: wipe everything, the tombstone too, delete the state file, and close."""
        self._gate.vetoed = True
        self._calls.close()
        with suppress(StorageError):  # what cannot be overwritten is deleted all the same
            self._deny()
        self._scheduler.stop()
        self._state.erase()

    def close(self) -> None:
        """Stop the background thread, cut off what is still being sent, close the state file.

        A request under way gets a second to end by itself. Nothing new is sent.
        """
        self._scheduler.stop()
        self._calls.close()
        with suppress(StorageError):  # a file that cannot be tidied can still be closed
            self._uploader.release()
            self._state.checkpoint(patience_seconds=_CHECKPOINT_SECONDS)
        self._state.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _make_sender(self) -> ReportSender:
        from deniable_client.sender import ReportSender  # what only a device that sends has to load
        from deniable_client.server_keys import ServerKeys

        server_keys = ServerKeys(self._state, trust=self._trust, clock=self._clock)
        return ReportSender(
            self._state,
            addresses=self._addresses,
            server_keys=server_keys,
            fetch_manifest=self._refresher.fetch,
            vouchers=self._vouchers,
            clock=self._clock,
        )

    def _start(self, manifests: Sequence[str | os.PathLike[str] | bytes]) -> None:
        try:
            self._collections.ship(manifests)
            self._load_collections()
            self._gate.look()
            with self._state.reading() as db:
                unsent = waiting_count(db)
        except StorageError as error:
            self._notes.append(error)
        except BaseException:
            self._state.close()
            raise
        else:
            if unsent and self._gate.consent is Consent.GRANTED:
                self._ensure_background()
            self._ensure_defaults()

    def _record(self, collection: str, value: object) -> Outcome:
        if self._state.closed:
            return Outcome.CLOSED
        self._load_collections()
        outcome = self._recorder.record(collection, value)
        if outcome is Outcome.UNKNOWN_COLLECTION:
            self._want(collection)
        return outcome

    def _want(self, name: object) -> None:
        if isinstance(name, str) and len(self._wanted) < _MOST_WANTED:
            self._wanted.add(name)

    def _load_collections(self) -> None:
        self._notes.extend(self._collections.load())

    def _grant(self) -> None:
        with self._state.transaction(durable=True) as db:
            consent.grant(db)
        self._gate.vetoed = False
        self._gate.look()
        self._ensure_defaults()

    def _deny(self) -> None:
        self._gate.vetoed = True
        self._calls.cut()
        with self._state.transaction(durable=True) as db:
            consent.deny(db)
        self._gate.look()
        self._state.checkpoint(patience_seconds=_CHECKPOINT_SECONDS)

    def _ensure_defaults(self) -> None:
        """Start the thread where a device speaks even if its app never does."""
        if self._gate.consent is Consent.GRANTED and self._collections.always(self._clock()):
            self._ensure_background()

    def _ensure_background(self) -> None:
        if not self._background:
            return
        try:
            self._scheduler.ensure()
        except RuntimeError as error:  # no more threads: the report waits for the next start
            self._notes.append(ClientError(f"no background thread: {error}"))

    def _wake_up(self) -> None:
        try:
            self._notes.extend(self._uploader.wake_up().problems)
        except Exception as error:  # an app's own transport may raise anything
            self._notes.append(ClientError(f"an upload failed with {type(error).__name__}"))

    def _with_notes(self, result: FlushResult) -> FlushResult:
        notes = []
        while self._notes:
            notes.append(self._notes.popleft())
        return replace(result, problems=(*notes, *result.problems))
