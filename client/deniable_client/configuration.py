"""Checks what an app gave to `Client`, or replaces it by parts that do nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from deniable_client._state.state import State
from deniable_client._state.statefile import MEMORY
from deniable_client.address import Address, parse_addresses, parse_trust
from deniable_client.ceiling import Ceiling
from deniable_client.errors import ConfigurationError, StorageError

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from deniable_client.vouching import Vouchers

__all__ = ["Arguments", "Configuration", "as_fault", "from_app_file"]

_NOWHERE = Address("https://unset.invalid", "")
_LEAST = Ceiling("0.01", "0.01", "0.01")


class Arguments(NamedTuple):
    """The arguments of `Client`, unchecked."""

    url: str | Sequence[str]
    trust: str | Sequence[str]
    manifests: Sequence[str | os.PathLike[str] | bytes]
    state: str | os.PathLike[str]
    ceiling: object
    vouchers: Vouchers | None


class Configuration(NamedTuple):
    """The parts to build a client from. `fault` is the reason if they do nothing."""

    addresses: tuple[Address, ...]
    trust: tuple[str, ...]
    manifests: Sequence[str | os.PathLike[str] | bytes]
    state: State
    ceiling: Ceiling
    vouchers: Vouchers | None
    fault: ConfigurationError | None = None

    @classmethod
    def checked(cls, given: Arguments) -> Self:
        """Return the checked parts.

        Raises ConfigurationError for a mistake that only the app's developer can correct.
        """
        if not isinstance(given.ceiling, Ceiling):
            raise ConfigurationError(
                "ceiling must be a Ceiling, like Ceiling(epsilon_per_report=2, "
                f"epsilon_permanent=4, epsilon_lifetime=8), got {type(given.ceiling).__name__}"
            )
        if given.vouchers is not None and not callable(given.vouchers):
            raise ConfigurationError(
                "vouchers must be a function of a collection's id and an epoch, "
                f"got {type(given.vouchers).__name__}"
            )
        return cls(
            addresses=parse_addresses(given.url),
            trust=parse_trust(given.trust),
            manifests=given.manifests,
            state=State(given.state),
            ceiling=given.ceiling,
            vouchers=given.vouchers,
        )

    @classmethod
    def disabled(cls, given: Arguments, fault: ConfigurationError) -> Self:
        """Return parts that record and send nothing.

        Consent is still stored if the state is usable.
        """
        return cls(
            addresses=(_NOWHERE,),
            trust=(),
            manifests=(),
            state=_usable_state(given.state),
            ceiling=given.ceiling if isinstance(given.ceiling, Ceiling) else _LEAST,
            vouchers=None,
            fault=fault,
        )


def from_app_file(
    file: str | os.PathLike[str] | bytes,
    *,
    app: str,
    state: str | os.PathLike[str] | None,
    ceiling: Ceiling,
    vouchers: Vouchers | None,
) -> tuple[Arguments, ConfigurationError | None]:
    """Return the arguments in an app file, and the error if the file is wrong."""
    from deniable_client.app_files import default_state, read_app_file

    place = state
    try:
        place = default_state(app) if state is None else state
        shipped = read_app_file(file)
    except TypeError:
        raise
    except Exception as error:  # an app's own path may raise anything
        empty = Arguments((), (), (), MEMORY if place is None else place, ceiling, vouchers)
        return empty, as_fault(error)
    return Arguments(shipped.url, shipped.trust, shipped.manifests, place, ceiling, vouchers), None


def as_fault(error: Exception) -> ConfigurationError:
    """Return the error that stopped the start, as a ConfigurationError."""
    if isinstance(error, ConfigurationError):
        return error
    return ConfigurationError(f"the client did not start: {type(error).__name__}: {error}")


def _usable_state(place: str | os.PathLike[str]) -> State:
    """Return the app's state, or one in memory if the app's path cannot be used."""
    try:
        state = State(place)
    except TypeError:
        raise
    except Exception:  # an app's own path may raise anything
        return State(MEMORY)
    try:
        with state.reading():
            return state
    except ConfigurationError:
        state.close()
        return State(MEMORY)
    except StorageError:
        return state
