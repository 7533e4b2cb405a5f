"""The messages of an upload: hex with one field a line, both ways, and nothing else is accepted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import DecodeError
from deniable_shared.wire import report
from deniable_shared.wire.codec import Reader
from deniable_shared.wire.report import Extension, Plaintext, Report, ReportHeader, ReportStatus
from support.builders.annotated_hex import from_fields
from support.oracles.vectors import vectors
from support.tiers import by_tier

REPORT_ID = bytes(range(16))
HEADER = ReportHeader(REPORT_ID, epoch=20572, manifest_version=3, key_id=7)
HEADER_WIRE = from_fields(
    "000102030405060708090a0b0c0d0e0f  report_id",
    "0000505c  epoch",
    "0003  manifest_version",
    "07  key_id",
    "0000  extensions, none",
)
EXTENDED = ReportHeader(
    REPORT_ID, 0xFFFFFFFF, 0xFFFF, 0xFF, (Extension(1, b""), Extension(9, b"hi"))
)
EXTENDED_WIRE = from_fields(
    "000102030405060708090a0b0c0d0e0f  report_id",
    "ffffffff  epoch",
    "ffff  manifest_version",
    "ff  key_id",
    "000a  extensions, 10 bytes",
    "0001 0000  type 1, no data",
    "0009 0002 6869  type 9, two bytes",
)


def extensions(most: int = 3) -> st.SearchStrategy[tuple[Extension, ...]]:
    types = st.lists(st.integers(0, 0xFFFF), max_size=most, unique=True).map(sorted)
    return types.flatmap(
        lambda chosen: st.tuples(
            *[st.builds(Extension, st.just(each), st.binary(max_size=40)) for each in chosen]
        )
    )


def headers() -> st.SearchStrategy[ReportHeader]:
    return st.builds(
        ReportHeader,
        report_id=st.binary(min_size=16, max_size=16),
        epoch=st.integers(0, 0xFFFFFFFF),
        manifest_version=st.integers(0, 0xFFFF),
        key_id=st.integers(0, 0xFF),
        extensions=extensions(),
    )


def reports() -> st.SearchStrategy[Report]:
    return st.builds(Report, headers(), st.binary(min_size=1, max_size=200))


@pytest.mark.parametrize(
    ("header", "wire"), [(HEADER, HEADER_WIRE), (EXTENDED, EXTENDED_WIRE)], ids=["bare", "extended"]
)
def test_a_report_is_its_header_and_the_sealed_bytes(header: ReportHeader, wire: bytes) -> None:
    body = wire + from_fields("0003  length of sealed", "aabbcc  sealed")
    assert header.encode() == wire
    assert report.encode_upload([Report(header, b"\xaa\xbb\xcc")]) == body
    assert report.decode_upload(body) == [Report(header, b"\xaa\xbb\xcc")]


def test_upload_errors_are_ids_and_codes() -> None:
    wire = from_fields("000102030405060708090a0b0c0d0e0f  report_id", "0b  outdated key")
    assert report.encode_errors([ReportStatus(REPORT_ID, 0x0B)]) == wire
    assert report.decode_errors(wire) == [ReportStatus(REPORT_ID, 0x0B)]


def test_no_failure_is_an_empty_body() -> None:
    assert report.encode_errors([]) == b""
    assert report.decode_errors(b"") == []


def test_a_plaintext_is_payload_extensions_and_zeros() -> None:
    wire = from_fields("0001 02  payload", "0000  extensions, none", "00" * 59 + "  padding")
    assert Plaintext(b"\x02").encode(64) == wire
    assert Plaintext.decode(wire) == Plaintext(b"\x02")


def test_the_binding_is_four_length_prefixed_parts() -> None:
    wire = from_fields(
        "0011 64656e6961626c652f31207265706f7274  deniable/1 report",
        "0005 6c756e6368  collection",
        "0020" + "ab" * 32 + "  SHA-256 of the manifest",
        "0019" + HEADER_WIRE.hex() + "  header",
    )
    assert report.seal_info("lunch", b"\xab" * 32, HEADER) == wire


@pytest.mark.slow
@given(st.lists(reports(), min_size=1, max_size=5))
def test_an_upload_reads_back(sent: list[Report]) -> None:
    assert report.decode_upload(report.encode_upload(sent)) == sent


@pytest.mark.slow
@given(st.lists(reports(), min_size=1, max_size=5))
def test_an_upload_is_split_into_ids_terms_and_sealed_bytes(sent: list[Report]) -> None:
    frames = report.split_upload(report.encode_upload(sent))
    assert [frame.header for frame in frames] == [each.header for each in sent]
    assert [frame.sealed for frame in frames] == [each.sealed for each in sent]
    for frame, each in zip(frames, sent, strict=True):
        assert frame.report_id + frame.header_rest == each.header.encode()
        before, after = report.seal_info_parts("lunch", bytes(32), frame.header_rest)
        assert before + frame.report_id + after == report.seal_info("lunch", bytes(32), each.header)


def one_by_one(body: bytes) -> list[tuple[bytes, bytes, bytes]] | None:
    """Id, terms, sealed bytes of each report as PROTOCOL has them; None for what is no upload."""
    reader, actual = Reader(body), []
    try:
        while not reader.done:
            report_id, fixed = reader.take(16), reader.take(7)
            extensions = reader.opaque(2, 0, 4096)
            terms = fixed + len(extensions).to_bytes(2, "big") + extensions
            actual.append((report_id, terms, reader.opaque(2, 1, 65_535)))
    except DecodeError:
        return None
    return actual


def split(body: bytes) -> Sequence[tuple[bytes, bytes, bytes]] | None:
    try:
        return report.split_upload(body)
    except DecodeError:
        return None


ALIKE = b"".join(Report(HEADER, sealed).encode() for sealed in (b"one", b"two", b"six"))


def test_reports_that_look_alike_share_their_terms() -> None:
    first, second, third = report.split_upload(ALIKE)
    assert (first.sealed, second.sealed, third.sealed) == (b"one", b"two", b"six")
    assert first.header_rest is second.header_rest is third.header_rest


def test_reports_that_look_alike_are_cut_only_where_one_ends() -> None:
    for end in range(1, len(ALIKE)):
        assert split(ALIKE[:end]) == one_by_one(ALIKE[:end])
        assert (split(ALIKE[:end]) is not None) == (end % (len(ALIKE) // 3) == 0)


@pytest.mark.slow
@pytest.mark.deeper
def test_a_byte_that_differs_among_reports_alike_is_never_passed_over() -> None:
    for place in range(len(ALIKE)):
        for value in range(0, 256, by_tier(5, 1)):
            body = ALIKE[:place] + bytes([value]) + ALIKE[place + 1 :]
            assert split(body) == one_by_one(body)


@pytest.mark.parametrize("data", [HEADER_WIRE + b"x", HEADER_WIRE[:-1], b""])
def test_a_header_is_decoded_from_all_its_bytes(data: bytes) -> None:
    with pytest.raises(DecodeError):
        ReportHeader.decode(data)


@given(st.lists(st.builds(ReportStatus, st.binary(min_size=16, max_size=16), st.integers(0, 255))))
def test_upload_errors_read_back(sent: list[ReportStatus]) -> None:
    assert report.decode_errors(report.encode_errors(sent)) == sent


@given(payload=st.binary(min_size=1, max_size=300), extra=extensions())
def test_a_plaintext_reads_back(payload: bytes, extra: tuple[Extension, ...]) -> None:
    size = report.padded_size(len(payload), sum(4 + len(each.data) for each in extra))
    encoded = Plaintext(payload, extra).encode(size)
    assert len(encoded) == size
    assert Plaintext.decode(encoded) == Plaintext(payload, extra)


@pytest.mark.parametrize(
    ("payload", "extra", "size"),
    [(1, 0, 64), (58, 0, 64), (59, 0, 128), (1, 57, 64), (1, 58, 128), (24_000, 4096, 32_768)],
)
def test_the_padded_size_is_the_least_64_times_a_power_of_two(
    payload: int, extra: int, size: int
) -> None:
    assert report.padded_size(payload, extra) == size


def test_all_payloads_of_one_size_are_sealed_in_one_size() -> None:
    assert {len(Plaintext(bytes([each])).encode(64)) for each in range(256)} == {64}


@given(st.binary(max_size=400))
def test_any_bytes_decode_to_what_they_encode_or_are_refused(data: bytes) -> None:
    try:
        decoded = report.decode_upload(data)
    except DecodeError:
        return
    assert report.encode_upload(decoded) == data


@given(st.binary(max_size=64))
def test_any_bytes_are_a_status_list_or_refused(data: bytes) -> None:
    try:
        decoded = report.decode_errors(data)
    except DecodeError:
        return
    assert report.encode_errors(decoded) == data


@given(data=st.one_of(st.binary(max_size=70), st.binary(min_size=64, max_size=64)))
def test_any_bytes_are_a_plaintext_or_refused(data: bytes) -> None:
    try:
        decoded = Plaintext.decode(data)
    except DecodeError:
        return
    assert decoded.encode(len(data)) == data


@given(sent=st.lists(reports(), min_size=1, max_size=3), data=st.data())
def test_a_damaged_upload_decodes_to_what_it_says_or_is_refused(
    sent: list[Report], data: st.DataObject
) -> None:
    body = bytearray(report.encode_upload(sent))
    body[data.draw(st.integers(0, len(body) - 1))] ^= data.draw(st.integers(1, 255))
    del body[data.draw(st.integers(1, len(body))) :]
    try:
        decoded = report.decode_upload(bytes(body))
    except DecodeError:
        return
    assert report.encode_upload(decoded) == bytes(body)


@given(one=reports(), at=st.floats(0, 1), other=st.binary(max_size=3))
def test_one_report_is_split_as_an_upload_of_one_is_or_refused_as_that(
    one: Report, at: float, other: bytes
) -> None:
    body = one.encode()
    place = int(at * len(body))
    for data in (body, body[:place], body + other, body[:place] + other + body[place + 1 :]):
        try:
            [wanted] = report.split_upload(data)
        except ValueError:
            with pytest.raises(DecodeError):
                report.split_report(data)
        else:
            assert report.split_report(data) == wanted


def test_a_truncated_report_is_refused() -> None:
    body = report.encode_upload([Report(EXTENDED, b"x")])
    for cut in range(1, len(EXTENDED_WIRE) + 2):
        with pytest.raises(DecodeError):
            report.decode_upload(body[:-cut])


@pytest.mark.parametrize("types", [(2, 1), (1, 1)])
def test_extension_types_rise_strictly(types: tuple[int, int]) -> None:
    wire = b"".join(Extension(each, b"").encode() for each in types)
    body = HEADER_WIRE[:-2] + len(wire).to_bytes(2, "big") + wire + b"\0\1x"
    with pytest.raises(DecodeError, match="rise strictly"):
        report.decode_upload(body)
    with pytest.raises(DecodeError, match="rise strictly"):
        ReportHeader(REPORT_ID, 0, 0, 0, tuple(Extension(each, b"") for each in types))


def test_extensions_are_4096_bytes_together_and_no_more() -> None:
    ReportHeader(REPORT_ID, 0, 0, 0, (Extension(1, bytes(4092)),)).encode()
    with pytest.raises(DecodeError, match="at most 4096 bytes together"):
        ReportHeader(REPORT_ID, 0, 0, 0, (Extension(1, bytes(2050)), Extension(2, bytes(2050))))


def test_an_upload_holds_1_to_1000_reports() -> None:
    one = Report(HEADER, b"x").encode()
    assert len(report.decode_upload(one * 1000)) == 1000
    with pytest.raises(DecodeError, match="1…1000 reports"):
        report.decode_upload(one * 1001)
    with pytest.raises(DecodeError, match="1…1000 reports"):
        report.encode_upload([])


def test_an_upload_is_at_most_256_kib() -> None:
    large = Report(HEADER, bytes(65_535))
    with pytest.raises(DecodeError, match="1…262144 bytes"):
        report.encode_upload([large] * 4)
    with pytest.raises(DecodeError, match="1…262144 bytes"):
        report.decode_upload(bytes(262_145))
    with pytest.raises(DecodeError, match="1…262144 bytes, got 0"):
        report.decode_upload(b"")


def test_padding_of_other_bytes_is_refused() -> None:
    with pytest.raises(DecodeError, match="padding must be zero"):
        Plaintext.decode(Plaintext(b"x").encode(64)[:-1] + b"\1")


@pytest.mark.parametrize("size", [0, 1, 63, 65, 192])
def test_a_plaintext_of_an_odd_size_is_refused(size: int) -> None:
    with pytest.raises(DecodeError, match="64, 128, 256"):
        Plaintext.decode(bytes(size))
    with pytest.raises(DecodeError, match="64, 128, 256"):
        Plaintext(b"x").encode(size)


def test_a_payload_that_does_not_fit_its_padding_is_refused() -> None:
    with pytest.raises(DecodeError, match="at least 104 bytes here, got 64"):
        Plaintext(bytes(100)).encode(64)


@pytest.mark.parametrize("payload", [b"", bytes(24_001)])
def test_a_payload_has_1_to_24000_bytes(payload: bytes) -> None:
    with pytest.raises(DecodeError, match="payload must be 1…24000 bytes"):
        Plaintext(payload)


@pytest.mark.parametrize(
    "arguments",
    [
        (bytes(15), 0, 0, 0),
        (bytes(16), 1 << 32, 0, 0),
        (bytes(16), 0, 1 << 16, 0),
        (bytes(16), 0, 0, 256),
        (bytes(16), -1, 0, 0),
    ],
)
def test_a_header_that_no_message_can_hold_is_never_built(
    arguments: tuple[bytes, int, int, int],
) -> None:
    with pytest.raises(DecodeError, match="must be"):
        ReportHeader(*arguments)


@pytest.mark.parametrize("vector", vectors("headers.json"), ids=lambda each: each["name"])
def test_the_published_headers_are_what_this_code_writes(vector: dict[str, object]) -> None:
    fields = vector["fields"]
    assert isinstance(fields, dict)
    extra = tuple(
        Extension(each["type"], bytes.fromhex(each["data"])) for each in fields["extensions"]
    )
    header = ReportHeader(
        bytes.fromhex(fields["report_id"]),
        fields["epoch"],
        fields["manifest_version"],
        fields["key_id"],
        extra,
    )
    assert header.encode().hex() == vector["hex"]
    assert report.decode_upload(header.encode() + b"\0\1x") == [Report(header, b"x")]
