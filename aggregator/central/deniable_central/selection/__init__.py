"""Selection: release one or k candidates of high score, and nothing else about the scores.

    exponential        for composition, with weights and a poisoning radius
    permute_and_flip   for one release under pure ε: never worse
    noisy_max          noise on every score, the index of the largest
    top_k              k candidates

Each function is one release. The classes are the same mechanisms without scores: `guarantee` is the
cost, `release(scores)` the draw, `pmf(scores)` the certified law.
"""

from __future__ import annotations

from deniable_central.scores import GridScores, Scores, on_grid
from deniable_central.selection.accuracy import (
    epsilon_for,
    mean_shortfall,
    mean_shortfall_by_measure,
    shortfall,
    tail_by_measure,
)
from deniable_central.selection.exponential import BaseMeasure, Exponential, exponential
from deniable_central.selection.noisy_max import NoiseDistribution, NoisyMax, noisy_max
from deniable_central.selection.permute_and_flip import PermuteAndFlip, permute_and_flip
from deniable_central.selection.privacy_parameters import (
    PrivacyParameters,
    privacy_parameters,
)
from deniable_central.selection.top_k import TopK, top_k

__all__ = [
    "BaseMeasure",
    "Exponential",
    "GridScores",
    "NoiseDistribution",
    "NoisyMax",
    "PermuteAndFlip",
    "PrivacyParameters",
    "Scores",
    "TopK",
    "epsilon_for",
    "exponential",
    "mean_shortfall",
    "mean_shortfall_by_measure",
    "noisy_max",
    "on_grid",
    "permute_and_flip",
    "privacy_parameters",
    "shortfall",
    "tail_by_measure",
    "top_k",
]
