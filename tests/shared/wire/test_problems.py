"""Codes and problem documents: data that both ends and the documents read alike."""

from __future__ import annotations

import json
import re

import pytest

from deniable_shared.wire.problems import PROBLEMS, ReportError, problem_document


def test_report_codes_are_those_of_the_protocol() -> None:
    assert {error.slug: int(error) for error in ReportError} == {
        "epoch-closed": 0x01,
        "cannot-open": 0x05,
        "collection-expired": 0x07,
        "invalid-message": 0x08,
        "too-early": 0x09,
        "not-started": 0x0A,
        "outdated-key": 0x0B,
        "manifest-unknown": 0x80,
        "token-required": 0x81,
        "token-invalid": 0x82,
        "unknown-extension": 0x83,
        "voucher-required": 0x84,
        "voucher-invalid": 0x85,
        "voucher-spent": 0x86,
    }


def test_a_problem_has_a_name_a_title_and_an_error_status() -> None:
    assert PROBLEMS
    for slug, kind in PROBLEMS.items():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", slug)
        assert kind.uri == f"urn:deniable:problem:{slug}"
        assert kind.title, slug
        assert 400 <= kind.status <= 503, slug


def test_retrying_helps_if_the_server_fails_or_is_not_ready() -> None:
    assert {slug for slug, kind in PROBLEMS.items() if kind.retry} == {
        "epoch-open",
        "internal",
        "ledger-behind",
        "release-failed",
        "too-many-requests",
        "unavailable",
    }


def test_a_problem_document_is_that_of_rfc_9457() -> None:
    document = problem_document("too-few-reports", "min_batch is 100, got 3", n=3)
    assert json.loads(json.dumps(document)) == {
        "type": "urn:deniable:problem:too-few-reports",
        "title": "Fewer reports than the collection's min_batch",
        "status": 409,
        "detail": "min_batch is 100, got 3",
        "retry": False,
        "n": 3,
    }


def test_an_extra_member_never_replaces_a_standard_one() -> None:
    with pytest.raises(ValueError, match=r"got \['status'\]"):
        problem_document("conflict", "no", status=200)


def test_an_unknown_problem_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        problem_document("no-such-problem", "")


def test_problems_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        PROBLEMS["x"] = PROBLEMS["internal"]  # type: ignore[index]  # read-only: that is the point
