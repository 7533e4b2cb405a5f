"""A collection as a person writes it: short, forgiving of nothing, the same everywhere."""

from __future__ import annotations

import tomllib
from fractions import Fraction

import pytest

from deniable_aggregator.collections.authoring.linter import lint
from deniable_aggregator.collections.authoring.templates import TemplateOptions, template
from deniable_aggregator.collections.authoring.toml_keys import KEYS
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_shared.domains import Bits, Choice, Domain, Number, Record
from deniable_shared.errors import ManifestError
from deniable_shared.manifest.fields import FIELDS, REPEATS, Change
from deniable_shared.manifest.model import Manifest
from deniable_shared.manifest.parser import parse_manifest
from support.builders.authored import authored
from support.builders.manifest_text import manifest_of
from support.builders.manifests import INGEST, SETTINGS
from support.oracles.vectors import vectors

LIKE_THE_DESIGN = """\
name = "settings"
purpose = "Which settings do people turn on?"
owner = "privacy@example.org"
epsilon = "1"             # of one whole report, all bits together
repeat = "memoized"       # once | fresh (each epoch costs ε) | memoized (a permanent answer, …)
epsilon_permanent = "2"   # memoized: of one hold's permanent answer (default 2 × epsilon)
epsilon_lifetime = "4"    # all this collection may ever cost a device
read = "live"             # live | closed | releases: what analysts may read besides releases
# every other manifest field (PROTOCOL §2) may stand here too
epoch = "1d"
expires = 2027-06-01
min_batch = 100
[domain]
type = "bits"             # bits | choice | number | record
labels = ["dark_mode", "beta", "notifications"]
"""
NOON = 1_800_000_000.0


def with_lines(*lines: str, base: str = SETTINGS) -> str:
    return "\n".join(lines) + "\n" + base


def without(key: str, base: str = SETTINGS) -> str:
    return "".join(line for line in base.splitlines(True) if not line.startswith(key))


def refused(text: str, reason: str, previous: Manifest | None = None) -> None:
    with pytest.raises(ManifestError, match=reason):
        manifest_from_toml(text, ingest=INGEST, previous=previous)


def test_the_example_of_the_design_is_a_manifest() -> None:
    manifest = authored(LIKE_THE_DESIGN)
    assert manifest.epsilon_report == 1
    assert manifest.epsilon_permanent == 2
    assert manifest.epsilon_lifetime == 4
    assert str(manifest.valid_from) == "2026-06-01"
    assert manifest.answers == "answers in 2 holds of 183 epochs, all there are"
    assert manifest.ingest == INGEST
    assert manifest.domain.labels == ("dark_mode", "beta", "notifications")


def test_what_is_left_out_gets_its_default() -> None:
    manifest = authored()
    assert (manifest.epoch_seconds, manifest.grace_seconds) == (86_400, 172_800)
    assert (manifest.repeat, manifest.read, manifest.presence) == ("once", "live", "on_event")
    assert (manifest.min_batch, manifest.retention_days, manifest.cohorts) == (100, 400, 1)
    assert manifest.epsilon_lifetime == manifest.epsilon_report
    assert manifest.central_per_epoch == Fraction(1, 2)
    assert manifest.central_per_installation == 2
    assert manifest.central_delta == 0
    assert manifest.ledger_group == manifest.name
    assert manifest.version == manifest.sampling == 1
    assert manifest.previous is None


def test_the_mechanism_follows_from_the_domain() -> None:
    choice = SETTINGS.replace('"bits"', '"choice"')
    assert authored().mechanism_id == "rr/1"
    assert authored(choice).mechanism_id == "grr/1"
    assert authored(with_lines('mechanism = "grr/1"', base=choice)) == authored(choice)
    refused(
        with_lines('mechanism = "grr/1"'), "grr/1 answers for choice, number, record, not for bits"
    )


def test_the_same_meaning_gives_the_same_bytes() -> None:
    other = SETTINGS.replace('"1"', "1").replace("2027-06-01", '"2027-06-01"')
    other = with_lines('epoch = "24h"', "grace_seconds = 172800", 'sampling = "1.0"', base=other)
    assert authored(other).body == authored().body
    assert authored(SETTINGS.replace('"1"', '"01.000"')).body == authored().body


@pytest.mark.parametrize(
    ("text", "seconds"),
    [('"1d"', 86_400), ('"36h"', 129_600), ('"90m"', 5_400), ('"3600s"', 3_600)],
)
def test_durations_have_a_unit(text: str, seconds: int) -> None:
    assert authored(with_lines(f"epoch = {text}")).epoch_seconds == seconds


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (with_lines("epslion = 1"), 'no key "epslion"; did you mean epsilon'),
        (with_lines("max_batch = 1"), 'no key "max_batch"; did you mean min_batch'),
        (with_lines("zzzzzz = 1"), 'no key "zzzzzz"; known are .*purpose'),
        (SETTINGS.replace("labels", "lables"), r'no key "lables"; did you mean labels'),
        (SETTINGS + "min_batch = 3\n", r"min_batch is in the table \[domain\]: move it above"),
        (SETTINGS + "[central]\nper_epcoh = 1\n", 'did you mean central.per_epoch'),
        (with_lines('"central.delta" = "0"'), 'no key "central.delta"'),
        (with_lines("central = 3"), "central must be a table"),
        (with_lines("domain = 3", base=SETTINGS.split("[")[0]), "domain must be a table"),
        (with_lines('epoch = "1d"', "epoch_seconds = 86400"), "epoch_seconds sets"),
        (with_lines("epoch = 86400"), '"36h" or "90m", got 86400.*epoch_seconds'),
        (with_lines('epoch = "1 day"'), "epoch must be a duration"),
        (SETTINGS.replace('"1"', "1.0"), r"epsilon must .*in quotes.* got 1.0"),
        (SETTINGS.replace('"1"', "nan"), "epsilon must be a number in quotes"),
        (SETTINGS.replace('"1"', '"1e5000000"'), 'epsilon must be a number in quotes.*"1e5000000"'),
        (SETTINGS.replace('"1"', "0x" + "f" * 9_000), "got a number of 36000 bits"),
        (SETTINGS.replace('"1"', '"30"'), 'epsilon.report must be 0.01…20, got "30"'),
        (SETTINGS.replace('"1"', "true"), "epsilon must be a number in quotes"),
        (SETTINGS.replace('"1"', "-1"), "epsilon must be a number in quotes"),
        (with_lines("min_batch = 1.5"), "min_batch must be text, an integer.* got a float"),
        (with_lines("min_batch = 2027-01-01"), "min_batch must be text, .* got a date"),
        (with_lines("ingest = [1]"), "ingest must be text, .* a list of texts"),
        (with_lines('ingest = ["http://example.org"]'), "ingest must be https"),
        (SETTINGS.replace("2027-06-01", "2027-06-01T00:00:00Z"), "expires must be a date"),
        (SETTINGS.replace("2027-06-01", '"soon"'), "expires must be a date"),
        (without("valid_from").replace("2027-06-01", '"soon"'), "expires must be a date"),
        (without("valid_from").replace("2027-06-01", "0001-01-02"), "expires must be a date"),
        (SETTINGS.replace("2027-06-01", "2026-01-01"), "expires must be later than valid_from"),
        (SETTINGS.replace('"settings"', '"' + "x" * 58 + '"'), "name must be 1…57 characters"),
        (SETTINGS.replace('"settings"', "7"), "name must be 1…57 characters"),
        (SETTINGS.replace('"bits"', '"words"'), "domain type must be"),
        ("x = ", "not TOML"),
        ("x = " + "[" * 100_000, "not TOML"),
        ("# \ud800", "not TOML"),
        ("#" * 2**21, "TOML must be at most"),
    ],
    ids=lambda each: each[-30:],
)  # fmt: skip
def test_a_mistake_is_named_with_its_cure(text: str, reason: str) -> None:
    refused(text, reason)


@pytest.mark.parametrize("key", ["name", "purpose", "owner", "epsilon", "expires"])
def test_what_every_collection_needs_is_asked_for(key: str) -> None:
    refused(without(key), f"{key} is missing: every collection needs name, purpose")


def test_a_misspelt_required_key_is_named_before_the_missing_one() -> None:
    refused(
        LIKE_THE_DESIGN.replace("epsilon =", "epsillon ="),
        'no key "epsillon"; did you mean epsilon?',
    )


def test_a_misspelt_table_is_named_as_a_table() -> None:
    refused(LIKE_THE_DESIGN + "[centrl]\n", 'no key "centrl"; did you mean central?')


@pytest.mark.parametrize("repeat", ['"sometimes"', "1", '["once"]'])
def test_a_repeat_that_does_not_exist_is_refused(repeat: str) -> None:
    text = with_lines(f"repeat = {repeat}", 'epsilon_permanent = "2"')
    refused(text, "repeat must be one of once, fresh, memoized, got")


@pytest.mark.parametrize("line", ['epsilon_permanent = "2"', "hold_epochs = 91"])
def test_what_belongs_to_memoized_is_none_of_once(line: str) -> None:
    key = line.split()[0]
    refused(with_lines(line), f'{key} belongs to repeat = "memoized": leave it out when .* "once"')


def test_valid_from_is_a_year_before_expires_unless_said() -> None:
    assert str(authored(without("valid_from")).valid_from) == "2026-06-01"


class TestNextVersion:
    """The text and the version before it decide what the next one is."""

    first = authored(with_lines("epsilon_lifetime = 4", 'read = "closed"', base=without("valid_")))
    text = with_lines("epsilon_lifetime = 4", 'read = "closed"', base=without("valid_"))

    def build(self, text: str) -> Manifest:
        return manifest_from_toml(text, ingest=["https://moved.example.org"], previous=self.first)

    def test_the_same_text_is_the_same_version(self) -> None:
        assert self.build(self.text) is self.first

    def test_a_changed_text_is_the_next_version(self) -> None:
        second = self.build(with_lines("min_batch = 500", base=self.text))
        assert (second.version, second.previous) == (2, self.first.digest.hex())
        assert second.collection == self.first.collection
        assert parse_manifest(second.body) == second

    def test_the_same_text_again_is_the_second_version_again(self) -> None:
        text = with_lines("min_batch = 500", base=self.text)
        second = self.build(text)
        assert manifest_from_toml(text, ingest=INGEST, previous=second) is second

    def test_what_the_text_leaves_out_stays(self) -> None:
        later = self.build(self.text.replace("2027-06-01", "2027-09-01"))
        assert later.version == 2
        assert later.valid_from == self.first.valid_from
        assert later.ingest == INGEST

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            (text.replace('"1"', '"2"'), "may not change: make a new collection"),
            (text.replace('"1"', '"0.5"'), "may not change: make a new collection"),
            (text.replace("= 4", "= 5"), "epsilon.lifetime may only be lowered"),
            (text.replace("closed", "live"), "read may only narrow"),
            (text.replace("2027-06-01", "2028-06-02"), "expires must be at most 365 days"),
        ],
        ids=lambda each: each[:40],
    )
    def test_what_may_not_change_is_refused(self, text: str, reason: str) -> None:
        refused(text, reason, previous=self.first)


class TestTemplate:
    """What `collections new` writes."""

    @staticmethod
    def write(repeat: str) -> str:
        labels = ["soup", 'a "big" salad']
        domain, options = (
            Choice(tuple(labels)),
            TemplateOptions(purpose="Which lunch do people take?"),
        )
        return template("lunch", domain=domain, repeat=repeat, options=options, clock=lambda: NOON)

    @pytest.mark.parametrize("repeat", REPEATS)
    def test_it_is_a_manifest_at_once(self, repeat: str) -> None:
        manifest = authored(self.write(repeat))
        assert manifest.repeat == repeat
        assert manifest.domain.labels == ("soup", 'a "big" salad')
        assert str(manifest.valid_from) == "2027-01-15"
        assert not [found for found in lint(manifest, now=NOON) if found.level == "error"]

    def test_without_a_purpose_its_placeholder_is_refused_by_the_linter(self) -> None:
        text = template("lunch", domain=Choice(("soup", "salad")), clock=lambda: NOON)
        errors = [each for each in lint(authored(text), now=NOON) if each.level == "error"]
        assert [each.field for each in errors] == ["purpose"]
        assert "What do we want to know" in errors[0].message

    @pytest.mark.parametrize("repeat", REPEATS)
    def test_every_value_in_it_is_the_default(self, repeat: str) -> None:
        text = self.write(repeat)
        plain = "".join(
            line + "\n"
            for line in text.splitlines()
            if line.split(" ")[0]
            in ("name", "purpose", "owner", "epsilon", "repeat", "valid_from", "expires")
        )
        domain = text[text.index("[domain]") :]
        assert authored(plain + domain).body == authored(text).body

    @pytest.mark.parametrize("repeat", REPEATS)
    def test_it_has_a_line_for_every_field(self, repeat: str) -> None:
        text = self.write(repeat)
        for key in ("ingest", "sampled", "default", "requires", "public", "web_origins"):
            text = text.replace(f"# {key}", key)
        table = tomllib.loads(text.replace("…", "1"))
        given = {KEYS[key].path for key in table if key in KEYS}
        given |= {f"central.{key}" for key in table["central"]}
        asked = {
            field.path
            for field in FIELDS
            if repeat in field.repeats
            and field.change is not Change.NEXT
            and not field.path.endswith("threshold")
        }
        assert given == asked - {"spec"}

    def test_a_repeat_that_does_not_exist_is_refused(self) -> None:
        with pytest.raises(ManifestError, match="repeat must be one of once, fresh, memoized"):
            self.write("sometimes")

    @pytest.mark.parametrize(
        "domain",
        [
            Bits(("a", "b"), at_most=1),
            Bits(("a", "b"), one_hot=True),
            Number(Fraction(-1), Fraction(1), Fraction("0.5")),
            Record((("os", ("mac", 'li"nux')), ("dark mode", ("yes", "no")))),
        ],
        ids=str,
    )
    def test_every_kind_of_domain_is_written_as_it_is_read(self, domain: Domain) -> None:
        text = template("lunch", domain=domain, clock=lambda: NOON)
        assert authored(text).domain == domain


def test_every_field_a_person_may_write_has_a_key() -> None:
    derived = {"spec", "collection", "version", "previous"}
    derived |= {field.path for field in FIELDS if field.path.endswith("threshold")}
    assert {key.path for key in KEYS.values()} == {field.path for field in FIELDS} - derived


@pytest.mark.parametrize("vector", vectors("manifests.json"), ids=lambda each: each["name"])
def test_the_published_manifests_are_what_this_code_makes(vector: dict[str, str]) -> None:
    manifest = manifest_from_toml(vector["toml"], ingest=vector["ingest"])
    assert manifest.body.decode() == vector["body"]
    assert manifest.collection == vector["collection"]
    assert f"0x{manifest.threshold:016x}" == vector["threshold"]
    if manifest.renewal_threshold is not None:
        assert f"0x{manifest.renewal_threshold:016x}" == vector["renewal_threshold"]
    assert manifest.identity.hex() == vector["identity"]
    assert manifest.digest.hex() == vector["digest"]


@pytest.mark.parametrize("repeat", ["once", "fresh", "memoized"])
@pytest.mark.parametrize("line", ["", 'read = "closed"\n', "valid_from = 2026-12-05\n"])
def test_the_tests_builder_makes_the_same_bytes(repeat: str, line: str) -> None:
    text = SETTINGS.replace("valid_from = 2026-12-01\n", line or "valid_from = 2026-12-01\n")
    text = f'repeat = "{repeat}"\nmechanism = "rr/1"\n' + text
    assert manifest_of(text, ingest=INGEST).body == manifest_from_toml(text, ingest=INGEST).body
