"""Affine thresholds: how many reports support each of K codes, and the estimates from that.

    f̂_v = (c_v/n − q)/(p − q),   Σ_v f̂_v = 1 over all K codes for every set of reports

A report (c, b) supports the w codes c⁻¹(r − b) mod K with r < w. Few reports are counted code by
code, w steps of c⁻¹ from the first: n·w additions. Many are first counted by message, K(K − 1)/2
numbers. Then for each c the sums of w neighbours among its b, from prefix sums, are the supports of
its codes, in steps of c: about K²/2 additions for every n and w.

Tally: the supports of all K codes. The d choices come first. The K − d codes after them have no
meaning, so their estimates are 0 except for noise. They cost nothing to keep and reveal reports
that no honest device sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from deniable_estimators.inference.label_sums import LabelSums
from deniable_estimators.inference.message_laws import TwoLevelLaw, one_code_law
from deniable_estimators.inference.payload_arrays import (
    Payloads,
    checked_payloads,
    checked_tally,
    first_round_as,
)
from deniable_estimators.inference.sampling import Generator, senders
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms.affine import AffineResponse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_estimators.inference.channel import Counts
    from deniable_estimators.inference.protocols import Numbers
    from deniable_shared.mechanisms.protocols import Mechanism

_SLICE_ROWS = 16_384  # the data of one slice stays in cache
_MOST_MESSAGES = 1 << 22  # of 8 bytes each, if messages are counted
_AT_ONCE = 1 << 20  # prefix sums held at once
_IN_CACHE = 1 << 18  # sums held for some multipliers


@dataclass(frozen=True, slots=True)
class AffineEstimator(LabelSums):
    """The estimator of "affine/1". Its tally counts the reports that support each code."""

    default_projection: ClassVar[str] = "simplex"
    estimand: ClassVar[str] = "labels"
    mechanism: Mechanism
    repeat: str = "once"

    @property
    def _first_round(self) -> AffineResponse:
        """The mechanism, or the first round of the chain."""
        return first_round_as(self.mechanism, AffineResponse, AffineResponse.id)

    def tally(self, payloads: Payloads) -> Counts:
        rows, form = checked_payloads(payloads, self.mechanism.payload_size), self._first_round
        messages = _messages(rows)
        if len(rows) and messages.max() >= form.alphabet_size:
            raise DecodeError(
                f"payloads must hold numbers below {form.alphabet_size}, got {messages.max()}: "
                "validate them first"
            )
        if form.alphabet_size <= min(_MOST_MESSAGES, len(rows) * form.subset_size // 3):
            return _by_message(messages, form)
        counts = np.zeros(form.modulus, dtype=np.int64)
        for start in range(0, len(rows), _SLICE_ROWS):
            counts += _by_code(messages[start : start + _SLICE_ROWS], form)
        return counts

    def message_law(self) -> TwoLevelLaw | None:
        """The law of messages if a report has one code: then codes are counted like messages."""
        one = self._first_round.subset_size == 1
        return one_code_law(self.mechanism, self.mechanism.tally_size) if one else None

    def supports(self, tallies: Counts) -> Counts:
        return tallies[..., : self.mechanism.domain_size]

    def code_supports(self, tallies: Counts) -> Counts:
        """Return supports of all K codes; those from `domain_size` on have no label."""
        return tallies

    def held_blocks(self, rows: Numbers) -> Iterator[Numbers]:
        """Yield Σ of the weights of each message's codes, for some multipliers at a time."""
        form, count = self._first_round, len(rows)
        for _, arcs in _blocks(rows, form):
            yield arcs.reshape(count, -1)

    def squares(self, rows: Numbers) -> tuple[Numbers, Numbers]:
        """Return Σ of their squares over all messages, and over those that support each code."""
        form, count = self._first_round, len(rows)
        codes, size = form.modulus, form.subset_size
        total = np.zeros(count, dtype=rows.dtype)
        supporting = np.zeros((count, codes), dtype=rows.dtype)
        for multipliers, arcs in _blocks(rows, form):
            squares = arcs**2
            total += squares.reshape(count, -1).sum(axis=1)
            up_to = interval_sums(squares, size).reshape(count, -1)
            first = (multipliers[:, None] * np.arange(codes) - (size - 1)) % codes
            first += codes * np.arange(len(multipliers))[:, None]
            supporting += up_to.take(first, axis=1).sum(axis=1)
        return total, supporting  # pyright: ignore[reportReturnType]  # numpy's result loses the type variable

    def sample_tally(self, values: Counts, people: Counts, draws: Generator) -> Counts:
        """Draw each sender's message and count it like a real one."""
        form = self._first_round
        k, w = form.modulus, form.subset_size
        messages = [np.zeros((0, form.payload_size), dtype=np.uint8)]
        for truth in senders(values, people):
            before = draws.integers(0, form.multipliers, len(truth))
            inside = draws.random(len(truth)) < float(self.mechanism.p)
            rank = np.where(
                inside, draws.integers(0, w, len(truth)), draws.integers(w, k, len(truth))
            )
            messages.append(_payloads(before * k + (rank - (before + 1) * truth) % k, form))
        return self.tally(np.concatenate(messages))

    def checked(self, tally: Counts, n: int) -> tuple[Counts, int]:
        counts, reports = checked_tally(tally, n, self.mechanism.tally_size)
        if counts.sum() != reports * self._first_round.subset_size:
            raise ParameterError(
                f"tally must add up to {self._first_round.subset_size} codes in each of "
                f"n = {reports} reports, got {counts.sum()}"
            )
        return counts, reports


def _payloads(messages: Counts, form: AffineResponse) -> Payloads:
    """Return each message, big-endian."""
    wide = messages.astype(">u8").view(np.uint8).reshape(len(messages), 8)
    return wide[:, 8 - form.payload_size :]


def _blocks(rows: Numbers, form: AffineResponse) -> Iterator[tuple[Counts, Numbers]]:
    """Yield some multipliers c at a time, and the sums of w neighbours among c·v mod K.

    A message (c, b) is the window of w neighbours from −b on.
    """
    codes, count = form.modulus, len(rows)
    unused = np.zeros((count, codes - rows.shape[1]), dtype=rows.dtype)
    padded = np.concatenate([rows, unused], axis=1)
    step = max(1, _IN_CACHE // padded.size)
    for first in range(1, form.multipliers + 1, step):
        multipliers = np.arange(first, min(first + step, form.multipliers + 1))
        there = _inverses(codes)[multipliers][:, None] * np.arange(codes) % codes
        around: Numbers = padded.take(there, axis=1).reshape(-1, codes)  # pyright: ignore[reportAssignmentType]  # numpy's result loses the type variable
        yield multipliers, interval_sums(around, form.subset_size)


def _messages(rows: Payloads) -> Counts:
    """Return each row as one big-endian integer."""
    messages = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        messages = messages << 8 | column
    return messages


def _by_code(messages: Counts, form: AffineResponse) -> Counts:
    """Return supports, by the codes of every report."""
    k = form.modulus
    before, shift = np.divmod(messages, k)
    step = _inverses(k)[before + 1]
    code = step * (k - shift) % k
    counts = np.zeros(k, dtype=np.int64)
    for _ in range(form.subset_size):
        counts += np.bincount(code, minlength=k)
        code += step
        np.subtract(code, k, out=code, where=code >= k)
    return counts


def _by_message(messages: Counts, form: AffineResponse) -> Counts:
    """Return supports, by counting every message and summing w neighbours of each b.

    Code v of c is supported by b = −cv … −cv + w − 1 mod K.
    """
    k, w = form.modulus, form.subset_size
    seen = np.bincount(messages, minlength=form.alphabet_size).reshape(form.multipliers, k)
    counts = np.zeros(k, dtype=np.int64)
    height = max(1, _AT_ONCE // k)
    for first in range(0, form.multipliers, height):
        block = seen[first : first + height]
        windows = interval_sums(block, w)
        multipliers = np.arange(first + 1, first + 1 + len(block))[:, None]
        counts += np.take_along_axis(windows, -multipliers * np.arange(k) % k, axis=1).sum(axis=0)
    return counts


@lru_cache(maxsize=8)
def _inverses(modulus: int) -> npt.NDArray[np.int64]:
    """Return c⁻¹ mod the prime for c = 0 … (K − 1)/2 (0 for 0), as c^(K − 2) by squaring."""
    base = np.arange(modulus // 2 + 1, dtype=np.int64)
    inverse, exponent = np.ones_like(base), modulus - 2
    while exponent:
        if exponent & 1:
            inverse = inverse * base % modulus
        base = base * base % modulus
        exponent >>= 1
    inverse[0] = 0
    inverse.flags.writeable = False
    return inverse


def interval_sums(rows: Numbers, width: int) -> Numbers:
    """Return Σ of `width` neighbours from each place on: [rows, K] of [rows, K], 1 ≤ width ≤ K."""
    sums = np.zeros((len(rows), rows.shape[1] + width), dtype=rows.dtype)
    np.cumsum(np.concatenate([rows, rows[:, : width - 1]], axis=1), axis=1, out=sums[:, 1:])
    arcs: Numbers = sums[:, width:] - sums[:, :-width]  # pyright: ignore[reportAssignmentType]  # numpy's result loses the type variable
    return arcs
