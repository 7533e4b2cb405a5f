"""The Django example: each person who signs in has a state, a switch and a budget of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from support.builders.client_world import Operator
from support.builders.example_apps import app_file, load

pytest.importorskip("django")


@pytest.fixture(scope="module")
def django_views(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Django project with sign-in, around the example's addresses."""
    import django
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connections

    folder = tmp_path_factory.mktemp("django")
    middleware = (
        "sessions.middleware.SessionMiddleware",
        "auth.middleware.AuthenticationMiddleware",
    )
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": folder / "db.sqlite3"}
    settings.configure(
        SECRET_KEY="of tests alone",
        ALLOWED_HOSTS=["testserver"],
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes"],
        MIDDLEWARE=[
            *(f"django.contrib.{name}" for name in middleware),
            "django.middleware.csrf.CsrfViewMiddleware",
        ],
        SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
        DATABASES={"default": database},
        TIME_ZONE=None,  # or it changes that of the process
        LOGGING_CONFIG=None,
    )
    django.setup()
    call_command("migrate", verbosity=0)
    module = load("django_app")
    settings.ROOT_URLCONF = module
    yield module
    connections.close_all()


@pytest.fixture
def shop(
    django_views: Any, operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """The example with a question that never ends, as far as a test lives."""
    monkeypatch.setattr(django_views, "FILE", app_file(operator, tmp_path / "app.deniable"))
    monkeypatch.setattr(django_views, "STATES", tmp_path / "states")
    return django_views


def signed_in(name: str) -> Any:
    """A browser of this person, whose forms are checked as in production."""
    from django.contrib.auth.models import User
    from django.test import Client

    browser = Client(enforce_csrf_checks=True)
    browser.force_login(User.objects.get_or_create(username=name)[0])
    return browser


def token_of(browser: Any) -> str:
    [token] = re.findall(r'name="token" value="([^"]+)"', browser.get("/telemetry").text)
    return str(token)


def press(browser: Any, **form: str) -> int:
    """As a browser sends a form."""
    kind = "application/x-www-form-urlencoded"
    status: int = browser.post("/telemetry", urlencode(form), content_type=kind).status_code
    return status


def budget(shop: Any, browser: Any) -> float:
    """ε that this person has spent."""
    from django.contrib.auth.models import User

    with shop.client_of(User.objects.get(pk=browser.session["_auth_user_id"])) as client:
        return float(client.budget().spent)


@pytest.mark.slow
def test_each_person_has_a_switch_and_a_budget_of_their_own(shop: Any) -> None:
    ada, bob = signed_in("ada"), signed_in("bob")
    assert press(ada, answer="granted", token=token_of(ada)) == 302
    assert "Telemetry is on: you agreed." in ada.get("/telemetry").text
    assert "Telemetry is off: you were not asked yet." in bob.get("/telemetry").text
    for person in (ada, bob):
        csrf = {"HTTP_X_CSRFTOKEN": "a" * 32}
        person.cookies["csrftoken"] = "a" * 32
        assert person.post("/settings", {"dark_mode": "on"}, **csrf).json() == {"saved": "yes"}
    assert budget(shop, ada) > 0 == budget(shop, bob)
    assert len(list(shop.STATES.glob("*.db"))) == 2
    assert shop.send_reports() == 1


@pytest.mark.slow
def test_a_form_that_the_page_did_not_make_is_refused(shop: Any) -> None:
    ada, bob = signed_in("ada"), signed_in("bob")
    assert press(ada, answer="granted") == 403
    assert press(ada, answer="granted", token=token_of(bob)) == 403
    page = ada.get("/telemetry")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert "you were not asked yet" in page.text


@pytest.mark.slow
def test_a_stranger_and_a_deleted_account_have_no_state(shop: Any) -> None:
    from django.contrib.auth.models import User
    from django.test import Client

    assert Client().get("/telemetry").status_code == 302
    assert not shop.STATES.exists()
    signed_in("ada").get("/telemetry")
    shop.forget(User.objects.get(username="ada"))
    assert not list(shop.STATES.glob("*.db"))
