// prefix-hash/1: a text's prefix as one of g^m codes, and one sum of the code's digits in a report.

import { sha256 } from "@noble/hashes/sha2.js";
import { primeFactors } from "../algebra/finite-fields.js";
import { concat, uint, utf8 } from "../bytes.js";
import { MAX_TEXT_BYTES } from "../domains.js";
import { threshold } from "../dyadic.js";
import { ManifestError } from "../errors.js";
import { Fraction } from "../fraction.js";
import { type Kind, ofSymbols, within } from "./mechanism.js";

const LABEL = utf8("deniable/1 prefix-hash");
const HELD_OUT = 3; // times R tables of group 0, which takes the whole text

export const prefixHash: Kind = {
  domains: ["text"],
  parameters: ["base", "digits", "tables", "step"],
  create({ domain: { size }, epsilon, parameters: { base: g, digits, tables, step } }) {
    const most = within("max_bytes", size, 1, MAX_TEXT_BYTES);
    within("base", g, 2, 139);
    if (primeFactors(g)[0] !== g) throw new ManifestError(`base must be a prime, got ${g}`);
    within("digits", digits, 1, 14);
    within("tables", tables, 1, 64);
    within("step", step, 0, 2);
    const codes = within("digits: codes", g ** digits, 2, 20_000);
    const points = (codes - 1) / (g - 1);
    const groups = step ? Math.ceil(most / step) : 0;
    const t = threshold(epsilon, g);
    const sum = (position: number, text: readonly number[]) => {
      const table = Math.floor(position / points);
      const group = Math.max(0, Math.floor(table / tables) - HELD_OUT + 1);
      const prefix = text.slice(0, group ? Math.min(group * step, most) : most);
      const code = prefix.reduce((code, byte, at) => (code + entry(table, at, byte, codes)) % codes, 0);
      return dot(vector(position % points, g), code, g);
    };
    return ofSymbols({
      threshold: t,
      places: (HELD_OUT + groups) * tables * points,
      alphabet: g,
      q: new Fraction(1, g),
      draw({ parts }, coins, open) {
        const position = open.below((HELD_OUT + groups) * tables * points);
        const truthful = coins.bernoulli(t);
        const other = coins.below(g - 1); // drawn in any case
        const truth = sum(position, parts);
        return [position, [other + Number(other >= truth), truth][Number(truthful)]];
      },
    });
  },
};

/** t(r, i, b) modulo the codes: public, the same in every language and for every collection. */
function entry(table: number, place: number, byte: number, codes: number): number {
  const digest = sha256(concat(LABEL, uint(table, 2), uint(place, 1), uint(byte, 1)));
  return digest.subarray(0, 8).reduce((rest, byte) => (rest * 256 + byte) % codes, 0);
}

/** The point's vector, as the number of its digits: 1, then any digits below it. */
function vector(point: number, base: number): number {
  let size = 1;
  for (; point >= size; size *= base) point -= size;
  return size + point;
}

/** Σ of the products of the digits, modulo the base. */
function dot(left: number, right: number, base: number): number {
  let total = 0;
  for (; left; left = Math.floor(left / base), right = Math.floor(right / base)) {
    total += (left % base) * (right % base);
  }
  return total % base;
}
