"""kill -9 under load: whatever dies, each acknowledged report is counted once."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.mortal_postgres import mortal_postgres
from support.storm import Storm, blow

ROUNDS, MANY_ROUNDS = 4, 20
DEVICES, MANY_DEVICES = 45, 400
WORKERS = 3

pytestmark = pytest.mark.processes


def test_a_storm_over_sqlite_ends_with_the_acknowledged_counts(tmp_path: Path) -> None:
    blow(Storm(tmp_path, devices=DEVICES), ROUNDS)


def test_a_storm_over_several_workers_on_postgresql_ends_with_the_acknowledged_counts(
    tmp_path: Path,
) -> None:
    with mortal_postgres() as database:
        blow(Storm(tmp_path, database, WORKERS, DEVICES), ROUNDS)


@pytest.mark.long
def test_a_long_storm_over_sqlite_ends_with_the_acknowledged_counts(tmp_path: Path) -> None:
    blow(Storm(tmp_path, devices=MANY_DEVICES), MANY_ROUNDS)


@pytest.mark.long
def test_a_long_storm_over_several_workers_on_postgresql_ends_with_the_acknowledged_counts(
    tmp_path: Path,
) -> None:
    with mortal_postgres() as database:
        blow(Storm(tmp_path, database, WORKERS, MANY_DEVICES), MANY_ROUNDS)
