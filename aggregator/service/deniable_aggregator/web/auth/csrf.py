"""Tokens of forms: what only a page of ours can know, because it depends on the browser's cookie.

    token = HMAC-SHA256(cookie, "deniable form")        base64url, without the padding

The cookie is the session's, before signing in one of its own. Nothing is stored: another site can
make a browser send the cookie, but not read it, and SameSite keeps most of them from sending it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

FIELD = "csrf_token"
HEADER = "X-CSRF-Token"


def token(secret: str) -> str:
    """The token that goes with a cookie."""
    mac = hmac.digest(secret.encode(), b"deniable form", hashlib.sha256)
    return base64.urlsafe_b64encode(mac).rstrip(b"=").decode()


def matches(secret: str | None, given: str | None) -> bool:
    """Whether a form came from a page that was made for this cookie."""
    if not secret or not given:
        return False
    return hmac.compare_digest(token(secret).encode(), given.encode("utf-8", "replace"))


def same_origin(fetch_site: str | None) -> bool:
    """False where the browser (Sec-Fetch-Site) says that another site sent it; old ones do not."""
    return fetch_site in (None, "same-origin", "none")
