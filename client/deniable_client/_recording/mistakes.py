"""Explains mistakes in calls of `record` to the app's developer, without the recorded value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_client.outcome import Outcome
from deniable_shared.errors import DomainError
from deniable_shared.randomness.dyadic import format_epsilon

if TYPE_CHECKING:
    from deniable_client._recording.known_collections import KnownCollections
    from deniable_client._recording.prepared_collection import PreparedCollection

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
        return _over_ceiling(prepared)
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


def _over_ceiling(prepared: PreparedCollection) -> str:
    manifest = prepared.manifest
    permanent = manifest.epsilon_permanent
    more = "" if permanent is None else f" and {format_epsilon(permanent)} of a permanent answer"
    return (
        f"{manifest.collection} asks for ε = {format_epsilon(manifest.epsilon_report)} a report"
        f"{more}: more than the app's Ceiling. Nothing is recorded for it"
    )


def _fault_of(prepared: PreparedCollection, value: object) -> str:
    try:
        prepared.encode(value)
    except DomainError as error:
        return str(error)
    except Exception as error:  # an app's own Mapping may raise anything, with the value in it
        return f"reading the value failed with {type(error).__name__}"
    return "the value was not valid then, and is now"
