"""Devices that a storm kills: `python storm_device.py URL TRUST AHEAD FOLDER NAME…`.

AHEAD is by how many seconds their clocks are fast. Each name is a device with a state file of its
own in FOLDER and a collection of its own. A line "name" on stdout follows the word that
it has the report.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from deniable_client import Ceiling, Client, Outcome
from deniable_shared.manifest.epochs import Clock

CEILING = Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=4)
PAUSE_SECONDS = 0.02


def live(url: str, trust: str, clock: Clock, folder: Path, name: str) -> bool:
    """One start of the app; whether the report is acknowledged."""
    shipped = folder / f"{name}.manifest"
    with Client(
        url,
        trust=trust,
        manifests=[shipped],
        state=folder / f"{name}.db",
        ceiling=CEILING,
        clock=clock,
        background=False,
    ) as client:
        client.consent("granted")
        outcome = client.record(name, "green")
        result = client.flush(2.0, early=True)
    return result.accepted > 0 or (outcome is Outcome.ALREADY_ANSWERED and not result.waiting)


def main(url: str, trust: str, ahead: float, folder: Path, names: list[str]) -> None:
    """Start every device again and again until each one's report is acknowledged."""

    def clock() -> float:
        return time.time() + ahead

    while names:
        for name in list(names):
            if live(url, trust, clock, folder, name):
                print(name, flush=True)
                names.remove(name)
        time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), Path(sys.argv[4]), sys.argv[5:])
