// pairs/1, tree/1 and fourier/1: one publicly drawn part of an answer, at all of ε.

import { type Bytes, bytesFor, concat, toNumber, uint } from "../bytes.js";
import { type Answer, MAX_ATTRIBUTES } from "../domains.js";
import { threshold } from "../dyadic.js";
import { ManifestError } from "../errors.js";
import { chance, type Kind, type Mechanism, ONE, ofSymbols, type Recipe, within } from "./mechanism.js";
import { bestSubsetSize, type Subset, subsets } from "./subset.js";

/** Of several choices one, sent by the sets that are best for one report. */
function ofChoices(
  sizes: readonly number[],
  recipe: Recipe,
  code: (answer: Answer, place: number) => number,
): Mechanism {
  const bySize = new Map<number, Subset>();
  for (const d of sizes) {
    if (!bySize.has(d)) bySize.set(d, subsets(d, bestSubsetSize(d, recipe.report), recipe.epsilon));
  }
  const choices = sizes.map((d) => bySize.get(d) as Subset);
  const sparsest = [...bySize.values()].reduce((one, other) => (sparser(other, one) ? other : one));
  const head = bytesFor(sizes.length);
  const payloadSize = head + Math.max(...choices.map((choice) => choice.payloadSize));
  const payload = (place: number, answer: Bytes): Bytes =>
    concat(uint(place, head), answer, new Uint8Array(payloadSize - head - answer.length));
  return {
    ...sparsest,
    payloadSize,
    tallySize: choices.reduce((sum, { choices: d }) => sum + d + 1, 0),
    open: choices.length > 1,
    randomize(answer, coins, open) {
      const place = open.below(choices.length);
      return payload(place, choices[place].randomize(code(answer, place), coins));
    },
    rerandomize(permanent, keep, coins) {
      const place = toNumber(permanent.subarray(0, head));
      const answer = permanent.slice(head, head + choices[place].payloadSize) as Bytes;
      return payload(place, choices[place].rerandomize(answer, keep, coins));
    },
    linkage(kept) {
      const bits = choices.reduce((sum, choice) => sum + choice.linkage(kept), 0);
      return Math.log2(choices.length) + bits / choices.length;
    },
  };
}

/** Whether one has the smaller w/d, or of equal ones the fewer choices. */
function sparser(one: Subset, other: Subset): boolean {
  const gap = one.size * other.choices - other.size * one.choices;
  return gap ? gap < 0 : one.choices < other.choices;
}

export const pairs: Kind = {
  domains: ["record"],
  parameters: [],
  create(recipe) {
    const { radices } = recipe.domain;
    const pairs = radices.flatMap((_, i) => radices.slice(i + 1).map((_, j) => [i, i + 1 + j]));
    const sizes = pairs.map(([i, j]) => within("pairs of labels", radices[i] * radices[j], 4, 4096));
    within(
      "pairs of labels in all",
      sizes.reduce((sum, size) => sum + size + 1, 0),
      1,
      1 << 20,
    );
    return ofChoices(sizes, recipe, ({ parts }, place) => {
      const [i, j] = pairs[place];
      return parts[i] * radices[j] + parts[j];
    });
  },
};

export const tree: Kind = {
  domains: ["number"],
  parameters: ["fan_out"],
  create(recipe) {
    const leaves = within("values", recipe.domain.size, 2, 2048);
    const fanOut = within("fan_out", recipe.parameters.fan_out, 2, leaves);
    const sizes = [leaves];
    while (sizes[0] > fanOut) sizes.unshift(Math.ceil(sizes[0] / fanOut));
    return ofChoices(sizes, recipe, ({ index }, place) =>
      Math.floor(index / fanOut ** (sizes.length - 1 - place)),
    );
  },
};

export const fourier: Kind = {
  domains: ["record"],
  parameters: ["ways"],
  create({ domain: { radices }, epsilon, parameters: { ways } }) {
    if (radices.some((radix) => radix !== 2))
      throw new ManifestError("fourier/1 takes attributes of two labels");
    const m = within("attributes", radices.length, 2, MAX_ATTRIBUTES);
    within("ways", ways, 1, m);
    const bySize = Array.from({ length: ways }, (_, at) => combinations(m, at + 1));
    const sets = within(
      "parities",
      bySize.reduce((sum, many) => sum + many, 0),
      1,
      1 << 19,
    );
    const t = threshold(epsilon, 2);
    return ofSymbols({
      threshold: t,
      places: sets,
      alphabet: 2,
      q: ONE.sub(chance(t)),
      draw({ parts }, coins, open) {
        const place = open.below(sets);
        const flip = Number(!coins.bernoulli(t));
        return [place, setAt(place, m).reduce((parity, at) => parity ^ parts[at], flip)];
      },
    });
  },
};

/** The set of attributes at a place: by size, then as words of rising places. */
function setAt(place: number, attributes: number): number[] {
  let size = 1;
  for (let many = attributes; place >= many; many = combinations(attributes, size)) {
    place -= many;
    size++;
  }
  const chosen: number[] = [];
  for (let least = 0; chosen.length < size; least++) {
    const withIt = combinations(attributes - least - 1, size - chosen.length - 1);
    if (place < withIt) chosen.push(least);
    else place -= withIt;
  }
  return chosen;
}

function combinations(n: number, k: number): number {
  let count = 1;
  for (let at = 1; at <= k; at++) count = (count * (n - k + at)) / at;
  return Math.round(count);
}
