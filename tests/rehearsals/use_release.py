"""What uses a kind of release, where majority is one: options, form, price, release, its page."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

from click.testing import CliRunner

from deniable_aggregator.cli import main
from deniable_aggregator.releases import kinds
from support.builders.release_world import FIRST, ReleaseWorld, opened

REQUEST = {"mechanism": "majority", "epsilon": "0.25", "contender": "beta"}


def show_options() -> None:
    listed = CliRunner().invoke(main, ["releases", "make", "--help"]).output
    assert "majority" in listed
    shown = CliRunner().invoke(main, ["releases", "quote", "majority", "--help"]).output
    assert "--contender" in shown


def show_form(made: ReleaseWorld) -> None:
    page = made.service.page(
        f"/collections/{made.collection.id}/releases?mechanism=majority", "analyst"
    )
    assert "whether a label has most of the reports" in page.text
    assert 'name="contender"' in page.text


def price_and_make(made: ReleaseWorld) -> None:
    path = f"/v1/collections/{made.collection.id}/releases"
    priced = made.service.send("POST", path, "analyst", json={**REQUEST, "cost": True})
    assert priced.status_code == 200, priced.text
    assert made.charges == 0
    document = made.service.send("POST", path, "analyst", json=REQUEST)
    assert document.status_code == 201, document.text
    assert isinstance(document.get_json()["result"]["majority"], bool)
    assert made.charges == 1
    page = f"/collections/{made.collection.id}/releases/{document.get_json()['release']}"
    shown = made.service.page(page)
    assert shown.status_code == 200, shown.text
    assert "Majority" in shown.text
    assert "majority" in made.service.page(f"/collections/{made.collection.id}/releases").text


if __name__ == "__main__":
    show_options()
    folder = Path(mkdtemp())
    labels = ("dark_mode", "beta")
    with opened(folder, prepare=kinds.prepare, type="choice", labels=labels, empty=True) as world:
        world.count(FIRST, [b"\0"] * 5)
        show_form(world)
        price_and_make(world)
