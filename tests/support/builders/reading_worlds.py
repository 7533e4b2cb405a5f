"""Collections of numbers, records and texts with a mechanism of their own, to release from."""

from __future__ import annotations

from types import MappingProxyType

from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_shared.manifest.model import Manifest
from support.builders.api_world import INGEST

CENTRAL = 'central = { per_epoch = "99", per_installation = "99", delta = "0.01" }'
_HEAD = """
name = "{name}"
purpose = "How much do people use, and of what?"
owner = "privacy@example.org"
epsilon = "4"
mechanism = "{mechanism}"
valid_from = 2027-01-01
expires = 2027-06-01
read = "{read}"
min_batch = {min_batch}
{more}
[domain]
"""
_DOMAINS = MappingProxyType(
    {
        "number": 'type = "number"\nlow = 0\nhigh = 20\nstep = "2.5"',
        "record": (
            'type = "record"\n'
            '[[domain.attributes]]\nname = "os"\nlabels = ["linux", "mac"]\n'
            '[[domain.attributes]]\nname = "browser"\nlabels = ["firefox", "chrome"]'
        ),
        "text": 'type = "text"\nmax_bytes = 4',
    }
)
DOMAIN_OF = MappingProxyType(
    {
        "optimal-mean/1": "number",
        "duchi/1": "number",
        "square-wave/1": "number",
        "tree/1": "number",
        "haar/1": "number",
        "dbitflip/1": "number",
        "loloha/1": "number",
        "pairs/1": "record",
        "fourier/1": "record",
        "hcms/1": "text",
        "prefix-hash/1": "text",
        "rappor/1": "text",
        "cms/1": "text",
    }
)
ANSWERS: MappingProxyType[str, list[object]] = MappingProxyType(
    {
        "number": [0, 5, 5, 20],
        "record": [{"os": "mac", "browser": "chrome"}, {"os": "linux", "browser": "chrome"}],
        "text": ["ab", "ab", "c", "d"],
    }
)


def reading_manifest(
    mechanism: str, *, read: str = "live", min_batch: int = 3, more: str = CENTRAL
) -> Manifest:
    """The collection of one of these mechanisms."""
    head = _HEAD.format(
        name=mechanism.partition("/")[0],
        mechanism=mechanism,
        read=read,
        min_batch=min_batch,
        more=more,
    )
    return manifest_from_toml(head + _DOMAINS[DOMAIN_OF[mechanism]], ingest=INGEST)
