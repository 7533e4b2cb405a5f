"""Every figure of the pages that explain is computed here; their examples run."""

from __future__ import annotations

import math
import re
import tomllib
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.collections.planning import plan
from deniable_central.samplers.noise import tail_quantile
from deniable_client.opt_outs import CI_MARKERS
from deniable_estimators.mechanisms import estimator_for
from deniable_shared import mechanisms
from deniable_shared.analysis.posterior import max_posterior_percent
from deniable_shared.manifest.app_file import AppFile
from support.builders.client_world import Operator, manifest

ROOT = Path(__file__).parent.parent
EXPLANATION = ROOT / "docs" / "explanation"
FOR_MANAGERS = (ROOT / "docs" / "for-managers-and-lawyers.md").read_text()
EPSILON, HOW_IT_WORKS, LOCAL, MARGINS, BUDGET = (
    (EXPLANATION / f"{name}.md").read_text()
    for name in (
        "epsilon",
        "how-it-works",
        "local-or-central",
        "margins-of-error",
        "privacy-budget",
    )
)
DRAWING = (EXPLANATION / "how-it-works.svg").read_text()
EPSILONS = ("0.5", "1", "2", "4")
PEOPLE = (1_000, 10_000, 100_000, 1_000_000)
Z = NormalDist().inv_cdf(0.975)


def table(page: str, *columns: str) -> list[tuple[str, ...]]:
    """The rows of the table whose first columns are these."""
    head = re.escape("| " + " | ".join(columns) + " |")
    (found,) = re.findall(rf"^{head}.*\n\|[ |-]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    return [tuple(line.strip("| ").split(" | ")) for line in found.splitlines()]


def truth(epsilon: str) -> float:
    """How often a true yes is sent as yes, by the mechanism of a yes-or-no question."""
    law = mechanisms.build("rr/1", domain_size=1, epsilon=epsilon).pmf([1])
    return float(law[b"\x80"])


def points(share: float) -> str:
    """A margin in percentage points: two significant digits, rounded up."""
    digits = 1 - math.floor(math.log10(100 * share))
    steps = math.ceil(round(100 * share * 10**digits, 9))
    return f"± {steps / 10**digits:.{max(digits, 0)}f}"


def margin(domain: int, epsilon: str, people: int, **given: Any) -> float:
    """The half-width that `plan` computes. It does nothing else: no ε reaches the one wanted."""
    return plan(domain, epsilon, people, half_width=1e-6, identified=True, **given).half_width


@cache
def one_bit(epsilon: str, people: int, confidence: float = 0.95) -> float:
    return margin(1, epsilon, people, domain_type="bits", confidence=confidence)


def test_the_table_of_certainty_is_computed_and_rounded_up() -> None:
    rows = table(EPSILON, "ε", "a true yes is sent as yes")
    assert [row[:3] for row in rows] == [
        (each, f"{truth(each):.1%}", f"{max_posterior_percent(Fraction(each))}% sure")
        for each in EPSILONS
    ]
    factors = [float(row[3].removeprefix("× ")) for row in rows]
    assert factors == [float(f"{math.exp(float(each)):.3g}") for each in EPSILONS]


def test_managers_and_the_first_page_read_the_same_certainties() -> None:
    expected = [(each, f"{max_posterior_percent(Fraction(each))}%") for each in EPSILONS]
    assert table(FOR_MANAGERS, "ε of the report", "at most this sure") == expected
    assert f"could become {max_posterior_percent(Fraction(8))}% sure" in FOR_MANAGERS
    first = f"after one report of ε = 1, at most {max_posterior_percent(Fraction(1))}% sure"
    assert first in (ROOT / "README.md").read_text()


def test_a_reader_who_knew_more_is_never_promised_too_little() -> None:
    rows = table(EPSILON, "sure before", "sure after one report, at most")
    for before, after in rows:
        prior = float(before.rstrip("%")) / 100
        odds = prior / (1 - prior) * math.e
        assert after == f"{math.ceil(1000 * odds / (1 + odds)) / 10:.1f}%"


def test_the_two_minutes_and_their_drawing_compute() -> None:
    truthful, yes = truth("1"), 3_000
    sent = round(yes * truthful + 7_000 * (1 - truthful))
    estimator = estimator_for(mechanisms.build("rr/1", domain_size=1, epsilon="1"))
    estimate = estimator.estimate(np.array([sent]), 10_000)
    share, low, high = (
        float(each[0]) for each in (estimate.frequencies, estimate.lower, estimate.upper)
    )
    assert (
        f"with a chance of {truthful:.1%}. It is sent as *no* with a chance of {1 - truthful:.1%}"
        in (HOW_IT_WORKS)
    )
    assert f"About {sent:,} reports say *yes*: {truthful:.1%} of 3,000" in HOW_IT_WORKS
    assert f"work back to the share: {share:.1%}" in HOW_IT_WORKS
    assert f"between {low:.1%} and {high:.1%}, with 95% confidence" in HOW_IT_WORKS
    for text in (f">{sent:,} yes<", f">{share:.0%} say yes<", f">{low:.1%} to {high:.1%}<"):
        assert text in DRAWING


def test_the_drawing_is_small_and_has_both_themes_and_words() -> None:
    assert len(DRAWING) < 6_000
    assert ET.fromstring(DRAWING).tag.endswith("svg")  # noqa: S314  (our own file)
    assert "prefers-color-scheme: dark" in DRAWING
    assert "<title" in DRAWING
    assert "<desc" in DRAWING
    assert not re.search(r"<script|<image|href", DRAWING)


@pytest.mark.slow
def test_margins_by_people_and_epsilon_are_those_of_plan() -> None:
    rows = table(MARGINS, "people", "no scrambling", "ε = 4", "ε = 2", "ε = 1", "ε = 0.5")
    assert rows == [
        (
            f"{people:,}",
            points(Z * math.sqrt(0.25 / people)),
            *(points(one_bit(each, people)) for each in reversed(EPSILONS)),
        )
        for people in PEOPLE
    ]


@pytest.mark.slow
def test_the_people_for_one_point_are_those_of_plan() -> None:
    given: dict[str, Any] = {"domain_type": "bits", "identified": True}
    needed = {each: plan(1, each, 10_000, **given).users_needed for each in EPSILONS}
    sentence = ", ".join(f"{needed[each]:,} at ε = {each}" for each in ("4", "2", "1"))
    sentence = sentence.replace(f"{needed['4']:,} at", f"{needed['4']:,} people at")
    assert f"you need {sentence}, and {needed['0.5']:,} at ε = 0.5." in MARGINS


@pytest.mark.slow
def test_margins_by_question_are_those_of_plan() -> None:
    asked = {
        "one yes or no": one_bit("1", 10_000),
        **{f"a choice of {d:,}": margin(d, "1", 10_000) for d in (2, 5, 12, 1_000)},
        **{
            f"{m} yes-or-no answers at once": margin(m, "1", 10_000, domain_type="bits")
            for m in (4, 16)
        },
    }
    mean = margin(101, "1", 10_000, domain_type="number", asks="mean")
    assert table(MARGINS, "question", "margin of error") == [
        *((question, f"{points(each)} points") for question, each in asked.items()),
        ("the mean of a number from 0 to 100", f"{points(mean)}% of its range"),
    ]


@pytest.mark.slow
def test_what_makes_a_margin_narrower_does_so_by_as_much_as_the_page_says() -> None:
    half, one, two, four = (one_bit(each, 10_000) for each in EPSILONS)
    assert one_bit("1", 40_000) == pytest.approx(one / 2, rel=0.01)
    assert two / one == pytest.approx(3 / 5, abs=0.02)
    assert four / two == pytest.approx(4 / 5, abs=0.02)
    assert one_bit("1", 10_000, confidence=0.9) / one == pytest.approx(5 / 6, abs=0.02)
    assert half > one
    repeats = {each.repeat: each for each in plan(1, "1", 10_000, domain_type="bits").repeats}
    assert repeats["fresh"].std_error_all < repeats["fresh"].std_error
    common = margin(5, "1", 10_000, frequency=0.4)
    assert common / margin(5, "1", 10_000) == pytest.approx(6 / 5, abs=0.02)


def test_local_and_central_noise_are_compared_by_the_code() -> None:
    people = tail_quantile(Fraction(1), 0.05)
    margins = f"{points(one_bit('1', 10_000))} points | ± {people / 100:.2f} points |"
    assert f"| margin of error of a share among 10,000 people, ε = 1 | {margins}" in LOCAL


def test_the_limit_of_the_budget_page_is_one_that_a_client_takes() -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", BUDGET, re.MULTILINE | re.DOTALL)
    given: dict[str, object] = {}
    exec(example, given)  # noqa: S102  (our own page)
    assert "Ceiling" in repr(given["limit"])


def test_the_app_of_the_first_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operator, today = Operator(), datetime.now(UTC).date()
    valid = manifest(valid_from=str(today), expires=str(today + timedelta(days=90)))
    file = AppFile(("https://telemetry.example.org",), (operator.trust,), (operator.sign(valid),))
    (tmp_path / "app.deniable").write_bytes(file.encode())
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("DO_NOT_TRACK", "DENIABLE_DISABLE", "DENIABLE_POLICY", *CI_MARKERS):
        monkeypatch.delenv(name, raising=False)
    page = (ROOT / "README.md").read_text()
    (example,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    record, close = example.splitlines()[-2:]
    start = example.removesuffix(f"{record}\n{close}\n")
    app = f"{start}outcome = {record}\nhealth = client.status()\n{close}\n"
    given: dict[str, object] = {}
    exec(app, given)  # noqa: S102  (our own page)
    assert given["outcome"] == "queued", given["health"]


def test_the_architecture_page_has_every_room_and_layer() -> None:
    page = (EXPLANATION / "architecture.md").read_text()
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    [layers] = [each["layers"] for each in contracts["contracts"] if each["id"] == "layers"]
    listed = page.partition("this list only:\n\n```text\n")[2].partition("```")[0].splitlines()
    assert [sorted(each.split(" | ")) for each in layers if each != "__main__"] == [
        sorted(each.split(", ")) for each in listed
    ]
    service = ROOT / "aggregator" / "service" / "deniable_aggregator"
    rooms = {each.parent.name for each in service.glob("*/__init__.py")}
    assert {room.strip("`") for room, _ in table(page, "room", "job")} == rooms
    folders = table(page, "step", "where")
    paths = {path for _, where in folders for path in re.findall(r"`(.+?)`", where)}
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_first_page_is_two_screens() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 90
