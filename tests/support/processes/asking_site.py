"""The example site, which asks its visitors, and what Python clients send for the same keys."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from deniable_aggregator.keys import read_seed
from deniable_aggregator.operations.process.serving import free_port
from deniable_client._state import keychain
from deniable_shared.domains import encode
from deniable_shared.manifest.epochs import epoch_at
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.wire import dsse
from deniable_shared.wire.envelope import seal
from deniable_shared.wire.key_list import verify_key_list
from deniable_shared.wire.report import (
    MEDIA_TYPE,
    Plaintext,
    Report,
    ReportHeader,
    encode_upload,
    seal_info,
)
from support.processes.deniable_command import SETTINGS_TOML
from support.processes.live_service import Live, live
from support.processes.web_client import example_site

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

__all__ = [
    "ANSWER",
    "KNOWN_KEY",
    "Web",
    "answers",
    "check_devices",
    "key_of",
    "opened",
]

KNOWN_KEY = """
const own = crypto.getRandomValues.bind(crypto);
const key = Uint8Array.from("KEY".match(/../g), (byte) => parseInt(byte, 16));
crypto.getRandomValues = (array) => (array.length === 32 ? (array.set(key), array) : own(array));
"""
ANSWER = """async (value) => {
  await client.consent("granted");
  const outcome = await client.record("settings", value);
  const {accepted, problems} = await client.flush({early: true});
  const {spent} = await client.budget();
  return {outcome, accepted, problems, spent};
}"""


@dataclass
class Web:
    """The site, and the aggregator that its page asks."""

    address: str
    service: Live
    trust: str

    def open(self, context: BrowserContext) -> Page:
        page = context.new_page()
        self.show(page)
        return page

    def show(self, page: Page) -> None:
        """Open the site in this tab and wait until it can be answered."""
        page.goto(self.address)
        page.locator("html[data-ready=true]").wait_for(state="attached")


def _text(port: int) -> str:
    """The question, for pages of this port."""
    return f'min_batch = 10\nweb_origins = ["http://127.0.0.1:{port}"]\n' + SETTINGS_TOML


@contextmanager
def opened(folder: Path) -> Iterator[Web]:
    """A service with one collection, and the example site that asks it."""
    port = free_port()
    with live(folder, text=_text(port)) as service:
        seed = read_seed(folder / "operator.key")
        question = dsse.sign(service.manifest.body, payload_type=MANIFEST_TYPE, seed=seed)
        trust, aggregator = dsse.public_key(seed), service.server.address
        with example_site(
            folder, port=port, aggregator=aggregator, trust=trust, question=question
        ) as address:
            yield Web(address, service, trust)


def answers(count: int) -> list[dict[str, bool]]:
    dice = random.Random(24)
    return [{"dark_mode": dice.random() < 0.7, "beta": dice.random() < 0.2} for _ in range(count)]


def key_of(visitor: int) -> bytes:
    return sha256(f"visitor {visitor}".encode()).digest()


def _send_in_python(service: Live, trust: str, key: bytes, answer: dict[str, bool]) -> None:
    """What the Python client sends for this key and answer."""
    manifest = service.manifest
    encoded, canonical = encode(manifest.domain, answer)
    epoch = epoch_at(time.time(), manifest.epoch_seconds)
    coins = keychain.coins(key, identity=manifest.identity, hold=0, value=canonical)
    payload = manifest.mechanism().randomize(encoded, coins)
    report_id = keychain.report_id(key, collection=manifest.collection, epoch=epoch)
    keys = httpx.get(f"{service.server.address}/v1/keys", trust_env=False).content
    active = verify_key_list(keys, trusted=[trust], now=time.time()).active
    header = ReportHeader(report_id, epoch, manifest.version, active.id)
    info = seal_info(manifest.collection, manifest.digest, header)
    plaintext = Plaintext(payload).encode(manifest.plaintext_size)
    sealed = seal(plaintext, public_key=active.public_key, info=info)
    body = encode_upload([Report(header, sealed)])
    reply = httpx.post(
        service.server.address + service.path,
        content=body,
        headers={"Content-Type": MEDIA_TYPE},
        trust_env=False,
    )
    assert (reply.status_code, reply.content) == (200, b"")


def _estimates(service: Live) -> Any:
    with service.connect() as client:
        return client.estimates("settings", {}).document.estimates


def check_devices(folder: Path, web: Web, number: int) -> None:
    """A service whose reports come from Python clients estimates the same numbers as this one."""
    port = int(web.address.rpartition(":")[2])
    with live(folder, text=_text(port)) as service:
        trust = dsse.public_key(read_seed(folder / "operator.key"))
        for visitor, answer in enumerate(answers(number)):
            _send_in_python(service, trust, key_of(visitor), answer)
        assert _estimates(service) == _estimates(web.service)
    assert service.manifest.collection == web.service.manifest.collection
