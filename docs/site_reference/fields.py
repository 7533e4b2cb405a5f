"""Fields of a question: the keys of its TOML file, and the fields of what is signed."""

from __future__ import annotations

from deniable_aggregator.collections.authoring.toml_keys import KEYS
from deniable_shared.manifest.fields import FIELDS, REPEATS
from site_reference.markdown import code, table

OF = {field.path: field for field in FIELDS}


def of_toml() -> str:
    """A row for each key."""
    return table(
        ["key", "fills", "meaning", "a new version"],
        [[code(key), code(each.path), *_law(each.path)] for key, each in KEYS.items()],
    )


def of_manifests() -> str:
    """A row for each field."""
    rows = [[code(path), *_law(path)] for path in OF]
    return table(["field", "meaning", "a new version"], rows)


def _law(path: str) -> list[str]:
    field = OF[path]
    only = "" if field.repeats == REPEATS else f" Only of repeat = {', '.join(field.repeats)}."
    return [_plain(field.meaning) + only, field.change.value]


def _plain(text: str) -> str:
    """Brackets and braces are themselves, not a link."""
    return text.replace("[", "\\[").replace("{", "\\{")
