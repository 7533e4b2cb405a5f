"""The peers' search for unlisted words: pure-ldp's PEM.

Its own choice of oracle counts over the whole domain for each report, 40^16 strings here, and so
never ends; of the others only its count-mean sketch needs no list. Two things it needs are handed
in: a domain size that current numpy takes, and hash functions that current xxhash takes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from benchmarks.peers import module

TABLES, CODES = 16, 1024
PADDING = "*"
REMARK = (
    "pure-ldp's PEM runs in steps of one character over its count-mean sketch "
    f"({TABLES} tables of {CODES:,}), the alphabet being the characters that occur: it knows "
    "them, ours does not. Its sketch does not run with numpy 2 nor with xxhash 4 as published; a "
    "domain size and hash functions are handed in. It lists as many as it is asked for, and does "
    "not say which of them are real. One run of one shape, not tuned."
)
Hash = Callable[[str], int]


def listed(
    words: list[str], people: list[int], epsilon: float, most_bytes: int, top: int
) -> list[str] | None:
    """The `top` strings it lists where people[i] devices have words[i]; None if not installed."""
    oracles = module("pure_ldp.frequency_oracles")
    searches = module("pure_ldp.heavy_hitters")
    if oracles is None or searches is None:
        return None
    xxhash = importlib.import_module("xxhash")

    def hashed(seed: int) -> Hash:
        return lambda text: xxhash.xxh64_intdigest(text.encode(), seed) % CODES

    hashes = [hashed(seed) for seed in range(TABLES)]
    sized = {"d": property(lambda _: (), lambda _, value: None)}
    sketch = type("Sketch", (oracles.CMSServer,), sized)(epsilon, TABLES, CODES)
    shape = (epsilon, 0, most_bytes, 1)
    alphabet = [*sorted(set("".join(words))), PADDING]
    result = {"alphabet": alphabet, "index_mapper": str, "padding_char": PADDING}
    server = searches.PEMServer(*shape, **result, fo_server=sketch)
    for oracle in server.oracles:
        oracle.hash_funcs = hashes
    device = searches.PEMClient(
        *shape, **result, fo_client=oracles.CMSClient(epsilon, hashes, CODES)
    )
    for word, count in zip(words, people, strict=True):
        for _ in range(count):
            server.aggregate(device.privatise(word))
    actual, _ = server.find_heavy_hitters(k=top)
    return [text.rstrip(PADDING) for text in actual]
