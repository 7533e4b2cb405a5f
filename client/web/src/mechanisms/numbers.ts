// duchi/1, optimal-mean/1, square-wave/1 and haar/1: a number, sent for its mean, shape or ranges.

import { ones } from "../bytes.js";
import { MAX_CHOICES } from "../domains.js";
import { threshold } from "../dyadic.js";
import { ManifestError } from "../errors.js";
import { Fraction } from "../fraction.js";
import { outputInformation, symbolInformation } from "./linkage.js";
import { chance, type Kind, ONE, ofSymbols, within } from "./mechanism.js";
import { scores } from "./optimal-mean-scores.js";

/** q of a window of w among K outputs. */
const outside = (t: bigint, w: number, k: number): Fraction => ONE.sub(chance(t)).mul(new Fraction(w, k - w));

/** Linkage where output y lies in the windows of a share `shares[y]` of all values. */
function windowLinkage(t: bigint, w: number, shares: readonly number[], kept: Fraction): number {
  const p = chance(t).toNumber();
  const [near, far] = [p / w, (1 - p) / (shares.length - w)];
  const classes = new Map<number, number>();
  for (const share of shares) classes.set(share, (classes.get(share) ?? 0) + 1);
  const chances = [...classes].map(([share, many]) => [far + (near - far) * share, many] as const);
  return outputInformation(new Map(chances), kept.toNumber());
}

export const duchi: Kind = {
  domains: ["number"],
  parameters: [],
  create({ domain: { size }, epsilon }) {
    const steps = within("values", size, 2, MAX_CHOICES) - 1;
    const t = threshold(epsilon, 2);
    return ofSymbols({
      threshold: t,
      alphabet: 2,
      tallySize: 1,
      q: ONE.sub(chance(t)),
      draw({ index }, coins) {
        const up = Number(coins.below(steps) < index);
        return [0, up ^ Number(!coins.bernoulli(t))];
      },
      linkage: (kept) => windowLinkage(t, 1, [0.5, 0.5], kept),
    });
  },
};

export const optimalMean: Kind = {
  domains: ["number"],
  parameters: ["odds", "outputs", "window"],
  create({ domain: { size }, epsilon, parameters: { odds, outputs: m, window: w } }) {
    const steps = BigInt(within("values", size, 2, MAX_CHOICES) - 1);
    within("outputs", m, 2, 32);
    within("window", w, 1, Math.floor(m / 2));
    within("odds", odds, 2 ** 16 + 1, 2 ** 45);
    const t = threshold(epsilon, m, w);
    const sums = windowSums(scores(m, w, odds), w);
    /** Where the window starts, and the chance that it starts one later: above/of. */
    const start = (index: number) => {
      const wanted = sums[m - w] * (2n * BigInt(index) - steps);
      let at = 0;
      while (at < m - w - 1 && steps * sums[at + 1] <= wanted) at++;
      return { at, above: wanted - steps * sums[at], of: steps * (sums[at + 1] - sums[at]) };
    };
    return ofSymbols({
      threshold: t,
      alphabet: m,
      support: w,
      q: outside(t, w, m),
      draw({ index }, coins) {
        const { at, above, of } = start(index);
        const first = at + Number(coins.belowBig(of) < above);
        const favoured = coins.bernoulli(t);
        const inside = first + coins.below(w); // both drawn: time must not reveal the outcome
        const beyond = first + w + coins.below(m - w);
        return [0, [beyond, inside][Number(favoured)] % m];
      },
      linkage(kept) {
        const shares = new Array<number>(m).fill(0);
        for (let index = 0; index < size; index++) {
          const { at, above, of } = start(index);
          const up = new Fraction(above, of).toNumber();
          for (let y = at; y <= at + w; y++) {
            shares[y] += (y === at ? 1 - up : y === at + w ? up : 1) / size;
          }
        }
        return windowLinkage(t, w, shares, kept);
      },
    });
  },
};

function windowSums(scores: readonly bigint[], w: number): bigint[] {
  const sum = (at: number, size: number) => scores.slice(at, at + size).reduce((a, b) => a + b, 0n);
  const sums = scores.slice(w - 1).map((_, at) => sum(at, w));
  const slopes = scores.slice(w).map((high, at) => scores[at] + high);
  const rises = (numbers: bigint[], least: bigint) =>
    numbers.every((number, at) => !at || numbers[at - 1] + least <= number);
  if (rises(sums, 1n) && rises(slopes, 0n)) return sums;
  throw new ManifestError("window must have scores that rise at these outputs and odds");
}

export const squareWave: Kind = {
  domains: ["number"],
  parameters: ["reach"],
  create({ domain: { size }, epsilon, parameters: { reach } }) {
    const d = within("values", size, 2, 1024);
    within("reach", reach, 0, Math.floor(d / 2));
    const [w, k] = [2 * reach + 1, d + 2 * reach];
    const t = threshold(epsilon, k, w);
    return ofSymbols({
      threshold: t,
      alphabet: k,
      support: w,
      q: outside(t, w, k),
      draw({ index }, coins) {
        const favoured = coins.bernoulli(t);
        const inside = index + coins.below(w); // both are always drawn: time must not reveal which
        const drawn = coins.below(k - w);
        return [0, [drawn + w * Number(drawn >= index), inside][Number(favoured)]];
      },
      linkage: (kept) =>
        windowLinkage(
          t,
          w,
          Array.from({ length: k }, (_, y) => Math.min(y + 1, w, d, k - y) / d),
          kept,
        ),
    });
  },
};

export const haar: Kind = {
  domains: ["number"],
  parameters: [],
  create({ domain: { size }, epsilon }) {
    const levels = (within("values", size, 2, 2048) - 1).toString(2).length;
    const t = threshold(epsilon, 2);
    return ofSymbols({
      threshold: t,
      places: 2 ** levels - 1,
      alphabet: 2,
      q: ONE.sub(chance(t)),
      draw({ index }, coins, open) {
        const level = open.below(levels);
        const at = open.below(1 << level);
        const flip = Number(!coins.bernoulli(t));
        const parity = ones((2 * at + 1) & (index >> (levels - 1 - level))) & 1;
        return [(1 << level) - 1 + at, parity ^ flip];
      },
      linkage(kept) {
        return Math.log2(levels) + (levels - 1) / 2 + symbolInformation(2n, kept);
      },
    });
  },
};
