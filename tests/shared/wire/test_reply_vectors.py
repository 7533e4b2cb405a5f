"""Every published reply to an upload, by the shared functions and by the reference client."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deniable_shared.wire.problems import PROBLEM_MEDIA_TYPE
from deniable_shared.wire.replies import read_date, read_problem, read_statuses
from reference_client.uploading import verdict
from support.oracles.vectors import FOLDER

FILE: dict[str, Any] = json.loads((FOLDER / "replies.json").read_text())
ID = bytes.fromhex(FILE["report"])

CASES: dict[str, dict[str, Any]] = {case["name"]: case for case in FILE["cases"]}


def reply(case: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    body = case["text"].encode() if "text" in case else bytes.fromhex(case["hex"])
    return case["status"], case["headers"], body


def test_the_reference_client_does_what_the_vector_says() -> None:
    done = {name: verdict(*reply(case), ID) for name, case in CASES.items()}
    assert done == {name: case["does"] for name, case in CASES.items()}


def test_what_takes_a_report_away_is_the_aggregators_own() -> None:
    """The opposite does not hold: the aggregator says 404 and 503 as well."""
    for name, case in CASES.items():
        statuses, problem = read_statuses(*reply(case)), read_problem(*reply(case))
        if case["does"] != "keep":
            assert (statuses is None) is not (problem is None), name
        assert statuses is None or problem is None, name
        if problem is not None:
            assert problem.status == case["status"], name


def test_a_long_number_or_a_deep_list_is_no_problem_document() -> None:
    for body in (b"[" * 100_000, b"9" * 10_000):
        headers = {"Content-Type": PROBLEM_MEDIA_TYPE, "Content-Length": str(len(body))}
        assert read_problem(400, headers, body) is None


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("Thu, 01 Jan 1970 00:01:00 GMT", 60.0),
        ("Thu, 01 Jan 1970 00:01:00 +0000", 60.0),
        ("Thu, 01 Jan 1970 00:01:00", None),
        ("Thu, 01 Jan 99999 00:01:00 GMT", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_a_date_is_read_or_left_out(given: str, seconds: float | None) -> None:
    assert read_date(given) == seconds
