"""Which mechanism a record gets, what the linter says of it, and the numbers on its page."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from deniable_aggregator.collections.authoring.linter import lint
from deniable_aggregator.collections.authoring.record_recommendation import (
    best_record_mechanism,
    candidate_mechanisms,
    is_product,
    two_way_error,
)
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_shared.errors import ManifestError, ParameterError
from deniable_shared.manifest.model import Manifest
from deniable_shared.mechanisms import for_domain, releasable_ids
from support.builders.record_domains import labels, record
from support.oracles.record_laws import RecordLaw, floats, law, table_of

PAGE = (Path(__file__).parents[4] / "shared" / "MECHANISMS.md").read_text()
PAGE = PAGE.partition("\n## `pairs/1`")[2].partition("\n---\n")[0]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and line[2].isdigit()
]
TOML = """
name = "fleet"
purpose = "Which systems and browsers go together?"
owner = "privacy@example.org"
epsilon = "{epsilon}"
valid_from = 2026-12-01
expires = 2027-06-01
{more}
[domain]
type = "record"
"""


def authored(*radices: int, epsilon: str = "1", more: str = "") -> Manifest:
    text = TOML.format(epsilon=epsilon, more=more)
    for name, radix in zip("abcdefgh", radices, strict=False):
        listed = ", ".join(f'"{label}"' for label in labels(radix))
        text += f'[[domain.attributes]]\nname = "{name}"\nlabels = [{listed}]\n'
    return manifest_from_toml(text, ingest=["https://telemetry.example.org"])


def said(manifest: Manifest) -> list[str]:
    return [f"{found.level}: {found}" for found in lint(manifest, now=1.79e9)]


@pytest.mark.parametrize("row", ROWS, ids="-".join)
def test_numbers_on_the_page_are_those_of_the_mechanisms(row: list[str]) -> None:
    domain, epsilon = record(*[int(row[1])] * int(row[0])), Fraction(row[2])
    every = {
        each.id: two_way_error(each, domain.radices)
        for each in candidate_mechanisms(domain, epsilon)
    }
    products = [each for each in candidate_mechanisms(domain, epsilon) if is_product(each)]
    best = min(every[each.id] for each in products)

    def shown(error: Fraction | None) -> str:
        return "–" if error is None else f"{math.sqrt(error / 100_000):.4f}"

    assert row[3:] == [shown(best), shown(every["pairs/1"]), shown(every.get("fourier/1"))]


def test_the_page_has_its_rows() -> None:
    assert len(ROWS) == 12


@pytest.mark.parametrize(
    "given",
    [law(id, 2, 2, 2) for id in ("grr/1", "subset/1", "hadamard/1", "pairs/1", "fourier/1")]
    + [law("pairs/1", 2, 3, 2), law("subset/1", 2, 3, 2), law("pairs/1", 2, 2, 2, permanent="2")],
    ids=lambda given: f"{given.mechanism.id}-{given.domain.radices}",
)
def test_the_compared_error_is_the_cell_variance_of_equal_cells(
    given: RecordLaw,
) -> None:
    """n·Var at the expected tally, in which the share that tells of each table is the expected."""
    equal = [Fraction(1, given.domain.size)] * given.domain.size
    sent = np.round(floats(given.chances(equal)) * 10**9).astype(np.int64)
    tally, n = sent @ given.tallies, int(sent.sum())
    total, cells = 0.0, 0
    for axes in ((0, 1), (0, 2), (1, 2)):
        true = floats(table_of(equal, given.domain, axes))
        total += given.source(tally, n, axes).variances(true, 1).sum() * n
        cells += len(true)
    error = two_way_error(given.mechanism, given.domain.radices)
    assert total / cells == pytest.approx(float(error), rel=1e-6)


@pytest.mark.parametrize(
    ("radices", "epsilon", "id"),
    [
        ((2, 2), "1", "grr/1"),
        ((4, 4), "1", "subset/1"),
        ((2, 2, 2), "1", "subset/1"),
        ((2, 2, 2), "0.5", "fourier/1"),
        ((2,) * 6, "1", "fourier/1"),
        ((2,) * 16, "4", "pairs/1"),
        ((3, 4, 5), "1", "pairs/1"),
        ((3, 4, 5), "4", "grr/1"),
        ((2,) * 40, "1", "fourier/1"),
    ],
)
def test_a_record_gets_the_mechanism_of_least_error(
    radices: tuple[int, ...], epsilon: str, id: str
) -> None:
    domain = record(*radices)
    best = best_record_mechanism(domain, Fraction(epsilon))
    errors = [
        two_way_error(each, radices) for each in candidate_mechanisms(domain, Fraction(epsilon))
    ]
    assert best.id == id
    assert two_way_error(best, radices) <= min(errors) * Fraction(21, 20)


def test_a_manifest_names_what_was_chosen_and_pins_its_parameters() -> None:
    assert (authored(3, 4, 5).mechanism_id, authored(3, 4, 5).parameters) == ("pairs/1", {})
    parities = authored(2, 2, 2, 2, 2, 2)
    assert (parities.mechanism_id, parities.parameters) == ("fourier/1", {"ways": 2})
    assert authored(3, 4, 5, more='mechanism = "oue/1"').mechanism_id == "oue/1"


def test_a_memoized_record_gets_a_mechanism_that_hides_the_device() -> None:
    hidden = authored(2, 2, 2, 2, 2, 2, epsilon="0.5", more='repeat = "memoized"')
    assert hidden.linkage <= 1
    result = authored(2, 2, 2, 2, 2, 2, epsilon="0.5", more='repeat = "memoized"\nlinkable = true')
    assert (result.mechanism_id, result.linkage > 1) == ("fourier/1", True)


def test_the_linter_says_what_a_report_tells_and_what_would_need_fewer() -> None:
    pairs, product = said(authored(3, 4, 5)), said(authored(3, 4, 5, more='mechanism = "grr/1"'))
    assert any("has one of 3 pairs of attributes" in text for text in pairs)
    assert any("a frequency of two attributes together" in text for text in pairs)
    assert not any("times the reports" in text for text in pairs)
    assert any("covers all attributes together" in text for text in product)
    assert any("warning" in text and "times the reports of pairs/1" in text for text in product)
    parities = said(authored(2, 2, 2, 2, 2, 2, more='mechanism = "fourier/1"'))
    assert any("one of 21 parities" in text for text in parities)


@pytest.mark.parametrize("radices", [(3, 4, 5), (2,) * 6, (2,) * 8], ids=str)
def test_a_record_that_only_releases_read_gets_what_they_read(radices: tuple[int, ...]) -> None:
    """That is the best there is: releases read the tables of every mechanism."""
    live = authored(*radices)
    read = authored(*radices, more='read = "releases"')
    assert read.mechanism_id == live.mechanism_id in releasable_ids()
    assert not any("no release reads" in text or "times the" in text for text in said(read))
    named = said(authored(*radices, more='read = "releases"\nmechanism = "pairs/1"'))
    assert not any("no release reads" in text for text in named)


def test_a_record_of_very_many_combinations_can_be_released_from_too() -> None:
    manifest = authored(*[60] * 8, more='read = "releases"')
    assert manifest.mechanism_id == "pairs/1"
    assert not any("no release reads" in text for text in said(manifest))


def test_the_linter_warns_where_tables_of_two_have_no_error() -> None:
    design = said(authored(10, 10, 10, more='mechanism = "affine/1"'))
    assert any("no one error for sums of choices" in text for text in design)


def test_a_mechanism_that_breaks_epsilon_is_refused_with_the_reason() -> None:
    with pytest.raises(ManifestError, match=r"1\.490 for two .* Use pairs/1"):
        authored(2, 2, more='mechanism = "rs+fd/1"')
    with pytest.raises(ManifestError, match=r"many times the error\. Use pairs/1"):
        authored(2, 2, more='mechanism = "spl/1"')


def test_a_record_for_which_nothing_answers_is_refused_with_the_cure() -> None:
    with pytest.raises(ParameterError, match="must have fewer labels"):
        best_record_mechanism(record(300, 300), Fraction(1))
    alone = for_domain("fourier/1", record(2, 2), Fraction(1), parameters={"ways": 1})
    with pytest.raises(ParameterError, match="ways must be at least 2"):
        two_way_error(alone, (2, 2))
