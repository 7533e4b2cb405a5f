"""Collections of the toy mechanism, with a structure or without one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType

import pytest

from deniable_estimators import mechanisms as estimators
from deniable_shared import mechanisms
from support.doubles.toy_estimator import ToyEstimator
from support.doubles.toy_mechanism import Toy

_HEAD = """
name = "{name}"
purpose = "What do people use, and how often?"
owner = "privacy@example.org"
epsilon = "4"
mechanism = "toy/1"
valid_from = 2027-01-01
expires = 2027-06-01
read = "live"
min_batch = 3
{more}
[domain]
"""
_DOMAINS = MappingProxyType(
    {
        "choice": 'type = "choice"\nlabels = ["1", "2", "5", "10"]',
        "number": 'type = "number"\nlow = 0\nhigh = 20\nstep = "2.5"',
        "record": (
            'type = "record"\n'
            '[[domain.attributes]]\nname = "os"\nlabels = ["linux", "mac"]\n'
            '[[domain.attributes]]\nname = "browser"\nlabels = ["firefox", "chrome"]'
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Unstructured(Toy):
    """The same mechanism, without a description of its messages."""

    @property
    def structure(self) -> None:  # type: ignore[override]  # a mechanism without a structure
        return None


@contextmanager
def registered(kind: type[Toy]) -> Iterator[None]:
    """Both registries know the mechanism as toy/1."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, f"{mechanisms.__name__}.toy", sys.modules[kind.__module__])
        patch.setattr(mechanisms, "_CLASSES", {**mechanisms._CLASSES, kind.id: kind.__name__})
        known = {**estimators._ESTIMATORS, kind.id: ToyEstimator}
        patch.setattr(estimators, "_ESTIMATORS", known)
        yield


def toml(domain: str, more: str = "") -> str:
    """The text of a collection."""
    return _HEAD.format(name=f"{domain}s", more=more) + _DOMAINS[domain]
