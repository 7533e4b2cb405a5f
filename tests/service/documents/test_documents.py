"""Each JSON answer of the API is one of its Structs: a client that decodes it loses nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import pytest
from flask import Response, request

from deniable_aggregator.access import users
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.releases.kinds import error_simulation
from deniable_aggregator.web.api.operations import operation_of
from deniable_aggregator.web.application import JSON
from support.builders.api_world import INGEST, TODAY, World, authored, opened
from support.builders.manifests import next_version
from support.oracles.read_surfaces import READING, addressed

BUDGET = 'central = { per_epoch = "9", per_installation = "9", delta = "0.01" }\n'
TOML = """\
name = "{name}"
purpose = "What do people answer?"
owner = "privacy@example.org"
epsilon = "6"
valid_from = 2027-01-01
expires = 2027-06-01
min_batch = 3
[domain]
"""
DOMAINS: dict[str, tuple[str, list[object]]] = {
    "number": ('type = "number"\nlow = 0\nhigh = 4\nstep = 1\n', [0, 1, 2, 3, 4]),
    "record": (
        'type = "record"\n[[domain.attributes]]\nname = "os"\nlabels = ["linux", "mac"]\n'
        '[[domain.attributes]]\nname = "beta"\nlabels = ["no", "yes"]\n',
        [{"os": "linux", "beta": "no"}, {"os": "mac", "beta": "yes"}],
    ),
    "text": ('type = "text"\nmax_bytes = 2\n', ["te", "é"]),
}
QUESTIONS = {
    "number": ["range=1..3", "group_by=epoch"],
    "record": ["marginal=os,beta", "set=os=mac"],
    "text": ["candidate=te&candidate=mi"],
}

Structs = tuple[type[msgspec.Struct], ...]


@dataclass
class Heard:
    """What was answered, with its address and the Structs of its operation; all Structs there are.

    None of `answers` is an error.
    """

    answers: list[tuple[str, Structs, bytes]] = field(default_factory=list)
    named: set[str] = field(default_factory=set)


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> Heard:
    found, folder = Heard(), tmp_path_factory.mktemp("documents")
    with opened(folder) as world, pytest.MonkeyPatch.context() as patch:
        patch.setattr(error_simulation, "MOST_RUNS", error_simulation.FEWEST_RUNS)
        patch.setattr(users, "LOG2_N", 4)  # a user is added in no time
        found.named = _named(world)

        def hear(response: Response) -> Response:
            promised = operation_of(world.app.view_functions[request.endpoint or ""])
            if promised is not None and response.mimetype == JSON:
                structs = promised.answers[response.status_code].get(JSON, ())
                found.answers.append((request.full_path, structs, response.data))
            return response

        world.app.after_request(hear)
        _ask_everything(world)
    return found


def _named(world: World) -> set[str]:
    """The Structs that operations name as JSON answers."""
    views = world.app.view_functions.values()
    promised = [operation for view in views if (operation := operation_of(view)) is not None]
    return {
        struct.__name__
        for operation in promised
        for kinds in operation.answers.values()
        for struct in kinds.get(JSON, ())
    }


def _ask_everything(world: World) -> None:
    settings = world.register(authored(type="choice", labels=("a", "b", "c"), more=BUDGET))
    epochs = (TODAY - 3, TODAY - 2, TODAY - 1, TODAY)
    for epoch in epochs:
        world.count(settings, ["a", "b", "c"] * 200, epoch=epoch)
    for epoch in epochs[:-1]:
        world.running.store.close_epoch(settings.id, epoch, world.clock(), audit=None)
    release = _release(world, settings)
    for read in ("closed", "releases"):
        world.register(authored(read, read=read))
    for collection in world.running.registry.all():
        _read(world, collection, release)
    for kind, (domain, values) in DOMAINS.items():
        _ask_estimates(world, kind, domain, values)
    for path in ("/healthz", "/readyz", "/v1/audit", "/v1/tokens", "/v1/users", "/v1/sessions"):
        world.get(path, "admin")
    world.page("/")
    world.get("/v1/sessions", "admin")
    _administer(world, settings)


def _read(world: World, collection: Collection, release: str) -> None:
    for address, queries in READING.items():
        for query in queries if address.startswith("/v1/") else ():
            world.get(addressed(address + query, collection, release))


def _release(world: World, settings: Collection) -> str:
    path = f"/v1/collections/{settings.id}/releases"
    wanted = {"mechanism": "queries", "epsilon": "4"}
    world.send("POST", f"{path}?cost=true", json=wanted)
    release = str(world.send("POST", path, json=wanted).get_json()["release"])
    world.send("POST", path, json=wanted)
    world.send("POST", path, json={"mechanism": "histogram", "epsilon": "0.5"})
    world.send("POST", f"{path}/{release}/questions", json={"labels": ["a", "b"]})
    return release


def _ask_estimates(world: World, kind: str, domain: str, values: list[object]) -> None:
    manifest = manifest_from_toml(TOML.format(name=kind) + domain, ingest=INGEST)
    collection = world.register(manifest)
    for epoch in (TODAY - 1, TODAY):
        world.count(collection, values * 300, epoch=epoch)
    for query in ("", *QUESTIONS[kind]):
        world.get(f"/v1/collections/{collection.id}/estimates?{query}")
        world.get(f"/v1/collections/{collection.id}/series?{query}")
    world.get(f"/v1/collections/{collection.id}/comparison?before_to={TODAY - 1}&from={TODAY}")


def _administer(world: World, settings: Collection) -> None:
    at = f"/v1/collections/{settings.id}"
    envelope = world.signed(next_version(settings.manifest, {"min_batch": 4}))
    world.send("PUT", at, data=envelope, content_type="application/vnd.dsse.envelope+json")
    for act in ("archive", "unarchive", f"epochs/{TODAY}/close?early=true", "close"):
        world.send("POST", f"{at}/{act}")
    world.send("POST", "/v1/keys/rotate")
    world.send("POST", "/v1/ledger/reconcile")
    world.send("POST", "/v1/tokens", json={"role": "viewer", "label": "notebook"})
    person = {"name": "ada", "role": "viewer", "password": "correct horse battery"}
    world.send("POST", "/v1/users", json=person)
    world.send("POST", f"{at}/links", json={"label": "board"})
    world.get(f"{at}/links", "admin")
    world.send("POST", f"{at}/alerts", json={"url": "https://hook.example.org/"})
    world.get(f"{at}/alerts", "admin")
    world.send("POST", f"{at}/notes", json={"day": "2027-01-15", "text": "released 2.0"})
    world.get(f"{at}/notes")
    world.get("/v1/users", "admin")
    world.send("POST", "/v1/sign-in-links", json={"name": "ada"})
    asking = world.register(authored("asking", more='requires = ["voucher/1"]\n'))
    vouchers = f"/v1/collections/{asking.id}"
    world.send("POST", f"{vouchers}/voucher-key")
    world.send("POST", f"{vouchers}/voucher-key/replace")
    world.send("POST", f"{vouchers}/vouchers", json={"person": "ada"})


def _decoded(data: bytes, structs: Structs) -> set[str]:
    """Names of the Structs that hold this document whole."""
    whole = set()
    for struct in structs:
        try:
            document = msgspec.json.decode(data, type=struct)
        except msgspec.ValidationError:
            continue
        if msgspec.json.encode(document) == data:
            whole.add(struct.__name__)
    return whole


@pytest.mark.slow
def test_every_answer_is_decoded_and_encoded_to_the_same_json(heard: Heard) -> None:
    for path, structs, data in heard.answers:
        assert not structs or _decoded(data, structs), (path, data)


@pytest.mark.slow
def test_every_struct_that_an_operation_names_was_among_the_answers(heard: Heard) -> None:
    met = {name for _, structs, data in heard.answers for name in _decoded(data, structs)}
    assert met == heard.named
