"""What a release says, as a sentence, and how far off it may be, as another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType

from deniable_aggregator.web.dashboard.formatting import (
    amount,
    chance,
    count,
    digits_for,
    rounded,
    share,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.documents.releases import BarDocument, ReleaseDocument

_MOST_NAMED = 10
_UNUSUAL = 0.05
_SMALLEST = 0.001
_SHARES = ("error of each frequency", "error of every answer, as a share")


def result_sentence(document: ReleaseDocument) -> str:
    """The answer in words; empty where the tables and facts must do."""
    result, arguments = document.result, document.parameters
    if document.questions:
        return f"A session that answers {count(result.get('questions'))} questions"
    if isinstance(result.get("quantities"), list) and result["quantities"]:
        return _mean_sentence(result["quantities"][0])
    if isinstance(result.get("estimates"), list) and result["estimates"]:
        said = _shares_sentence(result["estimates"])
        level = result.get("association_level")
        return said if level is None or not said else f"{said}. {_together(level)}"
    if "indices" in result:
        labels = result["labels"]
        more = f" and {len(labels) - _MOST_NAMED} more" if len(labels) > _MOST_NAMED else ""
        named = ", ".join(str(label) for label in labels[:_MOST_NAMED])
        return f"The {len(labels)} most common answers: {named}{more}"
    if "price" in result:
        return f"The best price: {result['price']}"
    if "label" in result:
        return _label_sentence(result["label"], arguments)
    return ""


def error_sentence(
    bars: Sequence[BarDocument], parameters: Mapping[str, Any], n: int | UnsetType = UNSET
) -> str:
    """How far off the answer may be, by the last of its error bars; empty where there is none.

    `n` is the number of reports, where it is known.
    """
    if not bars or bars[-1].upper is None:
        return ""
    said = _error(bars[-1].quantity, bars[-1].upper, parameters, n)
    return f"{said}, in {chance(bars[-1].confidence)} of cases."


def _error(quantity: str, upper: float, parameters: Mapping[str, Any], n: int | UnsetType) -> str:
    if quantity in _SHARES:
        each = "Each share" if "frequency" in quantity else "Each answer"
        return f"{each} has an error of at most {share(upper, digits_for([200 * upper]))}"
    if quantity.startswith("true answers from rank"):
        return _rank_error(quantity, upper, n)
    if quantity.startswith("cents of revenue"):
        return _revenue_error(upper, n)
    if quantity.startswith("true answers from being"):
        people = count(round(upper))
        return f"It may be up to {people} people away from being the first answer at the level"
    if quantity.startswith("true answers"):
        less = "Each of them" if "k" in parameters else "It"
        return f"{less} may have up to {count(round(upper))} people fewer than the true one"
    return f"{quantity[:1].upper()}{quantity[1:]}: at most {rounded(upper)}"


def _revenue_error(cents: float, n: int | UnsetType) -> str:
    """In the units of a price, which are 100 cents."""
    less = rounded(cents / 100)
    each = "" if n is UNSET else f" ({amount(cents / 100 / n)} a person)"
    return f"Its revenue may be up to {less}{each} below the largest of any price that may be drawn"


def _rank_error(quantity: str, upper: float, n: int | UnsetType) -> str:
    """The error of a quantile in people, and in steps where the reports blur the answers."""
    people = count(round(upper)) if n is UNSET else f"{count(min(round(upper), n))} of {count(n)}"
    said = f"Its place among all people may be off by up to {people} people"
    _, blurred, steps = quantity.partition("moved by up to ")
    return f"{said}, and the number itself by up to {steps}" if blurred else said


def _shares_sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    estimated = [row for row in rows if row.get("frequency") is not None]
    if not estimated:
        return ""
    top = max(estimated, key=lambda row: row["frequency"])
    lower, upper = top.get("lower"), top.get("upper")
    first = "" if len(rows) == 1 else "Most common: "
    if lower is None or upper is None:
        return f"{first}{top['label']}, {share(top['frequency'])}"
    digits = digits_for([100 * (upper - lower)])
    between = f"{share(lower, digits)} to {share(upper, digits)}"
    return f"{first}{top['label']}, {share(top['frequency'], digits)} ({between})"


def _together(level: float) -> str:
    """Whether two attributes go together, by the usual bound."""
    if level > _UNUSUAL:
        return "No sign that the two attributes go together"
    odds = f"{level:.2g}" if level >= _SMALLEST else f"at most {_SMALLEST:g}"
    return f"The two attributes go together: the chance of so uneven a table is {odds} otherwise"


def _mean_sentence(row: Mapping[str, Any]) -> str:
    least, most = (amount(row[name]) for name in ("least", "most"))
    return f"The average: {amount(row['value'])} ({least} to {most})"


def _label_sentence(label: object, arguments: Mapping[str, Any]) -> str:
    if label is None:
        return "No answer was stable enough to be released"
    quantile = arguments.get("quantile")
    if quantile is not None and (arguments.get("score", "quantile") == "quantile"):
        if str(quantile) == "0.5":
            return f"The median: {label}"
        return f"{chance(float(quantile))} of people are at or below {label}"
    if arguments.get("score") == "threshold":
        return f"The first answer with at least {chance(float(arguments['level']))}: {label}"
    if arguments.get("score") == "revenue":
        return f"The best price: {label}"
    return f"The most common answer: {label}"
