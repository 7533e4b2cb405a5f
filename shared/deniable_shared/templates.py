"""What `collections new` writes: every key with its default and a word on each."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from deniable_shared.domain import Domain, Record
from deniable_shared.epochs import Clock
from deniable_shared.manifest_fields import check_repeat

__all__ = ["AUTO", "template"]

AUTO = "auto"
"""What a text may write for the mechanism that is chosen when it names none."""

_LIFE = timedelta(weeks=52)

_TEMPLATE = """\
name = {name}
purpose = {purpose}      # shown to people; may change later
owner = {owner}          # whom to ask about it; may change later

epsilon = "1"             # of one whole report, everything in it together: 0.01…20
{repeat}
read = "live"             # live | closed | releases: what analysts may read; may narrow later

valid_from = {valid_from}   # first day, 00:00 UTC
expires = {expires}      # day after the last; may move later, to at most 365 days after this
epoch = "1d"              # reports are counted by epoch: 1h…31d
grace = "2d"              # an epoch closes this long after its end
min_batch = 100           # fewest reports shown; may rise later
retention_days = 400      # tallies are kept this long; may fall later

mechanism = "{auto}"        # chosen for the domain and ε, here {chosen};
                          # or one of {mechanisms}
# sampled = 1             # of rr-sampled/1 and dbitflip/1: how many bits a report tells
# search_step = 1         # of prefix-hash/1: bytes a level of the search adds; 0: lists only
ledger_group = {name}     # devices keep the spent ε under this name
presence = "on_event"     # that a device answered is visible; always: it answers in any case
# default = …             # of always: what it answers when nothing was recorded
sampling = "1"            # share of the devices that are asked, above 0
linkable = false          # true: reports of one device may be recognised as such
# requires = ["voucher/1"]   # one report a person, vouched for by your backend: not anonymous
cohorts = 1               # 1 or 64 disjoint groups, for errors of statistics that are no sums
# ingest = ["https://telemetry.example.org"]   # where reports go; default: the server's own address

[central]                 # budget of central releases; may be lowered later
per_epoch = "0.5"
per_installation = "2"
delta = "0"

[domain]
{domain}
"""

_REPEATS: Mapping[str, str] = {
    "once": """\
repeat = "once"           # one report from each device, ever
epsilon_lifetime = "1"    # all this collection may ever cost a device
""",
    "fresh": """\
repeat = "fresh"          # a new draw each epoch, as long as the lifetime pays
epsilon_lifetime = "10"   # all this collection may ever cost a device: 10 epochs
""",
    "memoized": """\
repeat = "memoized"       # a permanent answer in each hold, behind every report
epsilon_permanent = "2"   # of one permanent answer, and so of all reports in its hold
epsilon_lifetime = "4"    # all this collection may ever cost a device: 2 holds
hold_epochs = 182         # epochs one permanent answer serves
""",
}


def template(
    name: str,
    *,
    domain: Domain,
    repeat: str = "once",
    clock: Clock = time.time,
) -> str:
    """TOML for a new collection from today, for 52 weeks; ManifestError for another repeat."""
    from deniable_shared.mechanisms import for_type
    from deniable_shared.recommendation import recommend_for

    permanent = Fraction(2) if check_repeat(repeat) == "memoized" else None
    chosen = recommend_for(domain, Fraction(1), permanent=permanent)
    today = datetime.fromtimestamp(clock(), UTC).date()
    return _TEMPLATE.format(
        name=_quoted(name),
        purpose=_quoted("What do we want to know, and what for?"),
        owner=_quoted("privacy@example.org"),
        valid_from=today,
        expires=today + _LIFE,
        auto=AUTO,
        chosen=f"{chosen.id}: {chosen.reason}",
        mechanisms=", ".join(for_type(domain.type)),
        repeat=_REPEATS[repeat].rstrip(),
        domain=_domain(domain),
    )


def _domain(domain: Domain) -> str:
    fields = dict(domain.to_json())
    if isinstance(domain, Record):
        del fields["attributes"]
        table = {f"attributes.{_quoted(name)}": labels for name, labels in domain.attributes}
        fields |= {name: list(labels) for name, labels in table.items()}
    return "\n".join(f"{name} = {_written(value)}" for name, value in fields.items())


def _written(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_quoted, value)) + "]"
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
