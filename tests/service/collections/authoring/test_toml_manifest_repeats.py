"""Collections that ask again, as a person writes them: what is left out, and what is misspelt."""

from __future__ import annotations

import pytest

from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_shared.errors import ManifestError
from deniable_shared.manifest.model import Manifest
from deniable_shared.randomness.dyadic import format_epsilon
from support.builders.authored import authored
from support.builders.manifests import INGEST, SAMPLED, SETTINGS


def asked(repeat: str, *lines: str, base: str = SETTINGS) -> Manifest:
    return authored("\n".join((f'repeat = "{repeat}"', *lines)) + "\n" + base)


def refused(reason: str, *lines: str) -> None:
    with pytest.raises(ManifestError, match=reason):
        authored("\n".join(lines) + "\n" + SETTINGS)


@pytest.mark.parametrize(
    ("repeat", "epsilon", "permanent", "lifetime"),
    [
        ("once", "1", None, "1"),
        ("once", "20", None, "20"),
        ("fresh", "0.5", None, "5"),
        ("fresh", "1", None, "10"),
        ("fresh", "3", None, "20"),
        ("memoized", "0.25", "0.5", "1"),
        ("memoized", "1", "2", "4"),
        ("memoized", "7", "14", "20"),
        ("memoized", "12", "20", "20"),
    ],
)
def test_what_is_spent_is_a_multiple_of_epsilon_up_to_twenty(
    repeat: str, epsilon: str, permanent: str | None, lifetime: str
) -> None:
    base = SETTINGS.replace('epsilon = "1"', f'epsilon = "{epsilon}"')
    manifest = asked(repeat, "linkable = true", base=base)
    found = manifest.epsilon_permanent
    assert permanent == (found if found is None else format_epsilon(found))
    assert format_epsilon(manifest.epsilon_lifetime) == lifetime


@pytest.mark.parametrize(
    ("lines", "hold_epochs"),
    [
        ((), 91),
        (('epsilon_lifetime = "2"',), 182),
        (('epsilon_lifetime = "6.5"',), 61),
        (('epsilon_permanent = "1.5"', 'epsilon_lifetime = "20"'), 14),
        (('epoch = "31d"',), 4),
        (('epoch = "1h"',), 2184),
        (("hold_epochs = 30",), 30),
    ],
)
def test_the_holds_that_are_paid_last_for_the_life(
    lines: tuple[str, ...], hold_epochs: int
) -> None:
    manifest = asked("memoized", *lines)
    assert manifest.hold_epochs == hold_epochs
    if "hold" not in str(lines):
        assert manifest.paid_epochs >= manifest.schedule.epochs
        assert manifest.paid_holds * (hold_epochs - 1) < manifest.schedule.epochs


def test_a_collection_that_moves_its_end_keeps_its_holds() -> None:
    first = asked("memoized")
    text = 'repeat = "memoized"\n' + SETTINGS.replace("2027-06-01", "2027-12-01")
    second = manifest_from_toml(text, ingest=INGEST, previous=first)
    assert (second.version, second.hold_epochs) == (2, 91)
    assert second.answers == "answers in 2 holds of 91 epochs, then repeats its last"


def test_how_many_bits_a_report_tells_follows_from_epsilon_unless_said() -> None:
    mechanism = 'mechanism = "rr-sampled/1"'
    assert asked("once", mechanism).parameters == {"sampled": 1}
    assert asked("once", mechanism, "sampled = 2").parameters == {"sampled": 2}
    memoized = asked("memoized", mechanism, "linkable = true")
    assert memoized.parameters == {"sampled": 1}, "by the report's ε, not by the permanent one's"
    assert authored(SAMPLED + SETTINGS) == asked("once", mechanism)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (("sampled = 1",), "rr/1 takes distance besides domain_size, epsilon and permanent"),
        (('mechanism = "rr-sampled/1"', "sampled = 3"), r"sampled must lie in \[1, 2\], got 3"),
        (('mechanism = "rr-sampled/1"', 'sampled = "1"'), "sampled must be the number of"),
        (('mechanism = "rr-sampled/1"', "sampled = true"), "sampled must be the number of bits"),
        (('repeat = "fresh"', 'epsilon_permanent = "2"'), 'belongs to repeat = "memoized": leave'),
        (('repeat = "memoized"', 'epsilon_permanent = "1"'), 'more than epsilon = 1, got "1"'),
        (('repeat = "memoized"', 'epsilon_permanent = "30"'), "epsilon.permanent must be 0.01…20"),
        (('repeat = "memoized"', 'epsilon_lifetime = "1"'), "at least epsilon.permanent"),
        (('repeat = "memoized"', "hold_epochs = 1.5"), "hold_epochs must be text, an integer"),
        (('repeat = "memoized"', "hold_epochs = 0"), "hold_epochs must be an integer in 1…"),
        (('repeat = "memoized"', "epoch_seconds = 0"), "epoch_seconds must be an integer in 1…"),
        (('presence = "always"',), 'default must be an answer of the domain where presence = "al'),
        (('presence = "always"', "default = 3"), "default must be an answer of the domain: value"),
        (('presence = "always"', "default = {dark = true}"), "default must be an answer of the do"),
        (('presence = "always"', "default = 2027-01-01"), "default must be an answer .* got date"),
        (('sampling = "0"',), "sampling must be a decimal .* above"),
        (("sampling = 0.5",), "sampling must be a number in quotes"),
        (("cohorts = 32",), "this version supports cohorts = 1 or 64 only, got 32"),
    ],
    ids=str,
)  # fmt: skip
def test_a_mistake_is_named_with_its_cure(lines: tuple[str, ...], reason: str) -> None:
    refused(reason, *lines)


def test_the_same_meaning_gives_the_same_bytes() -> None:
    written = asked(
        "memoized",
        'epsilon_permanent = "2.0"',
        "epsilon_lifetime = 4",
        "hold_epochs = 91",
        'sampling = "0.50"',
    )
    assert written.body == asked("memoized", 'sampling = "0.5"').body


def test_a_default_keeps_to_the_constraint() -> None:
    line = 'presence = "always"\ndefault = [false, false]\n'
    with pytest.raises(ManifestError, match=r"default must be an answer .* exactly one True"):
        authored('repeat = "fresh"\n' + line + SETTINGS + 'constraint = "one-hot"\n')
