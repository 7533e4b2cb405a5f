"""The aggregator as a relay sees it: GETs of what is public, POSTs of batches with the token."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deniable_aggregator.errors import AggregatorError
from deniable_aggregator.relay.forwarder import UpstreamReply
from deniable_shared.report import MEDIA_TYPE

if TYPE_CHECKING:
    import httpx

USER_AGENT = "deniable-relay/1"
TIMEOUT_SECONDS = 30.0
_LONGEST_TOKEN = 200


class UpstreamError(AggregatorError):
    """The aggregator does not answer, or not as one."""


class Upstream:
    """One aggregator; the token is read anew for every batch, so that its file can be replaced."""

    def __init__(
        self, url: str, *, token_file: Path, transport: httpx.BaseTransport | None = None
    ) -> None:
        """`transport` replaces the sockets: an application in this process."""
        import httpx

        self._token_file = token_file
        self._client = httpx.Client(
            base_url=url.rstrip("/"),
            # A reply in another coding than it left the aggregator in settles no report.
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
            timeout=TIMEOUT_SECONDS,
            transport=transport,
        )

    def get(self, path: str) -> bytes:
        """The body of a successful GET; UpstreamError for anything else."""
        import httpx

        try:
            answer = self._client.get(path)
        except httpx.HTTPError as error:
            raise UpstreamError(f"GET {path}: {error}") from error
        if answer.status_code != 200:
            raise UpstreamError(f"GET {path}: HTTP {answer.status_code}")
        return answer.content

    def post(self, collection: str, body: bytes) -> UpstreamReply:
        """Send reports."""
        import httpx

        headers = {"Content-Type": MEDIA_TYPE, "Authorization": f"Bearer {self._token()}"}
        path = f"/v1/collections/{collection}/reports"
        try:
            answer = self._client.post(path, content=body, headers=headers)
        except httpx.HTTPError:
            return UpstreamReply(0, b"", {})
        return UpstreamReply(answer.status_code, answer.content, dict(answer.headers))

    def close(self) -> None:
        """Give back the sockets."""
        self._client.close()

    def _token(self) -> str:
        text = self._token_file.read_text(encoding="ascii").strip()
        if not text or len(text) > _LONGEST_TOKEN or not text.isprintable():
            raise UpstreamError(
                f"{self._token_file} must hold one token, as `deniable tokens new` prints it"
            )
        return text
