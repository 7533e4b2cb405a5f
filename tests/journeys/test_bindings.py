"""Generated bindings: a wrong answer is an error of the type checker, a right one is recorded."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_client import Ceiling, Client
from deniable_client.testing import RecordingTransport
from deniable_shared.errors import DecodeError, ManifestError, SignatureError
from deniable_shared.manifest.bindings import SignedManifest, read_signed, render
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.wire import dsse
from support.processes.deniable_command import SETTINGS_TOML, Deniable

ROOT = Path(__file__).parents[2]
SEED = bytes(range(32))
TRUST = dsse.public_key(SEED)
URL = "https://telemetry.example.org"

HEAD = """\
name = "{name}"
purpose = "{purpose}"
owner = "privacy@example.org"
epsilon = "1"
valid_from = 2026-01-01
expires = 2026-12-31
{more}
[domain]
{domain}
"""
BITS = 'type = "bits"\nlabels = ["dark_mode", "beta"]'
CHOICE = 'type = "choice"\nlabels = ["light", "dark", "follow the system"]'
ODD = r"""type = "bits"
labels = ["dark mode", "class", "__private", "größe",
  "say \"hi\"", "it's", "both \" and '", "back\\slash"]"""
ONE_HOT = 'type = "bits"\nconstraint = "one-hot"\nlabels = ["a", "b", "c"]'
AT_MOST = 'type = "bits"\nconstraint = "at-most"\nat_most = 2\nlabels = ["x", "y", "z"]'
LONG = 'Is this a question that goes on and on \\"until\\" it needs several lines? ' * 2
NUMBER = 'type = "number"\nlow = 0\nhigh = 240\nstep = 5'
RECORD = 'type = "record"\nattributes.os = ["mac", "linux"]\nattributes.theme = ["light", "dark"]'
ODD_RECORD = 'type = "record"\nattributes."the os" = ["mac", "it\'s"]\nattributes.beta = ["a", "b"]'
EVERY = [
    ("settings", BITS, "Which settings do people turn on?", ""),
    ("theme", CHOICE, "Which theme do people see?", 'repeat = "fresh"'),
    ("odd-labels", ODD, LONG + r"Back\\slash.", 'repeat = "memoized"'),
    ("plan-2", ONE_HOT, "Which plan?", ""),
    ("parts", AT_MOST, "Which parts?", ""),
    ("minutes", NUMBER, "How long a day?", ""),
    ("setup", RECORD, "Which setup?", ""),
    ("setup-2", ODD_RECORD, "Which other setup?", ""),
]


def signed(
    name: str = "settings", domain: str = BITS, purpose: str = "Which settings?", more: str = ""
) -> SignedManifest:
    text = HEAD.format(name=name, domain=domain, purpose=purpose, more=more)
    manifest = manifest_from_toml(text, ingest=[URL])
    return read_signed(dsse.sign(manifest.body, payload_type=MANIFEST_TYPE, seed=SEED))


def every() -> list[SignedManifest]:
    return [signed(*one) for one in EVERY]


@pytest.fixture(scope="module")
def bindings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("app") / "bindings.py"
    path.write_text(render(every()), encoding="utf-8")
    return path


def imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("bindings", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *map(str, words)], capture_output=True, text=True, cwd=folder
    )


def test_the_text_depends_on_the_manifests_alone() -> None:
    assert render(every()) == render(reversed(every()))


def test_the_header_says_from_which_digests() -> None:
    text = render(every())
    for each in every():
        assert f"* {each.manifest.collection}, version 1\n  {each.manifest.digest.hex()}\n" in text


def test_the_module_holds_the_manifests_as_signed(bindings: Path) -> None:
    ordered = sorted(every(), key=lambda each: each.manifest.name)
    assert tuple(each.envelope for each in ordered) == imported(bindings).MANIFESTS


@pytest.mark.parametrize("length", [88, 100, 120])
def test_formatters_leave_it_as_it_is(bindings: Path, length: int) -> None:
    words = ("ruff", "format", "--check", "--isolated", "--line-length", str(length), bindings)
    answer = run(*words, folder=bindings.parent)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_linters_find_nothing(bindings: Path) -> None:
    rules = "B,C4,D2,D3,D4,E,F,I,N,RUF,S,UP,W"
    ignored = "D203,D205,D212,D213,D400,D401,D413,D415,RUF001,RUF002,RUF003"
    words = ("--select", rules, "--ignore", ignored, "--target-version", "py311")
    answer = run("ruff", "check", "--isolated", *words, bindings, folder=bindings.parent)
    assert answer.returncode == 0, answer.stdout


def test_what_is_recorded_through_it_is_an_answer(bindings: Path) -> None:
    module: Any = imported(bindings)
    limits = {"epsilon_per_report": 2, "epsilon_permanent": 4, "epsilon_lifetime": 99}
    client = Client(
        URL,
        trust=TRUST,
        manifests=module.MANIFESTS,
        state=":memory:",
        ceiling=Ceiling(**limits),
        transport=RecordingTransport(),
        clock=lambda: 1_780_000_000.0,
        background=False,
    )
    client.consent("granted")
    labels = EVERY[2][1]
    odd = dict.fromkeys(signed("odd-labels", labels).manifest.domain.labels, True)
    outcomes = [
        module.record_settings(client, {"dark_mode": True, "beta": False}),
        module.record_theme(client, "follow the system"),
        module.record_odd_labels(client, odd),
        module.record_plan_2(client, "b"),
        module.record_parts(client, {"x": True, "y": False, "z": True}),
        module.record_minutes(client, 17.5),
        module.record_setup(client, {"os": "mac", "theme": "dark"}),
        module.record_setup_2(client, {"the os": "it's", "beta": "a"}),
    ]
    client.close()
    assert [str(outcome) for outcome in outcomes] == ["queued"] * 8


RIGHT = """\
from __future__ import annotations

from bindings import MANIFESTS, SettingsAnswer, record_odd_labels, record_plan_2
from bindings import record_minutes, record_settings, record_setup, record_theme
from deniable_client import Ceiling, Client, Outcome

client = Client("https://t.example.org", trust="ed25519:x", manifests=MANIFESTS,
                state="state.db", ceiling=Ceiling(2, 4, 8))
answer: SettingsAnswer = {"dark_mode": True, "beta": False}
outcome: Outcome = record_settings(client, answer)
record_theme(client, "follow the system")
record_plan_2(client, "a")
record_minutes(client, 3)
record_setup(client, {"theme": "dark", "os": "linux"})
"""
WRONG = {
    "a label that is missing": 'record_settings(client, {"dark_mode": True})',
    "a label too many": 'record_settings(client, {"dark_mode": True, "beta": True, "x": True})',
    "a text for a bool": 'record_settings(client, {"dark_mode": "yes", "beta": False})',
    "no mapping": "record_settings(client, [True, False])",
    "no label of the choice": 'record_theme(client, "purple")',
    "an index": "record_theme(client, 1)",
    "a text for a number": 'record_minutes(client, "3")',
    "an attribute that is missing": 'record_setup(client, {"theme": "dark"})',
    "a label of another attribute": 'record_setup(client, {"theme": "mac", "os": "linux"})',
    "two of one-hot": 'record_plan_2(client, {"a": True, "b": True, "c": False})',
    "an odd label misspelt": 'record_odd_labels(client, {"dark-mode": True})',
    "no client": 'record_theme(None, "light")',
}


def checked(folder: Path, lines: Sequence[str]) -> dict[int, str]:
    """Line → the type checker's first error there."""
    (folder / "app.py").write_text(RIGHT + "\n".join(lines) + "\n")
    options = ("--strict", "--no-error-summary", "--hide-error-context", "--config-file=")
    places = ":".join(str(ROOT / member) for member in ("client", "shared"))
    answer = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "app.py"],
        capture_output=True,
        text=True,
        cwd=folder,
        env={"MYPYPATH": places, "PATH": "/usr/bin:/bin", "HOME": str(folder)},
    )
    assert answer.returncode in (0, 1), answer.stderr
    found: dict[int, str] = {}
    for line in answer.stdout.splitlines():
        name, number, kind, message = line.split(":", 3)
        assert name == "app.py", line
        if kind.strip() == "error":
            found.setdefault(int(number), message)
    return found


@pytest.mark.exhaustive
@pytest.mark.slow
def test_right_answers_pass_the_type_checker_and_each_wrong_one_fails_it(bindings: Path) -> None:
    first = len(RIGHT.splitlines()) + 1
    found = checked(bindings.parent, list(WRONG.values()))
    wrong = {first + place: name for place, name in enumerate(WRONG)}
    assert {name for line, name in wrong.items() if line not in found} == set()
    assert found.keys() <= wrong.keys(), found


def test_two_collections_of_one_name_in_python_are_refused() -> None:
    with pytest.raises(ManifestError, match="plan2 would both be Plan2Answer"):
        render([signed("plan2"), signed("plan-2")])


def test_two_questions_that_had_one_name_are_told_apart_by_id() -> None:
    old, new = signed(), signed(domain=CHOICE)
    with pytest.raises(ManifestError, match=r"have one name: choose by id.*export --app ID"):
        render([old, new])


def test_a_collection_is_given_once() -> None:
    with pytest.raises(ManifestError, match="must be given once, in one version"):
        render([signed(), signed()])


def test_a_name_that_starts_with_a_digit_makes_a_module_all_the_same() -> None:
    text = render([signed("2fa", CHOICE), signed("2fb", BITS)])
    compile(text, "bindings.py", "exec")
    assert "Collection2faAnswer = Literal[" in text


def test_a_manifest_nobody_trusted_signed_is_refused_where_trust_is_given() -> None:
    envelope = signed().envelope
    assert read_signed(envelope, trusted=[TRUST]).manifest == signed().manifest
    with pytest.raises(SignatureError):
        read_signed(envelope, trusted=[dsse.public_key(dsse.generate_key())])


@pytest.mark.parametrize("junk", [b"", b"{}", SETTINGS_TOML.encode()])
def test_what_is_no_signed_manifest_is_refused(junk: bytes) -> None:
    with pytest.raises(DecodeError):
        read_signed(junk)


def test_the_command_prints_the_module(tmp_path: Path) -> None:
    deniable = Deniable(tmp_path)
    path = tmp_path / "settings.manifest"
    path.write_bytes(signed().envelope)
    text = render([signed()])
    assert deniable.done("collections", "codegen", path) == text
    assert deniable.done("collections", "codegen", path, "--trust", TRUST) == text
    toml = deniable.write("settings.toml")
    assert "settings.toml: " in deniable.refused("collections", "codegen", toml)
