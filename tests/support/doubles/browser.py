"""A browser without a screen: it keeps cookies and fills in forms."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from deniable_aggregator.operations.service import Service

__all__ = ["FORM_TOKEN", "PASSWORD", "Browser"]

PASSWORD = "correct horse battery"
FORM_TOKEN = re.compile(r'name="csrf_token" value="([^"]+)"')


@dataclass
class Browser:
    """One person's browser at an application."""

    client: FlaskClient

    @classmethod
    def at(cls, app: Flask) -> Browser:
        return cls(app.test_client())

    @classmethod
    def signed_in(cls, app: Flask, service: Service, role: str) -> Browser:
        """By a one-time link, as the operator hands it out."""
        browser = cls.at(app)
        assert browser.use(service.sessions.make_link(role, role, audit=None)).status_code == 303
        return browser

    def form_token(self, path: str = "/sign-in") -> str:
        """What the form of a page carries."""
        actual = FORM_TOKEN.search(self.client.get(path).text)
        assert actual is not None
        return actual[1]

    def sign_in(self, name: str, password: str = PASSWORD, **more: str) -> TestResponse:
        return self.post("/sign-in", name=name, password=password, **more)

    def use(self, link: str) -> TestResponse:
        """Open a one-time link and press its button."""
        return self.post("/sign-in", link=link)

    def post(self, path: str, **fields: str) -> TestResponse:
        """Send a form as the page has it."""
        return self.client.post(path, data={"csrf_token": self.form_token(), **fields})

    def cookie(self, kind: str = "session") -> str | None:
        actual = self.client.get_cookie(f"deniable-{kind}")
        return None if actual is None else actual.value
