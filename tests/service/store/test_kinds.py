"""The address of a store: which kind it is, and what is said of one that is of no kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.cli import main
from deniable_aggregator.keys import initialise
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store.opening import open_read_only, open_store
from deniable_aggregator.store.schema_version import current_version, migrate
from deniable_gateway.errors import SettingsError

UNKNOWN = "mysql://me:secret@x"
MESSAGE = (
    "store must be empty (SQLite in the data directory), sqlite:///…, postgres://… or "
    "postgresql://…, got 'mysql'"
)
ADDRESSES = [
    (UNKNOWN, "mysql"),
    ("sqlite://deniable.db", "sqlite"),
    ("deniable.db", "deniable.db"),
    ("/run/deniable.db", "/run/deniable.db"),
]


@pytest.mark.parametrize(("address", "scheme"), ADDRESSES)
def test_an_address_of_no_kind_is_refused_with_the_kinds_there_are(
    address: str, scheme: str
) -> None:
    settings = Settings(store=address)
    for use in (open_store, open_read_only, current_version):
        with pytest.raises(SettingsError) as error:
            use(settings)
        assert str(error.value) == MESSAGE.replace("mysql", scheme)


@pytest.mark.parametrize(
    "use",
    [
        Service.open,
        migrate,
        lambda settings: initialise(settings, operator_key=settings.operator_key, now=0.0),
    ],
    ids=["open", "migrate", "initialise"],
)
def test_it_is_refused_before_anything_is_written(
    use: Callable[[Settings], object], tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    with pytest.raises(SettingsError, match="got 'mysql'"):
        use(Settings(data=tmp_path / "data", store=UNKNOWN))
    assert [path.name for path in tmp_path.rglob("*")] == ["data"]


@pytest.mark.parametrize(
    "command",
    ["serve", "init", "doctor", "store migrate", "store backup x.zip", "doctor verify-log"],
)
def test_so_says_every_command(command: str, tmp_path: Path) -> None:
    runner = CliRunner(env={"DENIABLE_DATA": str(tmp_path / "data"), "DENIABLE_STORE": UNKNOWN})
    result = runner.invoke(main, command.split())
    assert result.exit_code
    assert MESSAGE in " ".join(result.output.split())
    assert "secret" not in result.output
    assert not list(tmp_path.iterdir())
