"""Where reports may go: https, or http on this very machine, and nothing that looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import ManifestError
from deniable_shared.manifest.ingest_origins import is_loopback, parse_origins

LOOPBACK = [
    "http://localhost",
    "http://localhost:8000",
    "http://127.0.0.1:8000",
    "http://127.255.255.254:1",
    "http://[::1]:65535",
    "https://127.0.0.1",
]
ELSEWHERE = [
    "https://telemetry.example.org",
    "https://telemetry.example.org:8443",
    "https://127.0.0.1.example.org",
    "https://localhost.example.org",
    "https://10.0.0.1",
    "https://[2001:db8::1]:8443",
    "https://xn--bcher-kva.example",
]


@pytest.mark.parametrize("origin", LOOPBACK)
def test_loopback_is_known(origin: str) -> None:
    assert parse_origins([origin]) == (origin,)
    assert is_loopback(origin)


@pytest.mark.parametrize("origin", ELSEWHERE)
def test_what_only_looks_like_loopback_is_not(origin: str) -> None:
    assert parse_origins([origin]) == (origin,)
    assert not is_loopback(origin)


@pytest.mark.parametrize("origin", [each.replace("https", "http", 1) for each in ELSEWHERE])
def test_http_is_for_loopback_only(origin: str) -> None:
    with pytest.raises(ManifestError, match="ingest must be https; http only on loopback"):
        parse_origins([origin])


NOT_PLAIN: tuple[object, ...] = (
    "https://user@example.org",
    "https://user:secret@example.org",
    "https://example.org/",
    "https://example.org/path",
    "https://example.org?query",
    "https://example.org#part",
    "https://Example.org",
    "HTTPS://example.org",
    "https://example.org.",
    "https://-example.org",
    "https://example..org",
    "https://example.org:",
    "https://example.org:0",
    "https://example.org:08443",
    "https://example.org:65536",
    "https://example.org:443",
    "http://localhost:80",
    "http://127.1",
    "http://127.0.0.256",
    "http://127.0.0.01",
    "http://[::1",
    "http://[0:0:0:0:0:0:0:1]",
    "http://[::ffff:127.0.0.1]",
    "https://[::g]",
    "https://" + "a." * 127 + "example",
    "https://münchen.example",
    "ftp://example.org",
    "//example.org",
    "https://exa mple.org",
    "https://example.org\n",
    "",
    7,
)


def test_what_is_no_plain_origin_is_refused() -> None:
    accepted = [origin for origin in NOT_PLAIN if "ingest must" not in reason(origin)]
    assert accepted == []


def reason(origin: object) -> str:
    """Why an origin is refused; empty if it is accepted."""
    try:
        parse_origins([origin])
    except ManifestError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("value", [[], None, "https://example.org", {}, ["https://a.example"] * 2])
def test_origins_are_a_list_of_different_ones(value: object) -> None:
    with pytest.raises(ManifestError, match="ingest must"):
        parse_origins(value)


def test_eight_origins_and_no_more() -> None:
    origins = [f"https://{each}.example.org" for each in range(9)]
    assert len(parse_origins(origins[:8])) == 8
    with pytest.raises(ManifestError, match="1…8 origins"):
        parse_origins(origins)


@given(st.text(max_size=40) | st.from_regex(r"https?://[a-z0-9.:\[\]@/-]{0,30}", fullmatch=True))
def test_any_text_is_an_origin_or_refused(text: str) -> None:
    try:
        (origin,) = parse_origins([text])
    except ManifestError:
        return
    assert origin == text
    assert origin.startswith("https://") or is_loopback(origin)
