// Singer's difference sets: where a sequence of full period over F_q is 0, among its first K terms.
//
//   s_0 … s_(t−2) = 0, s_(t−1) = 1, s_(i+t) = Σ c_j·s_(i+j)      K = (q^t − 1)/(q − 1)
//
// The c_j are those of least Σ c_j·q^j for which x^K, and no smaller power of x, is in F_q.

import { digits, type FiniteField, finiteField, pointCount, primeFactors } from "./finite-fields.js";

const known = new Map<string, Uint32Array>();

/** The w places in rising order. */
export function differenceSet(q: number, t: number): Uint32Array {
  const name = `${q} ${t}`;
  const places = known.get(name) ?? zeros(finiteField(q), t);
  known.set(name, places);
  return places;
}

function zeros(field: FiniteField, t: number): Uint32Array {
  const count = pointCount(field.q, t);
  const terms = new Uint32Array(count);
  terms[t - 1] = 1;
  const steps = recurrence(field, t)
    .map((c, j) => [c, j])
    .filter(([c]) => c);
  for (let at = t; at < count; at++) {
    let sum = 0;
    for (const [c, j] of steps) sum = field.add(sum, field.multiply(c, terms[at - t + j]));
    terms[at] = sum;
  }
  return Uint32Array.from(terms.keys()).filter((at) => terms[at] === 0);
}

function recurrence(field: FiniteField, t: number): number[] {
  const count = pointCount(field.q, t);
  const smaller = primeFactors(count).map((prime) => count / prime);
  for (let code = field.q; ; code++) {
    const c = digits(code, field.q, t);
    if (c[0] && isScalar(field, c, count) && !smaller.some((power) => isScalar(field, c, power))) return c;
  }
}

/** Whether x^exponent is in F_q, modulo x^t − Σ c_j x^j. */
function isScalar(field: FiniteField, c: number[], exponent: number): boolean {
  let power = [1, ...c.slice(1).fill(0)];
  for (const bit of exponent.toString(2)) {
    power = times(field, power, power, c);
    if (bit === "1") power = timesX(field, power, c);
  }
  return power.slice(1).every((coefficient) => coefficient === 0);
}

function times(field: FiniteField, a: number[], b: number[], c: number[]): number[] {
  let total = a.map(() => 0);
  for (const factor of b.toReversed()) {
    total = timesX(field, total, c).map((low, at) => field.add(low, field.multiply(factor, a[at])));
  }
  return total;
}

function timesX(field: FiniteField, a: number[], c: number[]): number[] {
  const last = a[a.length - 1];
  return c.map((each, at) => field.add(at ? a[at - 1] : 0, field.multiply(last, each)));
}
