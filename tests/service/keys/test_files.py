"""Keys as files, the key list they sign, and when it is renewed."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

import pytest

from deniable_aggregator.base.errors import KeyFileError
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.keys import Keys, initialise, renew_delegation
from deniable_aggregator.keys import directory as keys
from deniable_aggregator.keys import lists as key_lists
from deniable_aggregator.keys.files import read_private, read_seed, write_private
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store.sqlite.store import SqliteStore
from deniable_gateway.errors import DataDirectoryError
from deniable_shared.errors import SignatureError
from deniable_shared.wire import dsse, envelope
from deniable_shared.wire.key_list import KeyList, verify_key_list
from support.builders import service_world
from support.builders.service_world import DAY, NOON, Moment, World
from support.builders.store_reports import append_log
from support.tiers import by_tier

HOUR = 3_600


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_init_prepares_a_directory_nobody_else_can_enter(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "deep" / "data")
    made = initialise(settings, operator_key=tmp_path / "safe" / "operator.key", now=NOON)
    data = settings.data
    for folder in (data, data / "keys"):
        assert mode(folder) == 0o700
    for file in ("keys/online.key", "keys/report-1.key", "deniable.db", "lock"):
        assert mode(data / file) == 0o600
    assert mode(made.operator_key) == 0o600
    assert made.trust == (data / "trust").read_text().strip()
    assert made.trust == dsse.public_key(read_seed(made.operator_key))


def test_init_makes_a_key_list_and_an_admin_token_that_work(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    made = initialise(settings, operator_key=tmp_path / "operator.key", now=NOON)
    service = Service.open(settings, clock=lambda: NOON)
    listed = verify_key_list(service.keys.key_list(), trusted=[made.trust], now=NOON)
    token = service.tokens.authenticate(f"Bearer {made.admin_token}")
    service.close()
    assert (listed.version, listed.log_size, listed.active.id) == (1, 0, 1)
    assert token is not None
    assert token.role == "admin"


def test_init_uses_an_operator_key_that_is_there(tmp_path: Path) -> None:
    seed = dsse.generate_key()
    write_private(tmp_path / "operator.key", seed, kind="ed25519-seed")
    made = initialise(
        Settings(data=tmp_path / "data"), operator_key=tmp_path / "operator.key", now=NOON
    )
    assert made.trust == dsse.public_key(seed)
    assert read_seed(tmp_path / "operator.key") == seed


def test_init_refuses_a_prepared_directory_and_changes_nothing_in_it(tmp_path: Path) -> None:
    settings = service_world.prepared(tmp_path)
    before = {path: path.read_bytes() for path in settings.data.rglob("*.key")}
    with pytest.raises(DataDirectoryError, match="prepared already"):
        initialise(settings, operator_key=tmp_path / "other.key", now=NOON)
    assert {path: path.read_bytes() for path in settings.data.rglob("*.key")} == before
    assert not (tmp_path / "other.key").exists()


def test_init_refuses_a_directory_that_others_use(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    before = mode(tmp_path)
    with pytest.raises(DataDirectoryError, match=r"must be an empty directory .* 'thesis\.txt'"):
        initialise(Settings(data=tmp_path), operator_key=tmp_path / "operator.key", now=NOON)
    assert mode(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_init_keeps_settings_that_were_put_there_before(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "deniable.toml").write_text("port = 9000\n")
    initialise(Settings(data=data), operator_key=tmp_path / "operator.key", now=NOON)
    assert Settings.load({"DENIABLE_DATA": str(data)}).port == 9000


@pytest.mark.parametrize("step", ["_prepare_files", "Keys"])
def test_init_finishes_what_an_interrupted_run_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    settings, operator = Settings(data=tmp_path / "data"), tmp_path / "operator.key"

    def interrupted(*arguments: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(keys, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        initialise(settings, operator_key=operator, now=NOON)
    monkeypatch.undo()
    made = initialise(settings, operator_key=operator, now=NOON)
    service = Service.open(settings, clock=lambda: NOON)
    verify_key_list(service.keys.key_list(), trusted=[made.trust], now=NOON)
    service.close()


def test_no_private_key_is_in_the_database(tmp_path: Path) -> None:
    settings = service_world.prepared(tmp_path)
    data = settings.database.read_bytes()
    for path in (settings.data / "keys").glob("*.key"):
        text = path.read_text().strip().partition(":")[2]
        raw = read_private(path, kind=path.read_text().partition(":")[0])
        assert raw not in data
        assert text.encode() not in data


def test_an_opener_opens_what_was_sealed_to_its_key(bare_service: World) -> None:
    sealed = envelope.seal(
        b"hello", public_key=bare_service.key_list().active.public_key, info=b"context"
    )
    opener = bare_service.running.keys.opener(1)
    assert opener is not None
    assert opener.open(sealed, info=b"context") == b"hello"
    assert bare_service.running.keys.opener(1) is opener
    assert bare_service.running.keys.opener(2) is None


def test_a_list_is_taken_for_two_weeks(bare_service: World) -> None:
    signed, trust = bare_service.running.keys.key_list(), bare_service.running.keys.trust
    assert verify_key_list(signed, trusted=[trust], now=NOON + 14 * DAY - 1).version == 1
    with pytest.raises(SignatureError, match="expired"):
        verify_key_list(signed, trusted=[trust], now=NOON + 14 * DAY)


def renewed(bare_service: World, seconds: float) -> KeyList | None:
    bare_service.clock.now += seconds
    return bare_service.key_list() if bare_service.running.keys.renew() else None


def test_a_list_is_renewed_at_half_its_life(bare_service: World) -> None:
    renewed(bare_service, HOUR)  # the manifest
    assert renewed(bare_service, 7 * DAY - 1) is None
    listed = renewed(bare_service, 1)
    assert listed is not None
    assert listed.version == 3
    assert listed.expires - listed.issued == 14 * DAY


def test_a_list_is_renewed_an_hour_after_the_log_grew(bare_service: World) -> None:
    assert renewed(bare_service, HOUR - 1) is None
    listed = renewed(bare_service, 1)
    assert listed is not None
    assert (listed.version, listed.log_size) == (2, 2)


@pytest.mark.slow
@pytest.mark.deeper
def test_an_idle_log_gains_one_entry_a_week(bare_service: World) -> None:
    renewed(bare_service, HOUR)
    size, weeks = bare_service.running.store.log_head()[0], by_tier(2, 4)
    for _ in range(weeks * 7 * 24):
        renewed(bare_service, HOUR)
    assert bare_service.running.store.log_head()[0] == size + weeks


@pytest.mark.slow
def test_a_busy_log_gains_at_most_one_list_an_hour(bare_service: World) -> None:
    versions = bare_service.key_list().version
    for number in range(240):
        append_log(bare_service.running.store, "release", bytes([number]) * 32)
        renewed(bare_service, 360)
    assert bare_service.key_list().version == versions + 24


def test_a_list_carries_the_head_before_it_and_is_the_next_entry(bare_service: World) -> None:
    before = bare_service.running.store.log_head()
    listed = renewed(bare_service, HOUR)
    assert listed is not None
    assert (listed.log_size, listed.log_head) == before
    assert bare_service.running.store.log()[-1].type == "keys"
    assert bare_service.running.store.log_head()[0] == before[0] + 1


def test_the_version_rises_over_restarts_even_after_an_expired_list(
    tmp_path: Path,
) -> None:
    settings = service_world.prepared(tmp_path)
    for days, version in ((0, 1), (1, 1), (8, 2), (100, 3), (100, 3)):
        clock = Moment(NOON + days * DAY)
        service = Service.open(settings, clock=clock)
        listed = verify_key_list(service.keys.key_list(), trusted=[service.keys.trust], now=clock())
        service.close()
        assert listed.version == version


def test_a_log_that_grows_while_the_list_is_signed_is_read_again(
    bare_service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, add = bare_service.running.store, bare_service.running.store.add_key_list

    def overtaken(row: object, *, log_size: int, audit: object) -> bool:
        monkeypatch.undo()
        append_log(store, "release", bytes(32))
        return add(row, log_size=log_size, audit=audit)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(store, "add_key_list", overtaken)
    listed = renewed(bare_service, HOUR)
    assert listed is not None
    assert (listed.version, listed.log_size) == (2, 3)


def test_another_report_key_is_listed_at_the_next_opening(tmp_path: Path) -> None:
    settings = service_world.prepared(tmp_path)
    private, public = envelope.generate()
    write_private(settings.data / "keys" / "report-7.key", private, kind="hpke-1")
    service = Service.open(settings, clock=lambda: NOON)
    listed = verify_key_list(service.keys.key_list(), trusted=[service.keys.trust], now=NOON)
    service.close()
    assert listed.version == 2
    assert {key.id: key.public_key for key in listed.keys}[7] == public


def test_an_expired_delegation_is_told_and_a_new_one_mends_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = service_world.prepared(tmp_path)
    late = NOON + keys.DELEGATION_SECONDS + 1
    Service.open(settings, clock=lambda: late).close()
    assert "the operator's delegation of the online key ends in -1 days" in caplog.text
    seed = read_seed(tmp_path / "operator.key")
    renew_delegation(settings.data, operator_seed=seed, now=late)
    service = Service.open(settings, clock=lambda: late)
    listed = verify_key_list(service.keys.key_list(), trusted=[service.keys.trust], now=late)
    service.close()
    assert listed.version == 2


def test_a_new_delegation_is_in_the_next_list_at_once(tmp_path: Path) -> None:
    settings = service_world.prepared(tmp_path)
    seed = read_seed(tmp_path / "operator.key")
    renew_delegation(settings.data, operator_seed=seed, now=NOON + DAY)
    for _ in range(2):
        service = Service.open(settings, clock=lambda: NOON + DAY)
        listed = service.keys.key_list()
        service.close()
    trust, end = dsse.public_key(seed), NOON + DAY + keys.DELEGATION_SECONDS
    assert verify_key_list(listed, trusted=[trust], now=NOON + DAY).version == 2
    with pytest.raises(SignatureError, match=f"the delegation expired at {end:.0f}"):
        verify_key_list(listed, trusted=[trust], now=end)


def test_only_the_operator_can_renew_the_delegation(tmp_path: Path) -> None:
    settings = service_world.prepared(tmp_path)
    with pytest.raises(KeyFileError, match="does not match"):
        renew_delegation(settings.data, operator_seed=dsse.generate_key(), now=NOON)


def test_a_list_that_devices_would_refuse_uses_up_no_version(tmp_path: Path) -> None:
    settings = service_world.prepared(tmp_path)
    (settings.data / "trust").write_text(dsse.public_key(dsse.generate_key()) + "\n")
    store = SqliteStore(tmp_path / "fresh.db")
    with pytest.raises(KeyFileError, match="devices would refuse"):
        Keys(settings.data, store=store, clock=Moment())
    assert store.log_head()[0] == 0
    store.close()


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("trust", "is not prepared .* run `deniable init`"),
        ("keys/online.key", "cannot be read"),
        ("keys/delegation.json", "cannot be read"),
        ("keys/report-1.key", "has no report-<id>.key"),
    ],
)
def test_a_missing_file_is_named(tmp_path: Path, file: str, message: str) -> None:
    settings = service_world.prepared(tmp_path)
    (settings.data / file).unlink()
    with pytest.raises((KeyFileError, DataDirectoryError), match=message):
        Service.open(settings, clock=lambda: NOON)


@pytest.mark.parametrize(
    "text",
    ["", "hpke-1:", "hpke-1:AAAA", "ed25519-seed:" + "A" * 43, "hpke-1:" + "!" * 43, "A" * 10_000],
)
def test_a_file_that_is_no_key_of_its_kind_is_refused_without_showing_it(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "report-1.key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(KeyFileError, match="must have one line") as error:
        read_private(path, kind="hpke-1")
    assert "AAAA" not in str(error.value)


@pytest.mark.parametrize("open_to", [0o640, 0o604, 0o660])
def test_a_key_file_open_to_others_is_refused_with_the_cure(tmp_path: Path, open_to: int) -> None:
    path = tmp_path / "operator.key"
    write_private(path, dsse.generate_key(), kind="ed25519-seed")
    path.chmod(open_to)
    with pytest.raises(KeyFileError, match=r"open to others .* chmod 600"):
        read_seed(path)


def test_a_key_file_is_never_overwritten(tmp_path: Path) -> None:
    write_private(tmp_path / "a.key", b"\x01" * 32, kind="hpke-1")
    with pytest.raises(FileExistsError):
        write_private(tmp_path / "a.key", b"\x02" * 32, kind="hpke-1")
    assert read_private(tmp_path / "a.key", kind="hpke-1") == b"\x01" * 32


def test_no_secret_shows_in_a_repr_or_in_a_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    signer = key_lists.Signer("ed25519:x", b"\x41" * 32, b"{}")
    assert "AAAA" not in repr(signer)
    made = initialise(
        Settings(data=tmp_path / "data"), operator_key=tmp_path / "operator.key", now=NOON
    )
    assert made.admin_token not in caplog.text
