"""Estimators: the numpy half of every mechanism, one file each, by the mechanism's id."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from deniable_estimators.inference.protocols import Estimator, checked_repeat
from deniable_estimators.mechanisms.affine import AffineEstimator
from deniable_estimators.mechanisms.cms import CountMeanSketchEstimator
from deniable_estimators.mechanisms.cyclic import CyclicEstimator
from deniable_estimators.mechanisms.dbitflip import BucketFlipsEstimator
from deniable_estimators.mechanisms.discrete_piecewise import PiecewiseMeanEstimator
from deniable_estimators.mechanisms.duchi import OneBitMeanEstimator
from deniable_estimators.mechanisms.fourier import FourierEstimator
from deniable_estimators.mechanisms.grr import GeneralizedEstimator
from deniable_estimators.mechanisms.haar import HaarEstimator
from deniable_estimators.mechanisms.hadamard import HadamardEstimator
from deniable_estimators.mechanisms.hcms import HadamardSketchEstimator
from deniable_estimators.mechanisms.loloha import LocalHashingEstimator
from deniable_estimators.mechanisms.optimal_mean import OptimalMeanEstimator
from deniable_estimators.mechanisms.oue import OptimizedUnaryEstimator
from deniable_estimators.mechanisms.pairs import PairsEstimator
from deniable_estimators.mechanisms.prefix_hash import PrefixHashEstimator
from deniable_estimators.mechanisms.projective import ProjectiveEstimator
from deniable_estimators.mechanisms.rappor import RapporEstimator
from deniable_estimators.mechanisms.rr import BitwiseEstimator
from deniable_estimators.mechanisms.rr_sampled import SampledEstimator
from deniable_estimators.mechanisms.square_wave import SquareWaveEstimator
from deniable_estimators.mechanisms.subset import SubsetEstimator
from deniable_estimators.mechanisms.sue import SymmetricUnaryEstimator
from deniable_estimators.mechanisms.tree import TreeEstimator
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable_shared.mechanisms.protocols import Mechanism

__all__ = ["estimator_for", "mechanism_ids"]

_ESTIMATORS: Mapping[str, Callable[[Mechanism, str], Estimator]] = MappingProxyType(  # pyright: ignore[reportAssignmentType]  # mypy sees an Estimator in each
    {
        "affine/1": AffineEstimator,
        "cms/1": CountMeanSketchEstimator,
        "cyclic/1": CyclicEstimator,
        "dbitflip/1": BucketFlipsEstimator,
        "discrete-piecewise/1": PiecewiseMeanEstimator,
        "duchi/1": OneBitMeanEstimator,
        "fourier/1": FourierEstimator,
        "grr/1": GeneralizedEstimator,
        "haar/1": HaarEstimator,
        "hadamard/1": HadamardEstimator,
        "hcms/1": HadamardSketchEstimator,
        "loloha/1": LocalHashingEstimator,
        "optimal-mean/1": OptimalMeanEstimator,
        "oue/1": OptimizedUnaryEstimator,
        "prefix-hash/1": PrefixHashEstimator,
        "pairs/1": PairsEstimator,
        "projective/1": ProjectiveEstimator,
        "rappor/1": RapporEstimator,
        "rr-sampled/1": SampledEstimator,
        "rr/1": BitwiseEstimator,
        "square-wave/1": SquareWaveEstimator,
        "subset/1": SubsetEstimator,
        "sue/1": SymmetricUnaryEstimator,
        "tree/1": TreeEstimator,
    }
)


def mechanism_ids() -> tuple[str, ...]:
    """Return the ids of the mechanisms with an estimator, sorted."""
    return tuple(sorted(_ESTIMATORS))


def estimator_for(mechanism: Mechanism, repeat: str | None = None) -> Estimator:
    """Return the estimator that debiases with this mechanism's own p and q.

    `repeat` is that of the collection: "once", "fresh" or "memoized". By default it is "memoized"
    for a chain, else "once". Raises ParameterError for a mechanism that does not fit it, and for an
    unknown one.
    """
    if mechanism.id not in _ESTIMATORS:
        raise ParameterError(f"mechanism must be one of {mechanism_ids()}, got {mechanism.id!r}")
    return _ESTIMATORS[mechanism.id](mechanism, checked_repeat(mechanism, repeat))
