"""What a benchmark hands back: cases of comparable lines, verdicts on budgets, remarks."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.measure import Line


@dataclass(frozen=True, slots=True)
class Case:
    """Lines that did the same job; the first of role "ours" is what is compared."""

    title: str
    lines: tuple[Line, ...]

    @property
    def ours(self) -> Line:
        return next(line for line in self.lines if line.role == "ours")

    def line(self, name: str) -> Line:
        return next(line for line in self.lines if line.name == name)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One budget and what was reached."""

    budget: str
    reached: str
    spare: float  # ≥ 1: met, by this factor; below: the share of the budget that was reached
    bound: str  # what bounds it

    @property
    def met(self) -> bool:
        return self.spare >= 1

    @property
    def word(self) -> str:
        return "met" if self.met else f"missed by {1 / self.spare:.2f} ×"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of its own: what was found for each of many sizes under each of some conditions."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Result:
    """Everything one benchmark found."""

    title: str
    cases: tuple[Case, ...]
    verdicts: tuple[Verdict, ...] = ()
    remarks: tuple[str, ...] = ()
    grids: tuple[Grid, ...] = ()


def at_most(budget: str, limit: float, line: Line, *, bound: str) -> Verdict:
    """A budget that is a ceiling, in the line's own unit."""
    reached = f"{figure(line.median)} of {figure(limit)} {line.unit}"
    return Verdict(budget, reached, limit / line.median, bound)


def at_least_share(budget: str, share: float, line: Line, of: Line, *, bound: str) -> Verdict:
    """A budget that is a least share of another line's speed in the same run."""
    ratio, low, high = line.speed_over(of)
    reached = f"{ratio:.2f} × ({low:.2f}–{high:.2f}) of {of.name}"
    return Verdict(budget, reached, ratio / share, bound)


def figure(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
