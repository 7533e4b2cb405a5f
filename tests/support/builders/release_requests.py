"""One request of each kind of release: over a choice, or over the domain that the kind needs."""

from __future__ import annotations

REQUESTS: list[tuple[str, dict[str, object]]] = [
    ("allocate", {"none": "1", "supply": [9, 9, 9], "start": "0.25", "epsilon": "0.5"}),
    ("exponential", {"score": "mode", "epsilon": "0.5"}),
    ("histogram", {"epsilon": "0.5"}),
    ("median", {"epsilon": "1", "delta": "1e-6"}),
    ("mwem", {"workload": [{"labels": ["5", "10"]}, {"labels": ["2"]}], "epsilon": "0.5"}),
    ("noisy-max", {"score": "mode", "epsilon": "0.5", "noise": "gumbel"}),
    ("price", {"highest": "5", "ratio": "1.5", "epsilon": "0.5"}),
    ("queries", {"epsilon": "8"}),
    ("sample-aggregate", {"epsilon": "1", "delta": "1e-6"}),
    ("small-db", {"workload": "prefixes", "alpha": "0.5", "candidates": 9, "epsilon": "0.5"}),
    ("top-k", {"k": 2, "epsilon": "0.5"}),
]

OF_DOMAINS: dict[str, tuple[str, dict[str, object]]] = {
    "mean": ("number", {"epsilon": "0.5"}),
    "shares": ("number", {"ranges": "2", "epsilon": "0.5"}),
    "table": ("record", {"attributes": "os, browser", "epsilon": "0.5"}),
    "texts": ("text", {"texts": "ab, c", "epsilon": "0.5"}),
}
"""Of kinds that read no choice: which domain they need, and one request of each."""
