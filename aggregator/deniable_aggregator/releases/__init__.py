"""Releases over collections: asked, priced, charged to the ledger, drawn, kept, shown.

request    what is asked, and the digest by which the same request is found again
facts      what is public about the epochs it reads; their tallies
office     the order of things: validate, look up, charge, draw, keep, show
sessions   questions to a release that opened a conversation
document   what is shown and kept
"""

from __future__ import annotations

from deniable_aggregator.releases.office import Releases, Shown
from deniable_aggregator.releases.request import Planner, Request, Selection

__all__ = ["Planner", "Releases", "Request", "Selection", "Shown"]
