"""Bearer tokens in a request. Parties that check them store only their hashes."""

from __future__ import annotations

import hashlib

TOKEN_PREFIX = "dn_"  # noqa: S105  (no secret: every token begins like this)
_LONGEST_HEADER = 128  # "Bearer dn_" and 43 characters; longer ones are not ours


def token_hash(token: str) -> bytes:
    """Return the hash of a token."""
    return hashlib.sha256(token.encode()).digest()


def presented_hash(header: str | None) -> bytes | None:
    """The hash of the token in an Authorization header, valid or not; None if there is none."""
    if header is None or len(header) > _LONGEST_HEADER:
        return None
    scheme, _, token = header.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not (token.startswith(TOKEN_PREFIX) and token.isascii()):
        return None
    return token_hash(token)
