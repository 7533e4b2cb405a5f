"""kill -9 under load: each acknowledged report is counted once."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.processes.kill_storm import Storm, blow, gust
from support.processes.killable_postgres import mortal_postgres

ROUNDS = 20
DEVICES, MANY_DEVICES = 24, 400
WORKERS, MANY_WORKERS = 2, 3

pytestmark = pytest.mark.processes


@pytest.mark.exhaustive
def test_a_gust_over_sqlite_ends_with_the_acknowledged_counts(tmp_path: Path) -> None:
    gust(Storm(tmp_path, devices=DEVICES))


@pytest.mark.exhaustive
def test_a_gust_over_workers_on_postgresql_ends_with_acknowledged_counts(
    tmp_path: Path,
) -> None:
    with mortal_postgres() as database:
        gust(Storm(tmp_path, database, WORKERS, DEVICES))


@pytest.mark.long
def test_a_long_storm_over_sqlite_ends_with_the_acknowledged_counts(tmp_path: Path) -> None:
    blow(Storm(tmp_path, devices=MANY_DEVICES), ROUNDS)


@pytest.mark.long
def test_a_storm_over_workers_on_postgresql_ends_with_acknowledged_counts(
    tmp_path: Path,
) -> None:
    with mortal_postgres() as database:
        blow(Storm(tmp_path, database, MANY_WORKERS, MANY_DEVICES), ROUNDS)
