"""Known mistakes about selection, and how a check finds them.

`tests/central/selection/test_errors_of_*.py` list them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable_central.guarantee import Guarantee
from deniable_central.pmf import Pmf
from deniable_central.samplers.exponential import Weights
from deniable_central.selection import (
    Exponential,
    PrivacyParameters,
    privacy_parameters,
)
from deniable_central.selection.exact_pmf import exponential_pmf

ONE = privacy_parameters(epsilon=1, sensitivity=1)
EITHER_WAY, TOGETHER = (-1, 0, 1), (0, 1)


@dataclass(frozen=True)
class Wrong:
    """A user's own law, with the guarantee that was claimed for it."""

    guarantee: Guarantee
    pmf: Callable[[Any], Pmf[Any]]


def exponential_with(decay: Fraction, claimed: PrivacyParameters) -> Wrong:
    return Wrong(
        Exponential(claimed).guarantee,
        lambda scores: exponential_pmf(Weights(np.asarray(scores), decay)),
    )


def upside_down(law: Exponential) -> Wrong:
    return Wrong(law.guarantee, lambda scores: law.pmf(-np.asarray(scores)))


def found_out(check: Callable[..., None], *mutant: object) -> None:
    with pytest.raises(AssertionError):
        check(*mutant)
