"""Views of a Django site with honest telemetry of each person who signs in: one state file each.

Put it into your project as telemetry/views.py, and include its `urlpatterns`:

    path("", include("telemetry.views"))

The server sees the true answer; what leaves it is randomized. A visitor who does not sign in has no
state here: ask visitors in their browser, with the web client.
`app.deniable` lies in this folder: `deniable collections export --app > app.deniable`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden, JsonResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.crypto import salted_hmac
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from deniable_client import Ceiling, Client
from deniable_client.inspection_page import HEADERS, press, render

if TYPE_CHECKING:
    from django.contrib.auth.models import User

CEILING = Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=8)
FILE = Path(__file__).with_name("app.deniable")
STATES = Path("telemetry-states")  # kept and backed up like the database; the site alone reads it


def client_at(state: Path) -> Client:
    """A client for one request; nothing is sent before `send_reports`."""
    return Client.from_file(FILE, app="shop", ceiling=CEILING, state=state, background=False)


def client_of(user: User) -> Client:
    """This person's own: their consent, their budget, their answers."""
    return client_at(STATES / f"{user.pk}.db")


def save(request: HttpRequest) -> HttpResponse:
    """Keep a setting of the person, and answer for them."""
    dark = "dark_mode" in request.POST
    with client_of(request.user) as telemetry:
        telemetry.record("settings", {"dark_mode": dark, "beta": False})
    return JsonResponse({"saved": "yes"})


def telemetry_page(request: HttpRequest) -> HttpResponse:
    """The page that shows everything, and its switch."""
    token = salted_hmac("telemetry", str(request.user.pk)).hexdigest()
    with client_of(request.user) as telemetry:
        if request.method == "POST":
            pressed = press(telemetry, request.body, token=token)
            return redirect(request.path) if pressed else HttpResponseForbidden()
        text = render(telemetry, title="What shop reports", action=request.path, token=token)
    return HttpResponse(text, headers=dict(HEADERS))


def forget(user: User) -> None:
    """Call it when the person deletes their account."""
    client_of(user).forget()


def send_reports() -> int:
    """Call it from a timer, every 15 minutes or so; how many people still have a report to send."""
    waiting = 0
    for state in STATES.glob("*.db"):
        with client_at(state) as telemetry:
            waiting += telemetry.upload_due().waiting > 0
    return waiting


urlpatterns = [
    path("settings", login_required(require_POST(save))),
    path("telemetry", csrf_exempt(login_required(telemetry_page))),  # its form has its own token
]
