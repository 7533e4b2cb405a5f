"""The service of one data directory, for the application and the commands."""

from __future__ import annotations

import time
from functools import cached_property, partial
from typing import TYPE_CHECKING, Self

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.base.spans import NO_TRACER, Tracer
from deniable_aggregator.collections.registry import Collection, Registration, Registry
from deniable_aggregator.ingest import Ingest, Observers, ReportKeys
from deniable_aggregator.ingest.extensions import VoucherVerifier
from deniable_aggregator.ingest.relays import relay_check
from deniable_aggregator.ingest.watch import IngestWatch
from deniable_aggregator.keys import Keys
from deniable_aggregator.keys.cohorts import Cohorts
from deniable_aggregator.keys.vouchers import VoucherKeys
from deniable_aggregator.operations import settings_changes
from deniable_aggregator.operations.alerts import AlertWatch
from deniable_aggregator.operations.demo_overlay import read_overlay
from deniable_aggregator.operations.maintenance import ScheduledMaintenance
from deniable_aggregator.operations.metrics import Metrics
from deniable_aggregator.operations.metrics.gauges import StoreHealth
from deniable_aggregator.operations.metrics.rates import ReportRates
from deniable_aggregator.operations.readiness import Readiness
from deniable_aggregator.store.opening import require_known_kind
from deniable_gateway.clock.watch import ClockWatch
from deniable_gateway.directory_lock import DirectoryLock
from deniable_gateway.errors import DataDirectoryError
from deniable_gateway.suspension import Suspension
from deniable_gateway.upload.gate import UploadGate
from deniable_gateway.upload.upload_queue import UploadQueue

if TYPE_CHECKING:
    from deniable_aggregator.access.sessions import SignInSessions
    from deniable_aggregator.access.tokens import Tokens
    from deniable_aggregator.access.users import Users
    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.keys.rotation import ListedKey
    from deniable_aggregator.operations.metrics.gauges import ServiceGauges
    from deniable_aggregator.releases.rollback_guard import FileRollbackGuard
    from deniable_aggregator.releases.rollback_guard.database_check import (
        DatabaseCheck,
    )
    from deniable_aggregator.releases.rollback_guard.reconcile import Reconciliation
    from deniable_aggregator.releases.service import ReleaseService
    from deniable_aggregator.store.protocols import Store
    from deniable_shared.manifest.epochs import Clock


class Service:
    """Store, registry, keys, tokens and ingest of one data directory. Use `open`, then `close`."""

    def __init__(
        self,
        settings: Settings,
        *,
        store: Store,
        clock: Clock,
        lock: DirectoryLock,
        boot_clock: Clock | None = None,
        tracer: Tracer = NO_TRACER,
    ) -> None:
        self.settings = settings
        self.demo = read_overlay(settings)
        self.tracer = tracer
        self.clock = clock
        self.store = store
        self._lock = lock
        self.suspension = Suspension()
        self.database.check()
        last = store.latest_key_list()
        self.clock_watch = ClockWatch(
            clock,
            boot_clock,
            suspension=self.suspension,
            folder=settings.data,
            newest=last.issued if last else 0.0,
        )
        self.metrics = Metrics()
        self.store_health = StoreHealth(store, clock=clock)
        self.rates = ReportRates(self.metrics, clock=clock)
        self.keys = Keys(
            settings.data,
            store=store,
            clock=clock,
            shared=settings.shared,
            believed=self.clock_watch.look,
        )
        self.registry = Registry(
            store,
            trusted=[self.keys.trust],
            shared=settings.shared,
            ever_registered=lambda: self.rollback_guard.collection_ids,
        )
        self.voucher_keys = VoucherKeys.open(settings.data / "keys")
        self.ingest = Ingest(
            settings,
            store=store,
            registry=self.registry,
            report_keys=ReportKeys(
                self.keys,
                Cohorts.open(settings.data / "keys"),
                {"voucher/1": VoucherVerifier(self.voucher_keys.of)},
            ),
            clock=self.clock_watch.now,
            observers=Observers(self.metrics, tracer),
        )
        self.gate = UploadGate(
            self.suspension,
            None if settings.trusted_proxy else self.ingest.limiter,
            is_relay=relay_check(lambda: self.tokens, self.registry),
        )
        self.watch = IngestWatch(self.registry, self.metrics, tracer)
        self.arrivals = UploadQueue(self.ingest.take, suspension=self.suspension)
        self.readiness = Readiness(
            settings,
            store=store,
            keys=self.keys,
            clock=clock,
            clock_watch=self.clock_watch,
            suspension=self.suspension,
        )
        self.alerts = AlertWatch(store, registry=self.registry, public_url=settings.public_url)
        self._maintenance = ScheduledMaintenance(
            store,
            registry=self.registry,
            keys=self.keys,
            clock_watch=self.clock_watch,
            close_epoch=partial(self.close_epoch, audit=None),
            rotate_keys_days=settings.rotate_keys_days,
        )

    @classmethod
    def open(  # noqa: PLR0913  (published: notebooks call it)
        cls,
        settings: Settings,
        *,
        clock: Clock = time.time,
        boot_clock: Clock | None = None,
        store: Store | None = None,
        tracer: Tracer = NO_TRACER,
        actor: str = "deniable serve",
        migrate: bool = True,
    ) -> Self:
        """Lock the directory, migrate the database, read keys and manifests.

        The audit log names `actor`. Uploads are suspended if the database does not match the data
        directory. With PostgreSQL other processes may also have it open.

        Raises LockedError if another process has locked it, DataDirectoryError if it is not
        prepared, KeyFileError, and StoreError, also for another schema without `migrate`. `close`
        closes a given `store`, but not the `tracer`. A `clock` without `boot_clock` is not watched.
        """
        if not settings.data.is_dir():
            raise DataDirectoryError(f"there is no directory {settings.data}: run `deniable init`")
        require_known_kind(settings)
        lock = DirectoryLock.acquire(settings.data, shared=settings.shared)
        opened = store
        try:
            opened = opened or _open_store(settings, actor=actor, at=clock(), migrate=migrate)
            return cls(
                settings,
                store=opened,
                clock=clock,
                boot_clock=boot_clock,
                lock=lock,
                tracer=tracer,
            )
        except BaseException:
            if opened is not None:
                opened.close()
            lock.release()
            raise

    @cached_property
    def tokens(self) -> Tokens:
        """Bearer tokens."""
        from deniable_aggregator.access.tokens import Tokens

        return Tokens(self.store, clock=self.clock)

    @cached_property
    def users(self) -> Users:
        """Local users."""
        from deniable_aggregator.access.users import Users

        return Users(self.store, clock=self.clock)

    @cached_property
    def sessions(self) -> SignInSessions:
        """Sign-in sessions and one-time links; a demo also has a link that stays valid."""
        from deniable_aggregator.access.sessions import SignInSessions
        from deniable_aggregator.operations.demo_overlay import DemoSessions

        if self.demo is not None:
            return DemoSessions(self.store, clock=self.clock, overlay=self.demo)
        return SignInSessions(self.store, clock=self.clock)

    @cached_property
    def rollback_guard(self) -> FileRollbackGuard:
        """The guard that detects an old copy of the database."""
        from deniable_aggregator.releases.rollback_guard import FileRollbackGuard

        return FileRollbackGuard(self.settings.data, self.store)

    @cached_property
    def database(self) -> DatabaseCheck:
        """The check that the database matches the data directory."""
        from deniable_aggregator.releases.rollback_guard.database_check import DatabaseCheck

        return DatabaseCheck(self.store, self.rollback_guard, self.suspension)

    def reconcile(self, *, audit: AuditEntry | None) -> Reconciliation:
        """Add the charges that an older database lacks. Uploads and releases then continue.

        Raises Problem("unavailable") if the database was replaced while this process ran.
        """
        from deniable_aggregator.releases.rollback_guard.reconcile import reconcile

        self.database.check()
        self.database.require_same()
        gap = reconcile(
            self.settings.data, self.store, self.registry.all(), self.now(), audit=audit
        )
        self.database.check()
        return gap

    def register(
        self, envelope: bytes, *, replace: bool = False, audit: AuditEntry | None
    ) -> Registration:
        """Register as `Registry.apply`, and note the collection in heads.json.

        If the database had lost the collection with its charges, its whole budget is charged.
        Raises Problem("unavailable") while the database does not match the data directory.
        """
        self.database.require()
        applied = self.registry.apply(envelope, replace=replace, audit=audit)
        if applied.created:
            self.store.checkpoint(at_once=True)
            self.database.check()
            self._charge_again(applied.manifest.collection)
        return applied

    def rotate_key(self, suite: int, *, at_once: bool, audit: AuditEntry | None) -> ListedKey:
        """Rotate as `Keys.rotate`, if the database matches and the clock is trusted.

        Raises Problem("unavailable") otherwise.
        """
        self.database.require()
        self.require_clock()
        return self.keys.rotate(suite, at_once=at_once, audit=audit)

    def delete(self, collection: str, *, audit: AuditEntry | None) -> None:
        """Delete as `Registry.delete`, and remove the collection from heads.json.

        The database comes first: the next check removes deleted collections from heads.json.
        """
        self.database.require()
        self.registry.delete(collection, clock=self.now, audit=audit)
        self.store.checkpoint(at_once=True)
        self.database.check()

    def _charge_again(self, collection: str) -> None:
        if collection in self.rollback_guard.owed_collections:
            entry = AuditEntry.of("ledger-reconciled", actor="registration", at=self.clock())
            self.reconcile(audit=entry)

    @cached_property
    def releases(self) -> ReleaseService:
        """Central releases over the collections, under the ledger."""
        from deniable_aggregator.releases import kinds
        from deniable_aggregator.releases.service import Observers, ReleaseService

        return ReleaseService(
            self.store,
            clock=self.now,
            prepare=kinds.prepare,
            guard=self.rollback_guard,
            observers=Observers(self.metrics.count_release, self.tracer),
        )

    @property
    def state(self) -> ServiceGauges:
        """The gauges of this process."""
        from deniable_aggregator.operations.metrics.gauges import ServiceGauges

        return ServiceGauges(
            self.settings.data,
            arrivals=self.arrivals,
            store_health=self.store_health,
            guard=self.rollback_guard,
            keys=self.keys,
            registry=self.registry,
            clock=self.clock,
        )

    def now(self) -> float:
        """Unix seconds. Raises Problem("unavailable") while the clock is in doubt."""
        return self.clock_watch.now()

    def require_clock(self) -> None:
        """Call before an irreversible action. Raises Problem("unavailable") as `now`."""
        self.clock_watch.now()

    def tick(self) -> None:
        """Run the maintenance once. Call it often.

        Every process compares the database with heads.json. If they match, it writes its
        rejections, reloads changes of other processes, and notes the end of the ledger. The leading
        process also rolls up, closes due epochs, deletes old tallies, updates the views, makes and
        destroys keys, looks for changes of answers and calls webhooks. A process whose clock is in
        doubt does not lead.
        """
        with self.metrics.housekeeping_failures.count_exceptions():
            self.store_health.check()
            self.rates.sample()
            if self.database.check():
                self._do_chores()
            else:
                self.store.try_lead(willing=False)
                self.clock_watch.tick()
            self.store.checkpoint()

    def _do_chores(self) -> None:
        self.store.flush()
        self.registry.refresh()
        self.keys.renew()
        leads = self.store.try_lead(willing=self.clock_watch.tick())
        confirmed = self.clock_watch.take_confirmation()
        if leads:
            if confirmed is not None:
                settings_changes.record_confirmation(self.store, confirmed)
            self._maintenance.run()
            self.metrics.led_at.set(self.clock())
        self.rollback_guard.try_advance()
        if leads:
            self.alerts.run(self.now())  # last, so that webhooks delay nothing else

    def close(self) -> None:
        """Store waiting uploads and counts in memory, close the store, unlock the directory."""
        self.arrivals.stop()
        try:
            self.store.close()
        finally:
            self._lock.release()

    def web_origins(self, collection: str) -> tuple[str, ...]:
        """Origins whose pages may upload to a collection."""
        registered = self.registry.lookup(collection)
        return registered.manifest.web_origins if registered else ()

    def close_epoch(self, collection: Collection, epoch: int, *, audit: AuditEntry | None) -> bool:
        """Close an epoch permanently; returns False if it was closed before."""
        with self.metrics.epoch_close_seconds.time():
            closed = self.store.close_epoch(collection.id, epoch, self.now(), audit=audit)
        if closed:
            self.metrics.epochs_closed.labels(collection.id).inc()
        return closed


def _open_store(settings: Settings, *, actor: str, at: float, migrate: bool) -> Store:
    from deniable_aggregator.keys import read_trust
    from deniable_aggregator.store import schema_version

    read_trust(settings.data)  # do not make a database in an unprepared directory
    if not migrate:
        schema_version.require_current(settings)
    return schema_version.open_migrated(settings, actor=actor, at=at)
