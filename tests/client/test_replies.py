"""Replies to an upload: only the aggregator's own reply takes a report away."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from deniable_client import Reply
from deniable_client._uploading.sender import read_reply
from deniable_shared.wire.report import decode_upload
from support.builders.client_world import SETTINGS, Operator
from support.doubles.loopback_listener import (
    Listener,
    device_of,
    listening,
    read_request,
    served_keys,
)
from support.oracles.vectors import FOLDER
from support.tiers import grid

FILE: dict[str, Any] = json.loads((FOLDER / "replies.json").read_text())
ID = bytes.fromhex(FILE["report"])
CASES: list[dict[str, Any]] = FILE["cases"]
TAKEN = {"done", "drop", "drop-and-stop", "drop-collection", "fetch-manifest"}

SOME = [*{case["does"]: case for case in CASES}.values(), *CASES[::25]]
"""One reply for each thing that comes of a reply, and some more."""


def body_of(case: dict[str, Any]) -> bytes:
    return case["text"].encode() if "text" in case else bytes.fromhex(case["hex"])


def on_the_wire(case: dict[str, Any], report_id: bytes) -> bytes:
    """The reply as bytes, about this report."""
    body = body_of(case).replace(ID, report_id)
    head = [f"HTTP/1.1 {case['status']} So", *(f"{k}: {v}" for k, v in case["headers"].items())]
    if case["headers"].get("Transfer-Encoding") == "chunked":
        body = (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"
    return "\r\n".join([*head, "", ""]).encode() + body


@pytest.fixture(scope="module")
def operator() -> Operator:
    """One operator for all cases."""
    return Operator()


@pytest.fixture(scope="module")
def stranger(operator: Operator) -> Iterator[tuple[Listener, list[dict[str, Any]]]]:
    """Serves the key list; answers uploads as the last case of the list does."""
    keys = served_keys(operator)

    def speak(connection: socket.socket) -> None:
        request_line, body = read_request(connection)
        if request_line == "GET /v1/keys":
            connection.sendall(keys)
        elif request_line.startswith("POST"):
            (report,) = decode_upload(body)
            connection.sendall(on_the_wire(said[-1], report.header.report_id))

    said: list[dict[str, Any]] = []
    with listening(speak) as listener:
        yield listener, said


def test_there_are_fifty_replies_of_strangers() -> None:
    assert sum(case["does"] == "keep" for case in CASES) >= 50


def test_a_reply_does_what_the_vector_says() -> None:
    replies = {
        case["name"]: Reply(case["status"], body_of(case), case["headers"]) for case in CASES
    }
    assert {name: str(read_reply(reply, ID).action) for name, reply in replies.items()} == {
        case["name"]: case["does"].replace("keep", "back-off") for case in CASES
    }


@pytest.mark.parametrize("case", grid(CASES, by_default=SOME), ids=lambda case: case["name"])
def test_a_reply_over_a_socket_does_what_the_vector_says(
    case: dict[str, Any], stranger: tuple[Listener, list[dict[str, Any]]], operator: Operator
) -> None:
    listener, said = stranger
    said.append(case)
    with device_of(listener.url, operator) as client:
        client.record("settings", SETTINGS)
        result = client.flush(timeout=120.0, early=True)
    assert result.sent >= 1
    assert result.accepted == (case["does"] == "done")
    assert result.accepted + result.dropped == (case["does"] in TAKEN)
    assert result.waiting == (case["does"] not in TAKEN)
