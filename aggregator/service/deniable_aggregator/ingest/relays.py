"""Checks that a token is a relay's and valid for its collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.base.roles import RELAY

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.access.tokens import Tokens
    from deniable_aggregator.collections.registry import Registry
    from deniable_gateway.upload.gate import IsRelay


def relay_check(tokens: Callable[[], Tokens], registry: Registry) -> IsRelay:
    """A check that reads the store at every call.

    The check raises UnknownCollection if the token is limited to other collections.
    """

    def is_relay(credential: str, collection: str) -> bool:
        token = tokens().authenticate(credential)
        if token is None or token.role != RELAY:
            return False
        if token.collections is None:
            return True
        return token.identity.may_see(registry.get(collection).id)

    return is_relay
