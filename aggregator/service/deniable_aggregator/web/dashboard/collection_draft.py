"""A collection while it is thought about: what the form says, as TOML, plan, remarks and snippet.

Nothing here is signed or kept. Text, plan and remarks come from the code behind
`deniable collections new`, `plan` and `lint`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, structs

from deniable_aggregator.collections.authoring.linter import lint
from deniable_aggregator.collections.authoring.mechanism_reasons import mechanism_reason
from deniable_aggregator.collections.authoring.templates import TemplateOptions, template
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.planning import Plan, plan
from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.web.dashboard.draft_errors import (
    attribute_parts,
    field_errors,
    whole_number,
    written_lines,
)
from deniable_shared.domains import Domain, parse_domain
from deniable_shared.domains.number import decimal_text
from deniable_shared.errors import DomainError, ManifestError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable_aggregator.collections.authoring.lint_findings import Finding
    from deniable_shared.manifest.model import Manifest

Type = Literal["bits", "choice", "number", "record", "text"]
Line = Annotated[str, Meta(max_length=200, description="up to 200 characters")]
Short = Annotated[str, Meta(max_length=40, description="up to 40 characters")]
Lines = Annotated[
    str, Meta(max_length=6000, description="up to 6000 characters; longer lists go into the TOML")
]


class DraftError(ValueError):
    """The form makes no collection yet: `wrong` has what to correct, by the name of the field.

    The empty name is the form as a whole.
    """

    def __init__(self, wrong: Mapping[str, str]) -> None:
        super().__init__(". ".join(wrong.values()))
        self.wrong = wrong


class SetUpArguments(Arguments, frozen=True):
    """The form, as it was filled in; what it means is looked at later."""

    name: Line = ""
    purpose: Annotated[str, Meta(max_length=500, description="up to 500 characters")] = ""
    owner: Line = ""
    type: Annotated[Type, Meta(description="bits, choice, number, record or text")] = "choice"
    labels: Lines = ""
    low: Short = "0"
    high: Short = "60"
    step: Short = "1"
    attributes: Lines = ""
    max_bytes: Short = "12"
    epsilon: Short = "1"
    users: Short = "10000"
    repeat: Annotated[
        Literal["once", "fresh", "memoized"], Meta(description="once, fresh or memoized")
    ] = "once"
    epochs: Short = "10"
    read: Annotated[
        Literal["live", "closed", "releases"], Meta(description="live, closed or releases")
    ] = "live"
    min_batch: Short = "100"
    format: Annotated[Literal["html", "toml"], Meta(description="html or toml")] = "html"


@dataclass(frozen=True, slots=True)
class Draft:
    """What the form makes: the text, what it means, and what is to be thought about."""

    text: str
    manifest: Manifest
    plan: Plan | None
    reason: str
    findings: tuple[Finding, ...]

    @property
    def ready(self) -> bool:
        """Whether `deniable collections apply` would take it."""
        return not any(finding.level == "error" for finding in self.findings)


def draft_collection(form: SetUpArguments, *, origin: str, now: float) -> Draft | None:
    """The draft; None while there are no answers yet. Raises DraftError for what is to correct."""
    if not _has_answers(form):
        return None
    wrong = field_errors(structs.asdict(form))
    if wrong:
        raise DraftError(wrong)
    people, epochs = _number_in(form.users), _number_in(form.epochs)
    try:
        domain = _domain(form)
        text = template(
            form.name or "question",
            domain=domain,
            repeat=form.repeat,
            options=_template_options(form, epochs),
            clock=lambda: now,
        )
        manifest = manifest_from_toml(text, ingest=[origin])
        draft_plan = _plan_for_draft(form, manifest, people, epochs)
    except (DomainError, ManifestError, ParameterError) as error:
        first = str(error).partition(" ")[0]
        field = first if first in form.__struct_fields__ else ""
        raise DraftError({field: str(error)[:1].upper() + str(error)[1:]}) from error
    return Draft(
        text=text,
        manifest=manifest,
        plan=draft_plan,
        reason=str(mechanism_reason(manifest)["reason"]),
        findings=tuple(lint(manifest, now=now)),
    )


def _has_answers(form: SetUpArguments) -> bool:
    """Whether the answers are there; the rest has defaults."""
    needed = {"bits": form.labels, "choice": form.labels, "record": form.attributes}
    return bool(needed.get(form.type, form.name).strip())


def _template_options(form: SetUpArguments, epochs: int) -> TemplateOptions:
    usual = TemplateOptions()
    return TemplateOptions(
        purpose=form.purpose or usual.purpose,
        owner=form.owner or usual.owner,
        epsilon=form.epsilon,
        read=form.read,
        min_batch=_number_in(form.min_batch),
        epochs=epochs,
    )


def _plan_for_draft(
    form: SetUpArguments, manifest: Manifest, people: int, epochs: int
) -> Plan | None:
    """Of the very mechanism; None for one that no plan speaks of."""
    plan_arguments = (manifest.domain, form.epsilon, people, form.repeat, epochs)
    default_plan = _plan_of(*plan_arguments, None)
    if default_plan.mechanism == manifest.mechanism_id:
        return default_plan
    try:
        return _plan_of(*plan_arguments, manifest.mechanism_id)
    except ParameterError:
        return None


@lru_cache(maxsize=64)
def _plan_of(
    domain: Domain, epsilon: str, people: int, repeat: str, epochs: int, mechanism: str | None
) -> Plan:
    """A plan is a function of what it is for; the form asks again with every key."""
    return plan(domain, epsilon, people, repeat=repeat, epochs=epochs, mechanism=mechanism)


def _domain(form: SetUpArguments) -> Domain:
    return parse_domain({"type": form.type, **_DOCUMENTS[form.type](form)})


def _labels(form: SetUpArguments) -> Mapping[str, object]:
    return {"labels": written_lines(form.labels)}


def _number(form: SetUpArguments) -> Mapping[str, object]:
    ends = {"low": form.low, "high": form.high, "step": form.step}
    return {name: decimal_text(Fraction(text.strip())) for name, text in ends.items()}


def _record(form: SetUpArguments) -> Mapping[str, object]:
    parts = (attribute_parts(line) or ("", []) for line in written_lines(form.attributes))
    return {"attributes": [{"name": name, "labels": labels} for name, labels in parts]}


def _text(form: SetUpArguments) -> Mapping[str, object]:
    return {"max_bytes": _number_in(form.max_bytes)}


_DOCUMENTS: Mapping[str, Callable[[SetUpArguments], Mapping[str, object]]] = {
    "bits": _labels,
    "choice": _labels,
    "number": _number,
    "record": _record,
    "text": _text,
}


def _number_in(text: str) -> int:
    """The number of a field that was checked."""
    return whole_number(text) or 0
