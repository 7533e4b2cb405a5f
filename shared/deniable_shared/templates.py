"""What `collections new` writes: every key with its default and a word on each."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from deniable_shared.domain import parse_domain
from deniable_shared.epochs import Clock

__all__ = ["template"]

_LIFE = timedelta(weeks=52)

_TEMPLATE = """\
name = {name}
purpose = {purpose}      # shown to people; may change later
owner = {owner}          # whom to ask about it; may change later

epsilon = "1"             # of one whole report, everything in it together: 0.01…20
repeat = "once"           # one report from each device, ever
epsilon_lifetime = "1"    # all this collection may ever cost a device
read = "live"             # live | closed | releases: what analysts may read; may narrow later

valid_from = {valid_from}   # first day, 00:00 UTC
expires = {expires}      # day after the last; may move later, to at most 365 days after this
epoch = "1d"              # reports are counted by epoch: 1h…31d
grace = "2d"              # an epoch closes this long after its end
min_batch = 100           # fewest reports shown; may rise later
retention_days = 400      # tallies are kept this long; may fall later

mechanism = "{mechanism}"
ledger_group = {name}     # devices keep the spent ε under this name
presence = "on_event"     # that a device answered is visible, what it answered is not
sampling = "1"            # every device is asked
linkable = false
cohorts = 1
# ingest = ["https://telemetry.example.org"]   # where reports go; default: the server's own address

[central]                 # budget of central releases; may be lowered later
per_epoch = "0.5"
per_installation = "2"
delta = "0"

[domain]
type = "{type}"
labels = {labels}
"""


def template(name: str, *, type: str, labels: Sequence[str], clock: Clock = time.time) -> str:
    """TOML for a new collection from today, for 52 weeks; ManifestError for labels of no domain."""
    from deniable_shared.mechanisms import default_id

    domain = parse_domain({"type": type, "labels": list(labels)})
    today = datetime.fromtimestamp(clock(), UTC).date()
    return _TEMPLATE.format(
        name=_quoted(name),
        purpose=_quoted("What do we want to know, and what for?"),
        owner=_quoted("privacy@example.org"),
        valid_from=today,
        expires=today + _LIFE,
        mechanism=default_id(domain),
        type=domain.type,
        labels="[" + ", ".join(map(_quoted, labels)) + "]",
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
