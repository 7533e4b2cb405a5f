"""`explain()`: true numbers, exactly the bytes that left, and words for a person."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from math import exp

import pytest

from deniable_client import Ceiling, StorageError
from deniable_client.explanation_words import reports_text
from deniable_client.inspection_page import render
from support.builders.client_world import DAY, SETTINGS, URL, Device, MakeDevice, manifest, toml
from support.builders.manifest_text import manifest_of

FIELDS = {"epsilon_lifetime": '"4"', "hold_epochs": "5"}
UNTIL_MARCH = {"expires": "2027-03-01"}
MEMOIZED = manifest(repeat='"memoized"', **FIELDS)


@pytest.fixture
def memoized(make_device: MakeDevice) -> Device:
    """A device that is asked again."""
    return make_device(MEMOIZED)


def test_the_numbers_are_those_of_the_manifest_and_the_ledger(memoized: Device) -> None:
    client = memoized.granted()
    client.record("settings", SETTINGS)
    (explanation,) = client.explain().collections
    assert explanation.epsilon_report == 1
    assert explanation.epsilon_permanent == 2
    assert explanation.epsilon_lifetime == 4
    assert explanation.truth_probability == MEMOIZED.mechanism().p
    assert explanation.linkage == MEMOIZED.linkage
    assert explanation.budget.spent == explanation.budget.left == 2
    assert explanation.labels == ("dark_mode", "beta")


def test_how_sure_one_can_be_is_a_bound_from_above(memoized: Device) -> None:
    (explanation,) = memoized.granted().explain().collections
    for sure, epsilon in ((explanation.max_posterior, 1), (explanation.max_posterior_lifetime, 4)):
        wanted = exp(epsilon) / (1 + exp(epsilon))
        assert (
            Fraction(wanted) - Fraction(1, 10**12) < sure < Fraction(wanted) + Fraction(1, 10**12)
        )


def test_the_ceiling_s_lifetime_is_the_one_that_is_told(memoized: Device) -> None:
    client = memoized.granted(ceiling=Ceiling(2, 2, 3))
    (explanation,) = client.explain().collections
    assert explanation.epsilon_lifetime == 3
    assert explanation.schedule == (
        "makes a new scrambled answer every 5 days, 1 in total, and sends the latest one with new "
        "noise each day"
    )


def test_what_waits_is_shown_and_what_left_is_recognised(memoized: Device) -> None:
    client = memoized.granted()
    client.record("settings", SETTINGS)
    (waiting,) = client.explain().reports
    assert (waiting.state, waiting.requests, waiting.request_sha256) == ("waiting", 0, None)
    client.flush(early=True)
    (sent,) = client.explain().reports
    (request,) = (each for each in memoized.transport.requests if each.method == "POST")
    assert request.body is not None
    assert sent.request_sha256 == sha256(request.body).hexdigest()
    assert (sent.request_bytes, sent.requests, sent.state) == (len(request.body), 1, "done")
    assert (sent.payload, sent.report_id) == (None, None)
    assert waiting.payload == memoized.payloads[0]


def test_a_request_is_noted_before_its_first_byte_leaves(memoized: Device) -> None:
    class Cut(BaseException):
        pass

    client = memoized.granted()
    client.record("settings", SETTINGS)
    memoized.aggregator.script.append(Cut())
    with pytest.raises(Cut):
        client.flush(early=True)
    (sent,) = client.explain().reports
    body = memoized.transport.requests[-1].body
    assert body is not None
    assert (sent.state, sent.request_sha256) == ("sending", sha256(body).hexdigest())


def test_the_log_is_told_as_last_seen(memoized: Device) -> None:
    client = memoized.granted()
    assert client.explain().log is None
    client.record("settings", SETTINGS)
    client.flush(early=True)
    log = client.explain().log
    assert log is not None
    assert (log.size, log.head) == (1, memoized.aggregator.head)
    assert log.head in client.explain().text


WORDS = [
    "settings: Which settings do people turn on?",
    "privacy@example.org",
    "dark_mode, beta",
    "ε = 1.",
    "at most 73.2 % sure",
    "All reports about this question: ε = 4, at most 98.3 % sure. This device makes a new "
    "scrambled answer every 5 days, 2 in total, and sends the latest one with new noise each day.",
    f"  waiting  {MEMOIZED.collection}, 2027-01-15 00:00 UTC: ",
    "on which day or hour, can be seen",
    f"{MEMOIZED.linkage:.2f} bits",
    "Spent so far: 2; left: 2",
    "Reports waiting: 1",
    "You agreed.",
]


@pytest.mark.parametrize("words", WORDS)
def test_a_person_can_read_it(memoized: Device, words: str) -> None:
    client = memoized.granted()
    client.record("settings", SETTINGS)
    assert words in client.explain().text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "This device answers once."),
        (
            {"repeat": '"fresh"', "epsilon_lifetime": '"3"'},
            "This device answers on 3 days.",
        ),
        (
            {"repeat": '"fresh"', "epsilon_lifetime": '"8"', "epoch": '"31d"', **UNTIL_MARCH},
            "This device answers in 4 periods.",
        ),
        (
            {"repeat": '"memoized"', "epsilon_lifetime": '"2"', "hold_epochs": "9999"},
            "keeps one scrambled answer for 9,999 days and sends it with new noise each day.",
        ),
    ],
)
def test_how_often_it_answers_is_in_days(
    make_device: MakeDevice, fields: dict[str, str], words: str
) -> None:
    assert words in make_device(manifest(**fields)).granted().explain().text


def test_a_report_is_of_a_day_also_when_its_question_is_gone(memoized: Device) -> None:
    client = memoized.granted()
    client.record("settings", SETTINGS)
    collection = MEMOIZED.collection
    (report,) = client.explain().reports
    day = f"{datetime.fromtimestamp(report.epoch * DAY, UTC):%Y-%m-%d %H:%M} UTC"
    assert f"  waiting  {collection}, {day}: " in client.explain().text
    assert f"  waiting  {collection}: " in reports_text((report,), {})
    client.flush(early=True)
    assert f"  done  {collection}, {day}: " in client.explain().text


WORDS_OF_CODE = re.compile(r"\b(?:collections?|epochs?|manifests?|ceilings?|holds?|heads?)\b", re.I)


@pytest.mark.parametrize("repeat", ["once", "fresh", "memoized"])
def test_a_person_reads_no_word_of_the_api(make_device: MakeDevice, repeat: str) -> None:
    client = make_device(manifest(repeat=f'"{repeat}"')).granted()
    client.record("settings", SETTINGS)
    page = render(client, title="What is reported", action="/", token="t")
    client.flush(early=True)
    page += render(client, title="What is reported", action="/", token="t")
    seen = re.sub(r"<(style|pre|code)\b.*?</\1>|<[^>]*>", " ", page, flags=re.S)
    texts = [seen, client.explain().text, client.status().text, client.health().why]
    assert [WORDS_OF_CODE.findall(text) for text in texts] == [[]] * 4


def test_it_prints_as_its_text(memoized: Device) -> None:
    explained = memoized.granted().explain()
    assert str(explained) == explained.text


def test_no_value_is_in_it(make_device: MakeDevice) -> None:
    device = make_device(manifest(epsilon='"0.01"', epsilon_lifetime='"0.01"'))
    texts = set()
    for value in ([True, True], [False, False]):
        client = Device(":memory:", device.aggregator, device.shipped).granted()
        client.record("settings", value)
        texts.add(client.explain().text.partition("waiting  ")[0])
        client.close()
    assert len(texts) == 1


def test_a_collection_above_the_ceiling_gets_nothing_and_says_so(memoized: Device) -> None:
    client = memoized.granted(ceiling=Ceiling(1, 1, 8))
    assert "so it gets no answer" in client.explain().text


@pytest.mark.parametrize("answer", ["denied", None])
def test_consent_is_told_in_words(memoized: Device, answer: str | None) -> None:
    client = memoized.open()
    if answer:
        client.consent(answer)
    assert "Nothing is recorded or sent" in client.explain().text


def test_a_pause_is_told_with_its_reason(memoized: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    assert "paused: DO_NOT_TRACK is set" in memoized.granted().explain().text


def test_a_fork_is_told_with_both_heads(memoized: Device) -> None:
    client = memoized.granted()
    client.record("settings", SETTINGS)
    client.flush(early=True)
    head = memoized.aggregator.head
    memoized.aggregator.log[0] = type(memoized.aggregator.log[0])("manifest", b"x" * 32)
    memoized.aggregator.publish()
    memoized.clock.advance(DAY)
    client.record("settings", SETTINGS)
    memoized.aggregator.script.append(0x0B)
    client.flush(early=True)
    explained = client.explain()
    assert explained.forked is not None
    assert memoized.aggregator.head in explained.forked
    assert explained.log is not None
    assert explained.log.head == head
    assert "contradicted itself" in explained.text


def test_a_closed_client_cannot_explain(memoized: Device) -> None:
    client = memoized.granted()
    client.close()
    with pytest.raises(StorageError):
        client.explain()


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        ("grr/1", "In a report the answer is true with a chance of 40.5 %"),
        ("oue/1", "A report points to several answers at once"),
    ],
)
def test_the_noise_of_a_choice_is_told_by_what_a_report_says(
    make_device: MakeDevice, mechanism: str, words: str
) -> None:
    domain = '[domain]\ntype = "choice"\nlabels = ["light", "dark", "auto", "none", "other"]'
    head, _, _ = toml("theme", mechanism=f'"{mechanism}"').partition("[domain]")
    theme = manifest_of(head + domain, ingest=[URL])
    assert words in make_device(theme).granted().explain().text


def test_who_is_left_out_is_told(make_device: MakeDevice) -> None:
    client = make_device(manifest(sampling='"0.25"')).granted()
    assert "25.0 % of all devices are asked, chosen at random." in client.explain().text


def test_a_chance_below_one_is_never_told_as_certain(make_device: MakeDevice) -> None:
    high = manifest(epsilon='"16"', epsilon_lifetime='"16"')
    client = make_device(high).granted(ceiling=Ceiling(16, 16, 16))
    assert "true with a chance of more than 99.9 %" in client.explain().text


def test_that_every_device_answers_is_told(make_device: MakeDevice) -> None:
    always = manifest(presence='"always"', default="[false, false]")
    text = make_device(always).granted().explain().text
    assert "Every device answers, so that one answered says nothing about you." in text


@pytest.mark.parametrize("public", [True, False])
def test_people_read_that_a_question_is_public_before_they_agree(
    make_device: MakeDevice, public: bool
) -> None:
    shipped = manifest(public="true") if public else manifest()
    explained = make_device(shipped).open().explain()
    assert explained.consent == "unknown"
    assert ("are public: anyone may read these totals" in explained.text) is public
    assert [each.public for each in explained.collections] == [public]


def test_people_read_which_pages_ask_the_same(make_device: MakeDevice) -> None:
    client = make_device(manifest(web_origins='["https://shop.example.org"]')).open()
    assert "Pages of https://shop.example.org may ask this, too." in client.explain().text
