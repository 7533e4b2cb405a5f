"""Rehearsals: what is added by a few files works everywhere, and touches nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SHARED, ESTIMATORS = "deniable_shared/mechanisms", "deniable_estimators/mechanisms"
MECHANISM = '''
"""The true choice with probability p, each other with q."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self

from deniable_shared.coins import Coins
from deniable_shared.domain import INDEXED
from deniable_shared.dyadic import threshold
from deniable_shared.mechanisms.structure import OneOf
from deniable_shared.mechanisms.symbol_payload import IndexToSymbol


@dataclass(frozen=True, slots=True)
class Toy(IndexToSymbol):
    """One of up to 256 choices."""

    id: ClassVar[str] = "toy/1"
    domain_types: ClassVar[frozenset[str]] = INDEXED
    releasable: ClassVar[bool] = True
    payload_size: ClassVar[int] = 1
    domain_size: int
    epsilon: Fraction
    threshold: int = field(init=False)

    def __post_init__(self) -> None:
        cut = threshold(self.epsilon, alphabet_size=self.domain_size)
        object.__setattr__(self, "threshold", cut)

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        return cls(domain_size, epsilon)

    @property
    def tally_size(self) -> int:
        return self.domain_size

    @property
    def alphabet_size(self) -> int:
        return self.domain_size

    @property
    def q(self) -> Fraction:
        return (1 - self.p) / (self.domain_size - 1)

    @property
    def structure(self) -> OneOf:
        return OneOf(self.domain_size)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        index = self._checked(value)
        truthful, other = coins.bernoulli(self.threshold), coins.below(self.domain_size - 1)
        return bytes([(other + (other >= index), index)[truthful]])

    def _supports_value(self, place: int, symbol: int, label: int) -> bool:
        return symbol == label
'''
STRUCTURELESS = MECHANISM.replace("OneOf:", "None:").replace("OneOf(self.domain_size)", "None")
ESTIMATOR = '''
"""The share of each label from how often it was told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from deniable_estimators.inference.channel import Counts
from deniable_estimators.inference.support_counts import HistogramEstimator
from deniable_shared.mechanisms.protocols import Mechanism


@dataclass(frozen=True, slots=True)
class ToyEstimator(HistogramEstimator):
    default_projection: ClassVar[str] = "simplex"
    estimand: ClassVar[str] = "labels"
    mechanism: Mechanism
    repeat: str = "once"

    def supports(self, tallies: Counts) -> Counts:
        return tallies
'''
COMMON = '''
import numpy as np
from deniable_estimators.mechanisms import estimator_for
from deniable_aggregator.releases import kinds
from deniable_central.accounting import Installation
from deniable_aggregator.releases.kinds.contract import ReleaseContext, TallyPart, Tallies
from deniable_aggregator.releases.kinds.sensitivity import label_sensitivity
from deniable_estimators.inference.set_laws import estimate_label_set
from deniable_aggregator.planning.plan import plan
from deniable_estimators.simulation import generator, simulated_tally
from deniable_shared import mechanisms
from deniable_shared.authoring import manifest_from_toml
from deniable_shared.errors import ParameterError
from deniable_shared.linkage import linkage
from deniable_shared.linter import lint

FILE = """
name = "drinks"
purpose = "What do people drink?"
owner = "privacy@example.org"
epsilon = "1"
mechanism = "toy/1"
valid_from = 2026-12-01
expires = 2027-06-01
{more}
[domain]
type = "choice"
labels = ["tea", "water", "milk", "juice"]
"""

def refused(function, *arguments, **named):
    try:
        function(*arguments, **named)
    except ParameterError as error:
        return str(error)
    raise AssertionError("it was not refused")

once = mechanisms.build("toy/1", domain_size=4, epsilon="1")
twice = mechanisms.build("toy/1", domain_size=4, epsilon="1", permanent="2")
manifest = manifest_from_toml(FILE.format(more=""), ingest=["https://telemetry.example.org"])
assert manifest.mechanism_id == "toy/1"
assert any("reports" in str(found) for found in lint(manifest, now=1.79e9))
people = np.array([40_000, 30_000, 20_000, 10_000])
of = estimator_for(once)
tally = simulated_tally(once, np.arange(4), people, draws=generator(1))
estimate = of.estimate(tally, int(tally.sum()))
assert np.abs(estimate.frequencies - people / people.sum()).max() < 6 * estimate.std_errors.max()
'''
STRUCTURED = (
    COMMON
    + """
assert plan(4, "1", 100_000, mechanism="toy/1").half_width < 0.02
assert abs(linkage(twice) - linkage(mechanisms.build(
    "grr/1", domain_size=4, epsilon="1", permanent="2"))) < 1e-12
assert (label_sensitivity(once).l1, label_sensitivity(once).linf) == (2, 1)
assert "toy/1" in mechanisms.releasable_ids()
context = ReleaseContext(
    "drinks-aaaaaa", manifest.domain, once, "once", "releases", (0,), 100_000, 1,
    Installation(1, once.epsilon))
release = kinds.prepare("histogram", {"epsilon": "1"}, context)
assert release.draw(Tallies((TallyPart(0, 0, 100_000, tally),))).result
found = estimate_label_set(of, once, tally, int(tally.sum()), (0, 1))
assert found.lower < 0.7 < found.upper
read = manifest_from_toml(
    FILE.format(more='read = "releases"'), ingest=["https://telemetry.example.org"])
assert not any("no release reads" in str(each) for each in lint(read, now=1.79e9))
"""
)
REFUSED = (
    COMMON
    + """
assert "not available for toy/1" in refused(linkage, twice)
refusal = refused(estimate_label_set, of, once, tally, int(tally.sum()), (0, 1))
assert "not available for toy/1" in refusal
assert "for central releases" in refused(label_sensitivity, once)
"""
)


def test_a_mechanism_is_two_files_and_a_line_in_each_registry(tmp_path: Path) -> None:
    _copied(tmp_path, MECHANISM)
    _run(tmp_path, STRUCTURED)


def test_of_a_mechanism_without_a_structure_what_needs_one_is_refused(tmp_path: Path) -> None:
    _copied(tmp_path, STRUCTURELESS)
    _run(tmp_path, REFUSED)


def _copied(place: Path, mechanism: str) -> None:
    """The packages with "toy/1" added."""
    for package in (
        "shared/deniable_shared",
        "aggregator/estimators/deniable_estimators",
        "aggregator/deniable_aggregator",
    ):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, place / Path(package).name, ignore=ignored)
    (place / SHARED / "toy.py").write_text(mechanism)
    (place / ESTIMATORS / "toy.py").write_text(ESTIMATOR)
    _registered(
        place / SHARED / "__init__.py",
        "from deniable_shared.mechanisms.toy import Toy",
        "_KINDS: tuple[MechanismClass, ...] = (",
        "    Toy,",
    )
    _registered(
        place / ESTIMATORS / "__init__.py",
        "from deniable_estimators.mechanisms.toy import ToyEstimator",
        '        "tree/1": TreeEstimator,',
        '        "toy/1": ToyEstimator,',
    )


def _registered(registry: Path, imported: str, after: str, entry: str) -> None:
    text = registry.read_text()
    assert text.count(after) == 1
    text = text.replace(after, f"{after}\n{entry}")
    first = text.index("from deniable_shared")
    registry.write_text(f"{text[:first]}{imported}\n{text[first:]}")


def _run(place: Path, script: str) -> None:
    path = os.pathsep.join([str(place), str(ROOT / "client")])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path},
        cwd=place,
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stderr
