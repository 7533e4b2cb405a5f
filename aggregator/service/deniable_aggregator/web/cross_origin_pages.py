"""CORS for WSGI servers. `deniable_gateway.upload.front` does the same on the event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deniable_gateway.upload.cross_origin import page_access

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from deniable_gateway.upload.cross_origin import WebOrigins

    Application = Callable[[Any, Any], Iterable[bytes]]  # WSGI

_READ = ("ORIGIN", "COOKIE", "AUTHORIZATION", "ACCESS_CONTROL_REQUEST_METHOD")


class CrossOriginPages:
    """Adds the headers that let pages of other origins read answers; answers preflights."""

    def __init__(self, application: Application, web_origins: WebOrigins) -> None:
        self._application = application
        self._web_origins = web_origins

    def __call__(
        self, environ: Mapping[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer a WSGI request."""
        if "HTTP_ORIGIN" not in environ:
            return self._application(environ, start_response)
        headers = {
            name.lower().replace("_", "-"): environ[f"HTTP_{name}"]
            for name in _READ
            if f"HTTP_{name}" in environ
        }
        method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")
        pages = page_access(method, path, headers, self._web_origins)
        if pages.preflight:
            start_response("204 No Content", [*pages.fields, ("Content-Length", "0")])
            return []

        def start(status: str, fields: list[tuple[str, str]], *more: Any) -> Any:
            return start_response(status, [*fields, *pages.fields], *more)

        return self._application(environ, start)
