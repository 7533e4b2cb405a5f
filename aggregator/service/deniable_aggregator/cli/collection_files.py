"""`deniable collections lint` and `apply`: check, sign and register TOML files."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.command_groups import CommandFailed
from deniable_aggregator.cli.options import (
    Target,
    example,
    json_option,
    operator_seed,
    service_options,
)
from deniable_aggregator.cli.output import emit

if TYPE_CHECKING:
    from deniable_aggregator.client.service_client import ServiceClient
    from deniable_aggregator.collections.authoring.lint_findings import Finding
    from deniable_shared.manifest.minimal_ceiling import MinimalCeiling
    from deniable_shared.manifest.model import Manifest

FILES = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command(
    epilog=example(
        "deniable collections lint settings.toml",
        "deniable collections lint settings.toml theme.toml  # a ceiling for both",
    )
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILES)
@service_options
@json_option
def lint(files: tuple[Path, ...], target: Target, as_json: bool) -> None:
    """Check collections without registering them.

    Shows the privacy cost for a device, when it stops answering, and the least ceiling that admits
    all files. Exit code 1 if a file cannot be registered.
    """
    origin = target.origin()
    manifests = [_parse_file(path, ingest=origin) for path in files]
    findings = [_findings(manifest) for manifest in manifests]
    failed = any(finding.level == "error" for of_file in findings for finding in of_file)
    if as_json:
        emit(_document(manifests, findings))
    else:
        _print_findings(manifests, findings)
    if failed:
        sys.exit(1)


@click.command(
    epilog=example(
        "deniable collections apply settings.toml --key operator.key --dry-run",
        "deniable collections apply settings.toml theme.toml --key operator.key",
    )
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILES)
@click.option(
    "--key",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The operator's key. [default: operator.key next to the data directory]",
)
@click.option("--dry-run", is_flag=True, help="Show what would happen and change nothing.")
@click.option(
    "--replace",
    is_flag=True,
    help="Move the name to a new collection, or the collection to the service's address.",
)
@service_options
@json_option
def apply(
    files: tuple[Path, ...],
    key: Path | None,
    dry_run: bool,
    replace: bool,
    target: Target,
    as_json: bool,
) -> None:
    """Check, sign and register collections.

    Checks all files before it registers the first. Running it again changes nothing. A file
    without a warning prints one line; --dry-run prints the same as `lint`.

    Some fields of a collection may not change. With --replace such a file makes a new collection
    that takes over the name; devices keep the old budget. If only the address of the service has
    changed, --replace moves the collection: devices whose app lists both addresses follow.
    """
    from deniable_aggregator.collections.authoring import registration as authored

    seed = operator_seed(key, target.settings())
    with target.connect() as client:
        candidates = [
            _candidate(path, client, target, seed=seed, replace=replace) for path in files
        ]
        _refuse_twice([each.manifest for each in candidates])
        for each in candidates:
            if not (dry_run or each.unchanged):
                envelope = authored.sign(each.manifest, seed)
                client.apply(each.manifest.collection, envelope, replace=replace)
    _print_candidates(candidates, dry_run=dry_run, as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """The next version of a collection; `unchanged` if it is registered already."""

    manifest: Manifest
    findings: list[Finding]
    unchanged: bool
    left_origins: list[str]


def _candidate(
    path: Path, client: ServiceClient, target: Target, *, seed: bytes, replace: bool
) -> _Candidate:
    from deniable_aggregator.collections.authoring import registration as authored
    from deniable_aggregator.operations.doctor import addresses
    from deniable_shared.errors import ManifestError
    from deniable_shared.wire import dsse

    first = _parse_file(path, ingest=target.origin())
    ingest = [target.origin_of(client.address)]
    previous = authored.registered_manifest(client, first.name, dsse.public_key(seed))
    try:
        text = path.read_text(encoding="utf-8")
        manifest = authored.next_manifest(text, previous, ingest=ingest, replace=replace)
    except ManifestError as error:
        raise CommandFailed(f"{path.name}: {error}") from error
    findings = _findings(manifest)
    _refuse_errors(path, findings)
    findings += addresses.findings(manifest.ingest, client)
    unchanged = previous is not None and previous.body == manifest.body
    return _Candidate(manifest, findings, unchanged, _left_origins(previous, manifest))


def _refuse_twice(manifests: list[Manifest]) -> None:
    names = [manifest.name for manifest in manifests]
    for name in names:
        if names.count(name) > 1:
            raise CommandFailed(f"two files define the collection {name!r}: give only one of them")


def _print_candidates(candidates: list[_Candidate], *, dry_run: bool, as_json: bool) -> None:
    manifests = [each.manifest for each in candidates]
    findings = [each.findings for each in candidates]
    if as_json:
        created = any(not each.unchanged for each in candidates)
        left_origins = [origin for each in candidates for origin in each.left_origins]
        more = {"created": created, "dry_run": dry_run, "moved_from": left_origins}
        emit(_document(manifests, findings) | more)
        return
    if dry_run:
        _print_findings(manifests, findings)
    else:
        _print_warnings(candidates)
    for each in candidates:
        click.echo(_outcome_text(each.manifest, unchanged=each.unchanged, dry_run=dry_run))
        if each.left_origins:
            click.echo(_move_notice(each.manifest, each.left_origins))


def _print_warnings(candidates: list[_Candidate]) -> None:
    """Print the warnings of each collection; `lint` also prints its other findings."""
    warned = [each for each in candidates if any(map(_is_warning, each.findings))]
    if warned:
        warnings = [list(filter(_is_warning, each.findings)) for each in warned]
        _print_findings([each.manifest for each in warned], warnings)


def _is_warning(finding: Finding) -> bool:
    return finding.level == "warning"


def _parse_file(path: Path, *, ingest: str) -> Manifest:
    from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
    from deniable_shared.errors import ManifestError

    try:
        return manifest_from_toml(path.read_text(encoding="utf-8"), ingest=[ingest])
    except (ManifestError, UnicodeDecodeError) as error:
        raise CommandFailed(f"{path.name}: {error}") from error


def _findings(manifest: Manifest) -> list[Finding]:
    from deniable_aggregator.collections.authoring.linter import lint

    return lint(manifest, now=time.time())


def _refuse_errors(path: Path, findings: list[Finding]) -> None:
    errors = [finding for finding in findings if finding.level == "error"]
    if errors:
        said = "; ".join(f"{error.field}: {error.message}" for error in errors)
        raise CommandFailed(f"{path.name}: {said}")


def _document(manifests: list[Manifest], findings: list[list[Finding]]) -> dict[str, object]:
    from deniable_aggregator.collections.authoring.mechanism_reasons import mechanism_reason

    return {
        "collections": [
            {
                "collection": manifest.collection,
                "name": manifest.name,
                "version": manifest.version,
                "mechanism": manifest.mechanism_id,
                **mechanism_reason(manifest),
                "thresholds": _thresholds(manifest),
                "epsilon": manifest.values["epsilon.report"],
                "repeat": manifest.repeat,
                "answers": manifest.answers,
                "linkage": manifest.linkage,
                "requires": list(manifest.requires),
                "identified": manifest.identified,
                "public": manifest.public,
                "web_origins": list(manifest.web_origins),
                "findings": [
                    {"level": finding.level, "field": finding.field, "message": finding.message}
                    for finding in of_manifest
                ],
            }
            for manifest, of_manifest in zip(manifests, findings, strict=True)
        ],
        "ceiling": _ceiling(manifests).to_json(),
    }


def _print_findings(manifests: list[Manifest], findings: list[list[Finding]]) -> None:
    from deniable_aggregator.collections.authoring.mechanism_reasons import mechanism_reason

    for manifest, of_manifest in zip(manifests, findings, strict=True):
        click.echo(
            f"{manifest.collection}  version {manifest.version}, {manifest.mechanism_id}, "
            f"ε = {manifest.values['epsilon.report']}"
        )
        click.echo(f"  {manifest.mechanism_id}: {mechanism_reason(manifest)['reason']}")
        click.echo(f"  {manifest.repeat}: a device {manifest.answers}")
        if manifest.identified:
            click.echo(f"  identified: every report carries {', '.join(manifest.requires)}")
        for finding in of_manifest:
            click.echo(f"  {finding.level:<8}{finding.field}: {finding.message}")
    click.echo(f"The least ceiling that admits it: {_ceiling(manifests)}")


def _thresholds(manifest: Manifest) -> dict[str, str]:
    """The integers that device and service both compute: T, and A of a second round."""
    thresholds = {"T": manifest.threshold, "A": manifest.renewal_threshold}
    return {name: f"0x{value:016x}" for name, value in thresholds.items() if value is not None}


def _ceiling(manifests: list[Manifest]) -> MinimalCeiling:
    from deniable_shared.manifest.minimal_ceiling import MinimalCeiling

    return MinimalCeiling.admitting(manifests)


def _left_origins(previous: Manifest | None, manifest: Manifest) -> list[str]:
    """The addresses of the previous version that this version no longer has."""
    if previous is None or previous.collection != manifest.collection:
        return []
    return [origin for origin in previous.ingest if origin not in manifest.ingest]


def _move_notice(manifest: Manifest, left_origins: list[str]) -> str:
    from datetime import UTC, datetime

    from deniable_shared.manifest.epochs import closes_at, epoch_at

    epoch = epoch_at(time.time(), manifest.epoch_seconds)
    closes = closes_at(epoch, manifest.epoch_seconds, manifest.grace_seconds)
    return (
        f"It moves from {', '.join(left_origins)} to {', '.join(manifest.ingest)}, for apps that "
        "list both. Export it again, and keep the old address leading to this service until "
        f"{datetime.fromtimestamp(closes, UTC):%Y-%m-%d %H:%M} UTC."
    )


def _outcome_text(manifest: Manifest, *, unchanged: bool, dry_run: bool) -> str:
    if unchanged:
        return f"{manifest.collection} version {manifest.version} is registered already"
    did = "would be registered" if dry_run else "is registered"
    return f"{manifest.collection} version {manifest.version} {did}"
