"""The likeliest frequencies, where the tally is the histogram of the messages themselves.

M[y, v] = out + (in − out)·1[v ∈ S(y)]: two levels, so that Mx and Mᵀs are sums over supports, taken
as `supports` takes them: as they are (grr), by Fourier (cyclic, projective) or by Walsh–Hadamard
transform (hadamard), or digit by digit (loloha). Other tallies hold supports; which message
supported what is gone, and with it the likelihood, unless a report supports one code alone (subset
and affine of w = 1). The maximum is that of reports of independent devices. Source: local-dp §14.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from deniable_aggregator.estimate.channel import Counts, Floats
from deniable_aggregator.estimate.correlation import spectrum_of
from deniable_aggregator.estimate.digit_sums import cells_of_values, supports_of_codes
from deniable_aggregator.estimate.likelihood import Fit, fit
from deniable_aggregator.estimate.reports import first_round
from deniable_aggregator.estimate.turns import circle
from deniable_aggregator.estimate.walsh import walsh
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.affine import AffineResponse
from deniable_shared.mechanisms.contract import Mechanism
from deniable_shared.mechanisms.cyclic import CyclicResponse
from deniable_shared.mechanisms.loloha import LocalHashing
from deniable_shared.mechanisms.projective import ProjectiveResponse
from deniable_shared.mechanisms.subset import SubsetResponse

__all__ = ["LIKELIHOODS", "TwoLevels", "law_of_messages", "likeliest"]

_TOLERANCE = 0.02  # standard errors of the gradient: a few nats, in twice the steps of half of one
_Sums = Callable[[Floats], Floats]


def likeliest(mechanism: Mechanism, tally: Counts) -> Fit:
    """Maximum likelihood over distributions of the labels, and how far it may be from the best.

    ParameterError for a mechanism whose tally is not of messages, and for an empty tally.
    """
    return fit(law_of_messages(mechanism), tally, tolerance=_TOLERANCE)


@dataclass(frozen=True, slots=True)
class TwoLevels:
    """Pr[y | v] is `inside` if y supports v, else `outside`.

    `supporters`: Σ of x over the values that a message supports, for each message; `supporting`: Σ
    of s over the messages that support a value, for each value, of one vector s or of many.
    """

    values: int
    inside: float
    outside: float
    supporters: _Sums
    supporting: _Sums

    def messages(self, distribution: Floats) -> Floats:
        """Mx."""
        more = (self.inside - self.outside) * self.supporters(distribution)
        shares: Floats = self.outside * distribution.sum() + more
        return shares

    def back(self, scores: Floats) -> Floats:
        """Mᵀs."""
        return self._back(scores, self.inside, self.outside)

    def back_squares(self, scores: Floats) -> Floats:
        """(M ∘ M)ᵀs."""
        return self._back(scores, self.inside**2, self.outside**2)

    def _back(self, scores: Floats, inside: float, outside: float) -> Floats:
        every = scores.sum(axis=-1, keepdims=True)
        sums: Floats = outside * every + (inside - outside) * self.supporting(scores)
        return sums


def law_of_messages(mechanism: Mechanism) -> TwoLevels:
    """M of one report; ParameterError for a mechanism whose tally does not hold messages."""
    form = first_round(mechanism)
    if isinstance(form, SubsetResponse | AffineResponse) and form.subset_size == 1:
        return _one_code(form, float(mechanism.p))
    if mechanism.id not in LIKELIHOODS:
        raise ParameterError(
            f'projection must not be "mle" for {mechanism.id}: its tally holds how many reports '
            "support each label, and which of them came together in one report decides the "
            f"likelihood; {', '.join(LIKELIHOODS)} have one"
        )
    return LIKELIHOODS[mechanism.id](form, float(mechanism.p))


def _levels(p: float, supporting: int, messages: int) -> tuple[float, float]:
    return p / supporting, (1 - p) / (messages - supporting)


def _grr(form: Any, p: float) -> TwoLevels:
    return TwoLevels(form.domain_size, *_levels(p, 1, form.domain_size), np.copy, np.copy)


def _one_code(form: SubsetResponse | AffineResponse, p: float) -> TwoLevels:
    """Sets of one code: the counts of codes say all that a message says of its sender."""
    d, codes = form.domain_size, form.tally_size

    def forward(x: Floats) -> Floats:
        return np.concatenate([x, np.zeros(codes - d)])

    def backward(scores: Floats) -> Floats:
        return np.array(scores[..., :d])

    return TwoLevels(d, *_levels(p, 1, codes), forward, backward)


def _cyclic(form: CyclicResponse, p: float) -> TwoLevels:
    spectrum, length = spectrum_of(form.field_order, form.dimension)
    d, k = form.domain_size, form.symbols

    def forward(x: Floats) -> Floats:
        padded = np.fft.irfft(np.fft.rfft(x, length) * np.conj(spectrum), length)
        around: Floats = padded[:k] + padded[k : 2 * k]
        return around

    def backward(scores: Floats) -> Floats:
        twice = np.fft.rfft(np.concatenate([scores, scores], axis=-1), length)
        sums: Floats = np.fft.irfft(twice * spectrum, length)[..., :d]
        return sums

    return TwoLevels(d, *_levels(p, form.favoured, k), forward, backward)


def _projective(form: ProjectiveResponse, p: float) -> TwoLevels:
    """Points and values turn by turn round the circle of `cyclic/1`: see the estimator."""
    spectrum, length = spectrum_of(form.field_order, form.dimension)
    point, value = circle(form.field_order, form.dimension)
    d, k = form.domain_size, form.symbols

    def around(numbers: Floats) -> Floats:
        """Of turn i the Σ over the turns that D is away from −i."""
        twice = np.fft.rfft(np.concatenate([numbers, numbers], axis=-1), length)
        sums: Floats = np.fft.irfft(twice * spectrum, length)[..., -np.arange(k) % k]
        return sums

    def forward(x: Floats) -> Floats:
        sums = np.empty(k)
        sums[point] = around(np.concatenate([x, np.zeros(k - d)])[value])
        return sums

    def backward(scores: Floats) -> Floats:
        sums = np.empty(scores.shape)
        sums[..., value] = around(scores[..., point])
        return sums[..., :d]

    return TwoLevels(d, *_levels(p, form.favoured, k), forward, backward)


def _hadamard(form: Any, p: float) -> TwoLevels:
    d, k = form.domain_size, form.codes

    def forward(x: Floats) -> Floats:
        signs = walsh(np.concatenate([x, np.zeros(k - d)]))[1:]
        sums: Floats = (x.sum() + np.stack([signs, -signs], axis=1).reshape(-1)) / 2
        return sums

    def backward(scores: Floats) -> Floats:
        signed = np.zeros((*scores.shape[:-1], k))
        signed[..., 1:] = scores[..., 0::2] - scores[..., 1::2]
        every = scores.sum(axis=-1, keepdims=True)
        sums: Floats = (every + walsh(signed)[..., :d]) / 2
        return sums

    return TwoLevels(d, *_levels(p, k - 1, 2 * (k - 1)), forward, backward)


def _loloha(form: LocalHashing, p: float) -> TwoLevels:
    d, family = form.domain_size, (form.field_order, form.dimension)

    def forward(x: Floats) -> Floats:
        return cells_of_values(np.concatenate([x, np.zeros(form.codes - d)]), *family)

    def backward(scores: Floats) -> Floats:
        return supports_of_codes(scores, *family)[:d]

    return TwoLevels(d, *_levels(p, form.public_choices, form.tally_size), forward, backward)


LIKELIHOODS: Mapping[str, Callable[[Any, float], TwoLevels]] = MappingProxyType(
    {
        "cyclic/1": _cyclic,
        "grr/1": _grr,
        "hadamard/1": _hadamard,
        "loloha/1": _loloha,
        "projective/1": _projective,
    }
)
