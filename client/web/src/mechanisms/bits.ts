// rr/1 and rr-sampled/1: randomized response on a vector of bits, on all of them or on some.

import { type Bytes, bytesFor, concat, toNumber, uint } from "../bytes.js";
import type { Coins } from "../coins.js";
import { packBits } from "../domains.js";
import { SCALE, threshold } from "../dyadic.js";
import { Fraction } from "../fraction.js";
import { symbolInformation } from "./linkage.js";
import { chance, type Kind, type Mechanism, ONE, within } from "./mechanism.js";

const split = (epsilon: Fraction, over: number): bigint => threshold(epsilon.div(new Fraction(over)), 2);

const flipped = (bits: Bytes, flips: Bytes): Bytes => bits.map((byte, at) => byte ^ flips[at]) as Bytes;

/** Each bit kept with probability keep/2^64, else a fair coin; the coins are always drawn. */
function renewed(bits: Bytes, length: number, keep: bigint, coins: Coins): Bytes {
  const kept = coins.bernoulliVector(keep, length);
  const drawn = coins.vector(length);
  return drawn.map((byte, at) => byte ^ ((byte ^ bits[at]) & kept[at])) as Bytes;
}

const shared = (
  t: bigint,
  differing: number,
  bits: number,
): Omit<Mechanism, "randomize" | "rerandomize"> => ({
  threshold: t,
  payloadSize: (bits + 7) >> 3,
  tallySize: bits,
  open: false,
  differing,
  alphabet: 2n,
  support: 1n,
  p: chance(t),
  q: ONE.sub(chance(t)),
  linkage: (kept) => bits * symbolInformation(2n, kept),
});

export const rr: Kind = {
  domains: ["bits"],
  parameters: [],
  create({ domain, epsilon }) {
    const t = split(epsilon, domain.distance);
    return {
      ...shared(t, domain.distance, domain.size),
      randomize: ({ parts }, coins) =>
        flipped(packBits(parts), coins.bernoulliVector(SCALE - t, parts.length)),
      rerandomize: (permanent, keep, coins) => renewed(permanent, domain.size, keep, coins),
    };
  },
};

export const rrSampled: Kind = {
  domains: ["bits"],
  parameters: ["sampled"],
  create({ domain, epsilon, parameters }) {
    const m = domain.size;
    const sent = within("sampled", parameters.sampled, 1, m);
    const differing = Math.min(sent, domain.distance);
    const t = split(epsilon, differing);
    const width = bytesFor(2 * m);
    const payload = (places: number[], bits: Bytes) =>
      concat(...places.map((place, at) => uint(2 * place + bitAt(bits, at), width)));
    return {
      ...shared(t, differing, m),
      payloadSize: sent * width,
      tallySize: 2 * m,
      open: sent < m,
      randomize({ parts }, coins, open) {
        const places = sample(m, sent, open);
        const flips = coins.bernoulliVector(SCALE - t, sent);
        return payload(places, flipped(packBits(places.map((place) => parts[place])), flips));
      },
      rerandomize(permanent, keep, coins) {
        const codes = places(permanent, width);
        const bits = packBits(codes.map((code) => code & 1));
        return payload(
          codes.map((code) => code >> 1),
          renewed(bits, sent, keep, coins),
        );
      },
      linkage: (kept) => logCombinations(m, sent) + sent * symbolInformation(2n, kept),
    };
  },
};

const bitAt = (bits: Bytes, at: number): number => (bits[at >> 3] >> (7 - (at & 7))) & 1;

const places = (payload: Bytes, width: number): number[] =>
  Array.from({ length: payload.length / width }, (_, at) =>
    toNumber(payload.subarray(at * width, (at + 1) * width)),
  );

/** t of m places, every set equally likely, rising (Floyd's way: one draw a place). */
function sample(m: number, t: number, coins: Coins): number[] {
  const chosen = new Set<number>();
  for (let last = m - t; last < m; last++) {
    const place = coins.below(last + 1);
    chosen.add(chosen.has(place) ? last : place);
  }
  return [...chosen].sort((one, other) => one - other);
}

function logCombinations(m: number, t: number): number {
  let bits = 0;
  for (let at = 1; at <= t; at++) bits += Math.log2((m - t + at) / at);
  return bits;
}
