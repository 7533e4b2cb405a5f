"""What the developer must fix is reported at once, by name, with the cure."""

from __future__ import annotations

from typing import Any

import pytest

from deniable_client import Client, ConfigurationError
from deniable_client.address import parse_address
from support.builders.client_world import CEILING, URL, Operator


def build(operator: Operator, **changes: Any) -> Client:
    """A client with one argument changed."""
    given: dict[str, Any] = {
        "url": URL,
        "trust": operator.trust,
        "state": ":memory:",
        "ceiling": CEILING,
        "strict": True,
    }
    return Client(**(given | changes))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "telemetry.example.org",
        "http://telemetry.example.org",
        "https://user@telemetry.example.org",
        "https://telemetry.example.org?x=1",
        "https://telemetry.example.org/#x",
        "ftp://telemetry.example.org",
        "https://",
        "https://telemetry.example.org/a b",
        b"https://telemetry.example.org",
        None,
    ],
)
def test_a_wrong_url_is_refused_by_name(operator: Operator, url: object) -> None:
    with pytest.raises(ConfigurationError, match="url must"):
        build(operator, url=url)


@pytest.mark.parametrize("trust", ["", "ed25519:short", [], None, ["rsa:x"], 5, [b"ed25519:"]])
def test_a_wrong_trust_is_refused_by_name(operator: Operator, trust: object) -> None:
    with pytest.raises(ConfigurationError, match="trust must"):
        build(operator, trust=trust)


@pytest.mark.parametrize("ceiling", [None, 2, (2, 4, 8)])
def test_a_wrong_ceiling_is_refused_by_name(operator: Operator, ceiling: object) -> None:
    with pytest.raises(ConfigurationError, match="ceiling must be a Ceiling"):
        build(operator, ceiling=ceiling)


def test_several_keys_may_be_trusted(operator: Operator) -> None:
    build(operator, trust=[operator.trust, Operator().trust]).close()


ADDRESSES = {
    "https://telemetry.example.org": "https://telemetry.example.org/v1/keys",
    "https://telemetry.example.org/": "https://telemetry.example.org/v1/keys",
    "HTTPS://Telemetry.Example.org:443": "https://telemetry.example.org/v1/keys",
    "https://telemetry.example.org/base/path/": "https://telemetry.example.org/base/path/v1/keys",
    "https://telemetry.example.org:8443": "https://telemetry.example.org:8443/v1/keys",
    "http://127.0.0.1:8000": "http://127.0.0.1:8000/v1/keys",
    "http://localhost:80": "http://localhost/v1/keys",
    "http://[::1]:8000": "http://[::1]:8000/v1/keys",
}


@pytest.mark.parametrize("url", ADDRESSES)
def test_an_address_is_made_canonical(url: str) -> None:
    assert parse_address(url).keys == ADDRESSES[url]


def test_a_port_belongs_to_the_origin_and_a_path_does_not() -> None:
    assert parse_address("https://a.example.org:8443/base").origin == "https://a.example.org:8443"
