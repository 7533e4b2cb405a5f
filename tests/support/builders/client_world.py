"""A device and the aggregator it talks to, without a network.

`Operator` signs as `deniable init` and `collections apply` do. `Aggregator` answers from a script,
opens what it gets, and remembers everything. Nothing here needs the aggregator's package.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from functools import cache
from hashlib import sha256
from pathlib import Path

from deniable_client import Ceiling, Client, Reply, TransportError
from deniable_client.testing import FakeClock, RecordingTransport, Request, accepted
from deniable_client.vouching import Vouchers
from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.wire import dsse, envelope
from deniable_shared.wire.key_list import KeyList, PublicKey, delegate, sign_key_list
from deniable_shared.wire.problems import (
    PROBLEM_MEDIA_TYPE,
    PROBLEMS,
    ReportError,
    problem_document,
)
from deniable_shared.wire.report import (
    Plaintext,
    Report,
    ReportStatus,
    decode_upload,
    encode_errors,
    seal_info,
)
from deniable_shared.wire.transparency_log import GENESIS, LOG_PAGE, LogEntry, LogPage, extend
from support.builders.manifest_text import manifest_of

URL = "https://telemetry.example.org"
DAY = 86_400
START = 1_800_000_000.0 - 1_800_000_000 % DAY + DAY / 2
CEILING = Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=8)
SETTINGS = {"dark_mode": True, "beta": False}
OTHER = {"dark_mode": False, "beta": True}


def toml(name: str = "settings", **fields: str) -> str:
    """A bits collection valid throughout 2027, with other fields as TOML values."""
    given = {
        "name": f'"{name}"',
        "purpose": '"Which settings do people turn on?"',
        "owner": '"privacy@example.org"',
        "epsilon": '"1"',
        "mechanism": '"rr/1"',
        "valid_from": "2026-12-01",
        "expires": "2027-12-01",
    } | fields
    lines = [f"{key} = {value}" for key, value in given.items()]
    return "\n".join([*lines, "[domain]", 'type = "bits"', 'labels = ["dark_mode", "beta"]'])


@cache
def manifest(name: str = "settings", **fields: str) -> Manifest:
    """A manifest for URL."""
    return manifest_of(toml(name, **fields), ingest=[URL])


def successor(old: Manifest, **fields: str) -> Manifest:
    """The next version of a manifest."""
    return manifest_of(toml(old.name, **fields), ingest=[URL], previous=old)


@dataclass
class Operator:
    """The operator's keys."""

    seed: bytes = field(default_factory=dsse.generate_key)
    online_seed: bytes = field(default_factory=dsse.generate_key)
    private: dict[int, tuple[bytes, int]] = field(default_factory=dict)

    @property
    def trust(self) -> str:
        """The keys that an app is built with."""
        return dsse.public_key(self.seed)

    def sign(self, manifest: Manifest) -> bytes:
        """A signed manifest."""
        return dsse.sign(manifest.body, payload_type=MANIFEST_TYPE, seed=self.seed)

    def sign_keys(self, key_list: KeyList) -> bytes:
        """A signed key list."""
        until = key_list.expires + DAY
        delegation = delegate(
            operator_seed=self.seed,
            online_key=dsse.public_key(self.online_seed),
            issued=key_list.issued,
            expires=until,
        )
        return sign_key_list(key_list, online_seed=self.online_seed, delegation=delegation)

    def new_key(self, id: int, *, suite: int = 1, state: str = "active") -> PublicKey:
        """An HPKE key whose private half stays here."""
        private, public = envelope.generate(suite)
        self.private[id] = private, suite
        return PublicKey(id, suite, public, state)


@dataclass(frozen=True)
class Received:
    """An opened report."""

    collection: str
    report: Report
    plaintext: Plaintext

    @property
    def payload(self) -> bytes:
        """The randomized answer."""
        return self.plaintext.payload


@dataclass
class Aggregator:
    """Replies to uploads from `script`, then with 200; serves its key list, log and manifests.

    `pages` may answer for the log instead.
    """

    operator: Operator
    clock: FakeClock
    manifests: dict[str, Manifest] = field(default_factory=dict)
    versions: dict[tuple[str, int], Manifest] = field(default_factory=dict)
    script: deque[Reply | int | BaseException] = field(default_factory=deque)
    received: list[Received] = field(default_factory=list)
    log: list[LogEntry] = field(default_factory=lambda: [LogEntry("manifest", bytes(32))])
    pages: Callable[[int], Reply] | None = None
    key_list: KeyList = field(init=False)

    def __post_init__(self) -> None:
        now = int(self.clock())
        keys = (self.operator.new_key(1),)
        self.key_list = KeyList(1, now, now + 400 * DAY, 1, self.head, keys)

    @property
    def head(self) -> str:
        """The head of the log."""
        return extend(GENESIS, self.log).hex()

    def add(self, manifest: Manifest) -> None:
        """Serve a manifest by name, and open reports under it and the versions before it."""
        self.versions[manifest.collection, manifest.version] = manifest
        self.manifests[manifest.name] = self.manifests[manifest.collection] = manifest

    def publish(self, *keys: PublicKey, entries: int = 0, days: int = 400) -> None:
        """The next key list, of these keys or the same, after more entries of the log."""
        self.log.append(LogEntry("keys", sha256(self.key_list.encode()).digest()))
        self.log += [LogEntry("release", bytes([n % 256]) * 32) for n in range(entries)]
        now = max(int(self.clock()), self.key_list.issued)
        self.key_list = KeyList(
            version=self.key_list.version + 1,
            issued=now,
            expires=now + days * DAY,
            log_size=len(self.log),
            log_head=self.head,
            keys=keys or self.key_list.keys,
        )

    def rotate(self, id: int, *, suite: int = 1) -> None:
        """A new active key in newer lists: first it is pending, then the old one expires."""
        old = [key for key in self.key_list.keys if key.state == "active"]
        new = self.operator.new_key(id, suite=suite, state="pending")
        self.publish(*old, new)
        self.publish(*(replace(key, state="expired") for key in old), replace(new, state="active"))

    def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        if request.url == f"{URL}/v1/keys":
            return Reply(200, self.operator.sign_keys(self.key_list), {})
        if request.url.startswith(f"{URL}/v1/log?from="):
            return self._page(int(request.url.partition("=")[2]))
        match = re.fullmatch(f"{URL}/v1/collections/([a-z0-9-]+)/(manifest|reports)", request.url)
        assert match, request.url
        if match[2] == "manifest":
            stored = self.manifests.get(match[1])
            return Reply(200, self.operator.sign(stored), {}) if stored else nothing(404)
        return self._upload(match[1], request)

    def _page(self, first: int) -> Reply:
        if self.pages is not None:
            return self.pages(first)
        return Reply(200, page_of(self.log, first), {})

    def _upload(self, collection: str, request: Request) -> Reply:
        assert request.body is not None
        (report,) = decode_upload(request.body)
        self.received.append(Received(collection, report, self._open(collection, report)))
        answer = self.script.popleft() if self.script else self.accepted()
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, Reply) else failed(report, answer)

    def accepted(self) -> Reply:
        """Accepted, at the moment that its clock shows."""
        return accepted(Date=formatdate(self.clock(), usegmt=True))

    def _open(self, collection: str, report: Report) -> Plaintext:
        used = self.versions[collection, report.header.manifest_version]
        info = seal_info(collection, used.digest, report.header)
        opener = envelope.Opener(*self.operator.private[report.header.key_id])
        return Plaintext.decode(opener.open(report.sealed, info=info))


def page_of(log: Sequence[LogEntry], first: int) -> bytes:
    """What an honest aggregator answers about a log."""
    entries = tuple(log[first : first + LOG_PAGE])
    return LogPage(len(log), extend(GENESIS, log), entries).encode()


def failed(report: Report, code: int) -> Reply:
    """200 with one failed report."""
    return accepted(encode_errors([ReportStatus(report.header.report_id, code)]))


def nothing(status: int, **headers: str) -> Reply:
    """A status, and perhaps header fields, which any server may send."""
    return Reply(status, b"", headers)


def refused(slug: str, **headers: str) -> Reply:
    """The aggregator's own refusal of a request."""
    body = json.dumps(problem_document(slug, "as it says")).encode()
    own = {"Content-Type": PROBLEM_MEDIA_TYPE, "Content-Length": str(len(body))}
    return Reply(PROBLEMS[slug].status, body, own | headers)


EVERY_ANSWER: Mapping[str, Reply | int | Exception] = {
    **{code.slug: int(code) for code in ReportError},
    "unknown code": 0x77,
    **{
        f"status {status}": nothing(status)
        for status in (200, 202, 204, 301, 302, 307, 308, 400, 401, 403, 404, 405, 408, 409)
    },
    **{
        f"status {status}": nothing(status)
        for status in (410, 411, 413, 415, 418, 422, 429, 500, 502, 503, 504, 599)
    },
    **{f"problem {slug}": refused(slug) for slug in PROBLEMS},
    "429 for a minute": nothing(429, **{"Retry-After": "60"}),
    "503 for a year": nothing(503, **{"Retry-After": str(365 * DAY)}),
    "sign-in page": Reply(200, b"<html>Welcome to our hotel</html>", {"Content-Type": "text/html"}),
    "another report's failure": accepted(bytes(16) + b"\x08"),
    "no connection": TransportError("connection refused"),
    "time-out": TransportError("time-out"),
}
"""Every reply code, every status that means something, and what a proxy may send."""


@dataclass
class Device:
    """One installation, its clock and its aggregator; call `open` for each start of the app."""

    path: str | Path
    aggregator: Aggregator
    shipped: Sequence[Manifest]
    clients: list[Client] = field(default_factory=list)
    vouchers: Vouchers | None = None
    transport: RecordingTransport = field(init=False)

    def __post_init__(self) -> None:
        self.transport = RecordingTransport(self.aggregator)
        for each in self.shipped:
            self.aggregator.add(each)

    @property
    def clock(self) -> FakeClock:
        """The device's clock, and the aggregator's."""
        return self.aggregator.clock

    def open(self, *, ceiling: Ceiling = CEILING, background: bool = False) -> Client:
        """Start the app."""
        client = Client(
            URL,
            trust=self.aggregator.operator.trust,
            manifests=[self.aggregator.operator.sign(each) for each in self.shipped],
            state=self.path,
            ceiling=ceiling,
            vouchers=self.vouchers,
            transport=self.transport,
            clock=self.clock,
            background=background,
            strict=True,
        )
        self.clients.append(client)
        return client

    def granted(self, *, ceiling: Ceiling = CEILING) -> Client:
        """Start the app of a person who agreed."""
        client = self.open(ceiling=ceiling)
        client.consent("granted")
        return client

    @property
    def payloads(self) -> list[bytes]:
        """What the aggregator opened, in order."""
        return [each.payload for each in self.aggregator.received]

    def close(self) -> None:
        """End all starts."""
        for client in self.clients:
            client.close()


MakeDevice = Callable[..., Device]
"""The fixture `make_device`."""
