"""What `record` and `flush` return, and what the client raises."""

from __future__ import annotations

import inspect

import deniable_client.errors
from deniable_client.outcome import FlushResult, Outcome, RefreshResult
from site_reference.markdown import code, field_docs, table


def of_record() -> str:
    """A row for each outcome."""
    meanings = field_docs(Outcome)
    return table(
        ["outcome", "value", "means", "a mistake of the app"],
        [
            [
                code(f"Outcome.{each.name}"),
                code(each),
                meanings[each.name],
                "yes" if each.mistake else "",
            ]
            for each in Outcome
        ],
    )


def of_flush() -> str:
    """What the two results say."""
    return "\n\n".join(
        f"## `{kind.__name__}`\n\n{inspect.getdoc(kind)}" for kind in (FlushResult, RefreshResult)
    )


def client_errors() -> str:
    """A row for each exception of the client."""
    module = deniable_client.errors
    kinds = [getattr(module, name) for name in module.__all__]
    return table(
        ["exception", "means"],
        [
            [code(kind.__name__), (inspect.getdoc(kind) or "").replace("\n", " ")]
            for kind in kinds
            if isinstance(kind, type) and issubclass(kind, Exception)
        ],
    )
