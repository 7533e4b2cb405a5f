"""Draws this folder's SVGs.

Run it as uv run --group figures python aggregator/central/docs/plots.py.
Every figure is a function of exact laws or of derived coins, so drawing again changes nothing. Text
stays text, there is no background, and the colours can be read on white and on black.
"""

from __future__ import annotations

from contextlib import contextmanager
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable_central import (
    accounting,
    auctions,
    queries,
    reconstruction,
    selection,
    stability,
)
from deniable_central.samplers.noise import two_sided_geometric
from deniable_shared.randomness.coins import Coins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

matplotlib: Any = import_module("matplotlib")
matplotlib.use("svg")
plt: Any = import_module("matplotlib.pyplot")

Floats = npt.NDArray[np.float64]
Spread = tuple[float, float, float]  # 5th percentile, middle, 95th percentile

HERE = Path(__file__).parent
INK, BLUE, ORANGE, GREEN = "#7d8790", "#3b8bdb", "#dd7a1c", "#2fa36b"
COLOURS = (BLUE, ORANGE, GREEN)
DELTA = "1e-6"
COUNTS = 400 - 5 * np.arange(16)
VISITS = np.array([8, 13, 19, 22, 16, 10, 7, 5])
BIDS = [499] * 44 + [999] * 26 + [1499] * 12 + [2999] * 5  # cents
REPEATS = 20

STYLE = {
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color", "grid.color"), INK),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "font.family": "sans-serif",
    "font.size": 11,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "deniable",
}


def main() -> None:
    """Write every figure into this folder."""
    plots = (
        plot_selection,
        plot_linear_queries,
        plot_stable_answers,
        plot_reconstruction,
        plot_composition,
        plot_markets,
    )
    for plot in plots:
        plot()


def coins(*labels: object) -> Coins:
    """The same coins for the same point of the same figure."""
    return Coins.derive(b"plots", *(str(label).encode() for label in labels))


@contextmanager
def figure(name: str, *, x: str, y: str) -> Iterator[Any]:
    """Axes to draw on, saved as `name`.svg without a background or a date."""
    with plt.rc_context(STYLE):
        canvas, axes = plt.subplots(figsize=(7, 3.8))
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        yield axes
        axes.legend()
        canvas.tight_layout()
        canvas.savefig(HERE / f"{name}.svg", transparent=True, metadata={"Date": None})
        plt.close(canvas)


def bars(axes: Any, x: Sequence[float], spreads: Sequence[Spread], label: str, place: int) -> None:
    """Points with error bars, joined by a thin line."""
    low, middle, high = (np.array(part) for part in zip(*spreads, strict=True))
    lengths = np.maximum([middle - low, high - middle], 0)
    style = {"color": COLOURS[place], "fmt": "o-", "markersize": 4, "linewidth": 0.9}
    axes.errorbar(x, middle, lengths, capsize=3, label=label, **style)


def of_law(values: Floats, chances: Floats) -> Spread:
    """The mean of a finite law between its 5th and 95th percentile."""
    order = values.argsort()
    reached = chances[order].cumsum()
    low, high = (float(values[order][np.searchsorted(reached, q)]) for q in (0.05, 0.95))
    return low, float(values @ chances), high


def of_draws(values: Sequence[float]) -> Spread:
    """The mean of 20 draws between the second least and the second largest."""
    ordered = sorted(values)
    return ordered[1], float(np.mean(ordered)), ordered[-2]


def plot_selection() -> None:
    """How far the selected count falls short, by the exact law of each mechanism."""
    epsilons = [Fraction(e) for e in ("0.1", "0.2", "0.4", "0.8", "1.6", "3.2")]
    makers: dict[str, Callable[[selection.PrivacyParameters], Any]] = {
        "exponential mechanism": selection.Exponential.of,
        "permute-and-flip": selection.PermuteAndFlip,
        "geometric noisy max": lambda d: selection.NoisyMax(
            d, selection.NoiseDistribution.GEOMETRIC
        ),
    }
    declared = [selection.privacy_parameters(epsilon=e, range_sensitivity=2) for e in epsilons]
    short = (COUNTS.max() - COUNTS).astype(np.float64)
    with figure("selection", x="ε (log scale)", y="answers below the best") as axes:
        for place, (name, make) in enumerate(makers.items()):
            spreads = [of_law(short, make(d).pmf(COUNTS).probabilities) for d in declared]
            offsets = [float(e) * 1.09 ** (place - 1) for e in epsilons]
            bars(axes, offsets, spreads, name, place)
        bound = [selection.shortfall(d, candidates=len(COUNTS), beta=0.05) for d in declared]
        axes.plot([float(e) for e in epsilons], bound, "--", color=INK, label="bound at 95%")
        axes.set_xscale("log", base=2)
        axes.set_xticks([float(e) for e in epsilons], [f"{float(e):g}" for e in epsilons])
        axes.set_ylim(-4, 125)


def plot_linear_queries() -> None:
    """The largest error of all intervals, against the rows there are."""
    sizes = [500, 2_000, 8_000, 32_000, 128_000]
    workload = queries.intervals(len(VISITS))
    truth = workload.values(VISITS / VISITS.sum())

    def noisy(counts: queries.Counts, stream: Coins) -> Floats:
        decay = Fraction(1, workload.queries)
        noise = two_sided_geometric(decay, workload.queries, stream)
        return np.asarray((workload.matrix @ counts.tally + noise) / counts.rows)

    def fitted(counts: queries.Counts, stream: Coins) -> Floats:
        mechanism = queries.Mwem.of(workload, rounds=12, epsilon="1")
        return workload.values(mechanism.release(counts, stream).result.weights)

    def small(counts: queries.Counts, stream: Coins) -> Floats:
        mechanism = queries.SmallDb.of(workload, size=12, epsilon="1")
        return workload.values(mechanism.release(counts, stream).result.weights)

    ways = {"noise on every answer": noisy, "MWEM, 12 rounds": fitted, "SmallDB, 12 rows": small}
    with figure("linear-queries", x="rows (log scale)", y="largest error, as a share") as axes:
        for place, (name, answers) in enumerate(ways.items()):
            spreads = []
            for rows in sizes:
                counts = queries.Counts(VISITS * (rows // 100))
                draws = [answers(counts, coins(name, rows, n)) for n in range(REPEATS)]
                spreads.append(of_draws([float(abs(one - truth).max()) for one in draws]))
            bars(axes, [rows * 1.07 ** (place - 1) for rows in sizes], spreads, name, place)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(sizes, [f"{rows:,}" for rows in sizes])
        axes.minorticks_off()


def plot_stable_answers() -> None:
    """The chance of an answer against its distance: exact lines, and 400 releases a point."""
    times, seen = 400, list(range(0, 61, 5))
    beta: Any = import_module("scipy.stats").beta
    with figure(
        "stable-answers",
        x="rows to change before the answer does",
        y="share of releases that answer",
    ) as axes:
        for place, epsilon in enumerate(("0.3", "0.5", "1")):
            test = stability.StabilityTest.of(epsilon=epsilon, delta=DELTA)
            exact = [float(test.chance(distance)[0]) for distance in range(61)]
            axes.plot(range(61), exact, color=COLOURS[place], linewidth=0.9)
            stream, spreads = coins("stable", epsilon), []
            for distance in seen:
                proposal = stability.Proposal("it", distance)
                hits = sum(test.release(proposal, stream).result is not None for _ in range(times))
                low = beta.ppf(0.025, hits, times - hits + 1) if hits else 0.0
                high = beta.ppf(0.975, hits + 1, times - hits) if hits < times else 1.0
                spreads.append((float(low), hits / times, float(high)))
            lows, points, highs = (np.array(part) for part in zip(*spreads, strict=True))
            lengths, style = [points - lows, highs - points], {"fmt": "o", "markersize": 4}
            label = f"ε = {epsilon}"
            axes.errorbar(
                seen, points, lengths, capsize=3, color=COLOURS[place], label=label, **style
            )


def plot_reconstruction() -> None:
    """Recovered rows against the counts that the attack sees."""
    rows, query_counts = 100, [25, 50, 75, 100, 150, 200, 300, 400]
    names = {
        "exact": "exact",
        "unaccounted": "ε = 1 for each alone",
        "private": "ε = 1 for all together",
    }
    demonstrations = {
        count: [
            reconstruction.demonstrate(rows=rows, queries=count, coins=coins("attack", count, n))
            for n in range(REPEATS)
        ]
        for count in query_counts
    }
    with figure("reconstruction", x="counts of random subsets", y="rows recovered of 100") as axes:
        for place, name in enumerate(names):
            spreads = [
                of_draws([float(each.attempts[place].recovered) for each in demonstrations[count]])
                for count in query_counts
            ]
            bars(axes, [q + 3 * (place - 1) for q in query_counts], spreads, names[name], place)
        most = [
            100 * float(np.mean([each.attempts[2].at_most for each in demonstrations[q]]))
            for q in query_counts
        ]
        axes.plot(query_counts, most, "--", color=INK, label="any attack on the last, at most")
        axes.set_ylim(30, 104)


def plot_composition() -> None:
    """ε of many selections by four rules: certified, so without error bars."""
    numbers = list(range(1, 10)) + list(range(10, 201, 5))
    bounds: dict[str, Callable[[int], Fraction]] = {
        "sum": lambda k: Fraction(k, 5),
        "advanced": lambda k: accounting.advanced_epsilon("0.2", releases=k, delta=DELTA),
        "optimal": lambda k: accounting.optimal_epsilon("0.2", releases=k, delta=DELTA),
        "bounded range": lambda k: accounting.bounded_range_epsilon("0.2", releases=k, delta=DELTA),
    }
    with figure("accounting", x="selections at ε = 0.2 each", y="ε of all, at δ = 1e-6") as axes:
        for colour, (name, bound) in zip((INK, *COLOURS), bounds.items(), strict=True):
            axes.plot(numbers, [float(bound(k)) for k in numbers], color=colour, label=name)
        axes.set_ylim(0, 20)


def plot_markets() -> None:
    """The share of the best revenue that a private price earns, by the exact law."""
    epsilons = [Fraction(e) for e in ("0.1", "0.2", "0.4", "0.8", "1.6", "3.2")]
    prices = auctions.PriceGrid.geometric(99, 2999, ratio=Fraction(6, 5))
    with figure("markets", x="ε (log scale)", y="revenue, of the best price's") as axes:
        for place, times in enumerate((1, 5, 25)):
            bids = np.array(BIDS * times)
            best = max(bid * int((bids >= bid).sum()) for bid in set(BIDS))
            earned = 100 * auctions.revenue(bids, prices) / best
            mechanisms = [auctions.Pricing.of(prices, epsilon=e) for e in epsilons]
            spreads = [of_law(earned, m.pmf(bids).probabilities) for m in mechanisms]
            offsets = [float(e) * 1.09 ** (place - 1) for e in epsilons]
            bars(axes, offsets, spreads, f"{len(bids):,} buyers", place)
        keeps = 100 * float(prices.share)
        axes.axhline(keeps, linestyle="--", color=INK, label="the grid keeps at least")
        axes.set_xscale("log", base=2)
        axes.set_xticks([float(e) for e in epsilons], [f"{float(e):g}" for e in epsilons])
        axes.set_ylim(0, 104)
        axes.yaxis.set_major_formatter("{x:.0f}%")


if __name__ == "__main__":
    main()
