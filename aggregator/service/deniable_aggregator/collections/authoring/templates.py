"""The TOML of `collections new`: every key with its default and a comment.

A purpose is a placeholder if it is the text of the template, or a mark such as TODO.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from deniable_shared.domains import Domain, Record
from deniable_shared.manifest.fields import EPSILON_RANGE, check_repeat
from deniable_shared.randomness.dyadic import format_epsilon, parse_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from fractions import Fraction

    from deniable_shared.manifest.epochs import Clock

PLACEHOLDER_PURPOSE = "What do we want to know, and what for?"
"""The purpose that `collections new` writes by default."""

AUTO = "auto"
"""The value that means the recommended mechanism."""

_LIFE = timedelta(weeks=52)

_TEMPLATE = """\
name = {name}
purpose = {purpose}      # shown to people; may change later
owner = {owner}          # whom to ask about it; may change later

{epsilon}# of one whole report, everything in it together: 0.01…20
{repeat}
{read}# live | closed | releases: what analysts may read; may narrow later

valid_from = {valid_from}   # first day, 00:00 UTC
expires = {expires}      # day after the last; may move later, to at most 365 days after this
epoch = "1d"              # reports are counted by epoch: 1h…31d
grace = "2d"              # an epoch closes this long after its end
{min_batch}# fewest reports shown; may rise later
retention_days = 400      # tallies are kept this long; may fall later

mechanism = "{auto}"        # chosen for the domain and ε, here {chosen};
                          # or one of {mechanisms}
# sampled = 1             # of rr-sampled/1 and dbitflip/1: bits in a report
# search_step = 1         # of prefix-hash/1: bytes a level of the search adds; 0: lists only
ledger_group = {name}     # devices keep the spent ε under this name
presence = "on_event"     # that a device answered is visible; always: it answers in any case
# default = …             # of always: what it answers when nothing was recorded
sampling = "1"            # share of the devices that are asked, above 0
linkable = false          # true: reports of one device may be recognised as such
# public = true              # anyone may read the results; may be withdrawn later, never added
# requires = ["voucher/1"]   # one report a person, vouched for by your backend: not anonymous
cohorts = 1               # 1 or 64 disjoint groups, for errors of statistics that are no sums
# web_origins = ["https://www.example.org"]    # pages that may answer; may only get fewer later
# ingest = ["https://telemetry.example.org"]   # where reports go; default: the server's own address

[central]                 # budget of central releases; may be lowered later
per_epoch = "0.5"
per_installation = "2"
delta = "0"

[domain]
{domain}
"""

_COMMENTS = 26
"""The column in which comments begin."""


@dataclass(frozen=True, slots=True)
class TemplateOptions:
    """Options of a template; others have defaults. `epochs`: paid epochs of a fresh answer."""

    purpose: str = PLACEHOLDER_PURPOSE
    owner: str = "privacy@example.org"
    epsilon: str = "1"
    read: str = "live"
    min_batch: int = 100
    epochs: int = 10


def template(
    name: str,
    *,
    domain: Domain,
    repeat: str = "once",
    options: TemplateOptions | None = None,
    clock: Clock = time.time,
) -> str:
    """TOML for a new collection from today, for 52 weeks.

    Raises ManifestError for an unknown repeat, ParameterError for an invalid ε.
    """
    from deniable_aggregator.collections.authoring.recommendation import recommend_for_domain
    from deniable_shared.mechanisms import ids_for_domain_type

    options = options or TemplateOptions()
    report = parse_epsilon(options.epsilon)
    permanent = _capped(2 * report) if check_repeat(repeat) == "memoized" else None
    chosen = recommend_for_domain(domain, report, permanent=permanent)
    today = datetime.fromtimestamp(clock(), UTC).date()
    return _TEMPLATE.format(
        name=_quoted(name),
        purpose=_quoted(options.purpose),
        owner=_quoted(options.owner),
        epsilon=_aligned("epsilon", format_epsilon(report)),
        read=_aligned("read", options.read),
        min_batch=_aligned("min_batch", options.min_batch),
        valid_from=today,
        expires=today + _LIFE,
        auto=AUTO,
        chosen=f"{chosen.id}: {chosen.reason}",
        mechanisms=", ".join(ids_for_domain_type(domain.type)),
        repeat="\n".join(_REPEATS[repeat](report, options.epochs)),
        domain=_domain(domain),
    )


def _once(report: Fraction, _epochs: int) -> Iterator[str]:
    yield _aligned("repeat", "once") + "# one report from each device, ever"
    yield _lifetime(report)


def _fresh(report: Fraction, epochs: int) -> Iterator[str]:
    lifetime = _capped(epochs * report)
    yield _aligned("repeat", "fresh") + "# a new draw each epoch, as long as the lifetime pays"
    yield _lifetime(lifetime, lifetime // report, "epoch")


def _memoized(report: Fraction, _epochs: int) -> Iterator[str]:
    permanent, lifetime = _capped(2 * report), _capped(4 * report)
    holds = lifetime // permanent
    yield _aligned("repeat", "memoized") + "# a permanent answer in each hold, behind every report"
    yield (
        _aligned("epsilon_permanent", format_epsilon(permanent))
        + "# of one permanent answer, and so of all reports in its hold"
    )
    yield _lifetime(lifetime, holds, "hold")
    yield _aligned("hold_epochs", _LIFE.days // holds) + "# epochs one permanent answer serves"


_REPEATS: Mapping[str, Callable[[Fraction, int], Iterator[str]]] = {
    "once": _once,
    "fresh": _fresh,
    "memoized": _memoized,
}


def _lifetime(epsilon: Fraction, times: int = 1, unit: str = "") -> str:
    paid = f": {times} {unit}{'s' * (times != 1)}" if unit else ""
    line = _aligned("epsilon_lifetime", format_epsilon(epsilon))
    return f"{line}# all this collection may ever cost a device{paid}"


def _capped(epsilon: Fraction) -> Fraction:
    return min(epsilon, EPSILON_RANGE[1])


def _aligned(key: str, value: str | int) -> str:
    return f"{key} = {_written(value)} ".ljust(_COMMENTS)


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


_MARKS = frozenset({"fixme", "placeholder", "tbd", "todo", "xxx"})
"""A purpose that begins with one of these words is a placeholder."""

_EMPTY = frozenset(
    {
        "change me",
        "changeme",
        "description",
        "lorem ipsum",
        "n a",
        "none",
        "purpose",
        "purpose here",
        "tba",
        "to be announced",
        "to be defined",
        "to be done",
        "your purpose",
        "your purpose here",
    }
)


def is_placeholder(purpose: str) -> bool:
    """Whether a purpose is the template's own, a mark such as TODO, or has no letter at all.

    Case, punctuation and spaces do not matter; "<purpose>" and "[your purpose here]" count too.
    """
    words = _words(purpose)
    if not words or words[0] in _MARKS:
        return True
    return " ".join(words) in _EMPTY or words == _words(PLACEHOLDER_PURPOSE)


def _words(text: str) -> list[str]:
    """The words of a text in any script, case-folded."""
    return re.findall(r"[^\W\d_]+", text.casefold())
