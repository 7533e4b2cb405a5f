"""The web client in Node.js: its own tests, and the same payloads as the Python client's."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from deniable_client._state import keychain
from deniable_shared.domains import encode, parse_domain
from deniable_shared.manifest.fields import FIELDS
from deniable_shared.mechanisms import for_domain, pinned_parameters
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.protocols import Mechanism
from deniable_shared.randomness.dyadic import parse_epsilon
from support.processes.web_client import FOLDER, build, evaluate, node, npm_script
from support.tiers import by_tier

COLLECTION = "settings-qgd4v4"
DRAWS = by_tier(1_600, 100_000)
"""Random (key, value, epoch) in all."""


def labels(count: int) -> list[str]:
    return [f"label {place}" for place in range(count)]


def choice(size: int) -> dict[str, object]:
    return {"type": "choice", "labels": labels(size)}


def number(size: int) -> dict[str, object]:
    return {"type": "number", "low": "-3", "high": str(size - 4), "step": "1"}


def bits(size: int, **constraint: object) -> dict[str, object]:
    return {"type": "bits", "labels": labels(size), **constraint}


def record(*radices: int) -> dict[str, object]:
    attributes = [{"name": f"a{at}", "labels": labels(r)} for at, r in enumerate(radices)]
    return {"type": "record", "attributes": attributes}


TEXT = {"type": "text", "max_bytes": 12}
RECIPES: list[tuple[str, dict[str, object], str, str | None, dict[str, int]]] = [
    ("rr/1", bits(1), "1", None, {}),
    ("rr/1", bits(11), "2", "4", {}),
    ("rr/1", bits(40, constraint="at-most", at_most=3), "0.5", None, {}),
    ("rr-sampled/1", bits(9), "4", None, {}),
    ("rr-sampled/1", bits(200, constraint="one-hot"), "1", "2", {"sampled": 3}),
    ("rr-sampled/1", bits(5), "1", None, {"sampled": 5}),
    ("grr/1", choice(3), "1", None, {}),
    ("grr/1", number(300), "6", "8", {}),
    ("grr/1", record(3, 5, 2), "3.141592", None, {}),
    ("subset/1", choice(63), "1", "2", {}),
    ("subset/1", choice(300), "4", None, {}),
    ("affine/1", choice(100), "1", None, {}),
    ("affine/1", record(20, 30, 10), "2", "4", {}),
    ("cyclic/1", choice(100), "1", None, {}),
    ("cyclic/1", choice(30), "1", "2", {"field_order": 9, "dimension": 3}),
    ("cyclic/1", choice(600), "3", None, {"field_order": 25, "dimension": 3}),
    ("projective/1", choice(1000), "1", None, {}),
    ("projective/1", choice(500), "2", "4", {"field_order": 8, "dimension": 4}),
    ("projective/1", choice(60), "2", None, {"field_order": 9, "dimension": 3}),
    ("projective/1", choice(60), "2", None, {"field_order": 7, "dimension": 4}),
    ("hadamard/1", choice(100), "0.5", "1", {}),
    ("optimal-mean/1", number(49), "1", None, {}),
    ("optimal-mean/1", number(1001), "4", "6", {}),
    ("duchi/1", number(100), "1", "2", {}),
    ("haar/1", number(200), "0.5", "1.5", {}),
    ("tree/1", number(300), "2", None, {}),
    ("tree/1", number(100), "1", "2", {"fan_out": 4}),
    ("square-wave/1", number(50), "1", "2", {}),
    ("pairs/1", record(3, 4, 2, 9), "1", "2", {}),
    ("fourier/1", record(2, 2, 2, 2, 2), "1", "2", {"ways": 3}),
    ("fourier/1", record(*[2] * 60), "1", None, {}),
    ("prefix-hash/1", TEXT, "2", "4", {}),
]


def value(domain: Any, dice: random.Random) -> object:
    """An answer of the domain, as JSON has it."""
    if domain.type == "bits":
        most = domain.at_most if domain.at_most is not None else domain.size
        yes = 1 if domain.one_hot else dice.randint(0, most)
        chosen = dice.sample(range(domain.size), yes)
        return [int(place in chosen) for place in range(domain.size)]
    if domain.type == "record":
        return {name: dice.choice(names) for name, names in domain.attributes}
    if domain.type == "text":
        return "".join(dice.choices("abcé日 ", k=dice.randint(1, 4)))
    if domain.type == "number":
        return dice.choice([dice.randint(-9, domain.size), dice.uniform(-9, domain.size)])
    return dice.choice(domain.labels)


def recipe(at: int) -> tuple[Any, Mechanism | MemoizedChain, dict[str, object]]:
    """The domain, the mechanism, and their description for the web client."""
    mechanism_id, document, report, permanent, given = RECIPES[at]
    domain = parse_domain(document)
    chosen = for_domain(mechanism_id, domain, parse_epsilon(report), parameters=given)
    names = pinned_parameters(mechanism_id)
    parameters = {name: getattr(chosen, name) for name in names}
    if permanent is not None:
        chosen = for_domain(
            mechanism_id,
            domain,
            parse_epsilon(report),
            permanent=parse_epsilon(permanent),
            parameters=parameters,
        )
    told: dict[str, object] = {
        "mechanism": mechanism_id,
        "domain": document,
        "epsilon": report,
        "parameters": parameters,
    }
    if permanent:
        told["permanent"] = permanent
    return domain, chosen, told


def line(
    domain: Any, mechanism: Mechanism, key: bytes, identity: bytes, epoch: int, answer: object
) -> str:
    """Payload, report id, the key three steps later, and the sampling coin of a Python client."""
    encoded, canonical = encode(domain, answer)
    coins = keychain.coins(key, identity=identity, hold=epoch, value=canonical)
    openly = keychain.public_coins(key, identity=identity, hold=epoch)
    public = openly if mechanism.public_outcomes > 1 else None
    if isinstance(mechanism, MemoizedChain):
        kept = mechanism.memoize(encoded, coins, public)
        payload = mechanism.rerandomize(
            kept, keychain.renewal_coins(key, identity=identity, epoch=epoch, permanent=kept)
        )
    else:
        payload = mechanism.randomize(encoded, coins, public)
    report_id = keychain.report_id(key, collection=COLLECTION, epoch=epoch)
    sampling = keychain.sampling_coins(key, identity=identity, hold=epoch).bits(64)
    return f"{payload.hex()} {report_id.hex()} {keychain.advance(key, 3).hex()} {sampling}"


@pytest.mark.long
@pytest.mark.processes
@pytest.mark.slow
def test_its_own_tests_pass_the_vectors_among_them() -> None:
    """CI runs them by `just web`; by default a browser does what they do."""
    npm_script("test")


@pytest.mark.exhaustive
@pytest.mark.processes
@pytest.mark.slow
def test_an_app_imports_the_client_and_the_consent_element() -> None:
    """As a site with a build does: by the names that the package exports."""
    build()
    program = """
        const [{ Client }, { defineConsent }] = await Promise.all(
          [import("deniable-client"), import("deniable-client/consent")]);
        console.log(typeof Client, typeof defineConsent);
    """
    assert evaluate(program).split() == ["function", "function"]


@pytest.mark.processes
@pytest.mark.deeper
def test_payloads_are_those_of_the_python_client() -> None:
    """The same bytes for random (key, value, epoch) of every mechanism that the web client has."""
    dice = random.Random(24)
    recipes = [recipe(at) for at in range(len(RECIPES))]
    draws: list[tuple[int, bytes, bytes, int, object]] = []
    for turn in range(DRAWS):
        at = turn % len(RECIPES)
        key, identity = dice.randbytes(32), dice.randbytes(32)
        draws.append((at, key, identity, dice.randrange(1 << 32), value(recipes[at][0], dice)))
    wanted = [
        line(*recipes[at][:2], key, identity, epoch, answer)
        for at, key, identity, epoch, answer in draws
    ]
    told = {
        "recipes": [recipe for _, _, recipe in recipes],
        "draws": [(at, key.hex(), who.hex(), *rest) for at, key, who, *rest in draws],
    }
    assert node("payloads.js", json.dumps(told)).splitlines() == wanted


def test_every_mechanism_of_the_web_client_is_compared() -> None:
    registry = (FOLDER / "src" / "mechanisms" / "registry.ts").read_text()
    assert {mechanism_id for mechanism_id, *_ in RECIPES} == set(
        re.findall(r'^  "(\S+)": ', registry, re.MULTILINE)
    )


def test_it_knows_the_fields_of_a_manifest_and_what_may_change() -> None:
    source = (FOLDER / "src" / "manifest" / "fields.ts").read_text()
    rows = re.findall(r'^  "?([\w.]+)"?: \{ change: "(\w+)"(.*) \},$', source, re.MULTILINE)
    assert {path: (change.upper(), "optional" in more) for path, change, more in rows} == {
        field.path: (field.change.name, field.optional) for field in FIELDS
    }
