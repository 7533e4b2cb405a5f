"""The lines of code that an app needs to answer one collection, ready to copy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from deniable_shared.domains import Bits, Choice, Number, Record
from deniable_shared.domains.number import decimal_text
from deniable_shared.manifest.minimal_ceiling import MinimalCeiling

if TYPE_CHECKING:
    from deniable_shared.manifest.model import Manifest

_WIDTH = 60

_SNIPPET = """\
from deniable_client import Ceiling, Client

client = Client.from_file(
    "app.deniable",  # address, key and signed questions
    app="myapp",
    ceiling={ceiling},
)
client.consent("granted")  # once the person has agreed
# randomized now; the true value goes no further
client.record({name}, {answer})
client.close()
"""


def client_snippet(manifest: Manifest) -> str:
    """Python for an app that ships `app.deniable`; the answer in it is an example."""
    return _SNIPPET.format(
        ceiling=MinimalCeiling.admitting([manifest]),
        name=_literal(manifest.name),
        answer=_literal(example_answer(manifest)),
    )


def example_answer(manifest: Manifest) -> object:
    """The first answer that the domain accepts."""
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
    """A Python literal with double quotes; long dictionaries have one line for each entry."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if not isinstance(value, Mapping):
        return repr(value)
    entries = [f"{_literal(key)}: {_literal(each)}" for key, each in value.items()]
    joined = ", ".join(entries)
    if len(joined) <= _WIDTH:
        return "{" + joined + "}"
    return "{\n" + "".join(f"    {entry},\n" for entry in entries) + "}"
