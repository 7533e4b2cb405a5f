"""The page that sets up a collection: the CLI's plan, the CLI's text, and nothing registered."""

from __future__ import annotations

import ast
import re
import tomllib
from fractions import Fraction
from html import unescape
from itertools import product
from urllib.parse import urlencode

import pytest

from deniable_aggregator.collections import planning
from deniable_aggregator.collections.authoring.snippet import client_snippet, example_answer
from deniable_aggregator.collections.authoring.templates import TemplateOptions, template
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.web.arguments import from_pairs
from deniable_aggregator.web.dashboard.collection_draft import SetUpArguments, draft_collection
from deniable_shared.domains import Bits, Choice, Domain, Number, Record, Text
from support.builders.api_world import INGEST, Moment, World, authored
from support.tiers import rows

HOSTILE = "'\"\\<script>{{ 7 * 7 }}"


def page(service: World, role: str = "viewer", **fields: str) -> str:
    return service.page("/set-up?" + urlencode(fields), role).text


def told(text: str, id: str) -> str:
    found = re.search(rf'<pre id="{id}"[^>]*>(.*?)</pre>', text, re.S)
    assert found is not None
    return unescape(found[1])


def plan_numbers(text: str) -> list[float]:
    return [float(value) for value in re.findall(r'<data value="([^"]+)"', text)]


@pytest.mark.slow
def test_the_numbers_are_those_of_the_plan(unchanged_service: World) -> None:
    text = page(
        unchanged_service, labels="a\nb\nc", epsilon="2", users="5 000", repeat="fresh", epochs="4"
    )
    plan = planning.plan(3, "2", 5_000, repeat="fresh", epochs=4)
    lifetimes = [way.epsilon_lifetime for way in plan.repeats]
    assert plan_numbers(text) == [plan.half_width, *lifetimes]
    assert plan.mechanism in text


@pytest.mark.slow
def test_the_text_is_what_collections_new_writes(unchanged_service: World) -> None:
    text = told(
        page(unchanged_service, name="lunch", labels="soup\nsalad", repeat="memoized"), "toml"
    )
    domain = Choice(("soup", "salad"))
    assert text == template(
        "lunch", domain=domain, repeat="memoized", clock=unchanged_service.clock
    )


@pytest.mark.slow
def test_a_draft_without_a_purpose_cannot_be_registered(unchanged_service: World) -> None:
    said = "This file cannot be registered yet"
    assert said in page(unchanged_service, name="lunch", labels="soup\nsalad")
    assert said not in page(
        unchanged_service, name="lunch", labels="soup\nsalad", purpose="What do people eat at noon?"
    )


@pytest.mark.parametrize("repeat", ["once", "fresh", "memoized"])
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "4", "8"])
def test_every_price_makes_a_text_that_means_it(repeat: str, epsilon: str) -> None:
    wanted = TemplateOptions(epsilon=epsilon, epochs=3, min_batch=7, read="closed")
    text = template("x", domain=Bits(("a",)), repeat=repeat, options=wanted, clock=Moment())
    manifest = manifest_from_toml(text, ingest=INGEST)
    report = Fraction(epsilon)
    times = {"once": 1, "fresh": 3, "memoized": 4}[repeat]
    assert manifest.epsilon_report == report
    assert manifest.epsilon_lifetime == min(times * report, Fraction(20))
    assert (manifest.min_batch, manifest.read) == (7, "closed")
    if repeat == "memoized":
        assert manifest.epsilon_permanent == 2 * report


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"labels": "a"}, {"labels": "Write at least two labels, one a line."}),
        ({"labels": "a\na"}, {"labels": "Each label must differ: “a” is there more than once."}),
        ({"labels": "a\n" + "b" * 65}, {"labels": "a label has 1 to 64 bytes"}),
        ({"labels": "a\nb", "epsilon": "none"}, {"epsilon": "This is “none”."}),
        ({"labels": "a\nb", "epsilon": "50"}, {"epsilon": "above 0, at most 20, like 0.5"}),
        ({"labels": "a\nb", "users": "many"}, {"users": "Write a whole number from 1 to"}),
        ({"labels": "a\nb", "users": "0"}, {"users": "1 to 1,000,000,000"}),
        ({"labels": "a\nb", "epochs": "-1"}, {"epochs": "from 1 to 10,000. This is “-1”."}),
        ({"labels": "a\nb", "min_batch": "0"}, {"min_batch": "This is “0”."}),
        ({"labels": "a\nb", "name": "No Name"}, {"name": "Use a–z, 0–9 and hyphens"}),
        ({"name": "x", "type": "number", "low": "ten"}, {"low": "Write a decimal"}),
        ({"name": "x", "type": "number", "low": "60"}, {"high": "Must be above “From”"}),
        ({"name": "x", "type": "number", "step": "7"}, {"step": "must be whole steps"}),
        ({"type": "record", "attributes": "os"}, {"attributes": "name = label, label"}),
        ({"type": "record", "attributes": "os = a, b"}, {"attributes": "two attributes"}),
        ({"type": "record", "attributes": "os = a\nb = c, d"}, {"attributes": "labels for os"}),
        ({"name": "x", "type": "text", "max_bytes": "65"}, {"max_bytes": "from 1 to 64"}),
        (
            {"labels": "soup", "epsilon": "50", "users": "x"},
            {"labels": "at least two", "epsilon": "at most 20", "users": "whole number"},
        ),
    ],
    ids=str,
)
def test_what_makes_no_question_is_said_at_its_field_in_words_of_the_form(
    unchanged_service: World, fields: dict[str, str], said: dict[str, str]
) -> None:
    text = page(unchanged_service, **fields)
    marked = dict(re.findall(r'<small class="wrong" id="wrong-(\w+)">([^<]+)</small>', text))
    assert marked.keys() == said.keys()
    assert all(words in unescape(marked[field]) for field, words in said.items())
    assert all(f'<a href="#{field}">' in text for field in said)
    assert not any(word in " ".join(marked.values()) for word in ("tuple", "argument", "domain"))
    assert 'id="toml"' not in text


ANSWERED = [
    {"type": "bits", "labels": "a\nb"},
    {"type": "number", "name": "x"},
    {"type": "record", "attributes": "os = mac, linux\nsize = small, large"},
    {"type": "text", "name": "words"},
]
READ = ("live", "releases")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "read"),
    rows(product(ANSWERED, READ), by_default=list(zip(ANSWERED, READ * 2, strict=True))),
    ids=lambda each: each if isinstance(each, str) else each["type"],
)
def test_every_kind_of_answer_gets_a_file_that_registers(
    service: World, fields: dict[str, str], read: str
) -> None:
    shown = page(service, **fields, read=read)
    found = service.register(manifest_from_toml(told(shown, "toml"), ingest=INGEST))
    assert found.manifest.domain.type == fields["type"]
    assert f"<dd>{found.manifest.mechanism_id}<small>" in shown
    assert "Margin of error" in shown


FORMS = [
    {"type": "choice", "labels": "soup\nsalad"},
    {"type": "choice", "labels": "\n".join(map(str, range(300))), "epsilon": "0.1"},
    {"type": "bits", "labels": "a\nb\nc", "epsilon": "0.3", "repeat": "memoized"},
    {"type": "choice", "labels": "a\nb", "epsilon": "8", "repeat": "memoized", "min_batch": "2"},
    {"type": "number", "name": "x", "purpose": "How many minutes?", "owner": "me@example.org"},
    {"type": "number", "name": "x", "high": "3000", "repeat": "fresh", "read": "releases"},
    {"type": "record", "attributes": "os = mac, linux\nsize = small, large", "read": "releases"},
    {"type": "text", "name": "words", "read": "closed", "purpose": "Words"},
]
NOT_FOR_PEOPLE = re.compile(
    r"\b(collections?|epochs?|holds?|manifests?|ceilings?|std_error|min_batch|epsilon\w*|origins?)\b"
)


def remarks(text: str) -> list[str]:
    """The remarks at the fields, and those about the rest of the file."""
    fields = re.findall(r'<div class="remarks" id="remarks-\w+">(.*?)</div>', text, re.S)
    at_fields = [each for field in fields for each in re.findall(r"<small>(.*?)</small>", field)]
    rest = re.search(r'id="remarks-rest">(.*?)</ul>', text, re.S)
    return at_fields + (re.findall(r"<li>(.*?)</li>", rest[1], re.S) if rest else [])


@pytest.mark.slow
@pytest.mark.parametrize("fields", FORMS, ids=str)
def test_every_remark_is_at_its_field_in_words_of_the_form(
    unchanged_service: World, fields: dict[str, str]
) -> None:
    form = from_pairs([(name, [text]) for name, text in fields.items()], SetUpArguments)
    draft = draft_collection(
        form, origin=unchanged_service.running.settings.public_url, now=unchanged_service.clock()
    )
    assert draft is not None
    shown = [
        unescape(re.sub("<[^>]+>", "", each)) for each in remarks(page(unchanged_service, **fields))
    ]
    for finding in draft.findings:
        assert any(finding.in_form.replace("`", "") in each for each in shown)
    assert len(shown) == len(draft.findings)
    plain = re.sub(r"`[^`]*`", "", " ".join(finding.in_form for finding in draft.findings))
    assert NOT_FOR_PEOPLE.findall(plain) == []


@pytest.mark.slow
def test_a_warning_leads_to_its_field(unchanged_service: World) -> None:
    text = page(
        unchanged_service, labels="a\nb", epsilon="8", purpose="What do people eat at noon?"
    )
    assert '<a href="#remarks-epsilon">ε</a>' in text
    [field] = re.findall(r'<div class="remarks" id="remarks-epsilon">(.*?)</div>', text, re.S)
    assert "Above 4 people can hardly deny their answer" in field


@pytest.mark.slow
def test_the_file_can_be_saved_as_it_is_shown(unchanged_service: World) -> None:
    fields = {"name": "lunch", "labels": "soup\nsalad"}
    answer = unchanged_service.page("/set-up?" + urlencode({**fields, "format": "toml"}))
    assert answer.text == told(page(unchanged_service, **fields), "toml")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="lunch.toml"'


@pytest.mark.slow
def test_texts_of_a_form_stay_texts_in_page_file_and_snippet(unchanged_service: World) -> None:
    fields = {"name": "x", "labels": f"{HOSTILE}\nb", "purpose": HOSTILE, "owner": HOSTILE}
    text = page(unchanged_service, **fields)
    assert "<script>{{" not in text
    assert tomllib.loads(told(text, "toml"))["purpose"] == HOSTILE
    calls = [
        node for node in ast.walk(ast.parse(told(text, "snippet"))) if isinstance(node, ast.Call)
    ]
    [record] = [call for call in calls if ast.unparse(call.func) == "client.record"]
    assert ast.literal_eval(record.args[1]) == HOSTILE


@pytest.mark.parametrize(
    "domain",
    [
        Bits(("a", "b")),
        Bits(tuple(f"a rather long label {number}" for number in range(9)), one_hot=True),
        Choice(("a", HOSTILE)),
        Number(Fraction(-1), Fraction(1), Fraction("0.5")),
        Record((("os", ("mac", "linux")), ("dark mode", ("yes", "no")))),
        Text(8),
    ],
    ids=lambda domain: domain.type,
)
def test_a_snippet_is_python_with_an_answer_that_the_domain_takes(domain: Domain) -> None:
    manifest = manifest_from_toml(template("x", domain=domain), ingest=INGEST)
    code = client_snippet(manifest)
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    [record] = [call for call in calls if ast.unparse(call.func) == "client.record"]
    answer = ast.literal_eval(record.args[1])
    assert answer == example_answer(manifest)
    domain.encode(answer)


def test_nothing_is_registered_and_where_the_key_lies_is_for_admins(
    unchanged_service: World,
) -> None:
    before = unchanged_service.digest()
    fields = {"name": "lunch", "labels": "soup\nsalad"}
    viewer, admin = page(unchanged_service, **fields), page(unchanged_service, "admin", **fields)
    assert "--key operator.key --url" in viewer
    assert 'id="apply-here"' not in viewer
    assert str(unchanged_service.running.settings.data) not in viewer
    assert str(unchanged_service.running.settings.data) in told(admin, "apply-here")
    kept = [
        line
        for line in unchanged_service.digest()
        if "sessions" not in line and "audit" not in line
    ]
    assert set(kept) <= set(before)


def test_a_name_that_is_taken_is_said_to_those_who_may_see_it(service: World) -> None:
    service.register(authored("lunch"))
    assert "exists already" in page(service, name="lunch", labels="soup\nsalad")
    other = service.register(authored("other"))
    secret = service.running.sessions.make_link("Eve", "viewer", [other.id], audit=None)
    from support.doubles.browser import Browser

    eve = Browser.at(service.app)
    eve.use(secret)
    text = eve.client.get("/set-up?name=lunch&labels=soup%0Asalad").text
    assert 'id="toml"' in text
    assert "exists already" not in text
