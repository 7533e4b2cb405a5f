"""The demonstration's people: the 2,201 aboard the Titanic (titanic.csv names the source)."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

__all__ = ["BERTHS", "TRAITS", "Person", "people"]

BERTHS = ("1st", "2nd", "3rd", "crew")
TRAITS = ("survived", "woman", "child")


@dataclass(frozen=True, slots=True)
class Person:
    """One person aboard."""

    berth: str
    woman: bool
    child: bool
    survived: bool

    def answers(self) -> dict[str, object]:
        """What this person tells the two collections."""
        return {
            "aboard": {"survived": self.survived, "woman": self.woman, "child": self.child},
            "berth": self.berth,
        }


def people() -> list[Person]:
    """Everybody aboard, one entry a person."""
    return [person for cell in _cells() for person in _of_cell(cell)]


def _cells() -> Iterator[dict[str, str]]:
    text = resources.files(__name__).joinpath("titanic.csv").read_text(encoding="utf-8")
    return csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))


def _of_cell(cell: dict[str, str]) -> list[Person]:
    person = Person(
        berth=cell["berth"],
        woman=(cell["sex"], cell["age"]) == ("female", "adult"),
        child=cell["age"] == "child",
        survived=cell["survived"] == "yes",
    )
    return [person] * int(cell["people"])
