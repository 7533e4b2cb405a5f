"""What `import deniable_client` adds to bare Python, in time and in memory, against the peers."""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks import peers
from benchmarks.measure import Effort, Line
from benchmarks.results import Case, Result, Verdict, at_most

TIME_BUDGET_MS = 40.0
MEMORY_BUDGET_MB = 12.0
SCRIPT = """
import sys, time
started = time.perf_counter()
{statement}
took = time.perf_counter() - started
with open("/proc/self/status") as status:
    rss = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
heavy = sum(module in sys.modules for module in {heavy})
figures = took * 1e3, rss * 1.024e-3, heavy
print('{{"milliseconds": %r, "megabytes": %r, "heavy": %d}}' % figures)
"""
NETWORK = "import httpx; from cryptography.hazmat.primitives import hpke"
BOUND = "half of it the standard library's own modules"
HEAVY = ("httpx", "cryptography", "numpy")
MOST_ROUNDS = 5
Sample = dict[str, float]


def run(effort: Effort) -> Result:
    """Fresh processes in turn; figures are beyond what bare Python took in the same turn."""
    statements = {"deniable": "import deniable_client", "httpx + HPKE": NETWORK}
    if effort.peers:
        imports = peers.import_statements()
        statements |= {name: f"import {probe}" for name, probe in imports.items()}
    samples = _sampled(statements, min(effort.rounds, MOST_ROUNDS))
    bare = samples.pop("bare Python")
    times = [_line(name, rows, "ms", "milliseconds", bare) for name, rows in samples.items()]
    sizes = [_line(name, rows, "MB", "megabytes", bare) for name, rows in samples.items()]
    return Result(
        title="Import",
        cases=(
            Case("import, time beyond bare Python", tuple(times)),
            Case("import, resident memory beyond bare Python", tuple(sizes)),
        ),
        verdicts=(
            at_most("import deniable_client, time", TIME_BUDGET_MS, times[0], bound=BOUND),
            at_most("import deniable_client, memory", MEMORY_BUDGET_MB, sizes[0], bound=BOUND),
            _lazy(samples["deniable"]),
        ),
        remarks=(
            f"Bare Python holds {min(row['megabytes'] for row in bare):.1f} MB. “httpx + HPKE” is "
            "what the client would load at once if it did not wait until it verifies or uploads.",
        ),
    )


def _sampled(statements: dict[str, str], rounds: int) -> dict[str, list[Sample]]:
    everything = {"bare Python": "pass", **statements}
    for statement in everything.values():
        _sample(statement)  # writes the bytecode
    samples: dict[str, list[Sample]] = {name: [] for name in everything}
    for _ in range(rounds):
        for name, statement in everything.items():
            samples[name].append(_sample(statement))
    return samples


def _sample(statement: str) -> Sample:
    script = SCRIPT.format(statement=statement, heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-I", "-W", "ignore", "-c", script],
        check=True,
        capture_output=True,
        text=True,
    )
    sample: Sample = json.loads(done.stdout.splitlines()[-1])
    return sample


def _line(name: str, rows: list[Sample], unit: str, key: str, bare: list[Sample]) -> Line:
    beyond = (row[key] - nothing[key] for row, nothing in zip(rows, bare, strict=True))
    return Line(name, _role(name), unit, tuple(beyond))


def _role(name: str) -> str:
    return {"deniable": "ours", "httpx + HPKE": "limit"}.get(name, "peer")


def _lazy(rows: list[Sample]) -> Verdict:
    heavy = max(int(row["heavy"]) for row in rows)
    reached = f"{heavy} of {', '.join(HEAVY)} loaded"
    return Verdict("import deniable_client loads no heavy module", reached, 0.5**heavy, "")
