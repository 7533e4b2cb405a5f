"""Texts: how often each text of a list occurs, from the supports of their codes.

Group 0, which is held out from the search, contains whole texts, and so does every group whose
prefixes are longer than the text. c_v counts their reports that support it, in tables r:

    E f̂_v = Σ_u f_u·(C_vu − 1/K)/(1 − 1/K),   C_vu: the share of those tables in which codes agree

What the listed texts add to each other is known and subtracted: f = A⁻¹f̂, A the matrix above. The
variance of f_v grows by (A⁻¹CA⁻ᵀ)_vv, as texts with one code share their noise, too. What other
texts add has mean 0 over the choice of hashes, and variance at most Σf²/(tables·K). Σf² is bounded
by three standard errors above its own unbiased estimate, and intervals are widened accordingly.
More reports do not lower this part. With 2^16 codes or more in a group it is under a tenth of the
error up to millions of reports.

If a text has up to h codes in a table, as in a Bloom filter, each of them is counted: h bits of a
report are like h reports of one device with the same text. Then 1/K becomes β, the chance that
another text has one given code. C_vu is the share of the codes of v that u has, too, and the
variance of other texts is Σf²·β/((1 − β)·h·tables).

Sources: docs/mathematics/texts.md, What collisions add (finite pools of hashes); the joint debias
is least squares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_estimators.inference.channel import Channel, Counts, Floats
from deniable_estimators.inference.clusters import Clusters
from deniable_estimators.inference.debias import Estimate, check_epochs, debias
from deniable_estimators.inference.projection import onto_box
from deniable_shared.mechanisms.memoization import MemoizedChain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_estimators.inference.protocols import TableGroup, TextCoding, TextEstimator

_SURE = 3.0
"""Standard errors added to the estimate of Σf²."""


@dataclass(frozen=True, slots=True, eq=False)
class TextEstimates:
    """Encoded texts, an entry of the estimate for each, and how many reports are about each."""

    texts: tuple[bytes, ...]
    reports: Counts
    estimate: Estimate

    def select(self, chosen: npt.NDArray[np.bool_]) -> TextEstimates:
        """Return the chosen texts, most frequent first."""
        order = np.argsort(-self.estimate.frequencies, kind="stable")
        order = order[chosen[order]]
        parts = {
            name: getattr(self.estimate, name)[order]
            for name in ("frequencies", "std_errors", "lower", "upper", "reports_to_leave")
        }
        texts = tuple(self.texts[place] for place in order)
        return TextEstimates(texts, self.reports[order], replace(self.estimate, **parts))


@dataclass(frozen=True)
class TextTally:
    """A tally of texts. Each group is read when it is first needed."""

    estimator: TextEstimator
    tally: Counts
    _groups: dict[int, TableGroup] = field(default_factory=dict)

    @property
    def coding(self) -> TextCoding:
        """How texts become codes."""
        return self.estimator.coding

    def group(self, number: int) -> TableGroup:
        """Return the reports of a group."""
        if number not in self._groups:
            self._groups[number] = self.estimator.group(self.tally, number)
        return self._groups[number]

    def of(self, texts: Sequence[bytes], *, held_out: bool) -> tuple[Counts, Counts]:
        """Return supports of each text and bits about it: held out, or those of the search."""
        counts, trials = np.zeros((2, len(texts)), dtype=np.int64)
        for group, spelled in self.spelling(texts):
            if (group == 0) != held_out:
                continue
            read = self.group(group)
            for r, codes in enumerate(self.codes(group, texts)):
                there = spelled & (codes >= 0)
                counts += (there * read.supports[r][codes]).sum(axis=0)
                trials += there.sum(axis=0) * read.trials[r]
        return counts, trials

    def spelling(self, texts: Sequence[bytes]) -> Iterator[tuple[int, npt.NDArray[np.bool_]]]:
        """Yield each group and which of the texts it contains whole."""
        return spelling(self.coding, texts)

    def codes(self, group: int, texts: Sequence[bytes]) -> npt.NDArray[np.int64]:
        """Return int64[tables of the group, hashes, texts]: see `protocols.TextEstimator`."""
        return self.estimator.codes(group, texts)

    @cached_property
    def second_moment(self) -> float:
        """Return an upper bound of Σf² over all texts, at most 1."""
        read, coding = self.group(0), self.coding
        p, inside = float(self.estimator.mechanism.p), self.estimator.inside
        n, k = read.trials[:, None], coding.codes
        if not read.trials.all():
            return 1.0
        raw = (read.supports / n - inside) / (p - inside)
        noise = k * inside * (1 - inside) / (p - inside) ** 2
        noise += coding.hashes * (1 - p - inside) / (p - inside)
        squares = ((raw**2).sum(axis=1) - noise / read.trials) / coding.hashes
        error = math.sqrt(2 / k / len(squares)) * float((noise / read.trials).mean())
        return min(1.0, max(0.0, float(squares.mean())) + _SURE * error)


def spelling(
    coding: TextCoding, texts: Sequence[bytes]
) -> Iterator[tuple[int, npt.NDArray[np.bool_]]]:
    """Yield each group and which of the texts it contains whole."""
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    for group in range(coding.groups):
        length = coding.length(group)
        yield group, lengths < length + (length == coding.domain_size)


def agreeing_codes(
    estimator: TextEstimator, texts: Sequence[bytes], *, held_out: bool = False
) -> Floats:
    """Return the share of the codes of one text that another one has, too, for all pairs."""
    agreeing, own = np.zeros((len(texts), len(texts))), np.zeros(len(texts))
    for group, spelled in spelling(estimator.coding, texts):
        if held_out and group:
            break
        for codes in estimator.codes(group, texts):
            for code in codes:
                there = spelled & (code >= 0)
                own += there
                agreeing += there[:, None] * (code[:, None, None] == codes.T[None]).any(axis=2)
    return agreeing / own[:, None]


def estimate_texts(
    text_tally: TextTally,
    texts: Sequence[bytes],
    *,
    held_out: bool,
    confidence: float = 0.95,
    epochs: int = 1,
    family: str = "each",
) -> TextEstimates:
    """Return the frequencies of encoded texts, in their order.

    `held_out`: use group 0 only, for texts that the search chose. Otherwise use every group that
    contains a text whole, for lists made without looking at these reports. Raises ParameterError
    for confidence outside (0, 1), another family, or epochs < 1.
    """
    counts, trials = text_tally.of(texts, held_out=True)
    if not held_out:
        more = text_tally.of(texts, held_out=False)
        counts, trials = counts + more[0], trials + more[1]
    tables = _tables(text_tally, texts, held_out=held_out)
    share = Fraction(int(tables.max(initial=1)), text_tally.coding.all_tables)
    raw = debias(
        Channel(text_tally.estimator.mechanism.p, text_tally.estimator.mechanism.q),
        counts,
        text_tally.estimator.reports_of(text_tally.tally),
        confidence=confidence,
        epochs=epochs,
        family=family if len(texts) else "each",
        clusters=_clusters(text_tally, epochs, share),
        trials=trials,
        sampling_fraction=text_tally.coding.sampling_fraction,
    )
    estimate = _without_collisions(text_tally, texts, raw, held_out=held_out) if len(texts) else raw
    return TextEstimates(tuple(texts), np.minimum(trials, estimate.n), estimate)


def _clusters(text_tally: TextTally, epochs: int, share: Fraction) -> Clusters | None:
    """How bits of one device depend on each other; `share` of its reports are about one text.

    The bits of one report about a text depend on each other like reports of one device.
    """
    estimator, mechanism = text_tally.estimator, text_tally.estimator.mechanism
    check_epochs(epochs)
    reports = Fraction(1)
    if estimator.repeat != "once":
        memoized = isinstance(mechanism, MemoizedChain)
        reports = Fraction(epochs) if memoized else 1 + (epochs - 1) * share
    bits = reports * text_tally.coding.hashes
    if bits == 1:
        return None
    if isinstance(mechanism, MemoizedChain):
        return Clusters(
            mechanism.redraw_support, mechanism.redraw_support + mechanism.keep_probability, bits
        )
    return Clusters(mechanism.q, mechanism.p, bits)


def _tables(text_tally: TextTally, texts: Sequence[bytes], *, held_out: bool) -> Counts:
    """Return how many tables are about each text."""
    tables = np.zeros(len(texts), dtype=np.int64)
    for group, spelled in text_tally.spelling(texts):
        if group == 0 or not held_out:
            tables += spelled * len(text_tally.coding.tables_of(group))
    return tables


def _without_collisions(
    text_tally: TextTally, texts: Sequence[bytes], raw: Estimate, *, held_out: bool
) -> Estimate:
    """The estimate without the listed texts' collisions, and with a variance for the others'."""
    beta, hashes = text_tally.estimator.agreeing, text_tally.coding.hashes
    tables = _tables(text_tally, texts, held_out=held_out)
    shared = agreeing_codes(text_tally.estimator, texts, held_out=held_out)
    inverse = np.linalg.pinv((shared - beta) / (1 - beta))
    frequencies = np.asarray(inverse @ np.nan_to_num(raw.frequencies), dtype=np.float64)
    grown = np.sqrt(np.asarray(((inverse @ shared) * inverse).sum(axis=1), dtype=np.float64))
    others = text_tally.second_moment * beta / ((1 - beta) * hashes * tables)
    with np.errstate(divide="ignore", invalid="ignore"):
        grown = grown * np.sqrt(1 + others / raw.std_errors**2)
    has_reports = np.isfinite(raw.frequencies)
    return replace(
        raw,
        frequencies=np.where(has_reports, frequencies, np.nan),
        std_errors=raw.std_errors * grown,
        lower=_moved(raw.frequencies, raw.lower, frequencies, grown, 0.0),
        upper=_moved(raw.frequencies, raw.upper, frequencies, grown, 1.0),
    )


def _moved(raw: Floats, limit: Floats, frequencies: Floats, grown: Floats, end: float) -> Floats:
    """Return a limit at the same distance from the new frequency, widened by `grown`."""
    moved = frequencies + (limit - raw) * grown
    return onto_box(np.where(np.isfinite(moved) & (limit != end), moved, end))
