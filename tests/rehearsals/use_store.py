"""What uses a store, where toy://PATH is one: a service, doctor, and what must be refused."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

import pytest

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.backup import copying
from deniable_aggregator.operations.doctor.damage import damage_checks
from deniable_aggregator.operations.doctor.installation import schema_check
from deniable_aggregator.store.opening import store_kind
from deniable_aggregator.store.schema_version import migrate
from deniable_gateway.errors import SettingsError
from support.builders import store_copies
from support.builders.api_world import World, authored, opened

REFUSED = "support SQLite and PostgreSQL stores, got toy://…"


def report_and_estimate(world: World) -> None:
    collection = world.register(authored())
    reports = [world.report(collection, [False, True]) for _ in range(5)]
    for _ in range(2):
        reply = world.upload(collection, *reports, role="relay")
        assert (reply.status_code, reply.data) == (200, b"")
    estimate = world.get(f"/v1/collections/{collection.id}/estimates")
    assert estimate.status_code == 200, estimate.text
    assert estimate.get_json()["n"] == 5
    assert "beta" in world.page(f"/collections/{collection.id}").text


def inspect(settings: Settings) -> None:
    assert settings.shared
    assert schema_check(settings).level == "ok"
    [counts] = damage_checks(settings)
    assert counts.level == "warn"
    assert REFUSED in counts.message
    before, after = migrate(settings)
    assert before == after


def refuse_copies(settings: Settings, folder: Path) -> None:
    toy = f"toy://{folder}/d.db"
    with pytest.raises(StoreError, match=REFUSED):
        copying.back_up(settings, folder / "b.zip", None, 0.0)
    for source in (settings, Settings(data=settings.data)):
        with pytest.raises(StoreError, match=REFUSED):
            store_copies.restore(source, folder / "b.zip", toy)
    with pytest.raises(SettingsError, match="or toy://…, got 'mysql'"):
        store_kind(Settings(store="mysql://x"))
    assert not list(folder.glob("[bcd].*"))


if __name__ == "__main__":
    folder = Path(mkdtemp())
    with opened(folder, store=f"toy://{folder}/rows") as world:
        report_and_estimate(world)
        settings = world.running.settings
    inspect(settings)
    refuse_copies(settings, folder)
