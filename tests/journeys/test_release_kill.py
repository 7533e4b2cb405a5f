"""kill -9 between charge and answer: budget is lost at worst, and never anything else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.service import Service
from deniable_aggregator.releases.service import ReleaseService
from deniable_gateway.problem import Problem
from support.builders.data_directory import Moment
from support.builders.release_world import asked, opened
from support.doubles import release_plans
from support.processes import release_spender
from support.processes.deniable_command import bare_environ
from support.tiers import rows

TESTS = Path(__file__).parent.parent


def killed(folder: Path, collection: str, where: str) -> None:
    """A real process asks for a release and is killed there."""
    run = [sys.executable, release_spender.__file__, str(folder), collection, where]
    spender = subprocess.Popen(
        run, stdout=subprocess.PIPE, text=True, env=bare_environ() | {"PYTHONPATH": str(TESTS)}
    )
    assert spender.stdout is not None
    assert spender.stdout.readline() == "here\n"
    spender.kill()
    spender.communicate(timeout=120)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("where", "kept"), rows([("draw", 0), ("keep", 0), ("show", 1)], by_default=[("keep", 0)])
)
def test_charges_stay_and_the_same_request_costs_nothing(
    tmp_path: Path, where: str, kept: int
) -> None:
    with opened(tmp_path) as world:
        collection = world.collection.id
    killed(tmp_path, collection, where)
    service = Service.open(Settings(data=tmp_path / "data"), clock=Moment())
    releases = ReleaseService(service.store, clock=Moment(), prepare=release_plans.prepare)
    found = service.registry.get(collection)
    [charge] = service.store.charges(collection)
    assert len(service.store.results(collection)) == kept
    with pytest.raises(Problem, match=f"costs 0.2 \\(0.4 was spent by {charge.release}\\)"):
        releases.release(found, asked("0.2"), audit=None)
    shown = releases.release(found, asked("0.4"), audit=None)
    assert (shown.row.release, shown.new) == (charge.release, not kept)
    assert service.store.charges(collection) == [charge]
    assert service.store.results(collection) == [shown.row]
    service.close()
