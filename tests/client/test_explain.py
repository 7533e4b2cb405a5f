"""`explain()`: true numbers, exactly the bytes that left, and words for a person."""

from __future__ import annotations

from fractions import Fraction
from hashlib import sha256
from math import exp

import pytest

from deniable_client import Ceiling, StorageError
from support.builders.client_world import DAY, SETTINGS, URL, Device, MakeDevice, manifest, toml
from support.builders.manifest_text import manifest_of

FIELDS = {"epsilon_lifetime": '"4"', "hold_epochs": "5"}
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
    assert "1 hold of 5 epochs" in explanation.schedule


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
    "2 holds of 5 epochs, then repeats its last",
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
    assert "It gets nothing" in client.explain().text


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
