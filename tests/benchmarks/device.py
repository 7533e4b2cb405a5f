"""One device in a process of its own: start, record, upload; says after each how large it is.

Reads one JSON document on standard input and prints one. httpx loads its command line wherever
click and rich are installed, as they are here but not with a client alone: they are hidden.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HIDDEN = ("click", "rich", "pygments")
HEAVY = ("cryptography", "httpx")
MB = 1.024e-3


def resident_mb() -> float:
    """Resident memory of this process now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * MB for line in lines if line.startswith("VmRSS"))


def main() -> None:
    """Live a device's day."""
    reply = json.load(sys.stdin)
    sys.modules.update(dict.fromkeys(HIDDEN))  # type: ignore[arg-type]  # None hides a module
    from deniable_client import Ceiling, Client

    with Client(
        reply["url"],
        trust=reply["trust"],
        manifests=[reply["envelope"].encode()],
        state=reply["state"],
        ceiling=Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=8),
        background=False,
    ) as client:
        client.consent("granted")
        outcome = client.record(reply["collection"], reply["answer"])
        said: dict[str, object] = {
            "outcome": str(outcome),
            "recorded_mb": resident_mb(),
            "loaded": [name for name in HEAVY if name in sys.modules],
        }
        if reply["upload"]:
            result = client.flush(timeout=30, early=True)
            said |= {"accepted": result.accepted, "uploaded_mb": resident_mb()}
    print(json.dumps(said))


if __name__ == "__main__":
    main()
