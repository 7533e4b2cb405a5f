"""The rules between the fields of one manifest, and between two versions of it."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_shared.domains import manifest_value
from deniable_shared.errors import DomainError, ManifestError
from deniable_shared.manifest.epochs import EARLY_SECONDS
from deniable_shared.manifest.fields import (
    FIELDS,
    READS,
    Change,
    collection_id,
    threshold_paths,
)
from deniable_shared.manifest.ingest_origins import is_loopback
from deniable_shared.mechanisms import Mechanism, pinned_parameters
from deniable_shared.wire.canonical import canonical_json, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable_shared.manifest.model import Manifest

MAX_EXTENSION = timedelta(days=365)
"""How far the expiry may move in total, counted from the first version's."""

MAX_OPEN_INTEGERS = 1 << 24
"""Most integers in the tallies of all open epochs."""

MAX_LINKAGE = 1
"""Most bits that two reports of one permanent answer may share without linkable = true."""

_SHORTEST_EPOCH = 3_600
_LARGEST_EPOCH_INDEX = (1 << 32) - 1


def epochs_open(epoch_seconds: int, grace_seconds: int) -> int:
    """Return the most epochs that take reports at once: current, in grace, and of fast clocks."""
    return 1 + -(-grace_seconds // epoch_seconds) + -(-EARLY_SECONDS // epoch_seconds)


def check_limits(manifest: Manifest) -> None:
    """Raises ManifestError unless the fields fit each other, the id and the threshold."""
    for check in _CHECKS:
        check(manifest)
    wanted = collection_id(manifest.name, manifest.identity)
    if manifest.collection != wanted:
        raise ManifestError(
            f"collection must be {quote(wanted)}, which follows from the immutable fields, "
            f"got {quote(manifest.collection)}"
        )


def check_successor(old: Manifest, new: Manifest, first: Manifest) -> None:
    """Raises ManifestError, naming the field, unless `new` may follow `old` in one collection.

    `first` is the first version (for a device: the first one it saw). A reader may have missed
    versions. The very next version must name the body of `old`.
    """
    before, after = old.values, new.values
    for change in (Change.IDENTITY, *_LAWS):
        for field in FIELDS:
            if field.change is change and before.get(field.path) != after.get(field.path):
                _check_change(field.path, change, before, after)
    _check_chain(old, new, first)
    latest = first.expires + MAX_EXTENSION
    if new.expires > latest:
        raise ManifestError(
            f"expires must be at most 365 days after the first version's, {latest}, "
            f"got {new.expires}"
        )


def check_takes_name(old: Manifest, new: Manifest) -> None:
    """Raises ManifestError unless `new`, another collection, may take the name of `old`.

    Of the collections of one name, devices answer the one that started last. If two started on one
    day, the order of their ids would decide, which is chance.
    """
    if new.valid_from <= old.valid_from:
        raise ManifestError(
            f"valid_from must be after {old.valid_from}, the first day of {old.collection}, got "
            f"{new.valid_from}: devices answer the question of a name that started last, so set "
            f"it to {old.valid_from + timedelta(days=1)} or a later day"
        )


def _check_chain(old: Manifest, new: Manifest, first: Manifest) -> None:
    if not first.collection == old.collection == new.collection:
        raise ManifestError(
            f"collection must be {quote(first.collection)} in all versions, "
            f"got {quote(new.collection)}"
        )
    if new.version <= old.version:
        raise ManifestError(f"version must be more than {old.version}, got {new.version}")
    if new.version == old.version + 1 and new.previous != old.digest.hex():
        raise ManifestError(
            f"previous must be the SHA-256 of version {old.version}, {old.digest.hex()}, "
            f"got {quote(new.previous)}"
        )


_LAWS: Mapping[Change, Callable[[object, object], bool]] = {
    Change.LOWER: lambda old, new: Fraction(str(new)) <= Fraction(str(old)),
    Change.RAISE: lambda old, new: Fraction(str(new)) >= Fraction(str(old)),
    Change.NARROW: lambda old, new: READS.index(str(new)) >= READS.index(str(old)),
    Change.WITHDRAW: lambda _old, new: new is None,
    Change.FEWER: lambda old, new: _origins(new) <= _origins(old),
}
_CURES = {
    Change.IDENTITY: "may not change: make a new collection with another name",
    Change.LOWER: "may only be lowered",
    Change.RAISE: "may only be raised",
    Change.NARROW: "may only narrow, from live to closed to releases",
    Change.WITHDRAW: "may only be withdrawn: people did not agree to public answers",
    Change.FEWER: "may only lose origins: people did not agree to be asked on other sites",
}


def _origins(value: object) -> frozenset[object]:
    return frozenset(value) if isinstance(value, list) else frozenset()


def _check_change(
    path: str, change: Change, before: Mapping[str, object], after: Mapping[str, object]
) -> None:
    old, new = before.get(path), after.get(path)
    if change in _LAWS and _LAWS[change](old, new):
        return
    raise ManifestError(f"{path} {_CURES[change]}: it was {quote(old)}, got {quote(new)}")


def _check_version(manifest: Manifest) -> None:
    if (manifest.version == 1) != (manifest.previous is None):
        raise ManifestError(
            "previous must be null for version 1 and the hex SHA-256 of the version before for "
            f"others, got {quote(manifest.previous)} for version {manifest.version}"
        )


def _check_dates(manifest: Manifest) -> None:
    if manifest.expires <= manifest.valid_from:
        raise ManifestError(
            f"expires must be later than valid_from = {manifest.valid_from}, got {manifest.expires}"
        )
    if manifest.first_epoch < 0 or manifest.last_epoch > _LARGEST_EPOCH_INDEX:
        raise ManifestError(
            f"valid_from and expires must give epoch indices in 0…{_LARGEST_EPOCH_INDEX}, "
            f"got {manifest.first_epoch}…{manifest.last_epoch}"
        )


def _check_epsilon(manifest: Manifest) -> None:
    least, least_path = manifest.epsilon_report, "epsilon.report"
    if manifest.epsilon_permanent is not None:
        if manifest.epsilon_permanent <= least:
            raise ManifestError(
                "epsilon.permanent must be more than epsilon.report, "
                f"got {quote(manifest.values['epsilon.permanent'])} "
                f"and {quote(manifest.values['epsilon.report'])}"
            )
        least, least_path = manifest.epsilon_permanent, "epsilon.permanent"
    if manifest.epsilon_lifetime < least:
        raise ManifestError(
            f"epsilon.lifetime must be at least {least_path}, "
            f"got {quote(manifest.values['epsilon.lifetime'])} "
            f"and {quote(manifest.values[least_path])}"
        )


def _check_parameters(manifest: Manifest) -> None:
    given = manifest.values["mechanism.parameters"]
    names = pinned_parameters(manifest.mechanism_id)
    if not isinstance(given, dict) or given.keys() != set(names):
        wanted = ", ".join(f'"{name}": …' for name in names)
        raise ManifestError(
            f"mechanism.parameters of {manifest.mechanism_id} must be {{{wanted}}}, "
            f"got {quote(given)}"
        )


def thresholds(mechanism: Mechanism, repeat: str) -> dict[str, str]:
    """Return {manifest path: value} of the integers that follow from ε."""
    return {
        path: f"0x{getattr(mechanism, path.partition('.')[2]):016x}"
        for path in threshold_paths(repeat)
    }


def _check_thresholds(manifest: Manifest) -> None:
    for path, wanted in thresholds(manifest.mechanism(), manifest.repeat).items():
        if manifest.values[path] != wanted:
            raise ManifestError(
                f"{path} must be {quote(wanted)}, recomputed from epsilon, "
                f"got {quote(manifest.values[path])}"
            )


def _check_linkage(manifest: Manifest) -> None:
    if manifest.linkage > MAX_LINKAGE and not manifest.linkable:
        raise ManifestError(
            f"linkable must be true: two reports of one permanent answer share "
            f"{manifest.linkage:.2f} bits, more than {MAX_LINKAGE}, and so point to one device; "
            "say so, or lower epsilon.report, or ask for less at once"
        )


def _check_presence(manifest: Manifest) -> None:
    default = manifest.default
    if manifest.presence == "on_event":
        if default is not None:
            raise ManifestError(
                'default must be null where presence = "on_event": a device that records nothing '
                f"says nothing, got {quote(default)}"
            )
        return
    try:
        wanted = manifest_value(manifest.domain, default)
    except DomainError as error:
        raise ManifestError(
            'default must be an answer of the domain where presence = "always": '
            f"{error}, got {quote(default)}"
        ) from error
    if canonical_json(default) != canonical_json(wanted):
        raise ManifestError(f"default must be spelled {quote(wanted)}, got {quote(default)}")


def _check_epochs(manifest: Manifest) -> None:
    if manifest.epoch_seconds >= _SHORTEST_EPOCH or all(map(is_loopback, manifest.ingest)):
        return
    raise ManifestError(
        f"epoch_seconds must be {_SHORTEST_EPOCH:,}…2,678,400 unless every ingest origin is "
        f"loopback, got {manifest.epoch_seconds}"
    )


def _check_sizes(manifest: Manifest) -> None:
    mechanism = manifest.mechanism()
    epochs = epochs_open(manifest.epoch_seconds, manifest.grace_seconds)
    if epochs * manifest.cohorts * mechanism.tally_size > MAX_OPEN_INTEGERS:
        raise ManifestError(
            "epochs open × cohorts × tally length must be at most "
            f"{MAX_OPEN_INTEGERS:,}, got {epochs} × {manifest.cohorts} × {mechanism.tally_size}: "
            "shorten the grace, or lengthen the epoch"
        )


_CHECKS: tuple[Callable[[Manifest], None], ...] = (
    _check_version,
    _check_dates,
    _check_epsilon,
    _check_parameters,
    _check_thresholds,
    _check_linkage,
    _check_presence,
    _check_epochs,
    _check_sizes,
)
