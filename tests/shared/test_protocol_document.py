"""shared/PROTOCOL.md says what the code does: its hex, its example and its tables are compared."""

from __future__ import annotations

import json
import re
from hashlib import shake_256
from pathlib import Path

import pytest

from deniable_shared.manifest.fields import FIELDS, REPEATS, SUPPORTED
from deniable_shared.manifest.model import MANIFEST_TYPE, MAX_BODY_BYTES
from deniable_shared.mechanisms import mechanism_ids
from deniable_shared.wire import envelope, key_list, report
from deniable_shared.wire.canonical import canonical_json
from deniable_shared.wire.dsse import public_key
from deniable_shared.wire.key_succession import NEXT_STATES
from deniable_shared.wire.problems import PROBLEMS, ReportError
from deniable_shared.wire.transparency_log import GENESIS, LOG_PAGE, LogPage, parse_log_page
from support.builders.annotated_hex import from_fields
from support.oracles.memoized_walkthrough import EPOCH, HOLD, memoized_walkthrough
from support.oracles.protocol_walkthrough import PRIVATE_KEY, walkthrough

DOCUMENT = (Path(__file__).parents[2] / "shared" / "PROTOCOL.md").read_text()
WALK, AGAIN = walkthrough(), memoized_walkthrough()
STATE_COLUMNS = ("state", "in the next list it may be", "meaning")
BLOCKS = WALK.blocks | AGAIN.blocks


def block(name: str) -> bytes:
    """A hex block of the document."""
    (text,) = re.findall(rf"^```hex {name}\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE)
    return from_fields(*text.splitlines())


def rows(*columns: str) -> list[list[str]]:
    """The cells of the table that has these columns."""
    head = re.escape("| " + " | ".join(columns) + " |")
    (table,) = re.findall(rf"^{head}\n[| -]+\n((?:\|.*\n)+)", DOCUMENT, re.MULTILINE)
    return [line.strip("| ").split(" | ") for line in table.splitlines()]


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_the_walk_through_is_what_the_code_sends(name: str) -> None:
    assert block(name).hex() == BLOCKS[name].hex()


def test_the_hex_blocks_are_all_compared() -> None:
    assert set(re.findall(r"^```hex (\w+)$", DOCUMENT, re.MULTILINE)) == set(BLOCKS)


def test_the_memoized_collection_is_the_one_that_is_walked_through() -> None:
    manifest = AGAIN.manifest
    assert manifest.hold_at(EPOCH) == HOLD
    assert manifest.values["epsilon.permanent"] == "2"
    assert manifest.values["epsilon.lifetime"] == "4"
    assert (manifest.hold_epochs, manifest.schedule.epochs) == (91, 182)
    for text in (
        manifest.identity.hex(),
        manifest.collection,
        f"0x{manifest.threshold:016x}",
        f"0x{manifest.renewal_threshold:016x}",
    ):
        assert f"`{text}`" in DOCUMENT
    assert f"{manifest.linkage:.2f} bits" in DOCUMENT


def test_the_report_of_the_document_opens_and_says_what_it_claims() -> None:
    (sent,) = report.decode_upload(block("upload"))
    assert sent.header.encode() == block("header")
    assert shake_256(block("id")).digest(16) == sent.header.report_id
    info = report.seal_info(WALK.manifest.collection, WALK.manifest.digest, sent.header)
    assert info == block("info")
    opened = envelope.Opener(PRIVATE_KEY).open(sent.sealed, info=info)
    assert opened == block("plaintext")
    assert report.Plaintext.decode(opened).payload == block("payload")
    WALK.manifest.mechanism().validate(block("payload"))


def test_the_errors_of_the_document_name_the_report() -> None:
    (status,) = report.decode_errors(block("errors"))
    assert status == report.ReportStatus(WALK.header.report_id, ReportError.EPOCH_CLOSED)


def test_the_example_manifest_is_the_one_that_is_walked_through() -> None:
    text = re.findall(r"^```json\n(\{\n.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE)[0]
    assert canonical_json(json.loads(text)) == WALK.manifest.body


def test_ids_digests_and_keys_are_right() -> None:
    manifest = WALK.manifest
    for text in (
        manifest.digest.hex(),
        manifest.identity.hex(),
        manifest.collection,
        f"0x{manifest.threshold:016x}",
        envelope.public_of(PRIVATE_KEY).hex(),
    ):
        assert f"`{text}`" in DOCUMENT


def test_the_table_of_fields_is_that_of_the_code() -> None:
    only = {("once", "fresh"): " (once, fresh)", ("memoized",): " (memoized)"}
    assert rows("field", "meaning", "in a new version") == [
        [f"`{field.path}`", field.meaning + only.get(field.repeats, ""), field.change.value]
        for field in FIELDS
    ]


def test_the_table_of_codes_is_that_of_the_code() -> None:
    actual = rows("code", "name", "the server means", "the client does")
    assert [row[:2] for row in actual] == [
        [f"0x{int(error):02X}", f"`{error.slug}`"] for error in ReportError
    ]


def test_the_table_of_problems_is_that_of_the_code() -> None:
    assert rows("status", "name", "title", "retry") == [
        [str(kind.status), f"`{kind.slug}`", kind.title, "yes" if kind.retry else "no"]
        for kind in PROBLEMS.values()
    ]


def test_the_table_of_suites_is_that_of_the_code() -> None:
    columns = ("suite", "KEM", "KDF, AEAD", "public key", "private key", "sealed is longer by")
    actual = [(row[0], row[3], row[4].split(":")[0], row[5]) for row in rows(*columns)]
    assert actual == [
        (str(suite), str(key), str(envelope.PRIVATE_BYTES), str(envelope.SEALED_BYTES[suite]))
        for suite, key in envelope.KEY_BYTES.items()
    ]


def test_the_table_of_states_is_that_of_the_code() -> None:
    actual = {row[0]: set(row[1].split(", ")) for row in rows(*STATE_COLUMNS)}
    assert actual == {state: set(after) for state, after in NEXT_STATES.items()}


def test_the_table_of_repeats_is_that_of_the_code() -> None:
    actual = rows("`repeat`", "a device reports", "and pays", "it stops")
    assert [row[0] for row in actual] == [f"`{repeat}`" for repeat in REPEATS]


def test_both_tables_of_coins_name_every_mechanism() -> None:
    first = rows("id", "domain", "payload", "the coins, in order")
    second = rows("id", "the coins of the second round, in order")
    for table in (first, second):
        ids = [name for row in table for name in re.findall(r"`(.+?)`", row[0])]
        assert sorted(ids) == sorted(mechanism_ids())


def test_the_log_of_the_document_is_that_of_the_code() -> None:
    assert f"at most {LOG_PAGE:,} entries" in DOCUMENT
    members = parse_log_page(LogPage(0, GENESIS, ()).encode(), first=0)
    assert members.size == 0
    assert '`{"size": …, "head": "<hex>", "entries": [["<type>", "<hex>"], …]}`' in DOCUMENT


def test_media_types_and_limits_are_those_of_the_code() -> None:
    for text in (
        MANIFEST_TYPE,
        key_list.KEYS_TYPE,
        key_list.DELEGATION_TYPE,
        report.MEDIA_TYPE,
        report.ERRORS_MEDIA_TYPE,
    ):
        assert text in DOCUMENT
    assert f"{MAX_BODY_BYTES:,} bytes" in DOCUMENT
    assert report.MAX_REPORTS == 1_000
    assert report.MAX_UPLOAD_BYTES == 256 * 1024
    assert len(public_key(bytes(32)).removeprefix("ed25519:")) == 43


def test_it_says_what_this_version_supports() -> None:
    (summary,) = re.findall(r"\*\*What this version supports\.\*\*(.*?)\n\n", DOCUMENT, re.DOTALL)
    for path in SUPPORTED:
        assert f"`{path} = " in summary
