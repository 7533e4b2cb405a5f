"""The lines that an app needs to answer one collection, ready to be copied."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from deniable_aggregator.collections.authoring.registration import MinimalCeiling
from deniable_shared.domains import Bits, Choice, Number, Record
from deniable_shared.domains.number import decimal_text

if TYPE_CHECKING:
    from deniable_shared.manifest.model import Manifest

_WIDTH = 60

_SNIPPET = """\
from deniable_client import Ceiling, Client

client = Client(
    {address},
    trust={trust},
    manifests=[{file}],
    state={state},
    ceiling={ceiling},
)
client.consent("granted")  # once the person has agreed
# randomized now; the true value goes no further
client.record({name}, {answer})
client.close()
"""


def client_snippet(manifest: Manifest, *, address: str, trust: str) -> str:
    """Python for an app; the answer in it is an example."""
    return _SNIPPET.format(
        address=_literal(address),
        trust=_literal(trust),
        file=_literal(f"{manifest.name}.manifest"),
        state=_literal(f"{manifest.name}.db"),
        ceiling=MinimalCeiling.admitting([manifest]),
        name=_literal(manifest.name),
        answer=_literal(example_answer(manifest)),
    )


def example_answer(manifest: Manifest) -> object:
    """An answer that the domain takes: the first there is."""
    domain = manifest.domain
    if isinstance(domain, Bits):
        return {label: place == 0 for place, label in enumerate(domain.labels)}
    if isinstance(domain, Choice):
        return domain.labels[0]
    if isinstance(domain, Number):
        return decimal_text(domain.low)
    if isinstance(domain, Record):
        return {name: labels[0] for name, labels in domain.attributes}
    return "a"


def _literal(value: object) -> str:
    """As Python writes it, with double quotes; long dictionaries a line an entry."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if not isinstance(value, Mapping):
        return repr(value)
    entries = [f"{_literal(key)}: {_literal(each)}" for key, each in value.items()]
    joined = ", ".join(entries)
    if len(joined) <= _WIDTH:
        return "{" + joined + "}"
    return "{\n" + "".join(f"    {entry},\n" for entry in entries) + "}"
