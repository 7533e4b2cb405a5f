"""Simulates the past days of a demo: drawn from each mechanism's distribution, counted, closed.

No client sends these reports. A day's tally is drawn at once from the true answers of its people,
with the distribution of real reports. Everything else is real: the store counts it, each epoch is
closed, and a release is drawn and charged. The service's clock moves through the days.
"""

from __future__ import annotations

import secrets
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.collections.authoring import registration as authored
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.keys import initialise, read_seed
from deniable_aggregator.operations.demo.study import (
    DAY_SECONDS,
    ProgressWatcher,
    Question,
    Study,
)
from deniable_aggregator.operations.demo_overlay import (
    DemoOverlay,
    TrueAnswers,
    digest,
    write_overlay,
)
from deniable_aggregator.operations.service import Service
from deniable_aggregator.releases.request import ReleaseRequest
from deniable_aggregator.store.rows import BlockId, Counts, PartialTally, TallyKey
from deniable_estimators.simulation import generator, simulated_tally, simulated_texts
from deniable_shared.domains import Domain, Record
from deniable_shared.manifest.epochs import epoch_at, epoch_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.collections.registry import Collection
    from deniable_estimators.inference.sampling import Generator
    from deniable_shared.mechanisms import Mechanism

ACTOR = "deniable demo"
ID_BYTES = 16
RELEASE = {"epsilon": "0.5"}
SESSION = {"epsilon": "1", "questions": 10}
"""An epoch may spend ε = 1.5 on releases: both together leave nothing of it."""


@dataclass(slots=True)
class WalkingClock:
    """A clock that shows `at` until the caller moves it."""

    at: float

    def __call__(self) -> float:
        return self.at


@dataclass(frozen=True, slots=True)
class PreparedDemo:
    """A data directory with a past, the constants that clients need, and the sign-in link."""

    trust: str
    admin_token: str
    link: str
    envelopes: tuple[str, ...]
    collections: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Registered:
    """A question, and the collection that it became."""

    question: Question
    collection: Collection
    envelope: bytes


def prepare_demo(
    settings: Settings, study: Study, *, now: float, watcher: ProgressWatcher
) -> PreparedDemo:
    """Fill a new data directory with the past of the study, as of `now`."""
    first = min(
        epoch_start(question.past_epochs(now)[0], question.epoch_seconds)
        for question in study.questions
    )
    clock = WalkingClock(first)
    keys = initialise(settings, operator_key=settings.operator_key, now=first)
    link = secrets.token_urlsafe(32)
    with closing(Service.open(settings, clock=clock, actor=ACTOR)) as service:
        seed = read_seed(settings.operator_key)
        registered = [_register(service, question, seed, now) for question in study.questions]
        _walk(service, clock, registered, now, watcher)
        for each in registered:
            _release(service, each)
    truth = {each.collection.id: _truth(each, study, now) for each in registered}
    write_overlay(settings.data, DemoOverlay(digest(link), truth))
    return PreparedDemo(
        trust=keys.trust,
        admin_token=keys.admin_token,
        link=link,
        envelopes=tuple(each.envelope.decode() for each in registered),
        collections=tuple(each.collection.id for each in registered),
    )


def day_tally(
    mechanism: Mechanism,
    domain: Domain,
    answers: Sequence[object],
    people: Sequence[int],
    draws: Generator,
) -> Counts:
    """The tally of one report each of people[i] devices that answer answers[i]."""
    encoded = [domain.encode(answer) for answer in answers]
    if domain.type == "text":
        texts = [bytes(each) for each in encoded]
        return simulated_texts(mechanism, texts, people, draws=draws)
    return simulated_tally(mechanism, encoded, people, draws=draws)


def _register(service: Service, question: Question, seed: bytes, now: float) -> _Registered:
    """Author, sign and register the manifest."""
    manifest = manifest_from_toml(question.toml(now), ingest=[service.settings.public_url])
    envelope = authored.sign(manifest, seed)
    service.register(
        envelope, audit=_entry(service, "manifest-applied", collection=manifest.collection)
    )
    return _Registered(question, service.registry.get(manifest.collection), envelope)


def _walk(
    service: Service,
    clock: WalkingClock,
    registered: Sequence[_Registered],
    now: float,
    watcher: ProgressWatcher,
) -> None:
    """Count the reports and close the epochs, day by day."""
    draws, total = generator(), sum(len(each.question.past) for each in registered)
    waiting = [
        (each, place, epoch)
        for each in registered
        for place, epoch in enumerate(each.question.past_epochs(now))
    ]
    watcher.stage("Simulating past days")
    while waiting:
        clock.at = min(clock.at + DAY_SECONDS, now)
        over = [
            one for one in waiting if one[2] < epoch_at(clock.at, one[0].question.epoch_seconds)
        ]
        parts = [_part(each, place, epoch, draws) for each, place, epoch in over]
        block = BlockId("demo", str(int(clock.at)))
        service.store.commit_blocks([(block, [part for part in parts if part.ids])], _no_tally)
        for each, _place, epoch in over:
            service.close_epoch(each.collection, epoch, audit=None)
        waiting = [one for one in waiting if one not in over]
        watcher.people(total - len(waiting), total)
    clock.at = now


def _part(each: _Registered, place: int, epoch: int, draws: Generator) -> PartialTally:
    """The reports of one epoch of one question."""
    collection, people = each.collection, each.question.past[place]
    domain = collection.manifest.domain
    tally = day_tally(collection.mechanism, domain, each.question.answers, people, draws)
    ids = secrets.token_bytes(ID_BYTES * sum(people))
    return PartialTally(
        TallyKey(collection.id, epoch, collection.manifest.version),
        [ids[start : start + ID_BYTES] for start in range(0, len(ids), ID_BYTES)],
        tally[:0].astype("uint8").reshape(0, collection.mechanism.payload_size),
        tally,
    )


def _no_tally(_key: TallyKey, _payloads: object) -> Counts:
    """Never called: only reports that were counted before are tallied again."""
    raise AssertionError


def _release(service: Service, each: _Registered) -> None:
    """Make the question's release and open its session, if any, as a user would."""
    make = partial(service.releases.release, each.collection)
    entry = _entry(service, "release-asked", collection=each.collection.id)
    if each.question.release:
        make(ReleaseRequest(each.question.release, RELEASE), audit=entry)
    if each.question.session:
        make(ReleaseRequest(each.question.session, SESSION), audit=entry)


def _truth(each: _Registered, study: Study, now: float) -> TrueAnswers:
    question, domain = each.question, each.collection.manifest.domain
    people = dict(zip(question.past_epochs(now), map(list, question.past), strict=True))
    people[epoch_at(now, question.epoch_seconds)] = list(study.today(question))
    return TrueAnswers([_labels(domain, answer) for answer in question.answers], people)


def _labels(domain: Domain, answer: object) -> list[str]:
    """Every label that is true for this answer, as estimates spell it."""
    encoded = domain.encode(answer)
    if domain.type == "text":
        return [bytes(encoded).decode()]
    if isinstance(domain, Record):
        return [f"{name}={label}" for name, label in domain.decode(encoded).items()]  # type: ignore[arg-type]  # encoded as this domain encodes
    if domain.type == "bits":
        return [label for label, on in zip(domain.labels, encoded, strict=True) if on]  # type: ignore[arg-type]  # encoded as this domain encodes
    return [domain.labels[encoded]]  # type: ignore[index]  # encoded as this domain encodes


def _entry(service: Service, act: str, **details: object) -> AuditEntry:
    return AuditEntry.of(act, actor=ACTOR, at=service.clock(), **details)
