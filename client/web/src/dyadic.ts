// Exact thresholds: the only module that turns ε into a probability. See shared/MECHANISMS.md.
//
//   T = ⌊2^64 · wE/(wE + K − w)⌋      E = e^ε, K = alphabet size, w = support size
//
// E is enclosed between two rationals. The precision doubles until both ends give the same integer.

import { DeniableError } from "./errors.js";
import { Fraction } from "./fraction.js";

export const SCALE = 1n << 64n;
const FIRST_BITS = 128;

export interface Bounds {
  readonly low: bigint;
  readonly high: bigint;
  readonly precision: bigint;
}

/** low/2^precision < e^ε < high/2^precision for a rational ε > 0, with about `bits` certain bits. */
export function expBounds(epsilon: Fraction, bits: number): Bounds {
  const halvings = ((2n * epsilon.n) / epsilon.d).toString(2).replace(/^0$/, "").length;
  const precision = BigInt(bits + 2 * halvings + bits.toString(2).length + 8);
  let { low, high } = expUpToHalf(new Fraction(epsilon.n, epsilon.d << BigInt(halvings)), precision);
  for (let step = 0; step < halvings; step++) {
    low = (low * low) >> precision;
    high = ((high * high) >> precision) + 1n;
  }
  return { low, high, precision };
}

function expUpToHalf(x: Fraction, precision: bigint): { low: bigint; high: bigint } {
  let [lowTerm, highTerm] = [1n << precision, 1n << precision];
  let [low, high] = [lowTerm, highTerm];
  for (let k = 1n; highTerm > 1n; k++) {
    lowTerm = (lowTerm * x.n) / (x.d * k);
    highTerm = (highTerm * x.n) / (x.d * k) + 1n;
    low += lowTerm;
    high += highTerm;
  }
  return { low, high: high + highTerm };
}

/** The integer that both ends of ever tighter bounds of e^ε give. */
function certain(epsilon: Fraction, floor: (above: bigint, one: bigint) => bigint): bigint {
  for (let bits = FIRST_BITS; ; bits *= 2) {
    const { low, high, precision } = expBounds(epsilon, bits);
    const found = floor(low, 1n << precision);
    if (found === floor(high, 1n << precision)) return found;
  }
}

/** T of 2^64: exact, never above. */
export function threshold(epsilon: Fraction, alphabet: number, support = 1): bigint {
  const [k, w] = [BigInt(alphabet), BigInt(support)];
  return certain(epsilon, (e, one) => ((w * e) << 64n) / (w * e + (k - w) * one));
}

/** A of 2^64: the chance to keep a symbol with which one renewed report costs at most ε. */
export function renewalThreshold(t: bigint, epsilon: Fraction, k = 2n, w = 1n): bigint {
  const gap = new Fraction(k * t - (w << 64n), (w * (k - w)) << 64n);
  const cure = "permanent must cost more than one report: raise permanent or lower epsilon";
  if (gap.n <= 0n) throw new DeniableError(cure);
  const kept = certain(epsilon, (e, one) => {
    const above = e - one;
    return ((above * gap.d) << 64n) / ((w * above + k * one) * gap.n);
  });
  if (kept >> 64n) throw new DeniableError(cure);
  return kept;
}
