"""What a careful colleague says about a manifest."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import deniable_shared
from deniable_aggregator.collections.authoring.lint_findings import Finding
from deniable_aggregator.collections.authoring.linter import lint
from deniable_shared.manifest.model import Manifest
from deniable_shared.mechanisms import ids_for_domain_type
from support.builders.authored import authored
from support.builders.manifests import SETTINGS

NOW = 1_800_000_000.0  # January 2027
GOOD = SETTINGS.replace("example.org", "deniable.test").replace("2027-06", "2027-05")


def found(manifest: Manifest, field: str, level: str, *, now: float = NOW) -> str:
    """The messages of one level on one field."""
    findings = lint(manifest, now=now)
    return " | ".join(
        each.message for each in findings if (each.field, each.level) == (field, level)
    )


def choice(labels: int, **values: str) -> Manifest:
    head, _, _ = GOOD.partition("[domain]")
    for key, value in values.items():
        head = "".join(line for line in head.splitlines(True) if not line.startswith(f"{key} "))
        head += f"{key} = {value}\n"
    names = ", ".join(f'"{each}"' for each in range(labels))
    return authored(f'{head}[domain]\ntype = "choice"\nlabels = [{names}]\n')


def test_a_good_manifest_gets_notes_only() -> None:
    assert {each.level for each in lint(authored(GOOD), now=NOW)} == {"note"}


def test_it_says_how_often_a_device_answers_and_the_least_ceiling() -> None:
    manifest = authored(GOOD)
    assert "answers in 1 epoch" in found(manifest, "repeat", "note")
    assert "epsilon_per_report 1, epsilon_lifetime 1" in found(manifest, "epsilon", "note")


def test_it_says_what_is_never_spent() -> None:
    manifest = authored('epsilon_lifetime = "4"\n' + GOOD)
    assert "4 is never spent" in found(manifest, "epsilon.lifetime", "note")


def test_it_says_how_precise_an_estimate_will_be() -> None:
    """rr/1 of one bit at ε = 1: V = 1/(4 sinh²(1/2)) = 0.92067, so 3.03 % with 1,000 reports."""
    manifest = authored(GOOD.replace('"dark_mode", "beta"', '"dark_mode"'))
    message = found(manifest, "epsilon.report", "note")
    assert "3.03 % with 1,000 reports, 0.30 % with 100,000; 1.00 % needs 9,207" in message


def test_it_warns_of_more_labels_than_reports_can_tell_apart() -> None:
    assert not found(choice(5), "domain.labels", "warning")
    assert "cannot distinguish 300 labels" in found(choice(300), "domain.labels", "warning")


def test_it_warns_where_another_mechanism_needs_fewer_reports() -> None:
    """[d(d−2+E)/(E−1)² + (d−2)/(E−1)] over 1.021·R*, with R*(100, 1) = 360.0."""
    assert not found(choice(100), "mechanism.id", "warning")
    assert not found(choice(10, mechanism='"grr/1"'), "mechanism.id", "warning")
    assert "about 9.4 times the reports of cyclic/1" in found(
        choice(100, mechanism='"grr/1"'), "mechanism.id", "warning"
    )


@pytest.mark.parametrize(
    ("id", "size", "level", "message"),
    [
        ("oue/1", 3, "warning", "oue/1 needs about 2.8 times the reports of grr/1"),
        ("hadamard/1", 1000, "note", "hadamard/1 needs about 1.3 times the reports of"),
        ("hadamard/1", 1000, "note", "of cyclic/1"),
        ("grr/1", 10, "note", "grr/1 needs about 1.4 times the reports of affine/1"),
        ("grr/1", 12, "note", "the reports of affine/1"),
        ("grr/1", 5000, "warning", "grr/1 needs about 459.1 times the reports of cyclic/1"),
    ],
)
def test_it_names_the_shortest_reports_among_the_least_errors(
    id: str, size: int, level: str, message: str
) -> None:
    """Of oue/1 the sum is 4dE/(E−1)² + 1; hadamard/1 has cosh²(ε/2) of that for large d."""
    assert message in found(choice(size, mechanism=f'"{id}"'), "mechanism.id", level)


@pytest.mark.parametrize("id", ["oue/1", "sue/1", "hadamard/1"])
def test_where_no_other_needs_a_quarter_fewer_it_names_none(id: str) -> None:
    at_small = choice(1000, mechanism=f'"{id}"', epsilon='"0.5"')
    assert not found(at_small, "mechanism.id", "warning")
    assert not found(at_small, "mechanism.id", "note")


def test_it_warns_of_bits_that_share_too_little() -> None:
    labels = ", ".join(f'"{each}"' for each in range(5))
    text = GOOD.replace('"dark_mode", "beta"', labels)
    assert "split over 5 bits" in found(authored(text), "domain.labels", "warning")
    one_hot = authored(text + 'constraint = "one-hot"\n')
    assert not found(one_hot, "domain.labels", "warning")


def test_it_warns_of_a_high_epsilon() -> None:
    assert not found(choice(2, epsilon='"4"'), "epsilon.report", "warning")
    assert "99.33 % true" in found(choice(2, epsilon='"5"'), "epsilon.report", "warning")


def test_it_warns_of_a_batch_that_shows_noise_only() -> None:
    assert "standard error of" in found(choice(2, min_batch="2"), "min_batch", "warning")
    assert not found(choice(2, min_batch="10"), "min_batch", "warning")


@pytest.mark.parametrize(
    ("now", "level", "field", "message"),
    [
        (1_809_129_600, "error", "expires", "expired on 2027-05-01"),
        (1_809_129_599, "warning", "expires", "within 30 days"),
        (1_790_000_000, "note", "valid_from", "no device answers before 2026-12-01"),
    ],
)
def test_it_looks_at_the_calendar(now: int, level: str, field: str, message: str) -> None:
    assert message in found(authored(GOOD), field, level, now=now)


def test_it_warns_of_a_default_valid_from() -> None:
    text = "".join(line for line in GOOD.splitlines(True) if not line.startswith("valid_from"))
    assert "must not move when expires does" in found(authored(text), "valid_from", "warning")


def test_it_asks_for_a_purpose_and_an_owner() -> None:
    text = GOOD.replace("Which settings do people turn on?", "test")
    assert "in a sentence" in found(authored(text), "purpose", "warning")
    assert "an example" in found(authored(SETTINGS), "owner", "warning")
    nobody = authored(GOOD.replace("privacy@deniable.test", "the team"))
    assert "people can write to" in found(nobody, "owner", "warning")


@pytest.mark.parametrize(
    "purpose",
    [
        "What do we want to know, and what for?",
        "what do we want to know and what for",
        "TODO",
        "todo: ask Ana",
        "TBD.",
        "FIXME write this",
        "...",
        "…",
        " ",
        "??? 123",
        "purpose here",
        "<Your purpose here>",
        "[purpose]",
        "N/A",
        "Lorem ipsum",
    ],
)
def test_a_placeholder_purpose_is_an_error(purpose: str) -> None:
    text = GOOD.replace("Which settings do people turn on?", purpose)
    assert "is a placeholder" in found(authored(text), "purpose", "error")


@pytest.mark.parametrize(
    "purpose",
    [
        "What do we want for lunch?",
        "How many people keep a to-do list?",
        "Who uses TODO marks in their notes?",
        "Which purpose does the app serve?",
        "Какой браузер вы используете?",
        "你用哪个浏览器？",
    ],
)
def test_a_purpose_in_words_is_no_placeholder(purpose: str) -> None:
    text = GOOD.replace("Which settings do people turn on?", purpose)
    assert not [each for each in lint(authored(text), now=NOW) if each.level == "error"]


def test_it_says_when_only_this_machine_can_upload() -> None:
    local = authored('ingest = ["http://localhost:8000"]\n' + GOOD)
    assert "only this machine" in found(local, "ingest", "warning")


def test_it_says_what_live_means() -> None:
    assert 'use read = "closed"' in found(authored(GOOD), "read", "note")
    assert not found(authored('read = "closed"\n' + GOOD), "read", "note")


@pytest.mark.parametrize(
    ("read", "what"), [("live", "closed periods"), ("closed", "closed"), ("releases", "releases")]
)
def test_it_says_what_public_shows(read: str, what: str) -> None:
    public = authored(f'public = true\nread = "{read}"\n' + GOOD)
    assert what in found(public, "public", "note")
    assert authored("public = false\n" + GOOD).body == authored(GOOD).body
    assert not found(authored(GOOD), "public", "note")


def test_errors_come_first_and_notes_last() -> None:
    levels = [each.level for each in lint(authored(SETTINGS), now=2e9)]
    assert levels == sorted(levels, key=["error", "warning", "note"].index)
    assert levels[0] == "error"


def test_findings_are_plain_data() -> None:
    assert Finding("note", "read", "x") == Finding("note", "read", "x")


@pytest.mark.slow
def test_no_module_of_the_wire_computes_with_floats() -> None:
    package = Path(deniable_shared.__file__).parent
    for path in package.rglob("*.py"):
        constants = [
            n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)
        ]
        assert not [each for each in constants if isinstance(each, float)], path.name


def number(id: str) -> Manifest:
    body = '[domain]\ntype = "number"\nlow = "0"\nhigh = "99"\nstep = "1"\n'
    return authored(f'mechanism = "{id}"\n' + GOOD.partition("[domain]")[0] + body)


def test_mechanisms_of_a_mean_and_of_labels_are_not_compared() -> None:
    assert "times the reports of cyclic/1" in found(number("grr/1"), "mechanism.id", "warning")
    assert "mechanism.id" not in {each.field for each in lint(number("duchi/1"), now=NOW)}


@pytest.mark.slow
def test_it_accepts_read_releases_with_every_mechanism() -> None:
    """`tests/service/collections/test_without_structure.py` has one that no release reads."""
    body = '[domain]\ntype = "number"\nlow = "0"\nhigh = "99"\nstep = "1"\n'

    def read(id: str, who: str) -> str:
        keys = f'mechanism = "{id}"\nread = "{who}"\n'
        return found(authored(keys + GOOD.partition("[domain]")[0] + body), "read", "warning")

    for mechanism in ids_for_domain_type("number"):
        assert not read(mechanism, "releases")
        assert not read(mechanism, "closed")


def test_it_says_what_releases_do_not_hide_and_which_epochs_they_leave_out() -> None:
    def notes(field: str, *keys: str) -> str:
        return found(authored("".join(keys) + GOOD), field, "note")

    sealed, always = 'read = "releases"\n', 'presence = "always"\ndefault = {default}\n'
    assert "at least 100 reports each" in notes("min_batch", sealed)
    assert 'use presence = "always"' in notes("presence", sealed)
    assert not notes("min_batch")
    assert not notes("presence")
    answer = authored(GOOD).domain.labels
    default = "{ " + ", ".join(f"{label} = false" for label in answer) + " }"
    assert "not who answered" not in notes("presence", sealed, always.format(default=default))


def test_nor_against_releases_of_texts() -> None:
    head = 'read = "releases"\n' + GOOD.partition("[domain]")[0]
    manifest = authored(head + '[domain]\ntype = "text"\nmax_bytes = 8\n')
    assert not found(manifest, "read", "warning")
