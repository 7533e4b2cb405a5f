from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import pytest

from deniable_estimators.mechanisms import estimator_for, mechanism_ids
from deniable_shared import mechanisms
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.protocols import Mechanism
from support.oracles.privacy_checks import by_size


@dataclass
class Unheard:
    id: str = "unheard/1"
    p: Fraction = Fraction(3, 4)


def test_every_mechanism_has_an_estimator() -> None:
    assert mechanism_ids() == mechanisms.mechanism_ids()


@pytest.mark.parametrize("id", by_size())
def test_an_estimator_projects_by_default_to_something_an_estimate_knows(id: str) -> None:
    built = estimator_for(mechanisms.build(id, domain_size=3, epsilon="1"))
    assert built.default_projection in {"clip", "simplex"}


def test_a_mechanism_without_estimator_is_refused_by_name() -> None:
    with pytest.raises(ParameterError, match="'unheard/1'"):
        estimator_for(cast(Mechanism, Unheard()))


@pytest.mark.slow
def test_importing_the_estimators_does_not_load_scipy() -> None:
    script = "import sys, deniable_estimators.mechanisms; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
