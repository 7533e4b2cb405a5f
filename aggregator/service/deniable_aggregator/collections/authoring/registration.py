"""From a collection's TOML to a registered manifest: build on what is there, sign, put."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_aggregator.client.errors import ServiceError
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_shared.errors import ManifestError
from deniable_shared.manifest.ingest_origins import is_loopback
from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.randomness.dyadic import format_epsilon
from deniable_shared.wire import dsse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.client.service_client import ServiceClient


@dataclass(frozen=True, slots=True)
class MinimalCeiling:
    """The least limits compiled into an app that admit its collections."""

    epsilon_per_report: Fraction
    epsilon_permanent: Fraction
    epsilon_lifetime: Fraction

    def __str__(self) -> str:
        """As an app writes it."""
        limits = ", ".join(f'{name}="{text}"' for name, text in self.to_json().items())
        return f"Ceiling({limits})"

    def to_json(self) -> dict[str, str]:
        """Exact decimals as text."""
        return {
            "epsilon_per_report": format_epsilon(self.epsilon_per_report),
            "epsilon_permanent": format_epsilon(self.epsilon_permanent),
            "epsilon_lifetime": format_epsilon(self.epsilon_lifetime),
        }

    @classmethod
    def admitting(cls, manifests: Sequence[Manifest]) -> MinimalCeiling:
        """What every device may pay that answers all of them as long as they pay.

        A ledger group never costs more than its largest lifetime.
        """
        groups: dict[str, list[Manifest]] = {}
        for manifest in manifests:
            groups.setdefault(manifest.ledger_group, []).append(manifest)
        largest = max(manifest.epsilon_report for manifest in manifests)
        permanent = [each.epsilon_permanent for each in manifests if each.epsilon_permanent]
        return cls(
            epsilon_per_report=largest,
            epsilon_permanent=max(permanent, default=largest),
            epsilon_lifetime=sum(map(_cost, groups.values()), Fraction(0)),
        )


def _cost(group: Sequence[Manifest]) -> Fraction:
    paid = sum((manifest.schedule.lifetime_cost for manifest in group), Fraction(0))
    return min(paid, max(manifest.epsilon_lifetime for manifest in group))


def device_origin(settings: Settings, address: str) -> str:
    """Where devices send reports when the TOML does not say.

    `address` is where a live server answers: one on this machine may listen on another port than
    the settings say.
    """
    own = settings.public_url == settings.own_address
    return address if own and is_loopback(address) else settings.public_url


def registered_manifest(client: ServiceClient, name: str, trust: str) -> Manifest | None:
    """The newest manifest of a name or id, if there is one; its signature must be by `trust`."""
    try:
        envelope = client.manifest(name)
    except ServiceError as error:
        if error.slug == "unknown-collection":
            return None
        raise
    return parse_manifest(dsse.verify(envelope, payload_type=MANIFEST_TYPE, trusted=[trust]))


def next_manifest(
    text: str, previous: Manifest | None, *, ingest: Sequence[str], replace: bool
) -> Manifest:
    """What the TOML makes of `previous`: the same, the next version, or (`replace`) another id.

    `replace` also moves the same collection to `ingest`, where the TOML names none.
    """
    if previous is not None and replace:
        fresh = manifest_from_toml(text, ingest=ingest)
        if fresh.collection != previous.collection:
            return fresh
    try:
        return manifest_from_toml(text, ingest=ingest, previous=previous, move=replace)
    except ManifestError as error:
        if previous is None or _same_collection(text, ingest, previous):
            raise
        raise ManifestError(f"{error}, or --replace to let the name move there") from error


def _same_collection(text: str, ingest: Sequence[str], previous: Manifest) -> bool:
    try:
        return manifest_from_toml(text, ingest=ingest).collection == previous.collection
    except ManifestError:
        return True


def sign(manifest: Manifest, seed: bytes) -> bytes:
    """The DSSE envelope."""
    return dsse.sign(manifest.body, payload_type=MANIFEST_TYPE, seed=seed)
