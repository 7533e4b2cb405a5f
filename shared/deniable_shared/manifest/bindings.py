"""Signed manifests as a Python module with types, so that type checkers find wrong answers.

The text depends on the manifests only, not on their order. The usual formatters leave it unchanged
at any line length from 88 on.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from keyword import iskeyword
from typing import TYPE_CHECKING

from deniable_shared.domains import Bits, Choice, Number, Record, Text
from deniable_shared.errors import ManifestError
from deniable_shared.manifest.app_file import AppFile
from deniable_shared.manifest.epochs import period_name
from deniable_shared.manifest.minimal_ceiling import MinimalCeiling
from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.randomness.dyadic import format_epsilon
from deniable_shared.wire import dsse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

CHUNK_BYTES = 76
DOCSTRING_WIDTH = 84


@dataclass(frozen=True, slots=True)
class SignedManifest:
    """A manifest and the envelope that it came in."""

    manifest: Manifest
    envelope: bytes

    @property
    def word(self) -> str:
        """The collection's name as part of a Python name."""
        return self.manifest.name.replace("-", "_")

    @property
    def answer(self) -> str:
        """The name of the type of its answers."""
        joined = "".join(map(str.capitalize, self.manifest.name.split("-"))) + "Answer"
        return joined if joined.isidentifier() else f"Collection{joined}"

    @property
    def by_label(self) -> bool:
        """Whether an answer is one of the labels."""
        domain = self.manifest.domain
        return isinstance(domain, Choice) or (isinstance(domain, Bits) and domain.one_hot)


def read_signed(envelope: bytes, *, trusted: Sequence[str] = ()) -> SignedManifest:
    """Return the manifest of an envelope. The signature is checked if `trusted` keys are given.

    Raises DecodeError, SignatureError or ManifestError if the envelope is wrong.
    """
    if trusted:
        body = dsse.verify(envelope, payload_type=MANIFEST_TYPE, trusted=trusted)
    else:
        body = dsse.unverified_payload(envelope, payload_type=MANIFEST_TYPE)
    return SignedManifest(parse_manifest(body), envelope)


def read_file(data: bytes, *, trusted: Sequence[str] = ()) -> list[SignedManifest]:
    """Return the manifests of an app file, or the one manifest in `data`.

    An app file's own keys are trusted unless `trusted` names others. Raises DecodeError,
    SignatureError or ManifestError if the file is wrong.
    """
    if not AppFile.is_one(data):
        return [read_signed(data.strip(), trusted=trusted)]
    file = AppFile.decode(data)
    return [read_signed(each, trusted=trusted or file.trust) for each in file.manifests]


def render(signed: Iterable[SignedManifest]) -> str:
    """Return the module. Raises ManifestError if two collections would get one name in it."""
    ordered = sorted(signed, key=lambda each: each.manifest.name)
    _require_different(ordered)
    blocks = [
        _header(ordered),
        _imports(ordered),
        _exported(ordered),
        *map(_embedded, ordered),
        _manifests(ordered),
    ]
    parts = ["\n\n".join(blocks)]
    for each in ordered:
        parts += [_type(each), _function(each)]
    return "\n\n\n".join(parts) + "\n"


def _require_different(ordered: Sequence[SignedManifest]) -> None:
    taken: dict[str, Manifest] = {}
    for each in ordered:
        other = taken.setdefault(each.answer, each.manifest)
        if other is each.manifest:
            continue
        if other.collection == each.manifest.collection:
            raise ManifestError(f"{other.collection} must be given once, in one version")
        if other.name == each.manifest.name:
            raise ManifestError(
                f"{other.collection} and {each.manifest.collection} have one name: choose by id, "
                "as in `deniable collections export --app ID`"
            )
        raise ManifestError(
            f"{other.name} and {each.manifest.name} would both be {each.answer}: "
            "write them into different modules"
        )


def _header(ordered: Sequence[SignedManifest]) -> str:
    lines = [
        '"""The questions of this app. Made by `deniable_client.codegen`: do not edit.',
        "",
        '    Client.from_file("app.deniable", app=…, ceiling=…), or without that file',
        "    Client(url, trust=…, manifests=MANIFESTS, state=…, ceiling=…)",
        "",
        "Signatures are checked by the client. From these manifests:",
        "",
    ]
    for each in ordered:
        lines += [
            f"* {each.manifest.collection}, version {each.manifest.version}",
            f"  {each.manifest.digest.hex()}",
        ]
    lines += ["", "The least ceiling that admits them:", ""]
    limits = MinimalCeiling.admitting([each.manifest for each in ordered]).to_json()
    lines += [f'    {name}="{limit}"' for name, limit in limits.items()]
    return "\n".join([*lines, '"""'])


def _imports(ordered: Sequence[SignedManifest]) -> str:
    names = {"Final"}
    for each in ordered:
        domain = each.manifest.domain
        if each.by_label or isinstance(domain, Record):
            names.add("Literal")
        if not each.by_label and not isinstance(domain, Number | Text):
            names.add("TypedDict")
        if each.by_label and isinstance(each.manifest.domain, Bits):
            names.add("get_args")
    listed = ", ".join(sorted(names, key=lambda name: (name.islower(), name)))
    return (
        "from __future__ import annotations\n\n"
        f"from typing import {listed}\n\n"
        "from deniable_client import Client, Outcome"
    )


def _exported(ordered: Sequence[SignedManifest]) -> str:
    types, functions = (
        sorted(each.answer for each in ordered),
        sorted(f"record_{each.word}" for each in ordered),
    )
    lines = [f'    "{name}",' for name in ("MANIFESTS", *types, *functions)]
    return "\n".join(["__all__ = [", *lines, "]"])


def _embedded(each: SignedManifest) -> str:
    chunks = (
        each.envelope[start : start + CHUNK_BYTES]
        for start in range(0, len(each.envelope), CHUNK_BYTES)
    )
    lines = [f"    b{_quoted(chunk.decode('latin-1'), ascii_only=True)}" for chunk in chunks]
    return "\n".join([f"_{each.word.upper()} = (", *lines, ")"])


def _manifests(ordered: Sequence[SignedManifest]) -> str:
    lines = [f"    _{each.word.upper()}," for each in ordered]
    constant = "\n".join(["MANIFESTS: Final[tuple[bytes, ...]] = (", *lines, ")"])
    return f'{constant}\n"""As signed by the operator."""'


def _type(each: SignedManifest) -> str:
    domain = each.manifest.domain
    if isinstance(domain, Number):
        return f'{each.answer} = float\n"""{domain.topics[0].capitalize()}."""'
    if isinstance(domain, Text):
        return f'{each.answer} = str\n"""{domain.topics[0].capitalize()}."""'
    if isinstance(domain, Record):
        return _dictionary(each, dict(domain.attributes))
    if each.by_label:
        return f"{each.answer} = {_literal(domain.labels, 0)}"
    return _dictionary(each, dict.fromkeys(domain.labels))


def _dictionary(each: SignedManifest, keys: Mapping[str, Sequence[str] | None]) -> str:
    """Return a TypedDict of bools or of labels: a class if every key is a valid attribute name."""
    if all(map(_is_attribute, keys)):
        lines = [f"    {key}: {_literal(labels, 1)}" for key, labels in keys.items()]
        docstring = f'    """An answer to record_{each.word}."""'
        return "\n".join([f"class {each.answer}(TypedDict):", docstring, "", *lines])
    lines = [f"        {_quoted(key)}: {_literal(labels, 2)}," for key, labels in keys.items()]
    opening = [f"{each.answer} = TypedDict(", f'    "{each.answer}",', "    {"]
    return "\n".join([*opening, *lines, "    },", ")"])


def _literal(labels: Sequence[str] | None, depth: int) -> str:
    """Return the type of one of the labels, one per line; bool if there are none."""
    if labels is None:
        return "bool"
    indent = "    " * depth
    lines = [f"{indent}    {_quoted(label)}," for label in labels]
    return "\n".join(["Literal[", *lines, f"{indent}]"])


def _function(each: SignedManifest) -> str:
    manifest = each.manifest
    value = "answer"
    if each.by_label and isinstance(manifest.domain, Bits):
        value = f"{{label: label == answer for label in get_args({each.answer})}}"
    return "\n".join(
        [
            f"def record_{each.word}(client: Client, answer: {each.answer}) -> Outcome:",
            *_docstring(manifest),
            "    return client.record(",
            f'        "{manifest.collection}",',
            f"        {value},",
            "    )",
        ]
    )


def _docstring(manifest: Manifest) -> Iterator[str]:
    """Yield the purpose, then how often a device answers and the cost."""
    purpose = textwrap.wrap(_one_line(manifest.purpose), DOCSTRING_WIDTH - 7) or [""]
    yield f'    """{purpose[0]}'
    yield from (f"    {line}" for line in purpose[1:])
    schedule = manifest.schedule
    sentence = (
        f"A device {schedule.words(period_name(manifest.epoch_seconds))}. "
        f"{_unit(manifest)} costs ε = {format_epsilon(schedule.price)}."
    )
    if isinstance(manifest.domain, Bits) and manifest.domain.at_most is not None:
        sentence += f" At most {manifest.domain.at_most} may be True."
    yield ""
    yield from (f"    {line}" for line in textwrap.wrap(sentence, DOCSTRING_WIDTH - 4))
    yield '    """'


def _unit(manifest: Manifest) -> str:
    return "A scrambled answer" if manifest.repeat == "memoized" else "A report"


def _one_line(text: str) -> str:
    """Return the text without anything that could end a docstring."""
    return " ".join(text.replace("\\", "/").replace('"', "'").split())


def _is_attribute(label: str) -> bool:
    return (
        label.isidentifier()
        and label.isascii()
        and not iskeyword(label)
        and not label.startswith("__")
    )


def _quoted(text: str, *, ascii_only: bool = False) -> str:
    """Return a string literal with the quotes that need fewer escapes, as formatters write it."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    written = text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    if ascii_only:
        written = "".join(
            character if " " <= character <= "~" else f"\\x{ord(character):02x}"
            for character in written
        )
    return f"{quote}{written}{quote}"
