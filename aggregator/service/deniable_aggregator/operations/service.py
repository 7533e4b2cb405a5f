"""What the application and the commands share, over one data directory: opened and closed once."""

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
        """Take the directory's lock, bring the database up to date, read keys and manifests.

        The audit log says that `actor` did it; without `migrate` StoreError for another schema.
        With a database that is not the one the data directory knows, uploads are suspended.

        With PostgreSQL other processes may have it open, too. Raises LockedError where another
        process holds it alone, DataDirectoryError where nothing was prepared, KeyFileError and
        StoreError. A given `store` is closed with the service, the `tracer` is not. A
        `clock` that is given without `boot_clock` is not watched.
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
        """Who is signed in, and one-time links; a demo has one that stays valid, too."""
        from deniable_aggregator.access.sessions import SignInSessions
        from deniable_aggregator.operations.demo_overlay import DemoSessions

        if self.demo is not None:
            return DemoSessions(self.store, clock=self.clock, overlay=self.demo)
        return SignInSessions(self.store, clock=self.clock)

    @cached_property
    def rollback_guard(self) -> FileRollbackGuard:
        """What the data directory knows of the database's age."""
        from deniable_aggregator.releases.rollback_guard import FileRollbackGuard

        return FileRollbackGuard(self.settings.data, self.store)

    @cached_property
    def database(self) -> DatabaseCheck:
        """Whether the database is the one that the data directory knows."""
        from deniable_aggregator.releases.rollback_guard.database_check import DatabaseCheck

        return DatabaseCheck(self.store, self.rollback_guard, self.suspension)

    def reconcile(self, *, audit: AuditEntry | None) -> Reconciliation:
        """Charge what an older copy of the database has forgotten; uploads and releases go on.

        Problem("unavailable") where the database was replaced while this process ran.
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
        """As `Registry.apply`; afterwards the data directory knows the collection, too.

        One that the database had lost with its charges is charged its whole budget. Problem
        ("unavailable") while the database is not the one that the data directory knows.
        """
        self.database.require()
        applied = self.registry.apply(envelope, replace=replace, audit=audit)
        if applied.created:
            self.store.checkpoint(at_once=True)
            self.database.check()
            self._charge_again(applied.manifest.collection)
        return applied

    def rotate_key(self, suite: int, *, at_once: bool, audit: AuditEntry | None) -> ListedKey:
        """As `Keys.rotate`, with the database that the data directory knows and a clock that holds.

        Problem("unavailable") otherwise.
        """
        self.database.require()
        self.require_clock()
        return self.keys.rotate(suite, at_once=at_once, audit=audit)

    def delete(self, collection: str, *, audit: AuditEntry | None) -> None:
        """As `Registry.delete`; afterwards the data directory does not know it either.

        The database goes first: what it has deleted, the next look takes out of heads.json.
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
        """The time to judge by: raises Problem("unavailable") while the clock is in doubt."""
        return self.clock_watch.now()

    def require_clock(self) -> None:
        """Call before what cannot be undone: raises Problem("unavailable") as `now` does."""
        self.clock_watch.now()

    def tick(self) -> None:
        """What has to be done again and again. Call often.

        Every process holds the database against heads.json. With the right one it writes its
        rejections, takes up what the others changed, and notes how far the ledger is; the one that
        leads rolls up, closes due epochs, deletes tallies that are too old, brings the views up to
        date, makes and destroys keys. A process whose clock is in doubt does not
        lead.
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

    def close(self) -> None:
        """Store uploads that wait and what is in memory, close the store, let the directory go."""
        self.arrivals.stop()
        try:
            self.store.close()
        finally:
            self._lock.release()

    def close_epoch(self, collection: Collection, epoch: int, *, audit: AuditEntry | None) -> bool:
        """For good; False if it was closed before."""
        with self.metrics.epoch_close_seconds.time():
            closed = self.store.close_epoch(collection.id, epoch, self.now(), audit=audit)
        if closed:
            self.metrics.epochs_closed.labels(collection.id).inc()
        return closed


def _open_store(settings: Settings, *, actor: str, at: float, migrate: bool) -> Store:
    from deniable_aggregator.keys import read_trust
    from deniable_aggregator.store import schema_version

    read_trust(settings.data)  # a directory that was never prepared gets no database
    if not migrate:
        schema_version.require_current(settings)
    return schema_version.open_migrated(settings, actor=actor, at=at)
