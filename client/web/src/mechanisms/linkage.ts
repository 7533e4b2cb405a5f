// Linkage: how well two reports of one permanent answer reveal that one device sent both, in bits.

import { bitLength } from "../bytes.js";
import { Fraction } from "../fraction.js";

const ONE = new Fraction(1);

/** Of one uniform symbol of K, kept with that chance in each report. */
export function symbolInformation(symbols: bigint, kept: Fraction): number {
  const k = new Fraction(symbols);
  const same = kept.mul(kept);
  const apart = ONE.sub(same);
  const likely = same.add(apart.div(k));
  const other = apart.mul(k.sub(ONE)).div(k);
  return likely.toNumber() * log2(k.mul(likely)) + other.toNumber() * log2(apart);
}

function log2(number: Fraction): number {
  if (number.n > 2n * number.d) return bigLog2(number.n) - bigLog2(number.d);
  return Math.log1p(number.sub(ONE).toNumber()) / Math.LN2;
}

function bigLog2(value: bigint): number {
  const shift = Math.max(0, bitLength(value) - 64);
  return Math.log2(Number(value >> BigInt(shift))) + shift;
}

/** Of an output: `classes` are the chances of the permanent answer's outputs, and how many have each. */
export function outputInformation(classes: ReadonlyMap<number, number>, kept: number): number {
  const outputs = [...classes.values()].reduce((sum, many) => sum + many, 0);
  const rows = [...classes].map(([share, many]) => ({ own: kept * share, many }));
  const mean = (own: number) => own + (1 - kept) / outputs;
  let nats = 0;
  rows.forEach((one, at) => {
    for (const other of rows.slice(0, at + 1)) {
      const apart = mean(one.own) * mean(other.own);
      const shared = one.own * other.own;
      const pairs = one === other ? one.many * (one.many - 1) : 2 * one.many * other.many;
      nats += pairs * (apart - shared) * Math.log1p(-shared / apart);
    }
    const square = mean(one.own) ** 2;
    const alike = square - one.own ** 2 + one.own * kept;
    nats += one.many * alike * Math.log(alike / square);
  });
  return nats / Math.LN2;
}
