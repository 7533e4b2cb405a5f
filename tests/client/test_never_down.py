"""The client never takes the app down: what is wrong disables it and is said once."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable_client import Ceiling, Client, Outcome, Reply, TransportError
from deniable_client.errors import ClientError, ConfigurationError
from deniable_client.notices import Notices
from deniable_client.testing import RecordingTransport, Request
from support.builders.client_world import (
    CEILING,
    SETTINGS,
    START,
    URL,
    Device,
    MakeDevice,
    Operator,
    manifest,
)


def build(operator: Operator, **changes: Any) -> Client:
    """A client of an app that sets one argument wrongly."""
    given: dict[str, Any] = {
        "url": URL,
        "trust": operator.trust,
        "manifests": [operator.sign(manifest())],
        "state": ":memory:",
        "ceiling": CEILING,
        "transport": RecordingTransport(),
        "clock": lambda: START,
        "background": False,
    }
    return Client(**(given | changes))


FAULTS: Mapping[str, Mapping[str, object]] = {
    "url": {"url": "telemetry.example.org"},
    "trust": {"trust": "ed25519:short"},
    "trust that is no key": {"trust": "ed25519:" + "_" * 43},
    "ceiling": {"ceiling": (2, 4, 8)},
    "vouchers": {"vouchers": "yes"},
    "app": {"app": "../app"},
    "manifest that is not there": {"manifests": ["nowhere.manifest"]},
    "manifest that is damaged": {"manifests": [b"{}"]},
    "state without a name": {"state": ""},
    "state that no system can spell": {"state": "state\ud800.db"},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_mistake_disables_the_client_and_is_logged_once(
    operator: Operator, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), build(operator, **FAULTS[fault]) as client:
        client.consent("granted")
        assert client.record("settings", SETTINGS) is Outcome.DISABLED
        assert client.status().silences[0].reason == "misconfigured"
        assert not client.health().ok
        [refusal] = client.refresh(names=["settings"]).problems
        assert "configured wrongly" in str(refusal)
        assert client.budget().spent == 0
        assert client.explain().consent == "granted"
        result = client.flush(early=True)
    [record] = caplog.records
    assert (record.name, record.levelname) == ("deniable_client", "ERROR")
    assert "strict=True" in record.getMessage()
    assert (result.sent, len(result.problems)) == (0, 1)


@pytest.mark.parametrize("fault", FAULTS)
def test_strict_raises_what_is_logged_otherwise(operator: Operator, fault: str) -> None:
    with pytest.raises(ConfigurationError):
        build(operator, strict=True, **FAULTS[fault])


WRONG_TYPES: list[dict[str, object]] = [
    {"state": None},
    {"state": 5},
    {"manifests": 5},
    {"environ": 5},
    {"environ": "CI"},
    {"environ": {"CI": 1}},
]


@pytest.mark.parametrize("wrong", WRONG_TYPES)
def test_a_wrong_type_is_a_type_error(operator: Operator, wrong: dict[str, object]) -> None:
    with pytest.raises(TypeError):
        build(operator, **wrong)


def test_whatever_stops_the_start_the_app_goes_on(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: object, **more: object) -> None:
        raise LookupError("odd")

    monkeypatch.setattr("deniable_client.client.Configuration.checked", broken)
    with build(operator) as client:
        [problem] = client.flush().problems
    assert "did not start: LookupError: odd" in str(problem)


def test_a_state_that_is_no_state_file_is_left_alone(operator: Operator, tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with build(operator, state=tmp_path / "link") as client:
        client.consent("granted")
        assert client.record("settings", SETTINGS) is Outcome.DISABLED
    assert (tmp_path / "target").read_bytes() == b""


def test_a_state_name_that_is_too_long_is_said_and_raises_nothing(
    operator: Operator, tmp_path: Path
) -> None:
    with build(operator, state=tmp_path / ("s" * 5_000)) as client:
        assert client.record("settings", SETTINGS) is Outcome.STORAGE_BUSY
        assert client.status().silences[0].text.endswith("File name too long")


def test_a_disk_that_is_not_there_is_no_second_fault(operator: Operator, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with build(operator, trust="", state=tmp_path / "file" / "state.db") as client:
        assert client.record("settings", SETTINGS) is Outcome.STORAGE_BUSY
        reasons = [each.reason for each in client.status().silences]
    assert reasons == ["misconfigured", "storage"]


def test_a_person_can_withdraw_from_an_app_that_is_built_wrongly(
    device: Device, operator: Operator
) -> None:
    device.granted().record("settings", SETTINGS)
    device.close()
    with build(operator, trust="", state=device.path) as client:
        assert client.flush(early=True).waiting == 1
        assert client.flush(early=True).why == "1 report waits: the app is configured wrongly"
        client.consent("denied")
    assert device.open().flush().waiting == 0


def test_a_misspelt_collection_is_named_with_the_one_that_is_meant(
    device: Device, logged: Callable[[], list[str]]
) -> None:
    client = device.granted()
    assert [client.record("setings", SETTINGS) for _ in range(3)] == ["unknown-collection"] * 3
    assert logged() == [
        "record() has no collection of that name, got 'setings': did you mean 'settings'?"
    ]
    assert client.health().problems == tuple(logged())


@pytest.mark.parametrize("name", ["a secret answer", {"dark_mode": True}, 5, None, "s" * 10_000])
def test_what_may_be_the_value_is_not_repeated(
    device: Device, logged: Callable[[], list[str]], name: Any
) -> None:
    assert device.granted().record(name, "settings") is Outcome.UNKNOWN_COLLECTION
    assert not any("secret" in each or "dark_mode" in each for each in logged())


def test_an_app_without_manifests_is_advised(
    make_device: MakeDevice, logged: Callable[[], list[str]]
) -> None:
    device = make_device()
    device.shipped = ()
    device.granted().record("settings", SETTINGS)
    assert logged() == [
        "record() has no collection of that name: give Client its manifests, or call refresh()"
    ]


def test_a_value_that_does_not_fit_is_described_and_not_repeated(
    device: Device, logged: Callable[[], list[str]]
) -> None:
    client = device.granted()
    for _ in range(2):
        assert client.record("settings", {"dark_mode": True, "beat": 1234567}).mistake
    [said] = logged()
    assert "record('settings', …): " in said
    assert "1234567" not in said


class Odd(Mapping[str, bool]):
    """A host's own mapping, which raises with the value in its text."""

    raises = True

    def __getitem__(self, key: str) -> bool:
        if self.raises:
            raise LookupError("dark_mode is True")
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(("dark_mode", "beta"))

    def __len__(self) -> int:
        return 2


def test_a_value_that_raises_is_named_by_its_error_alone(
    device: Device, logged: Callable[[], list[str]]
) -> None:
    assert device.granted().record("settings", Odd()) is Outcome.INVALID_VALUE
    assert logged() == [
        "record('settings', …): reading the value failed with LookupError. Nothing was recorded"
    ]


def test_a_value_that_is_valid_the_second_time_is_said_so(
    device: Device, logged: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = device.granted()
    examine = client._recorder.examine

    def once(name: str, value: object) -> Any:
        result = examine(name, value)
        monkeypatch.setattr(Odd, "raises", False)
        return result

    monkeypatch.setattr(client._recorder, "examine", once)
    assert client.record("settings", Odd()) is Outcome.INVALID_VALUE
    assert "was not valid then" in logged()[0]


def test_a_collection_that_has_not_started_says_when_it_does(
    make_device: MakeDevice, logged: Callable[[], list[str]]
) -> None:
    device = make_device(manifest(valid_from="2027-11-01"))
    assert device.granted().record("settings", SETTINGS) is Outcome.UNKNOWN_COLLECTION
    assert "starts on 2027-11-01" in logged()[0]


@pytest.mark.parametrize(
    ("repeat", "said"),
    [
        (
            {},
            "ε = 1 a report. That is more than the app's Ceiling, which has "
            "epsilon_per_report = 0.5 and epsilon_lifetime = 1: raise",
        ),
        (
            {"repeat": '"memoized"'},
            "and 2 of a permanent answer. That is more than the app's "
            "Ceiling, which has epsilon_per_report = 0.5, epsilon_permanent = 0.5 and",
        ),
    ],
)
def test_a_collection_above_the_ceiling_says_what_it_wants(
    make_device: MakeDevice, logged: Callable[[], list[str]], repeat: dict[str, str], said: str
) -> None:
    if repeat:
        repeat = repeat | {"epsilon_permanent": '"2"', "mechanism": '"rr/1"'}
    client = make_device(manifest(**repeat)).granted(ceiling=Ceiling("0.5", "0.5", 1))
    assert client.record("settings", SETTINGS) is Outcome.OVER_CEILING
    assert said in logged()[0]


def test_a_service_that_is_not_reached_is_said_once_and_is_no_warning(
    device: Device, caplog: pytest.LogCaptureFixture
) -> None:
    def unreachable(request: Request) -> Reply:
        raise TransportError(f"{request.method} {request.url}: ConnectError")

    device.transport.answer = unreachable
    client = device.granted()
    client.record("settings", SETTINGS)
    with caplog.at_level(logging.DEBUG, logger="deniable_client"):
        client.flush(early=True)
        client.flush(early=True)
    [record] = caplog.records
    assert record.levelname == "INFO"
    assert "ConnectError. The report waits and is sent later" in record.getMessage()


def test_a_state_file_that_cannot_be_used_is_said(
    make_device: MakeDevice, tmp_path: Path, logged: Callable[[], list[str]]
) -> None:
    (tmp_path / "file").write_bytes(b"")
    client = make_device(path=tmp_path / "file" / "state.db").open()
    client.record("settings", SETTINGS)
    [said] = logged()
    assert f"{tmp_path / 'file' / 'state.db'} cannot be made or read" in said
    assert said.endswith("Nothing is recorded until the state file can be used")
    assert client.status().silences[0].reason == "storage"
    assert client.health().waiting == 0


def test_a_handler_that_raises_does_not_reach_the_app(device: Device) -> None:
    class Broken(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            raise RuntimeError

    logger, broken = logging.getLogger("deniable_client"), Broken()
    logger.addHandler(broken)
    try:
        assert device.granted().record("setings", SETTINGS) is Outcome.UNKNOWN_COLLECTION
    finally:
        logger.removeHandler(broken)


def test_an_app_that_invents_names_does_not_fill_the_memory(
    device: Device, logged: Callable[[], list[str]]
) -> None:
    client = device.granted()
    for number in range(200):
        client.record(f"name-{number}", SETTINGS)
    assert len(logged()) == 64


def test_a_fork_of_the_log_and_other_errors_are_said(logged: Callable[[], list[str]]) -> None:
    notices = Notices()
    notices.note(ClientError("odd"))
    assert logged() == ["odd"]


def test_the_budget_is_numbers_in_print_and_in_json(make_device: MakeDevice) -> None:
    client = make_device(manifest(epsilon='"0.1"')).granted()
    client.record("settings", SETTINGS)
    budget = client.budget()
    assert f"{budget.left}, {budget.spent!r}" == "7.9, 0.1"
    assert json.loads(json.dumps({"left": budget.left})) == {"left": 7.9}
    assert str(budget) == "ε = 0.1 of 8 spent, 7.9 left"
    inner = {"lifetime": 0.1, "spent": 0.1, "left": 0.0}
    whole = {"lifetime": 8.0, "spent": 0.1, "left": 7.9, "collections": {"settings": inner}}
    assert json.loads(json.dumps(budget.to_json())) == whole
    assert budget.spent.exact == Fraction(1, 10)


def test_health_is_plain_and_holds_no_answer(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    client.flush(early=True)
    health = client.health()
    assert health.ok
    document = json.loads(json.dumps(health.to_json()))
    assert (document["accepted"], document["waiting"], document["dropped"]) == (1, 0, 0)
    assert document["questions"] == ["settings"]
    assert document["status"] == {
        "on": True,
        "consent": "granted",
        "reasons": [],
        "text": "Telemetry is on: you agreed.",
    }
