"""Form tokens: only our own pages know them, because they depend on the browser's cookie.

    token = HMAC-SHA256(cookie, "deniable form")        base64url, without the padding

The cookie is that of the session; before sign-in the form sets one. Nothing is stored. Another
site can make a browser send the cookie but cannot read it, and SameSite stops most such requests.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

FIELD = "csrf_token"
HEADER = "X-CSRF-Token"


def token(secret: str) -> str:
    """The form token of a cookie."""
    mac = hmac.digest(secret.encode(), b"deniable form", hashlib.sha256)
    return base64.urlsafe_b64encode(mac).rstrip(b"=").decode()


def matches(secret: str | None, given: str | None) -> bool:
    """Whether a form's token belongs to this cookie."""
    if not secret or not given:
        return False
    return hmac.compare_digest(token(secret).encode(), given.encode("utf-8", "replace"))


def same_origin(fetch_site: str | None) -> bool:
    """False if the browser reports another site as sender (Sec-Fetch-Site); old ones do not."""
    return fetch_site in (None, "same-origin", "none")
