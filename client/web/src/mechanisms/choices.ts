// grr/1, affine/1, cyclic/1, projective/1 and hadamard/1: one choice, sent as one number.

import { differenceSet } from "../algebra/difference-sets.js";
import { digits, type FiniteField, finiteField, pointCount } from "../algebra/finite-fields.js";
import { ones } from "../bytes.js";
import { MAX_CHOICES } from "../domains.js";
import { threshold } from "../dyadic.js";
import { ManifestError } from "../errors.js";
import { Fraction } from "../fraction.js";
import { chance, INDEXED, type Kind, ONE, ofSymbols, within } from "./mechanism.js";

/** q of sets of w among K codes. */
const other = (w: number, k: number, t: bigint): Fraction =>
  new Fraction(w).sub(chance(t)).div(new Fraction(k - 1));

export const grr: Kind = {
  domains: INDEXED,
  parameters: [],
  create({ domain: { size }, epsilon }) {
    const d = within("choices", size, 2, MAX_CHOICES);
    const t = threshold(epsilon, d);
    return ofSymbols({
      threshold: t,
      alphabet: d,
      q: ONE.sub(chance(t)).div(new Fraction(d - 1)),
      draw({ index }, coins) {
        const truthful = coins.bernoulli(t);
        const drawn = coins.below(d - 1); // always drawn: time must not reveal the outcome
        return [0, [drawn + Number(drawn >= index), index][Number(truthful)]];
      },
    });
  },
};

export const affine: Kind = {
  domains: INDEXED,
  parameters: ["modulus", "subset_size"],
  create({ domain: { size: d }, epsilon, parameters: { modulus: k, subset_size: w } }) {
    within("choices", d, 2, 1_000_000);
    within("modulus", k, Math.max(3, d), 2 * d);
    if (!isPrime(k)) throw new ManifestError(`modulus must be an odd prime, got ${k}`);
    within("subset_size", w, 1, k - 1);
    const t = threshold(epsilon, k, w);
    const multipliers = (k - 1) / 2;
    return ofSymbols({
      threshold: t,
      alphabet: multipliers * k,
      support: multipliers * w,
      q: other(w, k, t),
      tallySize: k,
      draw({ index }, coins) {
        const inside = coins.bernoulli(t);
        const before = coins.below(multipliers);
        const near = coins.below(w);
        const far = w + coins.below(k - w); // both always drawn
        const shift = ([far, near][Number(inside)] - (((before + 1) * index) % k) + k) % k;
        return [0, before * k + shift];
      },
    });
  },
};

function isPrime(number: number): boolean {
  for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) return false;
  return number > 2;
}

type DrawCode = (index: number, inside: boolean, near: number, far: number) => number;

function geometric(
  mostChoices: number,
  mostCodes: number,
  drawer: (field: FiniteField, t: number) => DrawCode,
): Kind {
  return {
    domains: INDEXED,
    parameters: ["dimension", "field_order"],
    create({ domain: { size: d }, epsilon, parameters: { dimension, field_order: q } }) {
      within("choices", d, 2, mostChoices);
      const field = finiteField(q);
      const dimensions = within("dimension", dimension, 3, 23);
      const k = within("field_order and dimension: codes", pointCount(q, dimensions), d, mostCodes);
      const w = pointCount(q, dimensions - 1);
      const t = threshold(epsilon, k, w);
      const draw = drawer(field, dimensions);
      return ofSymbols({
        threshold: t,
        alphabet: k,
        support: w,
        q: other(w, k, t),
        draw({ index }, coins) {
          const inside = coins.bernoulli(t);
          const near = coins.below(w);
          const far = coins.below(k - w); // both drawn: run time reveals nothing
          return [0, draw(index, inside, near, far)];
        },
      });
    },
  };
}

export const cyclic = geometric((1 << 18) - 1, 1 << 18, (field, t) => {
  const members = differenceSet(field.q, t);
  const codes = pointCount(field.q, t);
  return (index, inside, near, far) =>
    (index + [outsider(members, far), members[near]][Number(inside)]) % codes;
});

/** The distance at a place among those that are not members, counted from 0. */
function outsider(members: Uint32Array, place: number): number {
  let [low, high] = [0, members.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (members[middle] - middle <= place) low = middle + 1;
    else high = middle;
  }
  return place + low;
}

export const projective = geometric(1_000_000, 1 << 22, (field, t) => {
  const { q } = field;
  /** R(r): the r-th number whose first digit is 1, and 0. */
  const led = (rank: number): number => {
    let [size, smaller] = [1, 0];
    for (; rank > smaller + size; size *= q) smaller += size;
    return rank && size + rank - smaller - 1;
  };
  const code = (number: number): number => {
    let [size, smaller] = [1, 0];
    for (; number >= size * q; size *= q) smaller += size;
    return smaller + number - size;
  };
  const dot = (one: number, two: number, start: number): number => {
    const others = digits(two, q, t);
    return digits(one, q, t).reduce(
      (sum, digit, at) => field.add(sum, field.multiply(digit, others[at])),
      start,
    );
  };
  return (index, inside, near, far) => {
    let [behind, rest] = [1, index];
    for (let size = q ** (t - 1); rest >= size; size /= q) {
      rest -= size;
      behind *= q;
    }
    const truth = led(near + 1);
    const skipped = Math.floor(far / behind) + q - 2;
    const head = [led(Math.floor(skipped / (q - 1))), Math.floor(truth / behind)][Number(inside)];
    const tail = [far, truth][Number(inside)] % behind;
    const digit = dot(rest, head, [q - 1 - (skipped % (q - 1)), 0][Number(inside)]);
    return code((head * q + digit) * behind + tail);
  };
});

export const hadamard: Kind = {
  domains: INDEXED,
  parameters: [],
  create({ domain: { size }, epsilon }) {
    const d = within("choices", size, 2, MAX_CHOICES);
    const codes = 2 ** (d - 1).toString(2).length;
    const t = threshold(epsilon, 2);
    return ofSymbols({
      threshold: t,
      places: codes - 1,
      alphabet: 2,
      q: other(codes / 2, codes, t),
      draw({ index }, coins, open) {
        const place = open.below(codes - 1);
        const flip = Number(!coins.bernoulli(t));
        return [place, (ones((place + 1) & index) & 1) ^ flip];
      },
    });
  },
};
