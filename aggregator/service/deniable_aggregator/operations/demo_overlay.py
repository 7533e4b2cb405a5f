"""demo.json in the data directory of a demo: the true answers, and a sign-in link that stays valid.

Only `deniable demo` writes it, next to its temporary database. A service that
finds it says on every page that its data is simulated, and serves this machine only.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from deniable_aggregator.access.sessions import SessionStore, SignInSessions
from deniable_gateway.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from deniable_aggregator.base.settings import Settings
    from deniable_shared.manifest.epochs import Clock

NAME = "demo.json"


class TrueAnswers(msgspec.Struct, frozen=True):
    """The true answers to one question: labels of each answer, and counts by epoch."""

    labels: list[list[str]]
    people: dict[int, list[int]]

    def shares(self, n: Mapping[int, int], labels: Sequence[str]) -> dict[str, float]:
        """The true share of each label, over epochs with n reports each.

        0 for a label that no answer has; empty if no epoch has people here. A cell of a table,
        "a=x, b=y", is true for people with both labels.
        """
        people, total = self._pooled(n)
        if not total:
            return {}
        return {
            label: sum(
                count
                for count, held in zip(people, self.labels, strict=True)
                if label in held or set(label.split(", ")) <= set(held)
            )
            / total
            for label in labels
        }

    def quantities(self, n: Mapping[int, int], names: Sequence[str]) -> dict[str, float]:
        """The true "mean", or "p50" for a quantile, of numbers, whose labels are their texts."""
        people, total = self._pooled(n)
        if not total or not any(_is_quantity(name) for name in names):
            return {}
        values = sorted(
            (float(label), count) for [label], count in zip(self.labels, people, strict=True)
        )
        return {name: _quantity(name, values, total) for name in names if _is_quantity(name)}

    def _pooled(self, n: Mapping[int, int]) -> tuple[list[float], int]:
        """The number of people with each answer, and the number of all people."""
        counts = {epoch: sum(self.people.get(epoch, ())) for epoch in n}
        weights = {epoch: n[epoch] / people for epoch, people in counts.items() if people}
        people = [
            sum(weight * self.people[epoch][place] for epoch, weight in weights.items())
            for place in range(len(self.labels))
        ]
        return people, sum(n[epoch] for epoch in weights)


class DemoOverlay(msgspec.Struct, frozen=True):
    """The data of a demo: `link` is the SHA-256 of the link's secret."""

    link: str
    questions: dict[str, TrueAnswers]

    def shares(
        self, collection: str, n: Mapping[int, int], labels: Sequence[str]
    ) -> dict[str, float]:
        """See `TrueAnswers.shares`; empty for a collection that a visitor has added."""
        answers = self.questions.get(collection)
        return {} if answers is None else answers.shares(n, labels)

    def opens(self, link: str) -> bool:
        """Whether this is the secret of the demo's link."""
        return hmac.compare_digest(digest(link), self.link)


class DemoSessions(SignInSessions):
    """Sessions of a demo: its link signs in as often as it is opened, while the demo runs."""

    def __init__(self, store: SessionStore, *, clock: Clock, overlay: DemoOverlay) -> None:
        super().__init__(store, clock=clock)
        self._overlay = overlay

    def holds(self, link: str) -> bool:
        return self._overlay.opens(link) or super().holds(link)

    def use_link(self, link: str) -> str | None:
        if not self._overlay.opens(link):
            return super().use_link(link)
        return self.begin("demo", "admin", None, via="link")


def _is_quantity(name: str) -> bool:
    return name == "mean" or re.fullmatch("p[0-9.]+", name) is not None


def _quantity(name: str, values: Sequence[tuple[float, float]], total: float) -> float:
    if name == "mean":
        return sum(value * count for value, count in values) / total
    wanted, below = float(name.removeprefix("p")) / 100 * total, 0.0
    for value, count in values:
        below += count
        if below >= wanted * (1 - 1e-12):
            return value
    return values[-1][0]


def digest(link: str) -> str:
    """The stored hash of the link."""
    return hashlib.sha256(link.encode()).hexdigest()


def write_overlay(data: Path, overlay: DemoOverlay) -> None:
    """Make the service of this directory a demo."""
    (data / NAME).write_bytes(msgspec.json.encode(overlay))


def read_overlay(settings: Settings) -> DemoOverlay | None:
    """None unless the data is a demo's. Raises SettingsError if other machines could reach it."""
    try:
        document = (settings.data / NAME).read_bytes()
    except FileNotFoundError:
        return None
    host = urlsplit(settings.public_url).hostname or ""
    if not (_is_loopback(settings.host) and _is_loopback(host)):
        raise SettingsError(
            f"{settings.data} is a demo, whose link stays valid, so it serves only this machine; "
            f"host must be 127.0.0.1, got {settings.host!r} and public_url {settings.public_url!r}"
        )
    return msgspec.json.decode(document, type=DemoOverlay)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
