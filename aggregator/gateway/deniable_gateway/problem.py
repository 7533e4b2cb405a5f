"""The refusal of a whole request. It is shown once, as an RFC 9457 document."""

from __future__ import annotations

import math
import secrets

from deniable_shared.wire.problems import PROBLEMS, ProblemType, problem_document

SHOWN_CHARACTERS = 80
"""The most characters of a given value that a refusal repeats."""


def jittered(seconds: float) -> float:
    """Return one to two times `seconds`, so that refused clients do not all return at once."""
    return seconds * (1 + secrets.randbelow(1 << 20) / (1 << 20))


class Problem(Exception):  # noqa: N818  (RFC 9457's word)
    """Raised to refuse a whole request.

    `slug` is one of `deniable_shared.wire.problems.PROBLEMS`. `retry_after` is in seconds. `extra`
    are further members of the document.
    """

    def __init__(
        self, slug: str, detail: str, *, retry_after: float | None = None, **extra: object
    ) -> None:
        super().__init__(detail)
        self.slug = slug
        self.detail = detail
        self.retry_after = retry_after
        self.extra = extra

    @property
    def type(self) -> ProblemType:
        """The entry of PROTOCOL for this problem."""
        return PROBLEMS[self.slug]

    @property
    def status(self) -> int:
        """The status of the HTTP response."""
        return self.type.status

    def document(self) -> dict[str, object]:
        return problem_document(self.slug, self.detail, **self.extra)

    def headers(self) -> list[tuple[str, str]]:
        """Return the header fields that go with the document, without its content type."""
        if self.retry_after is None:
            return []
        return [("Retry-After", str(math.ceil(self.retry_after)))]


def refuse(argument: str, *, accepted: str, given: object) -> Problem:
    """Return the Problem for an argument that is not accepted."""
    text = str(given)
    if len(text) > SHOWN_CHARACTERS:
        text = text[:SHOWN_CHARACTERS] + "…"
    return Problem(
        "invalid-argument",
        f"{argument} must be {accepted}, got {text!r}",
        argument=argument,
        accepted=accepted,
        given=text,
    )
