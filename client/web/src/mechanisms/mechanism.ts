// The interface of every randomizer, and the common part of those with one symbol a report.

import { type Bytes, bytesFor, toNumber, uint } from "../bytes.js";
import type { Coins } from "../coins.js";
import type { Answer, Domain } from "../domains.js";
import { SCALE } from "../dyadic.js";
import { ManifestError } from "../errors.js";
import { Fraction } from "../fraction.js";
import { symbolInformation } from "./linkage.js";

/** A randomizer with all its parameters fixed. Behaviour behind an id never changes. */
export interface Mechanism {
  /** T of 2^64. */
  readonly threshold: bigint;
  readonly payloadSize: number;
  /** Integers in the tally of any set of reports. */
  readonly tallySize: number;
  /** Whether a report has a public part, drawn by coins that no value keys. */
  readonly open: boolean;
  /** The most symbols in which two answers differ; ε is split over them. */
  readonly differing: number;
  /** K and w of one symbol. */
  readonly alphabet: bigint;
  readonly support: bigint;
  /** The chances that a report supports what is true, and one given thing that is not. */
  readonly p: Fraction;
  readonly q: Fraction;
  randomize(answer: Answer, coins: Coins, open: Coins): Bytes;
  /** Each symbol of a payload kept with probability keep/2^64, else drawn again. */
  rerandomize(permanent: Bytes, keep: bigint, coins: Coins): Bytes;
  /** Bits that two reports of one permanent answer share. */
  linkage(kept: Fraction): number;
}

/** What a manifest says: the domain, ε of what is randomized, ε of one report, the parameters. */
export interface Recipe {
  readonly domain: Domain;
  readonly epsilon: Fraction;
  readonly report: Fraction;
  readonly parameters: Readonly<Record<string, number>>;
}

/** A mechanism by its domain types and by the names of the parameters that a manifest pins. */
export interface Kind {
  readonly domains: readonly string[];
  readonly parameters: readonly string[];
  create(recipe: Recipe): Mechanism;
}

export const INDEXED = ["choice", "number", "record"];

export const chance = (threshold: bigint): Fraction => new Fraction(threshold, SCALE);

export const ONE = new Fraction(1);

/** Throws ManifestError unless low ≤ value ≤ high. */
export function within(name: string, value: number, low: number, high: number): number {
  if (Number.isInteger(value) && value >= low && value <= high) return value;
  throw new ManifestError(`${name} must lie in ${low}…${high}, got ${value}`);
}

interface Symbols {
  readonly threshold: bigint;
  readonly places?: number;
  readonly alphabet: number;
  readonly support?: number;
  readonly q: Fraction;
  readonly tallySize?: number;
  /** The place and the symbol that are sent. */
  draw(answer: Answer, coins: Coins, open: Coins): readonly [place: number, symbol: number];
  linkage?(kept: Fraction): number;
}

/** A mechanism whose payload is place·K + symbol; the place is public. */
export function ofSymbols(kind: Symbols): Mechanism {
  const { threshold, alphabet, places = 1, support = 1 } = kind;
  const payloadSize = bytesFor(places * alphabet);
  const payload = (place: number, symbol: number) => uint(place * alphabet + symbol, payloadSize);
  return {
    threshold,
    payloadSize,
    tallySize: kind.tallySize ?? places * alphabet,
    open: places > 1,
    differing: 1,
    alphabet: BigInt(alphabet),
    support: BigInt(support),
    p: chance(threshold),
    q: kind.q,
    randomize: (answer, coins, open) => payload(...kind.draw(answer, coins, open)),
    rerandomize(permanent, keep, coins) {
      const code = toNumber(permanent);
      const kept = coins.bernoulli(keep);
      const drawn = coins.below(alphabet); // always drawn: time must not reveal the outcome
      return payload(Math.floor(code / alphabet), [drawn, code % alphabet][Number(kept)]);
    },
    linkage: (kept) => kind.linkage?.(kept) ?? Math.log2(places) + symbolInformation(BigInt(alphabet), kept),
  };
}
