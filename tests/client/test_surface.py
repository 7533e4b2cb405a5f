"""The public names: few enough to be tested by listing them."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

import pytest

import deniable_client
from deniable_client import Client, ClientError, Outcome


def test_public_names_are_exported_and_sorted() -> None:
    assert deniable_client.__all__ == sorted(deniable_client.__all__, key=str.casefold)
    assert all(hasattr(deniable_client, name) for name in deniable_client.__all__)


def test_every_class_an_app_can_import_is_listed() -> None:
    exported = {
        name
        for name, value in vars(deniable_client).items()
        if inspect.isclass(value) and not name.startswith("_")
    }
    assert exported == set(deniable_client.__all__)


def test_the_outcomes_are_those_of_the_design() -> None:
    assert [outcome.value for outcome in Outcome] == [
        "queued",
        "already-answered",
        "held",
        "repeated",
        "not-sampled",
        "budget-exhausted",
        "over-ceiling",
        "no-consent",
        "disabled",
        "unknown-collection",
        "expired",
        "invalid-value",
        "queue-full",
        "storage-busy",
        "log-forked",
        "closed",
    ]


def test_every_error_is_in_the_one_tree_and_drawn_in_its_module() -> None:
    errors = [
        value
        for value in vars(deniable_client).values()
        if inspect.isclass(value) and issubclass(value, Exception)
    ]
    assert all(issubclass(error, ClientError) for error in errors)
    drawn = inspect.getmodule(ClientError).__doc__ or ""
    assert all(error.__name__ in drawn for error in errors)


@pytest.mark.parametrize("name", ["record", "flush", "refresh", "upload_due", "budget", "consent"])
def test_no_signature_of_the_client_names_the_http_library(name: str) -> None:
    assert "httpx" not in str(inspect.signature(getattr(Client, name)))


def test_the_constructor_takes_no_type_of_the_http_library() -> None:
    assert "httpx" not in str(inspect.signature(Client))


def test_every_module_lists_what_it_offers_and_no_room_offers_anything() -> None:
    for module in pkgutil.iter_modules(deniable_client.__path__, "deniable_client."):
        names = getattr(import_module(module.name), "__all__", None)
        assert (names is None) == module.ispkg == module.name.startswith("deniable_client._")
        assert names is None or sorted(names, key=str.casefold), module.name
