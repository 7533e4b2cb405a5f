"""How a command reaches the service: over HTTP if one runs, else in this process; one way.

`--url` or DENIABLE_URL wins, with the token in DENIABLE_TOKEN; then the live server that the data
directory's server.json names; else the command takes the directory's lock and calls the application
itself, so that there is never a second writer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from deniable_aggregator.errors import AggregatorError
from deniable_aggregator.process import server_file

if TYPE_CHECKING:
    import httpx

    from deniable_aggregator.service import Service
    from deniable_aggregator.settings import Settings

__all__ = ["Connection", "RefusedError", "UnreachableError", "connect", "local", "remote"]

Parameter = str | int | float | Sequence[str] | None
"""Of a query; a sequence gives it more than once."""

TIMEOUT_SECONDS = 60.0


IN_PROCESS = "http://deniable.localhost"


class UnreachableError(AggregatorError):
    """Nothing that speaks our protocol answers at the address."""


class RefusedError(AggregatorError):
    """The service said no; `slug` names the problem type, `retry` whether asking later can help."""

    def __init__(self, message: str, *, slug: str, status: int, retry: bool) -> None:
        super().__init__(message)
        self.slug = slug
        self.status = status
        self.retry = retry


class Connection:
    """Requests to one service. Use as a context manager."""

    def __init__(
        self, client: httpx.Client, *, address: str, close: Callable[[], None] | None = None
    ) -> None:
        self.address = address
        self._client = client
        self._close = close

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give back sockets, and the directory's lock where this process holds it."""
        self._client.close()
        if self._close is not None:
            self._close()

    def get(self, path: str, *, accept: str = "application/json", **params: Parameter) -> bytes:
        """The body of a successful GET; parameters that are None are left out, lists repeated."""
        given = {name: value for name, value in params.items() if value is not None}
        return self._send("GET", path, params=given, headers={"Accept": accept})

    def get_json(self, path: str, **params: Parameter) -> dict[str, object]:
        """The JSON object a successful GET answers."""
        return self._object(path, self.get(path, accept="application/json", **params))

    def put(self, path: str, body: bytes, *, content_type: str, **params: str) -> dict[str, object]:
        """PUT a document; returns the JSON object answered."""
        headers = {"Content-Type": content_type}
        return self._object(
            path, self._send("PUT", path, content=body, headers=headers, params=params)
        )

    def post(self, path: str, body: Mapping[str, object] | None = None) -> dict[str, object]:
        """POST a JSON object; returns the JSON object answered, {} for an empty answer."""
        return self._object(path, self._send("POST", path, json=body) or b"{}")

    def delete(self, path: str) -> None:
        """DELETE a resource."""
        self._send("DELETE", path)

    def _send(self, method: str, path: str, **arguments: object) -> bytes:
        import httpx

        try:
            answer = self._client.request(method, path, **arguments)  # type: ignore[arg-type]
        except httpx.TimeoutException as error:
            raise UnreachableError(f"{self.address} did not answer in time: try again") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UnreachableError(
                f"nothing answers at {self.address} ({error}): is the service running?"
            ) from error
        if not answer.is_success:
            raise refusal(answer)
        return answer.content

    def _object(self, path: str, body: bytes) -> dict[str, object]:
        import json

        try:
            document = json.loads(body)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise UnreachableError(
                f"{self.address}{path} answered something that is no JSON object: is this the "
                "address of a deniable service?"
            )
        return document


def refusal(answer: httpx.Response) -> RefusedError:
    """The problem document of an answer as "title: detail"; a bare status where there is none."""
    try:
        document = answer.json()
    except ValueError:
        document = None
    known = document if isinstance(document, dict) else {}
    title = str(known.get("title") or f"HTTP {answer.status_code} {answer.reason_phrase}")
    detail = str(known.get("detail") or "")
    return RefusedError(
        (f"{title}: {detail}" if detail else title) + _cure(answer.status_code),
        slug=str(known.get("type", "")).rpartition(":")[2],
        status=answer.status_code,
        retry=known.get("retry") is True,
    )


def _cure(status: int) -> str:
    return " (set DENIABLE_TOKEN)" if status == 401 else ""


def connect(
    settings: Settings,
    url: str | None,
    environ: Mapping[str, str] = os.environ,
    *,
    migrate: bool = False,
) -> Connection:
    """The connection a command uses; see the module for the order and `local` for `migrate`."""
    if url:
        return remote(url, environ.get("DENIABLE_TOKEN"))
    live = server_file.find(settings.data)
    if live is not None:
        return remote(live.address, live.token, trust_env=False)
    return local(settings, migrate=migrate)


def remote(url: str, token: str | None, *, trust_env: bool = True) -> Connection:
    """Speak HTTP to a service; `trust_env` lets proxy variables of the environment apply."""
    import httpx

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    address = url.rstrip("/")
    try:
        client = httpx.Client(
            base_url=address, headers=headers, timeout=TIMEOUT_SECONDS, trust_env=trust_env
        )
    except httpx.InvalidURL as error:
        raise UnreachableError(f"url must be http(s)://host[:port], got {url!r}") from error
    return Connection(client, address=address)


def local(settings: Settings, *, migrate: bool = False) -> Connection:
    """Open the data directory in this process and call the application without a socket.

    Without `migrate` the database stays as it is; StoreError where it has another schema or none.
    """
    from deniable_aggregator.service import Service

    service = Service.open(settings, migrate=migrate)
    try:
        return _in_process(service)
    except BaseException:
        service.close()
        raise


def _in_process(service: Service) -> Connection:
    import httpx

    from deniable_aggregator.app import create_app
    from deniable_aggregator.process.local_token import admit

    client = httpx.Client(
        base_url=IN_PROCESS,
        headers={"Authorization": f"Bearer {admit(service)}"},
        transport=httpx.WSGITransport(app=create_app(service)),
    )
    return Connection(client, address=str(service.settings.data), close=service.close)
