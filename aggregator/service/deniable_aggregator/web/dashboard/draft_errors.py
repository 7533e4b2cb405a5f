"""What to correct in the form of a draft, in words of the form, field by field.

Each check gives its sentence or an empty text, so that one look names every field.
"""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_shared.domains.bits import MAX_BITS
from deniable_shared.domains.choice import MAX_CHOICES
from deniable_shared.domains.labels import MAX_LABEL_BYTES
from deniable_shared.domains.number import decimal_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

MOST_PEOPLE = 10**9
MOST_EPOCHS = 10_000
MOST_EPSILON = 20
_NAME = re.compile(r"[a-z0-9-]{1,64}")


def written_lines(text: str) -> list[str]:
    """The lines that are not empty, without space around them."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def attribute_parts(line: str) -> tuple[str, list[str]] | None:
    """Name and labels of “name = label, label”; None for anything else."""
    name, separator, labels = line.partition("=")
    if not separator:
        return None
    return name.strip(), [label.strip() for label in labels.split(",")]


def whole_number(text: str) -> int | None:
    """A whole number with or without spaces and commas; None for anything else."""
    digits = "".join(text.split()).replace(",", "")
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 20 else None


def decimal_number(text: str) -> Fraction | None:
    """A decimal of at most six places; None for anything else."""
    try:
        return Fraction(decimal_text(Fraction(text.strip())))
    except (ValueError, ZeroDivisionError):
        return None


def field_errors(fields: Mapping[str, str]) -> dict[str, str]:
    """Field → what to correct; only of the fields that this type of answer has."""
    errors = {name: check(fields) for name, check in _CHECKS.items()}
    errors |= dict(_ANSWER_CHECKS[fields["type"]](fields))
    return {name: text for name, text in errors.items() if text}


def _name(fields: Mapping[str, str]) -> str:
    name = fields["name"]
    if not name or _NAME.fullmatch(name):
        return ""
    return f"Use a–z, 0–9 and hyphens, at most 64, like “lunch-choice”. This is “{name}”"


def _epsilon(fields: Mapping[str, str]) -> str:
    epsilon = decimal_number(fields["epsilon"])
    if epsilon is not None and 0 < epsilon <= MOST_EPSILON:
        return ""
    return (
        f"Write a number above 0, at most {MOST_EPSILON}, like 0.5. This is “{fields['epsilon']}”"
    )


def _whole(name: str, most: int) -> Callable[[Mapping[str, str]], str]:
    def check(fields: Mapping[str, str]) -> str:
        number = whole_number(fields[name])
        if number is not None and 1 <= number <= most:
            return ""
        return f"Write a whole number from 1 to {most:,}. This is “{fields[name]}”"

    return check


def _labels(least: int, most: int) -> Callable[[Mapping[str, str]], Iterator[tuple[str, str]]]:
    def check(fields: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        yield "labels", _of_labels(written_lines(fields["labels"]), least, most, ", one a line")

    return check


def _of_labels(labels: Sequence[str], least: int, most: int, where: str) -> str:
    """What is wrong with a list of labels; empty for nothing."""
    if not least <= len(labels) <= most:
        words = {1: "at least one label", 2: "at least two labels"}[least]
        limit = f"{words}, at most {most:,}" if len(labels) > most else words
        return f"Write {limit}{where}"
    twice = [label for label, times in Counter(labels).items() if times > 1]
    if twice:
        return f"Each label must differ: “{twice[0]}” is there more than once"
    long = [label for label in labels if not 1 <= len(label.encode()) <= MAX_LABEL_BYTES]
    if long:
        return f"Shorten “{long[0][:40]}…”: a label has 1 to {MAX_LABEL_BYTES} bytes"
    return ""


def _number(fields: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    numbers = {name: decimal_number(fields[name]) for name in ("low", "high", "step")}
    for name, number in numbers.items():
        if number is None:
            yield name, f"Write a decimal of at most six places, like 0.5. This is “{fields[name]}”"
    low, high, step = numbers.values()
    if low is None or high is None or step is None:
        return
    if low >= high:
        yield "high", f"Must be above “From”, which is {fields['low']}"
    elif step <= 0:
        yield "step", "Must be above 0"
    elif (high - low) % step or (high - low) / step >= MAX_CHOICES:
        yield (
            "step",
            f"From {fields['low']} to {fields['high']} must be whole steps, fewer than "
            f"{MAX_CHOICES:,}",
        )


def _record(fields: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    lines = written_lines(fields["attributes"])
    parts = [attribute_parts(line) for line in lines]
    for line, part in zip(lines, parts, strict=True):
        if part is None:
            yield "attributes", f"Write each line as name = label, label. One is “{line[:80]}”"
            return
        wrong = _of_labels(part[1], 2, MAX_CHOICES, f" for {part[0]}, with commas between them")
        if wrong:
            yield "attributes", wrong
            return
    yield "attributes", "" if len(lines) > 1 else "Write at least two attributes, one a line"


def _text(fields: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield "max_bytes", _whole("max_bytes", MAX_LABEL_BYTES)(fields)


_CHECKS: Mapping[str, Callable[[Mapping[str, str]], str]] = {
    "name": _name,
    "epsilon": _epsilon,
    "users": _whole("users", MOST_PEOPLE),
    "epochs": _whole("epochs", MOST_EPOCHS),
    "min_batch": _whole("min_batch", MOST_PEOPLE),
}
_ANSWER_CHECKS: Mapping[str, Callable[[Mapping[str, str]], Iterator[tuple[str, str]]]] = {
    "bits": _labels(1, MAX_BITS),
    "choice": _labels(2, MAX_CHOICES),
    "number": _number,
    "record": _record,
    "text": _text,
}
