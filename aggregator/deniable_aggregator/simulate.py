"""Tallies of whole populations in seconds: for planning and for tests, never for privacy.

Draws come from numpy's generator, which whoever has seen enough of it can predict, and
probabilities are floats. Devices use `Mechanism.randomize`, with a keyed stream and integers;
nothing here is ever sent. What is the same is the law of the tally, for any registered mechanism,
plain or one report of a chain, because all of them are one of these:

    bits           each bit is told by itself: binomial counts of ones    rr/1, sue/1, oue/1
    a message      supports the true label with p, each such one as likely, else each other:
                   multinomial over the messages      any of labels whose tally counts messages
    many messages  the same, told sender by sender     cyclic/1, projective/1, subset/1, affine/1,
                                                       hadamard/1, haar/1, loloha/1, fourier/1,
                                                       prefix-hash/1 (`simulated_texts`)
    some buckets   each with a coin of its own         dbitflip/1
    one of several each gets its share of the people, and is one of the above    pairs/1, tree/1
    a few          drawn from the exact `pmf` of each value               all others

A mechanism that is registered later needs no line here unless it is to be fast.
Source: local-dp §3, §5, §19; a uniform set by Floyd's way, as in `subset/1`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import cast

import numpy as np
import numpy.typing as npt

from deniable_aggregator import estimators
from deniable_aggregator.estimate.channel import Counts, Floats
from deniable_aggregator.estimate.digit_sums import hashed
from deniable_aggregator.estimate.turns import circle
from deniable_aggregator.estimators.prefix_hash import PrefixHashEstimator, sums
from deniable_shared.chains import Renewed
from deniable_shared.difference_sets import difference_set
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.affine import AffineResponse
from deniable_shared.mechanisms.contract import Mechanism, Renewable
from deniable_shared.mechanisms.cyclic import CyclicResponse
from deniable_shared.mechanisms.dbitflip import BucketFlips
from deniable_shared.mechanisms.fourier import FourierMarginals
from deniable_shared.mechanisms.geometric import GeometricResponse
from deniable_shared.mechanisms.grr import GeneralizedResponse
from deniable_shared.mechanisms.haar import HaarResponse
from deniable_shared.mechanisms.hadamard import HadamardResponse
from deniable_shared.mechanisms.loloha import LocalHashing
from deniable_shared.mechanisms.one_of_choices import OneOfChoices
from deniable_shared.mechanisms.oue import OptimizedUnary
from deniable_shared.mechanisms.pairs import SampledPairs
from deniable_shared.mechanisms.prefix_hash import PrefixHash
from deniable_shared.mechanisms.projective import ProjectiveResponse
from deniable_shared.mechanisms.rr import BitwiseResponse
from deniable_shared.mechanisms.subset import SubsetResponse
from deniable_shared.mechanisms.sue import SymmetricUnary
from deniable_shared.mechanisms.tree import TreeResponse

__all__ = ["generator", "simulated_tally", "simulated_texts"]

Generator = np.random.Generator  # noqa: TID251  # planning and tests: nothing drawn here is sent
Kernel = Callable[[Mechanism, Counts, Counts, Generator], Counts]

_AT_ONCE = 1 << 18


def generator(seed: int | None = None) -> Generator:
    """The generator of simulations: from the system's entropy, or repeatable with a seed."""
    return np.random.default_rng(seed)  # noqa: TID251  # planning and tests: nothing is sent


def simulated_tally(
    mechanism: Mechanism,
    values: npt.ArrayLike,
    people: npt.ArrayLike,
    *,
    draws: Generator | None = None,
) -> Counts:
    """The tally of one report each of people[i] devices whose answer is values[i].

    `values` are indices, or rows of zeros and ones for a mechanism of bits. ParameterError if they
    do not fit the mechanism, or if it has no law that can be drawn from at this size.
    """
    answers, counts = _checked(mechanism, np.asarray(values), np.asarray(people))
    kernel = _KERNELS.get(type(_form(mechanism)), _by_law)
    return kernel(mechanism, answers, counts, draws or generator())


def simulated_texts(
    mechanism: Mechanism,
    texts: Sequence[bytes],
    people: npt.ArrayLike,
    *,
    draws: Generator | None = None,
) -> Counts:
    """The tally of one report each of people[i] devices with texts[i], told by prefix-hash/1.

    ParameterError for another mechanism, and for texts that it does not encode.
    """
    form, estimator = _form(mechanism), estimators.for_mechanism(mechanism)
    if not isinstance(form, PrefixHash) or not isinstance(estimator, PrefixHashEstimator):
        raise ParameterError(f"mechanism must be {PrefixHash.id}, got {mechanism.id}")
    if not all(1 <= len(text) <= form.domain_size for text in texts):
        raise ParameterError(f"texts must have 1 to {form.domain_size} bytes each")
    chosen = draws or generator()
    counts = np.asarray(people)
    if counts.shape != (len(texts),) or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise ParameterError(f"people must be {len(texts)} integers of at least 0")
    codes = np.concatenate([estimator.codes(group, texts)[:, 0] for group in range(form.groups)])
    tally = np.zeros(form.tally_size, dtype=np.int64)
    for truth in _senders(np.arange(len(texts)), counts):
        position = chosen.integers(0, form.public_choices, len(truth))
        table, point = np.divmod(position, form.points)
        told = sums(form, point, codes[table, truth])
        lies = chosen.random(len(truth)) >= float(mechanism.p)
        told = _told_cells(told, lies, form.base, chosen)
        tally += np.bincount(position * form.base + told, minlength=len(tally))
    return tally


def _checked(mechanism: Mechanism, values: Counts, people: Counts) -> tuple[Counts, Counts]:
    if mechanism.domain_types == {"text"}:
        raise ParameterError(f"values of {mechanism.id} are texts: use simulated_texts")
    width = 2 if mechanism.domain_types == {"bits"} else 1
    if values.ndim != width or people.shape != values.shape[:1]:
        raise ParameterError(
            f"values must be {'rows of bits' if width == 2 else 'indices'} and people one number "
            f"for each, got shapes {values.shape} and {people.shape}"
        )
    if values.dtype.kind not in "iub" or people.dtype.kind not in "iu":
        raise ParameterError("values and people must be integers")
    largest = 1 if width == 2 else mechanism.domain_size - 1
    if values.size and not 0 <= values.min() <= values.max() <= largest:
        raise ParameterError(f"values must lie in [0, {largest}]")
    if width == 2 and values.shape[1] != mechanism.domain_size:
        raise ParameterError(f"values must have {mechanism.domain_size} bits a row")
    if people.size and people.min() < 0:
        raise ParameterError("people must be at least 0 for each value")
    some = people > 0
    return values[some].astype(np.int64), people[some].astype(np.int64)


def _form(mechanism: Mechanism) -> Renewable:
    """The mechanism whose payload a report has."""
    return mechanism.first if isinstance(mechanism, Renewed) else cast(Renewable, mechanism)


def _bits(mechanism: Mechanism, values: Counts, people: Counts, draws: Generator) -> Counts:
    """Each bit told by itself: how many of those with a one tell it, and of those without."""
    d, n = mechanism.domain_size, people.sum()
    ones = values.T @ people if values.ndim == 2 else _histogram(values, people, d)
    true = draws.binomial(ones, float(mechanism.p))
    return np.asarray(true + draws.binomial(n - ones, float(mechanism.q)))


def _one_label(mechanism: Mechanism, values: Counts, people: Counts, draws: Generator) -> Counts:
    """grr/1: kept with p − q, else any label, the true one among them."""
    d = mechanism.domain_size
    kept = draws.binomial(people, float(mechanism.p - mechanism.q))
    others = draws.multinomial(int(people.sum() - kept.sum()), np.full(d, 1 / d))
    return np.asarray(_histogram(values, kept, d) + others)


def _coefficients(mechanism: Mechanism, values: Counts, people: Counts, draws: Generator) -> Counts:
    """hadamard/1: a coefficient each, and its parity told with p."""
    coefficients = _form(mechanism).public_choices
    tally = np.zeros(mechanism.tally_size, dtype=np.int64)
    for truth in _senders(values, people):
        asked = draws.integers(1, coefficients + 1, len(truth))
        told = np.bitwise_count(asked & truth) & 1
        told ^= draws.random(len(truth)) >= float(mechanism.p)
        tally += np.bincount(2 * (asked - 1) + told, minlength=len(tally))
    return tally


def _contrasts(mechanism: Mechanism, values: Counts, people: Counts, draws: Generator) -> Counts:
    """haar/1: a level, one of its coefficients, and its parity told with p."""
    form = cast(HaarResponse, _form(mechanism))
    tally = np.zeros(mechanism.tally_size, dtype=np.int64)
    for truth in _senders(values, people):
        level = draws.integers(0, form.levels, len(truth))
        asked = draws.integers(0, 1 << level)
        told = np.bitwise_count((2 * asked + 1) & truth >> (form.levels - 1 - level)) & 1
        told ^= draws.random(len(truth)) >= float(mechanism.p)
        place = (1 << level) - 1 + asked
        tally += np.bincount(2 * place + told, minlength=len(tally))
    return tally


def _one_of(mechanism: Mechanism, values: Counts, people: Counts, draws: Generator) -> Counts:
    """pairs/1, tree/1: each choice is told by those who tossed it."""
    form = cast(OneOfChoices, _form(mechanism))
    kept = float(mechanism.kept) if isinstance(mechanism, Renewed) else 1.0
    choices = len(form.choices)
    told = draws.multinomial(people, np.full(choices, 1 / choices))
    parts = [np.asarray(told.sum(axis=0), dtype=np.int64)]
    for place, choice in enumerate(form.choices):
        codes = np.array([form.code(value, place) for value in values.tolist()], dtype=np.int64)
        p = kept * float(choice.p) + (1 - kept) * choice.subset_size / choice.domain_size
        parts.append(_sets_of(choice, p, codes, told[:, place], draws))
    return np.concatenate(parts)


def _parities(mechanism: Mechanism, values: Counts, people: Counts, draws: Generator) -> Counts:
    """fourier/1: a set of attributes each, and the parity of its second labels told with p."""
    form = cast(FourierMarginals, _form(mechanism))
    last = form.attributes - 1
    sets = (some for k in range(1, form.ways + 1) for some in combinations(range(last + 1), k))
    masks = np.array([sum(1 << (last - each) for each in some) for some in sets], dtype=np.uint64)
    tally = np.zeros(mechanism.tally_size, dtype=np.int64)
    for truth in _senders(values, people):
        place = draws.integers(0, len(masks), len(truth))
        told = np.bitwise_count(masks[place] & truth.view(np.uint64)) & 1
        told ^= draws.random(len(truth)) >= float(mechanism.p)
        tally += np.bincount(2 * place + told, minlength=len(tally))
    return tally


def _distances(mechanism: Mechanism, values: Counts, people: Counts, draws: Generator) -> Counts:
    """cyclic/1: a distance each, in the difference set or not."""
    form = cast(GeometricResponse, _form(mechanism))
    k, w = form.symbols, form.favoured
    members = np.array(difference_set(form.field_order, form.dimension), dtype=np.int64)
    others = np.setdiff1d(np.arange(k), members)
    tally = np.zeros(k, dtype=np.int64)
    for truth in _senders(values, people):
        near = members[draws.integers(0, w, len(truth))]
        far = others[draws.integers(0, k - w, len(truth))]
        inside = draws.random(len(truth)) < float(mechanism.p)
        tally += np.bincount((truth + np.where(inside, near, far)) % k, minlength=k)
    return tally


def _turns(mechanism: Mechanism, values: Counts, people: Counts, draws: Generator) -> Counts:
    """projective/1: the same on its circle, where a value of turn l is supported from −l on."""
    form = cast(GeometricResponse, _form(mechanism))
    point, value = circle(form.field_order, form.dimension)
    turn, tally = np.empty_like(value), np.empty_like(point)
    turn[value] = np.arange(form.symbols)
    tally[point] = _distances(mechanism, -turn[values] % form.symbols, people, draws)
    return tally


def _hashes(mechanism: Mechanism, values: Counts, people: Counts, draws: Generator) -> Counts:
    """loloha/1: a function each, and its cell told with p."""
    form = cast(LocalHashing, _form(mechanism))
    g, tally = form.field_order, np.zeros(form.tally_size, dtype=np.int64)
    for truth in _senders(values, people):
        functions = draws.integers(0, form.public_choices, len(truth))
        cells = hashed(functions, truth, g, form.dimension)
        lies = draws.random(len(truth)) >= float(mechanism.p)
        cells = _told_cells(cells, lies, g, draws)
        tally += np.bincount(functions * g + cells, minlength=len(tally))
    return tally


def _told_cells(cells: Counts, lies: npt.NDArray[np.bool_], g: int, draws: Generator) -> Counts:
    """Any other cell where one is not told."""
    others = draws.integers(0, g - 1, len(cells))
    return np.where(lies, others + (others >= cells), cells)


def _buckets(mechanism: Mechanism, values: Counts, people: Counts, draws: Generator) -> Counts:
    """dbitflip/1: t places each, by Floyd's way; a bucket of theirs is told with p, else q."""
    form = cast(BucketFlips, _form(mechanism))
    d, t = form.domain_size, form.sampled
    tally = np.zeros(2 * d, dtype=np.int64)
    for truth in _senders(values, people, width=d):
        rows, chosen = np.arange(len(truth)), np.zeros((len(truth), d), dtype=bool)
        for last in range(d - t, d):
            item = draws.integers(0, last + 1, len(truth))
            chosen[rows, np.where(chosen[rows, item], last, item)] = True
        told = chosen.sum(axis=0)
        own = _histogram(truth, chosen[rows, truth].astype(np.int64), d)
        ones = draws.binomial(own, float(mechanism.p))
        ones += draws.binomial(told - own, float(mechanism.q))
        tally += np.concatenate([told, ones])
    return tally


def _thresholds(mechanism: Mechanism, values: Counts, people: Counts, draws: Generator) -> Counts:
    """affine/1: the estimator counts what each sender says."""
    form = cast(AffineResponse, _form(mechanism))
    k, w = form.modulus, form.subset_size
    messages = [np.zeros((0, form.payload_size), dtype=np.uint8)]
    for truth in _senders(values, people):
        before = draws.integers(0, form.multipliers, len(truth))
        inside = draws.random(len(truth)) < float(mechanism.p)
        rank = np.where(inside, draws.integers(0, w, len(truth)), draws.integers(w, k, len(truth)))
        messages.append(_payloads(before * k + (rank - (before + 1) * truth) % k, form))
    return estimators.for_mechanism(form).tally(np.concatenate(messages))


def _sets(mechanism: Mechanism, values: Counts, people: Counts, draws: Generator) -> Counts:
    """subset/1: a set each."""
    form = cast(SubsetResponse, _form(mechanism))
    return _sets_of(form, float(mechanism.p), values, people, draws)


def _sets_of(
    form: SubsetResponse, p: float, values: Counts, people: Counts, draws: Generator
) -> Counts:
    """By Floyd's way among the others; then they change places."""
    d, w = form.domain_size, form.subset_size
    tally = np.zeros(d, dtype=np.int64)
    for truth in _senders(values, people, width=d):
        inside = draws.random(len(truth)) < p
        chosen = np.zeros((len(truth), d), dtype=bool)
        rows, others = np.arange(len(truth)), d - 1
        first = draws.integers(0, others - w + 1, len(truth))
        chosen[rows, np.where(inside, others, first)] = True
        for last in range(others - w + 1, others):
            item = draws.integers(0, last + 1, len(truth))
            chosen[rows, np.where(chosen[rows, item], last, item)] = True
        moved = chosen[rows, truth].copy()
        chosen[rows, truth] = chosen[rows, others]
        chosen[rows, others] = moved
        tally += chosen.sum(axis=0)
    return tally


def _by_law(mechanism: Mechanism, values: Counts, people: Counts, draws: Generator) -> Counts:
    """From p over the messages that support a value, where a tally counts messages; else pmf."""
    form = _form(mechanism)
    counted = form.places == 1 and form.tally_size == form.symbols
    law = _message_law if counted and "choice" in form.domain_types else _pmf_law
    tally = np.zeros(mechanism.tally_size, dtype=np.int64)
    for value, count in zip(values.tolist(), people.tolist(), strict=True):
        chances, tallies = law(mechanism, value)
        drawn = draws.multinomial(count, chances / chances.sum())
        tally += drawn if tallies is None else drawn @ tallies
    return tally


def _message_law(mechanism: Mechanism, value: int) -> tuple[Floats, None]:
    """The chance of each message, which is its own place in the tally."""
    form = _form(mechanism)
    size = mechanism.payload_size
    favoured = np.array(
        [form.supports(each.to_bytes(size, "big"), value) for each in range(form.symbols)]
    )
    inside, outside = float(mechanism.p), float(1 - mechanism.p)
    few = form.favoured
    return np.where(favoured, inside / few, outside / (form.symbols - few)), None


def _pmf_law(mechanism: Mechanism, value: int | list[int]) -> tuple[Floats, Counts]:
    """The chance of each payload, and what it adds to the tally."""
    law = mechanism.pmf(value)
    rows = np.frombuffer(b"".join(law), dtype=np.uint8).reshape(len(law), 1, -1)
    estimator = estimators.for_mechanism(mechanism)
    tallies = np.array([estimator.tally(row) for row in rows])
    return np.array([float(chance) for chance in law.values()]), tallies


def _senders(values: Counts, people: Counts, *, width: int = 1) -> Iterator[Counts]:
    """Every person's value, as many at once as have room."""
    ends, at_once = np.cumsum(people), max(1, (64 if width > 1 else 1) * _AT_ONCE // width)
    for start in range(0, int(people.sum()), at_once):
        places = np.arange(start, min(start + at_once, int(ends[-1])))
        yield values[np.searchsorted(ends, places, side="right")]


def _histogram(values: Counts, people: Counts, size: int) -> Counts:
    counts = np.zeros(size, dtype=np.int64)
    np.add.at(counts, values, people)
    return counts


def _payloads(messages: Counts, form: Renewable) -> npt.NDArray[np.uint8]:
    """Each message, big-endian."""
    wide = messages.astype(">u8").view(np.uint8).reshape(len(messages), 8)
    return wide[:, 8 - form.payload_size :]


_KERNELS: Mapping[type, Kernel] = MappingProxyType(
    {
        AffineResponse: _thresholds,
        BucketFlips: _buckets,
        FourierMarginals: _parities,
        CyclicResponse: _distances,
        ProjectiveResponse: _turns,
        BitwiseResponse: _bits,
        GeneralizedResponse: _one_label,
        HaarResponse: _contrasts,
        HadamardResponse: _coefficients,
        LocalHashing: _hashes,
        SampledPairs: _one_of,
        SubsetResponse: _sets,
        OptimizedUnary: _bits,
        SymmetricUnary: _bits,
        TreeResponse: _one_of,
    }
)
