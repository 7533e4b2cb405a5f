"""MECHANISMS.md says what the code does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from deniable_shared.mechanisms import Mechanism, build, known

TEXT = (Path(__file__).parent.parent.parent / "shared" / "MECHANISMS.md").read_text()


def page(id: str) -> str:
    return TEXT.partition(f"\n## `{id}`")[2].partition("\n---\n")[0]


def rows(id: str, columns: int) -> Iterator[list[str]]:
    """Rows of numbers in the tables of a page that have so many columns."""
    for line in page(id).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == columns and cells[-1].startswith("0."):
            yield cells


def std_error(mechanism: Mechanism, f: float, n: int) -> float:
    p, q = float(mechanism.p), float(mechanism.q)
    return math.sqrt((f * p * (1 - p) + (1 - f) * q * (1 - q)) / n) / (p - q)


@pytest.mark.parametrize("id", known())
def test_every_mechanism_has_a_page_with_all_its_parts(id: str) -> None:
    for part in ("When", "Law", "ε", "Estimator", "Variance", "Bytes", "Cost", "References"):
        assert f"\n**{part}" in page(id)


@pytest.mark.parametrize("row", list(rows("rr/1", 4)), ids=lambda row: row[0])
def test_numbers_for_bits_are_those_of_the_mechanism(row: list[str]) -> None:
    mechanism = build("rr/1", domain_size=1, epsilon=row[0])
    errors = [std_error(mechanism, 0.5, n) for n in (1000, 100_000)]
    assert row[1:] == [f"{number:.4f}" for number in (float(mechanism.p), *errors)]


@pytest.mark.parametrize("row", list(rows("grr/1", 5)), ids="-".join)
def test_numbers_for_choices_are_those_of_the_mechanism(row: list[str]) -> None:
    d = int(row[0])
    mechanism = build("grr/1", domain_size=d, epsilon=row[1])
    errors = [std_error(mechanism, 1 / d, n) for n in (1000, 100_000)]
    assert row[2:] == [f"{number:.4f}" for number in (float(mechanism.p), *errors)]


@pytest.mark.parametrize("epsilon", [Fraction(1, 8), Fraction(1), Fraction(4)])
def test_the_closed_forms_of_the_variance_are_those_of_p_and_q(epsilon: Fraction) -> None:
    e, d, f = math.exp(epsilon), 10, 0.3
    bit = std_error(build("rr/1", domain_size=1, epsilon=epsilon), f, 1) ** 2
    choice = std_error(build("grr/1", domain_size=d, epsilon=epsilon), f, 1) ** 2
    assert bit == pytest.approx(1 / (4 * math.sinh(epsilon / 2) ** 2), rel=1e-9)
    assert choice == pytest.approx((d - 2 + e) / (e - 1) ** 2 + f * (d - 2) / (e - 1), rel=1e-9)


def test_the_limits_of_optimality_are_those_of_the_formula() -> None:
    line = next(line for line in page("grr/1").splitlines() if line.startswith("| largest such d"))
    limits = [int(cell) for cell in line.split("|")[2:-1]]
    for epsilon, d in zip((0.5, 1, 2, 3, 4, 5, 6), limits, strict=True):
        assert (d - 1) * (d - 2) <= 2 * math.exp(2 * epsilon) < d * (d - 1)
