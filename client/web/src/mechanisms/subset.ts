// subset/1: a set of w of d choices, which holds the true one with probability T/2^64.

import { type Bytes, bytesFor, concat, uint } from "../bytes.js";
import type { Coins } from "../coins.js";
import { packBits } from "../domains.js";
import { expBounds, threshold } from "../dyadic.js";
import { Fraction } from "../fraction.js";
import { symbolInformation } from "./linkage.js";
import { chance, INDEXED, type Kind, type Mechanism, within } from "./mechanism.js";

const MAX_CHOICES = 4096;

export interface Subset extends Omit<Mechanism, "randomize"> {
  readonly choices: number;
  readonly size: number;
  randomize(index: number, coins: Coins): Bytes;
}

export const subset: Kind = {
  domains: INDEXED,
  parameters: ["subset_size"],
  create({ domain, epsilon, parameters }) {
    const sets = subsets(domain.size, parameters.subset_size, epsilon);
    return { ...sets, randomize: ({ index }, coins) => sets.randomize(index, coins) };
  },
};

/** The sets of w of d choices. */
export function subsets(d: number, w: number, epsilon: Fraction): Subset {
  within("choices", d, 2, MAX_CHOICES);
  within("subset_size", w, 1, d - 1);
  const t = threshold(epsilon, d, w);
  const [width, others] = [bytesFor(d), d - 1];
  const listed = w * width < (d + 7) >> 3;
  const payload = (chosen: Uint8Array): Bytes =>
    listed ? concat(...places(chosen).map((place) => uint(place, width))) : packBits([...chosen]);
  const alphabet = combinations(d, w);
  const p = chance(t);
  return {
    choices: d,
    size: w,
    threshold: t,
    payloadSize: Math.min(w * width, (d + 7) >> 3),
    tallySize: d,
    open: false,
    differing: 1,
    alphabet,
    support: combinations(d - 1, w - 1),
    p,
    q: new Fraction(w).sub(p).div(new Fraction(others)),
    randomize(index, coins) {
      const inside = coins.bernoulli(t);
      const item = coins.below(others - w + 1); // always drawn: time must not reveal the outcome
      const chosen = completed([item, others][Number(inside)], w, others, d, coins);
      [chosen[index], chosen[others]] = [chosen[others], chosen[index]];
      return payload(chosen);
    },
    rerandomize(permanent, keep, coins) {
      const kept = coins.bernoulli(keep);
      const drawn = payload(completed(coins.below(d - w + 1), w, d, d, coins));
      return kept ? (permanent.slice() as Bytes) : drawn;
    },
    linkage: (kept) => symbolInformation(alphabet, kept),
  };
}

/** Floyd's way from its second draw on, of so many items among d choices. */
function completed(first: number, size: number, items: number, d: number, coins: Coins): Uint8Array {
  const chosen = new Uint8Array(d);
  chosen[first] = 1;
  for (let last = items - size + 1; last < items; last++) {
    const item = coins.below(last + 1);
    chosen[[item, last][chosen[item]]] = 1;
  }
  return chosen;
}

const places = (chosen: Uint8Array): number[] => [...chosen.keys()].filter((place) => chosen[place]);

function combinations(n: number, k: number): bigint {
  let count = 1n;
  for (let at = 1; at <= k; at++) count = (count * BigInt(n - k + at)) / BigInt(at);
  return count;
}

/** The w of least total error of d choices at ε, exactly: next to d/(1 + e^ε). */
export function bestSubsetSize(d: number, epsilon: Fraction): number {
  for (let bits = 64; ; bits *= 2) {
    const { low, high, precision } = expBounds(epsilon, bits);
    const [least, most] = [low, high].map((end) => new Fraction(end, 1n << precision));
    const near = Number(new Fraction(d).div(most.add(new Fraction(1))).floor());
    const first = Math.max(1, near - 1);
    const sizes = Array.from({ length: Math.min(d - 1, near + 2) - first + 1 }, (_, at) => first + at);
    const errors = sizes.map((w) => totalError(d, w, least));
    const best = errors.reduce((at, error, other) => (error.compare(errors[at]) < 0 ? other : at), 0);
    if (sizes.every((w, at) => at === best || errors[best].compare(totalError(d, w, most)) <= 0))
      return sizes[best];
  }
}

/** L(d, d, w) of MECHANISMS.md at a rational E > 1, but for terms that no w changes. */
function totalError(d: number, w: number, e: Fraction): Fraction {
  const [k, size, others] = [new Fraction(d), new Fraction(w), new Fraction(d - 1)];
  const whole = size.mul(e).add(k).sub(size);
  const wrong = whole.sub(e);
  const spread = others.mul(whole).sub(size.mul(wrong));
  const above = others.mul(others).mul(e).mul(k.sub(size)).add(others.mul(wrong).mul(spread));
  const below = k
    .sub(size)
    .mul(k.sub(size))
    .mul(size)
    .mul(e.sub(new Fraction(1)))
    .mul(e.sub(new Fraction(1)));
  return above.div(below);
}
