"""What the linter says of single mechanisms, and what it computes for that."""

from __future__ import annotations

from fractions import Fraction

import pytest

from deniable_aggregator.collections.authoring.lint_domains import range_variance
from deniable_aggregator.collections.authoring.linter import lint
from deniable_aggregator.collections.authoring.recommendation import mechanism_error
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_shared.analysis.range_error import tree_error
from deniable_shared.mechanisms import build
from deniable_shared.mechanisms.tree import TreeResponse
from support.builders.authored import authored
from support.builders.manifests import SETTINGS, manifest_with

MAY = 1_809_000_000.0
BUCKETS = 'type = "number"\nlow = "0"\nhigh = "9"\nstep = "1"'

MINUTES = """
name = "minutes"
purpose = "How long do people use it in a day?"
owner = "privacy@deniable.org"
epsilon = "{epsilon}"
valid_from = 2027-01-01
expires = 2027-06-01
mechanism = "{id}"
[domain]
type = "number"
low = 0
high = 1275
step = 5
"""


@pytest.mark.parametrize(
    ("id", "epsilon", "better"),
    [("tree/1", "1", None), ("tree/1", "0.3", "haar/1"), ("haar/1", "2", "tree/1")],
)
def test_the_linter_names_the_hierarchy_that_needs_fewer_reports(
    id: str, epsilon: str, better: str | None
) -> None:
    manifest = manifest_from_toml(MINUTES.format(id=id, epsilon=epsilon), ingest=("https://x.org",))
    said = [finding.message for finding in lint(manifest, now=0.0)]
    assert any("standard error of a range of values, on average" in message for message in said)
    assert any("one level of" in message and "which one is visible" in message for message in said)
    worded = [message for message in said if "for a range" in message]
    assert len(worded) == (better is not None)
    assert all(f"times the reports of {better}" in message for message in worded)


def test_the_error_of_a_chain_is_that_of_its_report() -> None:
    plain = TreeResponse(16, Fraction(1), Fraction(1), 4)
    chain = build("tree/1", domain_size=16, epsilon="1", permanent="19", fan_out=4)
    assert plain.range_error == pytest.approx(tree_error(16, 4, Fraction(1)))
    assert range_variance(chain) == pytest.approx(plain.range_error, rel=0.05)
    assert range_variance(build("grr/1", domain_size=16, epsilon="1")) is None


def test_the_linter_names_buckets_in_a_report_and_a_better_mechanism() -> None:
    text = 'mechanism = "dbitflip/1"\n' + SETTINGS.partition('type = "bits"')[0] + BUCKETS
    manifest = authored(text)
    messages = {each.field: each.message for each in lint(manifest, now=1_800_000_000.0)}
    assert "contains 1 of 10 buckets; which ones is visible" in messages["mechanism.parameters"]
    assert "times the reports of" in messages["mechanism.id"]


def test_the_linter_warns_that_nobody_is_anonymous() -> None:
    required = manifest_with({"requires": ["voucher/1"]})
    [finding] = [each for each in lint(required, now=MAY) if each.field == "requires"]
    assert (finding.level, finding.message.partition(":")[0]) == ("warning", "identified")
    assert "No anonymity is claimed" in finding.message
    assert all(each.field != "requires" for each in lint(authored(), now=MAY))


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
def test_one_sampled_bucket_errs_less_than_four(epsilon: str) -> None:
    one, four = (
        build("dbitflip/1", domain_size=100, epsilon=epsilon, sampled=sampled) for sampled in (1, 4)
    )
    assert mechanism_error(one) < mechanism_error(four)
