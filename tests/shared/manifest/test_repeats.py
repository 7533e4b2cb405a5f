"""Collections that ask again: what follows from ε, what must be said, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.domains import manifest_value
from deniable_shared.errors import ManifestError
from deniable_shared.manifest.fields import FIELDS, Change
from deniable_shared.manifest.linkage import linkage
from deniable_shared.manifest.model import Manifest
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.manifest.rules import check_successor
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import at_most_exp, renewal_threshold, threshold
from support.builders.manifests import (
    SAMPLED,
    SETTINGS,
    body_with,
    fresh,
    manifest_with,
    memoized,
    next_version,
    settings,
)

MEMOIZED = memoized()
CHOICE = SETTINGS.replace('"bits"', '"choice"')
Changes = Mapping[str, object]


def refused(changes: Changes, reason: str, *, of: Manifest = MEMOIZED) -> None:
    with pytest.raises(ManifestError, match=reason):
        parse_manifest(body_with(changes, of=of))


def test_a_memoized_manifest_reads_back() -> None:
    manifest = parse_manifest(MEMOIZED.body)
    assert manifest == MEMOIZED
    assert manifest.repeat == "memoized"
    assert manifest.epsilon_report == 1
    assert manifest.epsilon_permanent == 2
    assert manifest.hold_epochs == 91
    assert manifest.chain() is manifest.mechanism()
    assert manifest.chain().epsilon_permanent == 2


def test_its_thresholds_are_of_the_permanent_answer_and_second_round() -> None:
    """Two bits share ε: one of them gets 1 of the permanent 2, and ½ of the report's 1."""
    permanent = threshold(Fraction(1))
    assert permanent == MEMOIZED.threshold == MEMOIZED.chain().permanent_threshold
    kept = renewal_threshold(permanent, Fraction(1, 2))
    assert kept == MEMOIZED.renewal_threshold == MEMOIZED.chain().renewal_threshold


def test_one_report_of_a_chain_costs_epsilon_at_the_largest_threshold() -> None:
    a, t, scale = MEMOIZED.renewal_threshold, MEMOIZED.threshold, 1 << 64
    assert a is not None
    ratios = []
    for kept in (Fraction(a, scale), Fraction(a + 1, scale)):
        p = kept * Fraction(t, scale) + (1 - kept) / 2
        ratios.append((p / (1 - p)) ** 2)
    assert [at_most_exp(ratio, Fraction(1)) for ratio in ratios] == [True, False]


@pytest.mark.parametrize("manifest", [settings(), fresh()], ids=lambda m: m.repeat)
def test_without_a_permanent_answer_there_is_no_chain(manifest: Manifest) -> None:
    assert manifest.epsilon_permanent is None
    assert manifest.renewal_threshold is None
    assert manifest.threshold == threshold(Fraction(1, 2)) == manifest.mechanism().threshold
    assert manifest.linkage == 0
    with pytest.raises(ManifestError, match=f'"{manifest.repeat}" has no permanent answer'):
        manifest.chain()


@pytest.mark.parametrize("offset", [-1, 1])
@pytest.mark.parametrize("path", ["mechanism.permanent_threshold", "mechanism.renewal_threshold"])
def test_a_threshold_that_disagrees_by_one_is_refused(path: str, offset: int) -> None:
    honest = str(MEMOIZED.values[path])
    refused({path: f"0x{int(honest, 16) + offset:016x}"}, f'{path} must be "{honest}", recomputed')


def test_a_larger_permanent_epsilon_under_the_old_thresholds_is_refused() -> None:
    refused({"epsilon.permanent": "3"}, "mechanism.permanent_threshold must be")
    refused({"epsilon.report": "1.5"}, "mechanism.renewal_threshold must be")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"epsilon.permanent": "1"}, 'permanent must be more than epsilon.report, got "1" and "1"'),
        ({"epsilon.permanent": "0.5"}, "permanent must be more than epsilon.report"),
        ({"epsilon.permanent": "21"}, "epsilon.permanent must be 0.01…20"),
        ({"epsilon.permanent": 2}, "epsilon.permanent must be a decimal in a string"),
        ({"epsilon.lifetime": "1.9"}, 'at least epsilon.permanent, got "1.9" and "2"'),
        ({"hold_epochs": 0}, "hold_epochs must be an integer in 1…4,294,967,295, got 0"),
        ({"hold_epochs": 2**32}, "hold_epochs must be an integer"),
        ({"hold_epochs": True}, "hold_epochs must be an integer"),
        ({"mechanism.threshold": "0x" + "8" * 16}, 'belongs to repeat = "once" or "fresh", not to'),
        ({"mechanism.renewal_threshold": 7}, 'renewal_threshold must be "0x" and 16 hex digits'),
        ({"repeat": "once"}, "mechanism.threshold is missing"),
        ({"repeat": "fresh"}, "mechanism.threshold is missing"),
        ({"mechanism.parameters": {"sampled": 1}}, "mechanism.parameters of rr/1 must be {}"),
    ],
    ids=str,
)
def test_a_memoized_manifest_that_breaks_a_rule_is_refused(changes: Changes, reason: str) -> None:
    refused(changes, reason)


@pytest.mark.parametrize(
    "path",
    [field.path for field in FIELDS if field.repeats == ("memoized",)],
)
def test_a_field_of_memoized_must_be_there(path: str) -> None:
    with pytest.raises(ManifestError, match=f"{path} is missing from the manifest"):
        parse_manifest(body_with({}, of=MEMOIZED, without=(path,)))


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"hold_epochs": 30}, "hold_epochs"),
        ({"sampling": "0.5"}, "sampling"),
        ({"cohorts": 64}, "cohorts"),
        ({"linkable": True}, "linkable"),
        ({"presence": "always", "default": {"beta": False, "dark_mode": False}}, "default"),
    ],
)
def test_how_often_and_whom_it_asks_may_never_change(changes: Changes, path: str) -> None:
    assert next(field for field in FIELDS if field.path == path).change is Change.IDENTITY
    with pytest.raises(ManifestError, match="may not change: make a new collection"):
        check_successor(MEMOIZED, next_version(MEMOIZED, changes), MEMOIZED)


def test_a_lower_lifetime_pays_fewer_holds_of_the_same_length() -> None:
    second = next_version(MEMOIZED, {"epsilon.lifetime": "2"})
    check_successor(MEMOIZED, second, MEMOIZED)
    assert (second.paid_holds, second.hold_epochs) == (1, 91)


class TestSampled:
    """rr-sampled/1: how many bits a report has is part of the question."""

    manifest = settings(SAMPLED + SETTINGS)

    def test_it_reads_back(self) -> None:
        assert parse_manifest(self.manifest.body) == self.manifest
        assert self.manifest.parameters == {"sampled": 1}
        assert self.manifest.mechanism().tally_size == 4
        assert self.manifest.threshold == threshold(Fraction(1))

    @pytest.mark.parametrize(
        ("parameters", "reason"),
        [
            ({}, r'must be {"sampled": …}, got {}'),
            ({"sampled": 1, "distance": 2}, 'must be {"sampled": …}'),
            ({"distance": 2}, 'must be {"sampled": …}'),
            (None, 'must be {"sampled": …}, got null'),
            ({"sampled": 0}, r"sampled must lie in \[1, 2\], got 0"),
            ({"sampled": 3}, r"sampled must lie in \[1, 2\], got 3"),
            ({"sampled": True}, "sampled must be an integer"),
            ({"sampled": "1"}, "sampled must be an integer"),
            ({"sampled": 2}, "mechanism.threshold must be"),
        ],
        ids=str,
    )
    def test_other_parameters_are_refused(self, parameters: object, reason: str) -> None:
        refused({"mechanism.parameters": parameters}, reason, of=self.manifest)

    def test_another_number_is_another_collection(self) -> None:
        other = settings(SAMPLED.replace("= 1", "= 2") + SETTINGS)
        assert other.collection != self.manifest.collection


class TestLinkage:
    """The second round hides the answer, not the device: above one bit that must be said."""

    lines = 'repeat = "memoized"\nepsilon_permanent = "8"\nepsilon_lifetime = "8"\n'

    def test_little_linkage_needs_no_consent(self) -> None:
        assert 0.1 < MEMOIZED.linkage < 1
        assert linkage(MEMOIZED.mechanism()) == MEMOIZED.linkage

    def test_more_than_a_bit_needs_consent_and_the_error_says_how_much(self) -> None:
        text = CHOICE.replace('epsilon = "1"', 'epsilon = "4"')
        text = text.replace('"beta"', '"beta", "gamma", "delta"')
        with pytest.raises(ManifestError, match=r"linkable must be true: .* share 1\.\d\d bits"):
            settings(self.lines + text)
        agreed = settings(self.lines + "linkable = true\n" + text)
        assert agreed.linkage > 1
        assert agreed.linkable

    def test_index_sets_are_told_by_every_report(self) -> None:
        lines = 'repeat = "memoized"\n' + SAMPLED
        with pytest.raises(ManifestError, match=r"share 1\.\d\d bits, more than 1"):
            settings(lines + SETTINGS)
        assert settings(lines + "linkable = true\n" + SETTINGS).linkage > 1

    @pytest.mark.parametrize("manifest", [settings(), fresh()], ids=lambda m: m.repeat)
    def test_without_a_permanent_answer_consent_is_to_nothing(self, manifest: Manifest) -> None:
        assert manifest_with({"linkable": True}, of=manifest).linkage == 0


class TestPresence:
    """always: a device that records nothing answers as well, so there must be an answer."""

    always = 'presence = "always"\n'

    @pytest.mark.parametrize(
        ("line", "text", "default"),
        [
            ("default = {beta = false, dark_mode = true}\n", SETTINGS, [True, False]),
            ("default = [true, false]\n", SETTINGS, [True, False]),
            ("default = [1, 0]\n", SETTINGS, [True, False]),
            ('default = "beta"\n', CHOICE, "beta"),
            ("default = 1\n", CHOICE, "beta"),
        ],
    )
    def test_a_default_has_one_spelling(self, line: str, text: str, default: object) -> None:
        manifest = settings(self.always + line + text)
        wanted = manifest.domain.encode(default)
        assert manifest.domain.encode(manifest.default) == wanted
        assert parse_manifest(manifest.body) == manifest
        assert {manifest: 1}

    @pytest.mark.parametrize(
        ("text", "default", "reason"),
        [
            (SETTINGS, None, "an answer of the domain .* got null"),
            (SETTINGS, {"dark_mode": True}, "an answer of the domain .* name each of dark_mode, "),
            (SETTINGS, [True, False], r"default must be spelled {.*}, got \[true"),
            (SETTINGS, {"beta": 0, "dark_mode": 1}, "default must be spelled"),
            (CHOICE, "gamma", "an answer of the domain"),
            (CHOICE, 1, 'default must be spelled "beta", got 1'),
            (CHOICE, True, "an answer of the domain"),
        ],
        ids=str,
    )
    def test_another_default_is_refused(self, text: str, default: object, reason: str) -> None:
        refused({"presence": "always", "default": default}, reason, of=settings(text))

    def test_on_event_has_no_default(self) -> None:
        with pytest.raises(ManifestError, match='null where presence = "on_event"'):
            settings("default = [true, true]\n" + SETTINGS)


@pytest.mark.parametrize(
    ("text", "threshold"),
    [("1", 2**64), ("0.5", 2**63), ("0.25", 2**62), ("0.000000000001", 2**64 // 10**12)],
)
def test_the_sampling_coin_is_a_threshold_of_64_bits(text: str, threshold: int) -> None:
    manifest = settings(f'sampling = "{text}"\n' + SETTINGS)
    assert manifest.sampling == Fraction(text)
    assert manifest.sampling_threshold == threshold


SCALARS = st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.text(max_size=20)
KEYS = st.sampled_from(["sampled", "dark_mode", "beta"]) | st.text(max_size=5)
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(KEYS, SCALARS)
LINKED = memoized("linkable = true\n" + SAMPLED)


@pytest.mark.slow
@given(path=st.sampled_from(sorted(LINKED.values)), value=VALUES, honest=st.booleans())
def test_any_value_in_any_field_is_read_or_refused(path: str, value: object, honest: bool) -> None:
    try:
        body = body_with({path: value}, of=LINKED, honest=honest and path != "collection")
        manifest = parse_manifest(body)
    except (ManifestError, UnicodeEncodeError):
        return
    assert manifest.values[path] == value


@given(value=VALUES, of=st.sampled_from([settings(), settings(CHOICE), LINKED]))
def test_any_default_is_an_answer_in_its_spelling_or_refused(value: object, of: Manifest) -> None:
    try:
        manifest = manifest_with({"presence": "always", "default": value}, of=of)
    except (ManifestError, UnicodeEncodeError):
        return
    encoded = manifest.domain.encode(manifest.default)
    assert manifest.default == manifest_value(manifest.domain, value)
    manifest.mechanism().validate(manifest.mechanism().randomize(encoded, Coins.system()))
