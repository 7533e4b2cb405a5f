"""A device and the aggregator it talks to, without a network: the client's tests live in here.

`Operator` signs as `deniable init` and `collections apply` do. `Aggregator` answers from a script,
opens what it gets, and remembers everything. Nothing here needs the aggregator's package.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from deniable_client import Ceiling, Client, Reply, TransportError
from deniable_client.testing import FakeClock, RecordingTransport, Request
from deniable_shared import dsse, envelope
from deniable_shared.authoring import manifest_from_toml
from deniable_shared.keylist import KeyList, PublicKey, delegate, sign_key_list
from deniable_shared.manifest import MANIFEST_TYPE, Manifest
from deniable_shared.problems import ReportError
from deniable_shared.report import (
    Plaintext,
    Report,
    ReportStatus,
    decode_upload,
    encode_errors,
    seal_info,
)

URL = "https://telemetry.example.org"
DAY = 86_400
START = 1_800_000_000.0 - 1_800_000_000 % DAY + DAY / 2
CEILING = Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=8)
SETTINGS = {"dark_mode": True, "beta": False}
OTHER = {"dark_mode": False, "beta": True}
HEAD = "ab" * 32


def toml(name: str = "settings", **fields: str) -> str:
    """A bits collection valid all through 2027, with other fields as TOML values."""
    given = {
        "name": f'"{name}"',
        "purpose": '"Which settings do people turn on?"',
        "owner": '"privacy@example.org"',
        "epsilon": '"1"',
        "valid_from": "2026-12-01",
        "expires": "2027-12-01",
    } | fields
    lines = [f"{key} = {value}" for key, value in given.items()]
    return "\n".join([*lines, "[domain]", 'type = "bits"', 'labels = ["dark_mode", "beta"]'])


@cache
def manifest(name: str = "settings", **fields: str) -> Manifest:
    """A manifest for URL."""
    return manifest_from_toml(toml(name, **fields), ingest=[URL])


def successor(old: Manifest, **fields: str) -> Manifest:
    """The next version of a manifest."""
    return manifest_from_toml(toml(old.name, **fields), ingest=[URL], previous=old)


@dataclass
class Operator:
    """The operator's keys."""

    seed: bytes = field(default_factory=dsse.generate_key)
    online_seed: bytes = field(default_factory=dsse.generate_key)
    private: dict[int, bytes] = field(default_factory=dict)

    @property
    def trust(self) -> str:
        """What an app is built with."""
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

    def new_key(self, id: int) -> PublicKey:
        """An HPKE key whose private half stays here."""
        self.private[id], public = envelope.generate()
        return PublicKey(id, 1, public, "active")


@dataclass(frozen=True)
class Received:
    """An opened report."""

    collection: str
    report: Report
    payload: bytes


@dataclass
class Aggregator:
    """Answers uploads from `script`, then with 200; serves the key list and manifests it has."""

    operator: Operator
    clock: FakeClock
    manifests: dict[str, Manifest] = field(default_factory=dict)
    script: deque[Reply | int | BaseException] = field(default_factory=deque)
    received: list[Received] = field(default_factory=list)
    key_list: KeyList = field(init=False)

    def __post_init__(self) -> None:
        now = int(self.clock())
        self.key_list = KeyList(1, now, now + 400 * DAY, 1, HEAD, (self.operator.new_key(1),))

    def add(self, manifest: Manifest) -> None:
        """Serve a manifest by name, and open reports under it."""
        self.manifests[manifest.name] = self.manifests[manifest.collection] = manifest

    def rotate(self, id: int) -> None:
        """A new active key, told by a newer list."""
        keys = (self.operator.new_key(id),)
        self.key_list = replace(self.key_list, version=self.key_list.version + 1, keys=keys)

    def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        if request.url == f"{URL}/v1/keys":
            return Reply(200, self.operator.sign_keys(self.key_list))
        match = re.fullmatch(f"{URL}/v1/collections/([a-z0-9-]+)/(manifest|reports)", request.url)
        assert match, request.url
        if match[2] == "manifest":
            found = self.manifests.get(match[1])
            return Reply(200, self.operator.sign(found)) if found else Reply(404)
        return self._upload(match[1], request)

    def _upload(self, collection: str, request: Request) -> Reply:
        assert request.body is not None
        (report,) = decode_upload(request.body)
        self.received.append(Received(collection, report, self._open(collection, report)))
        answer = self.script.popleft() if self.script else Reply(200)
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, Reply) else failed(report, answer)

    def _open(self, collection: str, report: Report) -> bytes:
        info = seal_info(collection, self.manifests[collection].digest, report.header)
        opener = envelope.Opener(self.operator.private[report.header.key_id])
        return Plaintext.decode(opener.open(report.sealed, info=info)).payload


def failed(report: Report, code: int) -> Reply:
    """200 with one failed report."""
    return Reply(200, encode_errors([ReportStatus(report.header.report_id, code)]))


EVERY_ANSWER: Mapping[str, Reply | int | Exception] = {
    **{code.slug: int(code) for code in ReportError},
    "unknown code": 0x77,
    **{
        f"status {status}": Reply(status)
        for status in (204, 301, 302, 307, 308, 400, 401, 403, 404, 405, 408, 409)
    },
    **{
        f"status {status}": Reply(status)
        for status in (410, 411, 413, 415, 418, 422, 429, 500, 502, 503, 504, 599)
    },
    "429 for a minute": Reply(429, retry_after=60.0),
    "503 for a year": Reply(503, retry_after=365.0 * DAY),
    "sign-in page": Reply(200, b"<html>Welcome to our hotel</html>"),
    "another report's failure": Reply(200, bytes(16) + b"\x08"),
    "no connection": TransportError("connection refused"),
    "time-out": TransportError("time-out"),
}
"""Every reply code, every status that means something, and what stands between."""


@dataclass
class Device:
    """One installation, its clock and its aggregator; `open` as often as the app is started."""

    path: str | Path
    aggregator: Aggregator
    shipped: Sequence[Manifest]
    clients: list[Client] = field(default_factory=list)
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
            transport=self.transport,
            clock=self.clock,
            background=background,
        )
        self.clients.append(client)
        return client

    def granted(self, *, ceiling: Ceiling = CEILING) -> Client:
        """Start the app of someone who agreed."""
        client = self.open(ceiling=ceiling)
        client.consent("granted")
        return client

    @property
    def payloads(self) -> list[bytes]:
        """What the aggregator opened, in order."""
        return [each.payload for each in self.aggregator.received]

    def close(self) -> None:
        """End every start."""
        for client in self.clients:
            client.close()


MakeDevice = Callable[..., Device]
"""The fixture `make_device`."""
