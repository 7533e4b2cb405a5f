"""What a new version of a collection may do, field by field."""

from __future__ import annotations

from typing import Any

import pytest

from deniable_shared.errors import ManifestError
from deniable_shared.manifest.fields import FIELDS, Change
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.manifest.rules import check_successor
from deniable_shared.randomness.dyadic import parse_epsilon, threshold
from support.builders.manifests import manifest_with, next_version

FIRST = manifest_with(
    {
        "epsilon.lifetime": "4",
        "read": "closed",
        "ingest": ["https://one.example.org", "https://two.example.org"],
    }
)
OTHER_BITS = {"type": "bits", "labels": ["dark_mode", "religion"]}
ONE_HOT = {"type": "bits", "labels": ["dark_mode", "beta"], "constraint": "one-hot"}

Changes = dict[str, Any]


def epsilon(text: str) -> Changes:
    wanted = threshold(parse_epsilon(text) / 2)
    return {"epsilon.report": text, "mechanism.threshold": f"0x{wanted:016x}"}


ALLOWED: list[Changes] = [
    {},
    {"purpose": "Which of these settings do people turn on?"},
    {"owner": "someone@example.org"},
    {"epsilon.lifetime": "3.5"},
    {"epsilon.lifetime": "1"},
    {"read": "releases"},
    {"central.per_epoch": "0.25"},
    {"central.per_installation": "0"},
    {"min_batch": 101},
    {"retention_days": 1},
    {"expires": "2026-12-02"},
    {"expires": "2028-05-31"},
    {"ingest": ["https://one.example.org"]},
    {"ingest": ["https://three.example.org"]},
    {"ingest": ["http://127.0.0.1:8765"]},
]
WITHDRAWN = "public may only be withdrawn: people did not agree to public answers"
REFUSED: list[tuple[Changes, str]] = [
    ({"name": "other"}, "name may not change: make a new collection"),
    ({"valid_from": "2026-11-01"}, "valid_from may not change"),
    ({"domain": OTHER_BITS}, "domain may not change"),
    ({"domain": ONE_HOT}, "domain may not change"),
    (epsilon("2"), "(epsilon.report|mechanism.threshold) may not change"),
    (epsilon("0.5"), "(epsilon.report|mechanism.threshold) may not change"),
    ({"public": True}, WITHDRAWN),
    ({"ledger_group": "mine"}, 'ledger_group may not change.* it was "settings", got "mine"'),
    ({"epoch_seconds": 3_600}, "epoch_seconds may not change"),
    ({"grace_seconds": 0}, "grace_seconds may not change"),
    ({"epsilon.lifetime": "4.000001"}, 'epsilon.lifetime may only be lowered: it was "4"'),
    ({"central.per_epoch": "0.51"}, "central.per_epoch may only be lowered"),
    ({"central.per_installation": "10"}, "central.per_installation may only be lowered"),
    ({"central.delta": "0.000001"}, "central.delta may only be lowered"),
    ({"read": "live"}, "read may only narrow"),
    ({"min_batch": 99}, "min_batch may only be raised: it was 100, got 99"),
    ({"retention_days": 401}, "retention_days may only be lowered"),
    ({"expires": "2028-06-01"}, "expires must be at most 365 days after .* 2028-05-31"),
]


@pytest.mark.parametrize("changes", ALLOWED, ids=str)
def test_a_new_version_may(changes: Changes) -> None:
    new = next_version(FIRST, changes)
    check_successor(FIRST, new, FIRST)
    assert new.collection == FIRST.collection


@pytest.mark.parametrize(("changes", "reason"), REFUSED, ids=str)
def test_a_new_version_may_not(changes: Changes, reason: str) -> None:
    with pytest.raises(ManifestError, match=reason):
        check_successor(FIRST, next_version(FIRST, changes), FIRST)


def test_a_moved_collection_keeps_its_id_and_identity() -> None:
    moved = next_version(FIRST, {"ingest": ["https://three.example.org"]})
    assert (moved.collection, moved.identity) == (FIRST.collection, FIRST.identity)
    assert moved.digest != FIRST.digest


def test_epochs_as_short_as_loopback_allows_do_not_leave_it() -> None:
    changes = {"epoch_seconds": 60, "grace_seconds": 60, "ingest": ["http://127.0.0.1:8765"]}
    here = manifest_with(changes)
    with pytest.raises(ManifestError, match="unless every ingest origin is loopback"):
        next_version(here, {"ingest": ["https://one.example.org"]})


def test_a_lower_epsilon_would_be_a_second_draw() -> None:
    with pytest.raises(ManifestError, match="may not change: make a new collection"):
        check_successor(FIRST, next_version(FIRST, epsilon("0.5")), FIRST)


def test_every_law_of_change_is_tried() -> None:
    tried = {path for changes in ALLOWED for path in changes}
    tried |= {path for changes, _ in REFUSED for path in changes}
    mutable = {
        field.path
        for field in FIELDS
        if field.change not in (Change.IDENTITY, Change.NEXT) and field.path in FIRST.values
    }
    assert mutable <= tried


def test_a_rollback_is_refused() -> None:
    second = next_version(FIRST, {})
    with pytest.raises(ManifestError, match="version must be more than 2, got 1"):
        check_successor(second, FIRST, FIRST)
    with pytest.raises(ManifestError, match="version must be more than 1, got 1"):
        check_successor(FIRST, FIRST, FIRST)


def test_the_next_version_names_the_body_before() -> None:
    forged = next_version(FIRST, {"previous": "00" * 32})
    with pytest.raises(
        ManifestError, match=f"previous must be the SHA-256 .* {FIRST.digest.hex()}"
    ):
        check_successor(FIRST, forged, FIRST)


def test_a_reader_who_missed_a_version_can_follow() -> None:
    second = next_version(FIRST, {"min_batch": 200})
    third = next_version(second, {"min_batch": 300})
    check_successor(FIRST, third, FIRST)
    with pytest.raises(ManifestError, match="min_batch may only be raised"):
        check_successor(third, parse_manifest(next_version(third, {"min_batch": 250}).body), FIRST)


def test_expiry_moves_a_year_in_all_not_a_year_a_version() -> None:
    second = next_version(FIRST, {"expires": "2028-05-31"})
    third = next_version(second, {"expires": "2029-05-31"})
    with pytest.raises(ManifestError, match="at most 365 days after the first version's"):
        check_successor(second, third, FIRST)


def test_another_collection_is_no_successor() -> None:
    other = next_version(manifest_with({"name": "other"}), {})
    with pytest.raises(ManifestError, match="name may not change"):
        check_successor(FIRST, other, FIRST)
    with pytest.raises(ManifestError, match=r"collection must be .* in all versions"):
        check_successor(FIRST, next_version(FIRST, {}), manifest_with({"name": "other"}))


PAGES = ["https://one.example.org", "https://two.example.org"]


def test_pages_may_get_fewer_and_never_more() -> None:
    first = manifest_with({"web_origins": PAGES})
    one = next_version(first, {"web_origins": PAGES[1:]})
    check_successor(first, one, first)
    check_successor(first, next_version(first, {"web_origins": PAGES[::-1]}), first)
    for before, after in ((one, PAGES), (one, ["https://three.example.org"]), (FIRST, PAGES)):
        with pytest.raises(ManifestError, match="web_origins may only lose origins"):
            check_successor(before, next_version(before, {"web_origins": after}), before)


def test_pages_are_no_part_of_the_id_and_have_one_spelling_of_none() -> None:
    asked, plain = manifest_with({"web_origins": PAGES}), manifest_with({})
    assert (asked.web_origins, plain.web_origins) == (tuple(PAGES), ())
    assert asked.collection == plain.collection
    for refused in ([], ["http://one.example.org"], ["*"], [PAGES[0] + "/"], PAGES[0]):
        with pytest.raises(ManifestError, match="web_origins must"):
            manifest_with({"web_origins": refused})


PUBLIC = manifest_with({"public": True})


def test_public_may_be_withdrawn_and_does_not_come_back() -> None:
    hidden = next_version(PUBLIC, {}, without=("public",))
    check_successor(PUBLIC, next_version(PUBLIC, {}), PUBLIC)
    check_successor(PUBLIC, hidden, PUBLIC)
    with pytest.raises(ManifestError, match=WITHDRAWN):
        check_successor(hidden, next_version(hidden, {"public": True}), PUBLIC)


def test_public_is_no_part_of_the_id_and_has_one_spelling_of_no() -> None:
    plain = manifest_with({})
    assert (PUBLIC.public, plain.public) == (True, False)
    assert (PUBLIC.collection, PUBLIC.digest == plain.digest) == (plain.collection, False)
    with pytest.raises(ManifestError, match="this version supports public = true only, got false"):
        manifest_with({"public": False})
