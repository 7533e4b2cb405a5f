"""Public entry point: records answers and uploads them in the background."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from deniable_client._state import installation
from deniable_client._state.outbox import waiting_count
from deniable_client._uploading.scheduler import Scheduler
from deniable_client.budget import Budget, budget_of
from deniable_client.calls import Calls
from deniable_client.configuration import Arguments, Configuration, as_fault, from_app_file
from deniable_client.consent import Consent, parse_consent
from deniable_client.errors import ClientError, ClosedError, ConfigurationError, StorageError
from deniable_client.notices import Notices
from deniable_client.opt_outs import OptOuts
from deniable_client.outcome import FlushResult, Outcome, RefreshResult
from deniable_client.parts import assemble
from deniable_client.transport import HttpTransport, Transport

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from deniable_client.ceiling import Ceiling
    from deniable_client.explanation import Explanation
    from deniable_client.health import Health
    from deniable_client.status import Status
    from deniable_client.vouching import Vouchers
    from deniable_shared.manifest.epochs import Clock

__all__ = ["Client"]

_MOST_WANTED = 64
_CHECKPOINT_SECONDS = 1.0
_REPORTED = frozenset({Outcome.QUEUED, Outcome.HELD, Outcome.REPEATED})


class Client:
    """Records deniable answers, and uploads them in the background.

    - `url`: the aggregator's address, or a list of up to 8. The first one is where it is today. A
      new version of a manifest, signed by the operator, may move its collection to one of the
      others.
    - `trust`: the operator's public key or keys.
    - `manifests`: the signed manifests that the app ships, as paths or bytes.
    - `state`: the path of one file that belongs to this installation, or ":memory:". Never ship it
      in an image.
    - `ceiling`: the most ε that this app ever spends on one person.
    - `app`: the app's name. Its users can then set MYAPP_TELEMETRY=0.
    - `vouchers`: needed only for collections that require a voucher. The client calls it with a
      collection's id and an epoch just before it sends a report, in the sending thread. It returns
      the voucher that the app's backend issued for this person; while it returns None, the report
      waits.
    - `strict`: raise ConfigurationError for mistakes that only the developer can correct. Otherwise
      such a mistake disables the client and is logged once.

    Trouble with the disk or the network is raised neither here nor by `record`.

    One client may be used by many threads and across forks, and many processes may share one state
    file. For tests: `transport`, `clock` (returns unix seconds), `environ` (replaces the process's
    environment), and `background=False`, which leaves sending to `upload_due` and `flush`.
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
        app: str | None = None,
        environ: Mapping[str, str] | None = None,
        transport: Transport | None = None,
        clock: Clock = time.time,
        background: bool = True,
        strict: bool = False,
    ) -> None:
        self._prepare(transport=transport, clock=clock, background=background, strict=strict)
        given = Arguments(url, trust, manifests, state, ceiling, vouchers)
        self._begin(given, None, app, environ)

    @classmethod
    def from_file(  # noqa: PLR0913  (published: apps call it)
        cls,
        file: str | os.PathLike[str] | bytes,
        *,
        app: str,
        ceiling: Ceiling,
        state: str | os.PathLike[str] | None = None,
        vouchers: Vouchers | None = None,
        environ: Mapping[str, str] | None = None,
        transport: Transport | None = None,
        clock: Clock = time.time,
        background: bool = True,
        strict: bool = False,
    ) -> Self:
        """Return a client of an app file, given as a path or as bytes.

        `deniable collections export --app` writes this file. Without `state`, the state file is
        kept in this system's directory for the state of `app`. The ceiling stays in the app's code.
        See `Client` for the other arguments.
        """
        client = cls.__new__(cls)
        cls._prepare(client, transport=transport, clock=clock, background=background, strict=strict)
        given, fault = from_app_file(file, app=app, state=state, ceiling=ceiling, vouchers=vouchers)
        cls._begin(client, given, fault, app, environ)
        return client

    def consent(self, answer: str | None = None) -> Consent:
        """Store the person's decision, "granted" or "denied"; without an argument, only return it.

        Nothing is recorded or sent before consent is granted. "denied" deletes queue and keys,
        closes an open socket, and prevents any further connection. Spent budget stays spent: a
        later "granted" brings no new budget.

        Raises StorageError if the decision could not be stored. This process obeys a "denied" even
        then. Raises ConfigurationError if `answer` is any other text.
        """
        if answer is None:
            self._gate.look()
            return self._gate.consent
        if parse_consent(answer) is Consent.DENIED:
            self._deny()
        else:
            self._grant()
        return self._gate.consent

    def record(self, collection: str, value: object) -> Outcome:
        """Record an answer to a collection, given by name or id.

        The value is randomized at once and goes no further. It is {label: bool, …} or a sequence of
        bools for a bits collection, a label or its index for a choice. Never raises, and never
        waits for the network: the returned `Outcome` says what happened.
        """
        try:
            outcome = self._record(collection, value)
        except ClosedError:
            return Outcome.CLOSED
        except StorageError as error:
            self._notices.note(error)
            return Outcome.DISABLED if error.permanent else Outcome.STORAGE_BUSY
        except Exception as error:  # no error may reach the host application
            self._notices.note(ClientError(f"record failed with {type(error).__name__}"))
            return Outcome.DISABLED
        if outcome in _REPORTED:
            self._ensure_background()
        elif outcome.mistake:
            self._log_mistake(collection, value, outcome)
        return outcome

    def preview(self, collection: str, value: object) -> Outcome:
        """Return what is wrong with a collection or a value, or QUEUED. Nothing else is checked."""
        encoded = self._recorder.examine(collection, value)
        return encoded if isinstance(encoded, Outcome) else Outcome.QUEUED

    def budget(self) -> Budget:
        """Return the ε spent and left, in total and for each name.

        Raises StorageError if the state cannot be read.
        """
        with self._state.reading() as db:
            return budget_of(db, self._ceiling.epsilon_lifetime, self._collections.lifetimes)

    def explain(self) -> Explanation:
        """Return what this client reveals and has revealed, as numbers and as text for the person.

        Raises StorageError if the state cannot be read.
        """
        from deniable_client.explanation_builder import (
            explain,
        )  # loaded on first use: a fast import

        budget = self.budget()
        with self._state.reading() as db:
            return explain(
                db,
                url=" or ".join(each.origin + each.path for each in self._addresses),
                denied_by=self._gate.opt_outs.denial(),
                budget=budget,
                ceiling=self._ceiling,
                collections=self._collections.prepared,
            )

    def status(self) -> Status:
        """Return whether answers are recorded now, and every reason if they are not.

        Never raises.
        """
        from deniable_client.status import read_status  # loaded on first use: a fast import

        return read_status(self._state, self._gate, self._collections, self._clock())

    def health(self) -> Health:
        """Return counts, problems and status for the app's own diagnostics. Never raises."""
        from deniable_client.health import read_health  # loaded on first use: a fast import

        return read_health(
            self._state,
            self._gate,
            status=self.status(),
            questions=self._collections.names,
            now=self._clock(),
            notices=self._notices,
        )

    def refresh(self, timeout: float = 10.0, *, names: Sequence[str] = ()) -> RefreshResult:
        """Fetch manifests of known collections, of `names`, and of names that `record` missed.

        Takes at most `timeout` seconds. Fetches nothing without consent.

        Raises ConfigurationError if `names` is a single text.
        """
        if isinstance(names, str):
            raise ConfigurationError(f"names must be a list of names, got the single {names!r}")
        result = self._refresher.refresh((*names, *self._wanted), timeout)
        self._wanted -= set(result.collections)
        self._ensure_defaults()
        return result

    def flush(self, timeout: float = 10.0, early: bool = False) -> FlushResult:
        """Send every report that is due, within `timeout` seconds.

        `early` also sends reports before their time. The client draws that time at random, so that
        the arrival of a report does not reveal when it was recorded. Use `early` only in
        demonstrations and tests, and just before a short-lived machine ends.
        """
        return self._with_notes(self._uploader.flush(timeout, early=early))

    def upload_due(self) -> FlushResult:
        """Do one run of the background thread: send one new report and at most three retries."""
        return self._with_notes(self._uploader.wake_up())

    def forget(self) -> None:
        """Delete everything on uninstall: the tombstone, too, and the state file. Then close."""
        self._gate.vetoed = True
        self._calls.close()
        with suppress(StorageError):  # a file that cannot be overwritten can still be deleted
            self._deny()
        self._scheduler.stop()
        self._state.erase()

    def close(self) -> None:
        """Stop the background thread, cut off requests, and close the state file.

        A request in progress gets one second to end by itself. Nothing new is sent.
        """
        self._scheduler.stop()
        self._calls.close()
        with suppress(StorageError):  # a file that cannot be tidied can still be closed
            self._uploader.release()
            self._state.checkpoint(patience_seconds=_CHECKPOINT_SECONDS)
        self._state.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _prepare(
        self, *, transport: Transport | None, clock: Clock, background: bool, strict: bool
    ) -> None:
        self._transport = HttpTransport() if transport is None else transport
        self._clock = clock
        self._background = background
        self._strict = strict
        self._calls = Calls()
        self._notices = Notices()
        self._wanted: set[str] = set()

    def _begin(
        self,
        given: Arguments,
        fault: ConfigurationError | None,
        app: str | None,
        environ: Mapping[str, str] | None,
    ) -> None:
        """Build the parts and start. After a mistake of the developer, the parts do nothing."""
        try:
            if fault is not None:
                raise fault
            self._build(Configuration.checked(given), OptOuts(app, environ))
        except TypeError:
            raise
        except Exception as error:  # the app must go on, without telemetry
            if self._strict:
                raise
            fault = as_fault(error)
            self._notices.note(fault)
            self._build(Configuration.disabled(given, fault), OptOuts(None, environ))

    def _build(self, given: Configuration, opt_outs: OptOuts) -> None:
        self._addresses, self._ceiling, self._state = given.addresses, given.ceiling, given.state
        parts = assemble(
            given, opt_outs, transport=self._transport, calls=self._calls, clock=self._clock
        )
        self._gate, self._collections = parts.gate, parts.collections
        self._recorder, self._refresher = parts.recorder, parts.refresher
        self._uploader = parts.uploader
        self._scheduler = Scheduler(self._wake_up)
        self._state.in_child += (
            self._calls.after_fork,
            self._uploader.after_fork,
            self._scheduler.after_fork,
        )
        self._start(given.manifests)

    def _start(self, manifests: Sequence[str | os.PathLike[str] | bytes]) -> None:
        try:
            self._collections.ship(manifests)
            self._load_collections()
            self._gate.look()
            with self._state.reading() as db:
                unsent = waiting_count(db)
        except StorageError as error:
            self._notices.note(error)
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

    def _log_mistake(self, name: object, value: object, outcome: Outcome) -> None:
        topic = (outcome, name if isinstance(name, str) else None)
        if self._notices.heard(topic):
            return
        from deniable_client._recording.mistakes import describe_mistake  # only after a mistake

        self._notices.say(topic, describe_mistake(self._collections, name, value, outcome))

    def _want(self, name: object) -> None:
        if isinstance(name, str) and len(self._wanted) < _MOST_WANTED:
            self._wanted.add(name)

    def _load_collections(self) -> None:
        for refusal in self._collections.load():
            self._notices.note(refusal)

    def _grant(self) -> None:
        with self._state.transaction(durable=True) as db:
            installation.grant(db)
        self._gate.vetoed = False
        self._gate.look()
        self._ensure_defaults()

    def _deny(self) -> None:
        self._gate.vetoed = True
        self._calls.cut()
        with self._state.transaction(durable=True) as db:
            installation.deny(db)
        self._gate.look()
        self._state.checkpoint(patience_seconds=_CHECKPOINT_SECONDS)

    def _ensure_defaults(self) -> None:
        """Start the thread if some collection reports even when the app records nothing."""
        if self._gate.consent is Consent.GRANTED and self._collections.always(self._clock()):
            self._ensure_background()

    def _ensure_background(self) -> None:
        if not self._background:
            return
        try:
            self._scheduler.ensure()
        except RuntimeError as error:  # no more threads: the report waits for the next start
            self._notices.note(ClientError(f"no background thread: {error}"))

    def _wake_up(self) -> None:
        try:
            result = self._uploader.wake_up()
            self._notices.problems.extend(result.problems)
            self._notices.log_run(result, failed=self._uploader.failed)
        except Exception as error:  # an app's own transport may raise anything
            self._notices.note(ClientError(f"an upload failed with {type(error).__name__}"))

    def _with_notes(self, result: FlushResult) -> FlushResult:
        self._notices.log_run(result, failed=self._uploader.failed)
        return replace(result, problems=(*self._notices.take(), *result.problems))
