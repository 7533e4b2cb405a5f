"""What a careful colleague says about a collection that asks again."""

from __future__ import annotations

import math

import pytest

from deniable_aggregator.collections.authoring.linter import lint
from deniable_shared.manifest.model import Manifest
from support.builders.authored import authored, fresh, memoized
from support.builders.manifests import SAMPLED, SETTINGS

NOW = 1_800_000_000.0  # January 2027
FIVE = SETTINGS.replace('"dark_mode", "beta"', '"a", "b", "c", "d", "e"')


def notes(manifest: Manifest, field: str, level: str = "note") -> str:
    findings = lint(manifest, now=NOW)
    return " | ".join(
        each.message for each in findings if (each.field, each.level) == (field, level)
    )


@pytest.mark.parametrize(
    ("manifest", "answers", "ceiling", "never"),
    [
        (
            fresh(),
            "answers in 10 epochs, counted from its first",
            "epsilon_per_report 1, epsilon_lifetime 10",
            "",
        ),
        (
            fresh('epsilon_lifetime = "2.5"\n'),
            "answers in 2 epochs",
            "epsilon_lifetime 2",
            "all its reports cost 2, so 2.5 is never spent",
        ),
        (
            memoized(),
            "answers in 2 holds of 91 epochs",
            "epsilon_per_report 1, epsilon_permanent 2, epsilon_lifetime 4",
            "",
        ),
        (
            memoized("hold_epochs = 30\n"),
            "answers in 2 holds of 30 epochs, then repeats its last",
            "epsilon_lifetime 4",
            "",
        ),
    ],
)
def test_it_says_when_a_device_stops_and_the_least_ceiling(
    manifest: Manifest, answers: str, ceiling: str, never: str
) -> None:
    assert f"a device {answers}" in notes(manifest, "repeat")
    assert ceiling in notes(manifest, "epsilon")
    assert notes(manifest, "epsilon.lifetime") == never


def test_it_says_the_linkage_in_bits() -> None:
    manifest = memoized()
    assert f"share {manifest.linkage:.2f} bits" in notes(manifest, "linkable")
    assert notes(fresh(), "linkable") == ""


def test_it_says_where_consent_to_linkage_is_to_nothing() -> None:
    assert "not needed at 0.00 bits" in notes(fresh("linkable = true\n"), "linkable")
    linked = memoized("linkable = true\n" + SAMPLED)
    assert "not needed" not in notes(linked, "linkable")


def test_it_says_how_precise_a_whole_hold_will_be() -> None:
    """Two bits, ε = 1 behind 2: V_1 = 1/(4 sinh²(¼)) = 3.918, V_∞ = 1/(4 sinh²(½)) = 0.9207."""
    one, kept = (1 / (4 * math.sinh(x) ** 2) for x in (0.25, 0.5))
    whole = math.sqrt((kept + (one - kept) / 91) / 1000)
    text = notes(memoized(), "hold_epochs")
    assert f"std_error {100 * whole:.2f} %" in text
    assert f"never below {100 * math.sqrt(kept / 1000):.2f} %" in text
    assert notes(fresh(), "hold_epochs") == ""


def test_the_strength_is_that_of_the_permanent_answer() -> None:
    high = memoized('epsilon_permanent = "5"\n')
    assert "above 4 little can be denied: 92.41 % true" in notes(
        high, "epsilon.permanent", "warning"
    )
    assert notes(memoized(), "epsilon.permanent", "warning") == ""


class TestSampled:
    """Several bits at a small ε: report some of them."""

    def test_it_says_that_sampling_needs_fewer_reports(self) -> None:
        """Split over 5 bits: 1/(4 sinh²(1/10)) = 24.9; one of 5: 5·(0.9207 + ¼) = 5.85."""
        assert "about 4.3 times the reports of rr-sampled/1, which reports 1 of the 5" in notes(
            authored(FIVE), "mechanism.id"
        )
        one = SETTINGS.replace('"dark_mode", "beta"', '"dark_mode"')
        assert notes(authored(one), "mechanism.id") == ""

    def test_it_says_how_many_bits_a_report_tells(self) -> None:
        sampled = authored(SAMPLED + FIVE)
        assert "a report contains 1 of 5 bits" in notes(sampled, "mechanism.parameters")
        assert notes(sampled, "domain.labels", "warning") == ""
        assert "split over 5 bits" in notes(authored(FIVE), "domain.labels", "warning")

    def test_its_precision_is_that_of_one_bit_told_by_one_in_five(self) -> None:
        error = math.sqrt(5 * (1 / (4 * math.sinh(0.5) ** 2) + 0.25) / 1000)
        text = notes(authored(SAMPLED + FIVE), "epsilon.report")
        assert f"{100 * error:.2f} % with 1,000 reports" in text


def test_it_says_who_answers() -> None:
    always = authored('presence = "always"\ndefault = [false, false]\n' + SETTINGS)
    assert "with the default if nothing was recorded" in notes(always, "presence")
    some = authored('sampling = "0.25"\n' + SETTINGS)
    assert "25.00 % of the devices are asked" in notes(some, "sampling")
    assert notes(authored(), "presence") == notes(authored(), "sampling") == ""


LABELS = ", ".join(f'"{place}"' for place in range(1000))
CHOICE = f'domain = {{type = "choice", labels = [{LABELS}]}}\n'
OF_A_CHOICE = SETTINGS.partition("[domain]")[0] + CHOICE


@pytest.mark.parametrize(
    ("mechanism", "among", "why"),
    [
        ("loloha/1", "about 368", "each shows openly which of 341 parts it is about"),
        ("hadamard/1", "about 1,097", "each shows openly which of 1,023 parts it is about"),
        ("oue/1", "about 114,", "1,000 bits stay the same"),
        ("affine/1", "about 15", "one of 508,536 messages stays the same"),
    ],
)
def test_it_names_an_identifier_and_what_makes_it_one(mechanism: str, among: str, why: str) -> None:
    again = f'repeat = "memoized"\nlinkable = true\nmechanism = "{mechanism}"\n'
    text = notes(authored(again + OF_A_CHOICE), "linkable", "warning")
    assert "an identifier, of one device in" in text
    assert why in text
    assert among in text


def test_what_is_no_identifier_is_not_called_one() -> None:
    assert notes(memoized(), "linkable", "warning") == ""
    assert notes(fresh(), "linkable", "warning") == ""
