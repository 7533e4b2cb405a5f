"""Manifests: the example reads back, and hostile documents are refused with the reason."""

from __future__ import annotations

import json
from datetime import date
from fractions import Fraction
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import ManifestError
from deniable_shared.manifest.fields import FIELDS, SUPPORTED, Change, Field, identity_of
from deniable_shared.manifest.model import MAX_BODY_BYTES
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.randomness.dyadic import threshold
from deniable_shared.wire.canonical import canonical_json
from support.builders.manifest_text import manifest_of
from support.builders.manifests import body_with, manifest_with, settings

EXAMPLE = settings()
LOOPBACK = ["http://127.0.0.1:8000"]


def refused(body: bytes, reason: str) -> None:
    with pytest.raises(ManifestError, match=reason):
        parse_manifest(body)


def test_the_example_reads_back() -> None:
    manifest = parse_manifest(EXAMPLE.body)
    assert manifest == EXAMPLE
    assert manifest.valid_from == date(2026, 12, 1)
    assert manifest.epsilon_report == manifest.epsilon_lifetime == 1
    assert manifest.central_per_epoch == Fraction(1, 2)
    assert manifest.mechanism().id == "rr/1"
    assert manifest.mechanism() is manifest.mechanism()


def test_the_digest_is_that_of_the_body_and_the_body_is_canonical() -> None:
    assert EXAMPLE.digest == sha256(EXAMPLE.body).digest()
    assert EXAMPLE.body == canonical_json(json.loads(EXAMPLE.body))


def test_the_id_is_the_name_and_30_bits_of_the_identity() -> None:
    name, _, suffix = EXAMPLE.collection.rpartition("-")
    alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
    number = sum(alphabet.index(each) << 5 * place for place, each in enumerate(suffix[::-1]))
    assert name == "settings"
    assert number == int.from_bytes(EXAMPLE.identity, "big") >> 226


@pytest.mark.parametrize(
    "field", [field for field in FIELDS if "once" in field.repeats], ids=lambda field: field.path
)
def test_the_identity_covers_exactly_what_may_never_change(field: Field) -> None:
    other = identity_of(dict(EXAMPLE.values) | {field.path: "something else"})
    assert (other != EXAMPLE.identity) == (field.change is Change.IDENTITY)


def test_ingest_is_no_part_of_the_identity() -> None:
    elsewhere = manifest_with({"ingest": ["https://other.example.org"]})
    assert elsewhere.collection == EXAMPLE.collection
    assert elsewhere.digest != EXAMPLE.digest


def test_validity_begins_and_ends_at_midnight() -> None:
    start, end = 1_796_083_200, 1_811_808_000
    assert not EXAMPLE.started(start - 1)
    assert EXAMPLE.started(start)
    assert not EXAMPLE.expired(end - 1)
    assert EXAMPLE.expired(end)
    assert (EXAMPLE.first_epoch, EXAMPLE.last_epoch) == (start // 86_400, end // 86_400 - 1)


def test_an_epoch_that_begins_before_expiry_is_the_last() -> None:
    weekly = manifest_with({"epoch_seconds": 604_800})
    assert weekly.last_epoch == (1_811_808_000 - 1) // 604_800


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("spec", "deniable/manifest/2", 'spec must be "deniable/manifest/1"'),
        ("version", 0, "version must be an integer in 1…65,535, got 0"),
        ("version", 65_536, "version must be an integer"),
        ("version", True, "version must be an integer"),
        ("version", 2, "previous must be null for version 1"),
        ("previous", "ab" * 32, "previous must be null for version 1"),
        ("previous", "AB" * 32, "previous must be null or 64 hex digits"),
        ("previous", 7, "previous must be null or 64 hex digits"),
        ("name", "", "name must be 1…57 characters of a-z, 0-9 and -"),
        ("name", "x" * 58, "name must be 1…57 characters"),
        ("name", "Settings", "name must be 1…57 characters"),
        ("name", "settings\n", "name must be 1…57 characters"),
        ("purpose", "", "purpose must be 1…200 characters"),
        ("purpose", "x" * 201, "purpose must be 1…200 characters"),
        ("purpose", "two\nlines", "purpose must be printable characters in one line"),
        ("purpose", "left \u202e right", "purpose must be printable"),
        ("owner", 7, "owner must be 1…200 characters"),
        ("valid_from", "2026-12-32", "valid_from must be a date of the calendar"),
        ("valid_from", "20261201", "valid_from must be a date, like"),
        ("valid_from", "2026-W49-1", "valid_from must be a date, like"),
        ("valid_from", "1969-01-01", "epoch indices in 0…4294967295"),
        ("expires", "2026-12-01", "expires must be later than valid_from = 2026-12-01"),
        ("domain", {"type": "colour"}, "domain type must be"),
        ("domain", {"type": "bits", "labels": ["a", "a"]}, "labels must differ"),
        ("domain", {"type": "bits", "labels": ["x" * 65]}, "1 to 64 bytes"),
        ("domain", {"type": "bits", "labels": ["a"], "more": 1}, "more"),
        ("mechanism.id", "grr/1", "grr/1 answers for choice, number, record, not for bits"),
        ("mechanism.id", "none/1", "mechanism.id must be one of .*grr/1, .*rr/1"),
        ("mechanism.parameters", {"p": 1}, 'mechanism.parameters of rr/1 must be {}, got {"p": 1}'),
        ("mechanism.parameters", [], "mechanism.parameters of rr/1 must be {}"),
        ("mechanism.id", "rr-sampled/1", 'rr-sampled/1 must be {"sampled": …}, got {}'),
        ("mechanism.threshold", "0x0", '"0x" and 16 hex digits, got "0x0"'),
        ("mechanism.threshold", 7, '"0x" and 16 hex digits, got 7'),
        ("mechanism.threshold", "0x" + "F" * 16, '"0x" and 16 hex digits'),
        ("mechanism.threshold", "0x" + "0" * 16, 'threshold must be "0x9f597ea69a1c85f1", recomp'),
        ("epsilon.report", "0.009", 'epsilon.report must be 0.01…20, got "0.009"'),
        ("epsilon.report", "20.1", 'epsilon.report must be 0.01…20, got "20.1"'),
        ("epsilon.report", "1e5000000", "epsilon.report must be a decimal"),
        ("epsilon.report", "1" * 100_000, "epsilon.report must be a decimal"),
        ("epsilon.report", "NaN", "epsilon.report must be a decimal"),
        ("epsilon.report", "-1", "epsilon.report must be a decimal"),
        ("epsilon.report", "١", "epsilon.report must be a decimal"),
        ("epsilon.report", "1\n", "epsilon.report must be a decimal"),
        ("epsilon.report", 1, "epsilon.report must be a decimal in a string"),
        ("epsilon.lifetime", "0.5", 'lifetime must be at least epsilon.report, got "0.5" and "1"'),
        ("epsilon.lifetime", "21", "epsilon.lifetime must be 0.01…20"),
        ("ledger_group", "a b", "ledger_group must be 1…64 characters"),
        ("repeat", "sometimes", 'repeat must be one of once, fresh, memoized, got "sometimes"'),
        ("repeat", ["once"], "repeat must be one of once, fresh, memoized"),
        ("repeat", "memoized", 'threshold belongs to repeat = "once" or "fresh", not to'),
        ("epoch_seconds", 0, "epoch_seconds must be an integer in 1…2,678,400, got 0"),
        ("epoch_seconds", 2_678_401, "epoch_seconds must be an integer"),
        ("epoch_seconds", 3_599, "epoch_seconds must be 3,600…2,678,400 unless every ingest"),
        ("grace_seconds", -1, "grace_seconds must be an integer in 0…2,678,400"),
        ("presence", "never", "presence must be one of on_event, always"),
        ("presence", "always", 'default must be an answer of the domain where presence = "always"'),
        ("default", {"dark_mode": False}, 'default must be null where presence = "on_event"'),
        ("sampling", "0", 'sampling must be a decimal in a string, above "0" and up to "1"'),
        ("sampling", "0.50", 'sampling must be a decimal .* without zeros at its end, got "0.50"'),
        ("sampling", "1.0", "sampling must be a decimal"),
        ("sampling", "1.5", "sampling must be a decimal"),
        ("sampling", "1/3", "sampling must be a decimal"),
        ("sampling", 1, "sampling must be a decimal in a string"),
        ("linkable", 0, "linkable must be true or false, got 0"),
        ("read", "everybody", "read must be one of live, closed, releases"),
        ("central.per_epoch", "100.5", "central.per_epoch must be a decimal"),
        ("central.per_installation", "99.5", 'per_installation must be 0…99, got "99.5"'),
        ("central.delta", "0.1", "central.delta must be 0…0.01"),
        ("central.delta", "1e-9", "central.delta must be a decimal"),
        ("cohorts", 2, "this version supports cohorts = 1 or 64 only, got 2"),
        ("cohorts", True, "this version supports cohorts = 1 or 64 only, got true"),
        ("min_batch", 0, "min_batch must be an integer in 1…1,000,000,000"),
        ("min_batch", 10**18, "min_batch must be an integer"),
        ("retention_days", 3_651, "retention_days must be an integer in 1…3,650"),
        ("ingest", ["http://telemetry.example.org"], "ingest must be https"),
        ("ingest", [], "ingest must be a list of 1…8 origins"),
    ],
)  # fmt: skip
def test_a_field_out_of_its_range_is_refused_by_name(path: str, value: object, reason: str) -> None:
    refused(body_with({path: value}), reason)


@pytest.mark.parametrize("path", sorted(EXAMPLE.values))
def test_a_missing_field_is_refused_by_name(path: str) -> None:
    reason = "repeat" if path == "repeat" else "spec must" if path == "spec" else f"{path} is miss"
    refused(body_with({}, without=(path,), honest=False), reason)


@pytest.mark.parametrize(
    "path", ["extra", "epsilon.extra", "mechanism.extra", "central.extra", "epsilon.report.x"]
)
def test_an_unknown_field_is_refused_by_name(path: str) -> None:
    document = json.loads(EXAMPLE.body)
    group, _, name = path.rpartition(".")
    if group in document:
        document[group][name] = 1
    else:
        document[path] = 1
    refused(canonical_json(document), f'a manifest has no field "{path}"')


def test_a_flat_field_in_place_of_a_group_is_refused() -> None:
    document = json.loads(EXAMPLE.body)
    document |= {f"epsilon.{name}": value for name, value in document.pop("epsilon").items()}
    refused(canonical_json(document), 'a manifest has no field "epsilon.')


@pytest.mark.parametrize("group", ["epsilon", "mechanism", "central"])
def test_a_group_that_is_no_object_is_refused(group: str) -> None:
    refused(canonical_json(json.loads(EXAMPLE.body) | {group: 1}), f'no field "{group}"')


@pytest.mark.parametrize(
    "path", ["hold_epochs", "epsilon.permanent", "mechanism.renewal_threshold"]
)
def test_a_field_of_memoized_is_none_of_once(path: str) -> None:
    refused(body_with({path: 1}), f'{path} belongs to repeat = "memoized", not to repeat = "once"')


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{}", "spec must be"),
        (b"[]", "a manifest must be an object"),
        (b"null", "a manifest must be an object, got null"),
        (b"not json", "not JSON"),
        (b"\xff", "not JSON in UTF-8"),
        (json.dumps(json.loads(EXAMPLE.body)).encode(), "must be canonical JSON"),
        (EXAMPLE.body + b"\n", "must be canonical JSON"),
        (EXAMPLE.body.replace(b'"cohorts":1', b'"cohorts":1,"cohorts":1'), "given twice"),
        (EXAMPLE.body.replace(b'"cohorts":1', b'"cohorts":1.0'), "only integers are accepted"),
        (EXAMPLE.body.replace(b'"cohorts":1', b'"cohorts":NaN'), "only integers are accepted"),
        (EXAMPLE.body.replace(b'"cohorts":1', b'"cohorts":1e9999999'), "only integers"),
        (EXAMPLE.body.replace(b'"cohorts":1', b'"cohorts":' + b"9" * 10_000), "at most 19 digits"),
        (EXAMPLE.body.replace(b"null", b"[" * 10_000 + b"]" * 10_000), "at most 8 deep"),
        (b" " * (MAX_BODY_BYTES + 1), "at most 768,000 bytes"),
    ],
    ids=lambda each: str(each)[:12] if isinstance(each, str) else "",
)
def test_hostile_json_is_refused(body: bytes, reason: str) -> None:
    refused(body, reason)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(body: bytes) -> None:
    with pytest.raises(ManifestError):
        parse_manifest(body)


@given(position=st.integers(0, len(EXAMPLE.body) - 1), byte=st.integers(0, 255))
def test_a_body_with_a_byte_changed_is_another_manifest_or_refused(
    position: int, byte: int
) -> None:
    changed = EXAMPLE.body[:position] + bytes([byte]) + EXAMPLE.body[position + 1 :]
    try:
        manifest = parse_manifest(changed)
    except ManifestError:
        return
    assert manifest.body == changed
    assert (manifest.digest == EXAMPLE.digest) == (changed == EXAMPLE.body)


SCALARS = st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.text(max_size=20)
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=5), SCALARS)


@given(path=st.sampled_from(sorted(EXAMPLE.values)), value=VALUES)
def test_any_value_in_any_field_is_read_or_refused(path: str, value: object) -> None:
    try:
        manifest = parse_manifest(body_with({path: value}, honest=False))
    except (ManifestError, UnicodeEncodeError):
        return
    assert manifest.values[path] == value


def test_another_domain_under_the_same_id_is_refused() -> None:
    domain = {"type": "bits", "labels": ["dark_mode", "religion"]}
    refused(
        body_with({"domain": domain}, honest=False), "collection must be .* follows from the imm"
    )


def test_a_larger_epsilon_under_the_old_threshold_is_refused() -> None:
    refused(body_with({"epsilon.report": "2", "epsilon.lifetime": "2"}), "threshold must be")


def test_one_more_than_the_threshold_is_refused() -> None:
    refused(body_with({"mechanism.threshold": f"0x{EXAMPLE.threshold + 1:016x}"}), "threshold must")


def test_epsilon_reaches_from_a_hundredth_to_twenty() -> None:
    text = 'epsilon = "{}"\nname = "n"\npurpose = "p"\nowner = "o"\nexpires = 2027-06-01\n'
    text += '[domain]\ntype = "choice"\nlabels = ["a", "b"]\n'
    least, most = (manifest_of(text.format(epsilon), ingest=LOOPBACK) for epsilon in ("0.01", "20"))
    assert least.epsilon_report == Fraction(1, 100)
    assert least.mechanism().p - Fraction(1, 2) < Fraction(26, 10_000)
    assert most.mechanism().q < Fraction(21, 10**10)


def test_short_epochs_are_for_loopback_only() -> None:
    assert manifest_with({"epoch_seconds": 1, "ingest": LOOPBACK}).epoch_seconds == 1
    both = [*LOOPBACK, "https://telemetry.example.org"]
    refused(body_with({"epoch_seconds": 60, "ingest": both}), "unless every ingest origin is loop")


def test_the_tallies_of_all_open_epochs_have_a_limit() -> None:
    labels = [str(each) for each in range(97)]
    changes: dict[str, object] = {
        "domain": {"type": "choice", "labels": labels},
        "mechanism.id": "grr/1",
        "mechanism.threshold": f"0x{threshold(Fraction(1), alphabet_size=97):016x}",
        "epoch_seconds": 1,
        "grace_seconds": 172_800,
        "ingest": LOOPBACK,
    }
    refused(body_with(changes), r"at most 16,777,216, got 173101 × 1 × 97: shorten the grace")
    assert manifest_with(changes | {"grace_seconds": 160_000}).mechanism().tally_size == 97


@pytest.mark.slow
def test_cohorts_count_towards_the_limit() -> None:
    labels = [str(each) for each in range(60_000)]
    changes: dict[str, object] = {
        "domain": {"type": "choice", "labels": labels},
        "mechanism.id": "grr/1",
        "mechanism.threshold": f"0x{threshold(Fraction(1), alphabet_size=60_000):016x}",
        "cohorts": 64,
        "grace_seconds": 259_200,
    }
    refused(body_with(changes), r"at most 16,777,216, got 5 × 64 × 60000")
    assert manifest_with({"cohorts": 64}).cohorts == 64


def test_what_this_version_supports_is_what_the_example_has() -> None:
    for path, accepted in SUPPORTED.items():
        changes = {"requires": ["voucher/1"], "public": True}
        assert manifest_with(changes).values[path] in accepted


def test_a_manifest_that_requires_nothing_does_not_say_so() -> None:
    assert "requires" not in EXAMPLE.values
    assert (EXAMPLE.requires, EXAMPLE.identified, EXAMPLE.plaintext_size) == ((), False, 64)


def test_what_is_required_makes_another_collection_and_ends_anonymity() -> None:
    required = manifest_with({"requires": ["voucher/1"]})
    assert (required.requires, required.identified) == (("voucher/1",), True)
    assert required.collection != EXAMPLE.collection


def test_a_required_extension_has_its_room_in_every_plaintext() -> None:
    labels = [str(each) for each in range(8 * 23)]
    changes: dict[str, object] = {
        "domain": {"type": "bits", "labels": labels, "constraint": "one-hot"}
    }
    plain, required = (manifest_with(changes | more) for more in ({}, {"requires": ["voucher/1"]}))
    assert [each.mechanism().payload_size for each in (plain, required)] == [23, 23]
    assert [each.plaintext_size for each in (plain, required)] == [64, 128]


@pytest.mark.parametrize(
    "value", [[], "voucher/1", ["voucher/2"], ["voucher/1", "voucher/1"], None, {}]
)
def test_what_no_report_can_carry_is_not_required(value: object) -> None:
    reason = r'this version supports requires = \["voucher/1"\] only, got '
    refused(body_with({"requires": value}), reason)
