// The scores of optimal-mean/1: the numbers of its outputs. See shared/PROTOCOL.md.
//
// They decide only the variance, never ε. They also decide where a window starts, so both ends
// compute the same integers in exact fractions.

import { Fraction } from "../fraction.js";

const ZERO = new Fraction(0);
const UNIT = 1n << 20n;

type Row = Fraction[];

/** a_0 … a_{M−1} for a window of w and odds of odds/2^16; their sum is 0. */
export function scores(outputs: number, window: number, odds: number): bigint[] {
  const ratio = new Fraction(odds, 1 << 16);
  const half = Math.floor(outputs / 2);
  const { rows, right } = conditions(outputs, window, ratio);
  const found = least(rows, right, weights(outputs, window, ratio));
  const upper = found.map((z) =>
    z
      .mul(new Fraction(2n * UNIT))
      .add(new Fraction(1))
      .div(new Fraction(2))
      .floor(),
  );
  const middle = outputs % 2 ? [0n] : [];
  return [...upper.slice(0, half).map((score) => -score), ...middle, ...upper.toReversed()];
}

/** a_place as a combination of the upper half of the scores, the highest first. */
function unit(outputs: number, place: number): Row {
  const row = new Array<Fraction>(Math.floor(outputs / 2)).fill(ZERO);
  const mirror = outputs - 1 - place;
  if (place !== mirror) row[Math.min(place, mirror)] = new Fraction(place < mirror ? -1 : 1);
  return row;
}

const total = (rows: Row[]): Row => rows.reduce((sum, row) => sum.map((part, at) => part.add(row[at])));

function conditions(outputs: number, window: number, ratio: Fraction): { rows: Row[]; right: Row } {
  const more = ratio.sub(new Fraction(1));
  const whole = more.mul(new Fraction(window)).add(new Fraction(outputs));
  const units = Array.from({ length: outputs }, (_, place) => unit(outputs, place));
  const sum = (start: number) => total(units.slice(start, start + window));
  const slope = (start: number) => total([units[start], units[start + window]]);
  const rows = [sum(0).map((part) => more.mul(part))];
  for (let start = 1; start < Math.floor((outputs - window + 1) / 2); start++) {
    const both = total([slope(start - 1), slope(start)]);
    const four = more.mul(new Fraction(4));
    rows.push(sum(start).map((part, at) => four.mul(part).sub(whole.mul(both[at]))));
  }
  return { rows, right: rows.map((_, at) => (at ? ZERO : ZERO.sub(whole))) };
}

/** Of the square of each score of the upper half in the objective. */
function weights(outputs: number, window: number, ratio: Fraction): Row {
  const start = Math.floor((outputs - window) / 2);
  const near = (place: number) => Number(place >= start && place < start + window);
  return Array.from({ length: Math.floor(outputs / 2) }, (_, place) =>
    ratio
      .sub(new Fraction(1))
      .mul(new Fraction(near(place) + near(outputs - 1 - place)))
      .add(new Fraction(2)),
  );
}

/** The z of least Σ weight·z² with rows·z = right: z = rowsᵀλ/weight. */
function least(rows: Row[], right: Row, weights: Row): Row {
  const dot = (one: Row, other: Row) =>
    one.reduce((sum, a, at) => sum.add(a.mul(other[at]).div(weights[at])), ZERO);
  const multipliers = solved(
    rows.map((one) => rows.map((other) => dot(one, other))),
    right,
  );
  return weights.map((weight, place) =>
    rows.reduce((sum, row, at) => sum.add(row[place].mul(multipliers[at])), ZERO).div(weight),
  );
}

/** λ with gram·λ = right. A pivot of 0 is a condition that follows from the others. */
function solved(left: Row[], constants: Row): Row {
  const size = left.length;
  left.forEach((lead, pivot) => {
    if (lead[pivot].n === 0n) return;
    for (let row = pivot + 1; row < size; row++) {
      const factor = left[row][pivot].div(lead[pivot]);
      constants[row] = constants[row].sub(factor.mul(constants[pivot]));
      left[row] = left[row].map((part, at) => (at < pivot ? part : part.sub(factor.mul(lead[at]))));
    }
  });
  const solution = left.map(() => ZERO);
  for (let row = size - 1; row >= 0; row--) {
    const rest = left[row].reduce(
      (sum, part, at) => (at > row ? sum.add(part.mul(solution[at])) : sum),
      ZERO,
    );
    if (left[row][row].n) solution[row] = constants[row].sub(rest).div(left[row][row]);
  }
  return solution;
}
