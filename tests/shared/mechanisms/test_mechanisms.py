"""The registry: what it builds, what it refuses, and how light it is to import."""

from __future__ import annotations

import ast
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from deniable_shared import mechanisms
from deniable_shared.domains import Bits, Choice
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import build, for_domain, ids_for_domain_type, mechanism_ids
from support.oracles.privacy_checks import by_size

YES_NO = Bits(("a", "b", "c"))
OF_RECORDS = ["fourier/1", "pairs/1"]
COLOURS = Choice(("red", "green", "blue"))


def test_every_mechanism_is_registered_by_its_own_id() -> None:
    assert {"rr/1", "grr/1", "duchi/1"} < set(mechanism_ids())
    assert all(mechanisms._kind(id).id == id for id in mechanism_ids())
    assert mechanism_ids() == tuple(sorted(mechanism_ids()))
    assert [build(id, domain_size=2, epsilon=1).id for id in by_size()] == by_size()
    of_records = [build(id, domain_size=4, epsilon=1, radices=(2, 2)).id for id in OF_RECORDS]
    assert (
        of_records
        == OF_RECORDS
        == sorted({*mechanism_ids()} - {*by_size()} - {*ids_for_domain_type("text")})
    )


@pytest.mark.parametrize("epsilon", ["0.5", Fraction(1, 2)])
def test_text_and_fraction_build_equal_mechanisms(epsilon: str | Fraction) -> None:
    mechanism = build("rr/1", domain_size=3, epsilon=epsilon)
    assert mechanism.epsilon == Fraction(1, 2)
    assert mechanism == build("rr/1", domain_size=3, epsilon="0.50", distance=3)


def test_unknown_id_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ParameterError, match=r"one of .*grr/1.*, got 'nue/1'"):
        build("nue/1", domain_size=3, epsilon="1")
    with pytest.raises(ParameterError, match=r"one of .*grr/1, .*rr/1"):
        for_domain("rr/2", YES_NO, Fraction(1))


def test_unknown_parameters_are_refused_with_those_it_takes() -> None:
    with pytest.raises(ParameterError, match="rr/1 takes distance besides"):
        build("rr/1", domain_size=3, epsilon="1", distnace=2)
    with pytest.raises(ParameterError, match="grr/1 takes no parameter besides"):
        build("grr/1", domain_size=3, epsilon="1", distance=1)


@pytest.mark.parametrize("number", ["3", 3.0, True, None])
def test_sizes_that_are_no_integers_are_refused(number: object) -> None:
    with pytest.raises(ParameterError, match="domain_size must be an integer"):
        build("rr/1", domain_size=number, epsilon="1")  # type: ignore[call-overload]  # a wrong type is the point
    with pytest.raises(ParameterError, match="distance must be an integer"):
        build("rr/1", domain_size=3, epsilon="1", distance=number)


@pytest.mark.parametrize("epsilon", ["1e5000000", "0", "21", 0.5])
def test_epsilon_is_checked_where_a_mechanism_is_built(epsilon: object) -> None:
    with pytest.raises(ParameterError, match="epsilon must"):
        build("grr/1", domain_size=3, epsilon=epsilon)  # type: ignore[call-overload]  # a wrong type is the point


def test_each_domain_gets_its_mechanism() -> None:
    for domain, id in ((YES_NO, "rr/1"), (COLOURS, "grr/1")):
        mechanism = for_domain(id, domain, Fraction(1))
        assert domain.type in mechanism.domain_types
        assert mechanism.domain_size == domain.size


def test_a_mechanism_for_another_domain_type_is_refused_with_the_right() -> None:
    with pytest.raises(
        ParameterError, match=r"rr/1 answers for bits, not for choice: use affine/1 or .*grr/1"
    ):
        for_domain("rr/1", COLOURS, Fraction(1))
    with pytest.raises(
        ParameterError,
        match="grr/1 answers for choice, number, record, not for bits: use rr-sampled/1 or rr/1",
    ):
        for_domain("grr/1", YES_NO, Fraction(1))


def test_a_constraint_reaches_the_mechanism_as_its_distance() -> None:
    free, one_hot = Bits(tuple("abcd")), Bits(tuple("abcd"), one_hot=True)
    assert for_domain("rr/1", free, Fraction(1)) == build("rr/1", domain_size=4, epsilon="1")
    assert for_domain("rr/1", one_hot, Fraction(1)) == build(
        "rr/1", domain_size=4, epsilon="1", distance=2
    )


@pytest.mark.slow
def test_importing_the_mechanisms_loads_only_light_modules() -> None:
    heavy = {
        "asyncio",
        "cryptography",
        "ctypes",
        "http",
        "numpy",
        "socket",
        "ssl",
        "typing_extensions",
    }
    code = "import sys, deniable_shared.mechanisms; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert heavy & set(loaded) == set()


@pytest.mark.processes
def test_a_process_loads_the_mechanisms_that_it_builds() -> None:
    code = (
        "import sys; from deniable_shared.mechanisms import build; "
        "build('cyclic/1', domain_size=64, epsilon='1'); "
        "print(*(name for name in sys.modules if name.startswith('deniable_shared.mechanisms.')))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {name.rpartition(".")[2] for name in loaded} & modules() == {"cyclic"}


def test_a_tool_that_bundles_an_app_finds_every_mechanism() -> None:
    """It reads the imports of a file, also those that never run, and sees no name in a string."""
    read = ast.walk(ast.parse(Path(mechanisms.__file__).read_text("utf-8")))
    found = {
        name.name
        for node in read
        if isinstance(node, ast.ImportFrom) and node.module == "deniable_shared.mechanisms"
        for name in node.names
    }
    assert found == modules()


def modules() -> set[str]:
    """The module of each mechanism."""
    return {id.partition("/")[0].replace("-", "_") for id in mechanism_ids()}


def test_each_type_of_domain_has_its_mechanisms() -> None:
    for domain in (YES_NO, COLOURS):
        ids = ids_for_domain_type(domain.type)
        assert ids
        assert all(domain.type in build(id, domain_size=3, epsilon="1").domain_types for id in ids)
    types = ("bits", "choice", "number", "record", "text")
    every = {id for type in types for id in ids_for_domain_type(type)}
    assert every == set(mechanism_ids())
    assert ids_for_domain_type("colour") == ()
