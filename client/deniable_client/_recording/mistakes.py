"""Explains mistakes in calls of `record` to the app's developer, without the recorded value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_client.outcome import Outcome
from deniable_shared.errors import DomainError
from deniable_shared.randomness.dyadic import format_epsilon

if TYPE_CHECKING:
    from deniable_client._recording.known_collections import KnownCollections
    from deniable_client._recording.prepared_collection import PreparedCollection
    from deniable_client.ceiling import Ceiling

_MOST_NAMES = 12


def describe_mistake(
    collections: KnownCollections, name: object, value: object, outcome: Outcome
) -> str:
    """Return one or two sentences on why the call had this outcome.

    The text repeats an unknown name only if it resembles a known one: if the arguments were
    swapped, the name is the person's answer.
    """
    prepared = next((each for each in collections.prepared if name in _names(each)), None)
    if prepared is None:
        return f"record() has no collection of that name{_cure(name, collections.names)}"
    if outcome is Outcome.UNKNOWN_COLLECTION:
        first = prepared.manifest.valid_from
        return f"record({name!r}, …): the collection starts on {first}. Until then nothing is kept"
    if outcome is Outcome.OVER_CEILING:
        return _over_ceiling(prepared, collections.ceiling)
    return f"record({name!r}, …): {_fault_of(prepared, value)}. Nothing was recorded"


def _names(prepared: PreparedCollection) -> tuple[str, str]:
    return prepared.manifest.name, prepared.manifest.collection


def _cure(name: object, names: tuple[str, ...]) -> str:
    if not names:
        return ": give Client its manifests, or call refresh()"
    from difflib import get_close_matches

    near = get_close_matches(name, names, n=1) if isinstance(name, str) and len(name) < 65 else []
    if near:
        return f", got {name!r}: did you mean {near[0]!r}?"
    return f". This app knows {', '.join(names[:_MOST_NAMES])}"


def _over_ceiling(prepared: PreparedCollection, ceiling: Ceiling) -> str:
    manifest = prepared.manifest
    cost = f"ε = {format_epsilon(manifest.epsilon_report)} a report"
    limits = f"epsilon_per_report = {format_epsilon(ceiling.epsilon_per_report)}"
    if manifest.epsilon_permanent is not None:
        cost += f" and {format_epsilon(manifest.epsilon_permanent)} of a permanent answer"
        limits += f", epsilon_permanent = {format_epsilon(ceiling.epsilon_permanent)}"
    return (
        f"{manifest.collection} asks for {cost}. That is more than the app's Ceiling, which has "
        f"{limits} and epsilon_lifetime = {format_epsilon(ceiling.epsilon_lifetime)}: raise what "
        "is too low, or ask the operator for a smaller ε. Nothing is recorded for it"
    )


def _fault_of(prepared: PreparedCollection, value: object) -> str:
    try:
        prepared.encode(value)
    except DomainError as error:
        return str(error)
    except Exception as error:  # an app's own Mapping may raise anything, with the value in it
        return f"reading the value failed with {type(error).__name__}"
    return "the value was not valid then, and is now"
