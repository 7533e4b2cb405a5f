"""One page that shows a person what telemetry does, with one switch. HTML without scripts.

`render` returns the page, `HEADERS` are its HTTP headers, `press` handles its form.
"""

from __future__ import annotations

import base64
from hashlib import sha256
from hmac import compare_digest
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from deniable_client.consent import Consent
from deniable_client.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deniable_client.client import Client
    from deniable_client.explanation import CollectionExplanation, Explanation, ReportExplanation

__all__ = ["HEADERS", "MOST_FORM_BYTES", "press", "render"]

MOST_FORM_BYTES = 1_000

_STYLE = """
:root { color-scheme: light dark; --ink: #20222e; --quiet: #565b6e; --page: #f6f6f9;
  --card: #fff; --line: #d9dbe4; --strong: #2447b5; --on-strong: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e9f0; --quiet: #a9aec2; --page: #14151c;
  --card: #1d1f2a; --line: #363a4a; --strong: #a9bcff; --on-strong: #14151c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 46rem; padding: 1.5rem 1rem 3rem; background: var(--page);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; margin: 0 0 1rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .75rem; }
h3 { font-size: 1rem; margin: 0 0 .25rem; }
section > ul { list-style: none; margin: 0; padding: 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
  margin: 0 0 .75rem; padding: 1rem; }
.card p { margin: .25rem 0; }
.quiet { color: var(--quiet); font-size: .9rem; }
.status { font-size: 1.15rem; margin: 0 0 .75rem; }
button { background: var(--strong); border: 0; border-radius: .4rem; color: var(--on-strong);
  cursor: pointer; font: inherit; padding: .55rem 1rem; }
button:focus-visible, summary:focus-visible, pre:focus-visible { outline: 3px solid var(--strong);
  outline-offset: 2px; }
meter { height: 1rem; width: 100%; }
summary { cursor: pointer; color: var(--quiet); font-size: .9rem; padding: .25rem 0; }
pre, code { font: .85rem/1.45 ui-monospace, monospace; white-space: pre-wrap; }
pre { margin: .25rem 0; max-height: 24rem; overflow: auto; }
dl { display: grid; gap: 0 .75rem; grid-template-columns: max-content 1fr; margin: 0; }
dd { margin: 0; }
"""

_POLICY = (
    "default-src 'none'; "
    f"style-src 'sha256-{base64.b64encode(sha256(_STYLE.encode()).digest()).decode()}'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

HEADERS: Mapping[str, str] = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # with none at all, browsers hide the Origin of a form
    "X-Content-Type-Options": "nosniff",
}
"""No script runs on the page, nothing is loaded, no other page holds it in a frame."""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{style}</style></head><body>
<main>
<h1>{title}</h1>
{body}
</main>
</body></html>
"""


def render(client: Client, *, title: str, action: str, token: str) -> str:
    """Return the page. Its form posts to `action` with the secret `token`, which `press` checks."""
    status = client.status()
    switch = _switch(status.consent, action, token)
    said = f'<p class="status" role="status">{escape(status.text)}</p>'
    parts = [f'<div class="card">{said}{switch}</div>']
    try:
        parts += _sections(client.explain())
    except StorageError as error:
        parts.append(f"<p>{escape(str(error))}.</p>")
    return _PAGE.format(title=escape(title), style=_STYLE, body="\n".join(parts))


def press(client: Client, form: bytes, *, token: str) -> bool:
    """Switch on or off as the form says. Returns False if this page did not make the form.

    Raises StorageError if the decision could not be stored.
    """
    fields = parse_qs(form[: MOST_FORM_BYTES + 1].decode("utf-8", "replace"))
    answer, given = (fields.get(name, [""])[0] for name in ("answer", "token"))
    right = len(form) <= MOST_FORM_BYTES and compare_digest(given.encode(), token.encode())
    if not right or answer not in (Consent.GRANTED, Consent.DENIED):
        return False
    client.consent(answer)
    return True


def _switch(consent: Consent, action: str, token: str) -> str:
    on = consent is Consent.GRANTED
    answer = Consent.DENIED if on else Consent.GRANTED
    label = "Turn off and delete what waits" if on else "Turn on"
    return (
        f'<form method="post" action="{escape(action)}">'
        f'<input type="hidden" name="token" value="{escape(token)}">'
        f'<button name="answer" value="{answer}">{label}</button></form>'
    )


def _sections(explanation: Explanation) -> Iterable[str]:
    yield _budget(explanation)
    yield _section(
        "What is asked", map(_question, explanation.collections), "This app asks nothing."
    )
    purposes = {each.collection: each.purpose for each in explanation.collections}
    waiting = [
        _waiting(each, purposes.get(each.collection, each.collection))
        for each in explanation.reports
        if each.payload is not None
    ]
    yield _section("What waits on this device", waiting, "No report waits.")
    left = [
        _left(each, purposes.get(each.collection, each.collection))
        for each in explanation.reports
        if each.payload is None and each.requests
    ]
    yield _section("What left this device", left, "No report has left.")
    yield f"<h2>Where it goes</h2>{_where(explanation)}"


def _section(heading: str, items: Iterable[str], empty: str) -> str:
    listed = "".join(f'<li class="card">{item}</li>' for item in items)
    body = f"<ul>{listed}</ul>" if listed else f'<p class="quiet">{empty}</p>'
    return f"<section><h2>{heading}</h2>{body}</section>"


def _budget(explanation: Explanation) -> str:
    budget = explanation.budget
    return (
        f'<section><h2>Privacy budget</h2><div class="card"><p>ε = {budget.spent} of '
        f"{budget.lifetime} spent, {budget.left} left. No server can raise it.</p>"
        f'<meter aria-label="Privacy budget spent" min="0" max="{budget.lifetime}" '
        f'value="{budget.spent}">{budget.spent} of {budget.lifetime}</meter></div></section>'
    )


def _question(each: CollectionExplanation) -> str:
    lines = "".join(f"<p>{escape(line.strip())}</p>" for line in each.text.splitlines()[1:])
    return (
        f"<h3>{escape(each.purpose)}</h3>{lines}"
        f"<details><summary>Signed question file of {escape(each.collection)}, version "
        f"{each.version}</summary><p>SHA-256 <code>{each.digest}</code></p>"
        f'<pre tabindex="0">{escape(each.manifest)}</pre></details>'
    )


def _waiting(each: ReportExplanation, purpose: str) -> str:
    payload = (each.payload or b"").hex()
    return (
        f"<h3>{escape(purpose)}</h3><p>{escape(each.sentence)}</p>"
        f"<details><summary>{_count(len(payload) // 2, 'byte')} before sealing</summary>"
        f"<p><code>{payload}</code></p></details>"
    )


def _left(each: ReportExplanation, purpose: str) -> str:
    return (
        f"<h3>{escape(purpose)}</h3><p>{escape(_FATE.get(each.state, each.state))}: "
        f"{_count(each.request_bytes or 0, 'byte')}.</p>"
        f'<p class="quiet">SHA-256 <code>{each.request_sha256}</code></p>'
    )


_FATE = {
    "done": "The service has it",
    "dropped": "The service did not take it",
    "wiped": "It had left when you said no",
}


def _where(explanation: Explanation) -> str:
    log = explanation.log
    checkpoint = "not seen yet"
    if log is not None:
        entries = f"{log.size:,} {'entry' if log.size == 1 else 'entries'}"
        checkpoint = f"{entries}, checkpoint <code>{escape(log.head)}</code>"
    return (
        f'<div class="card"><dl><dt>Service</dt><dd>{escape(explanation.url)}</dd>'
        f"<dt>Operator's log</dt><dd>{checkpoint}</dd></dl></div>"
    )


def _count(number: int, unit: str) -> str:
    return f"{number:,} {unit}{'' if number == 1 else 's'}"
