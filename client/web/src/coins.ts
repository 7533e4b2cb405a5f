// Coins: one stream of random bytes, read in order. Every random choice reads from it.
//
//   stream = SHAKE-256(lp(key) ‖ lp(label 1) ‖ lp(label 2) ‖ …)
//
// How much a read takes depends on the coins and on public parameters only.

import { shake256 } from "@noble/hashes/sha3.js";
import { type Bytes, bitLength, concat, lp, toBigInt, toNumber } from "./bytes.js";

const PLANES = 64;

export class Coins {
  readonly #stream;

  private constructor(seed: Bytes) {
    this.#stream = shake256.create({}).update(seed);
  }

  /** The stream of a secret key and labels that separate its uses. */
  static derive(key: Uint8Array, ...labels: readonly Uint8Array[]): Coins {
    return new Coins(concat(...[key, ...labels].map(lp)));
  }

  bytes(count: number): Bytes {
    return this.#stream.xof(count) as Bytes;
  }

  /** The most significant `count` bits of the next ⌈count/8⌉ bytes. */
  bits(count: number): bigint {
    const size = (count + 7) >> 3;
    return toBigInt(this.bytes(size)) >> BigInt(8 * size - count);
  }

  /** Uniform over 0 … bound − 1, by rejection; a bound of 1 reads nothing. */
  below(bound: number): number {
    if (bound > 2 ** 48) return Number(this.belowBig(BigInt(bound)));
    const width = bound > 1 ? (bound - 1).toString(2).length : 0;
    const size = (width + 7) >> 3;
    const scale = 2 ** (8 * size - width);
    for (;;) {
      const drawn = Math.floor(toNumber(this.bytes(size)) / scale);
      if (drawn < bound) return drawn;
    }
  }

  /** The same for a bound of any size. */
  belowBig(bound: bigint): bigint {
    const width = bitLength(bound - 1n);
    for (;;) {
      const drawn = this.bits(width);
      if (drawn < bound) return drawn;
    }
  }

  /** True with probability threshold/2^64. */
  bernoulli(threshold: bigint): boolean {
    return this.bits(PLANES) < threshold;
  }

  /** `length` independent bits, the first most significant, zero padded to whole bytes. */
  bernoulliVector(threshold: bigint, length: number): Bytes {
    const size = (length + 7) >> 3;
    const planes = this.bytes(size * PLANES);
    const atLeast = new Uint8Array(size).fill(0xff);
    for (let plane = PLANES - 1; plane >= 0; plane--) {
      const one = (threshold >> BigInt(PLANES - 1 - plane)) & 1n;
      for (let at = 0; at < size; at++) {
        const coin = planes[plane * size + at];
        atLeast[at] = one ? coin & atLeast[at] : coin | atLeast[at];
      }
    }
    return masked(
      atLeast.map((byte) => byte ^ 0xff),
      length,
    );
  }

  /** `length` fair bits in the same form. */
  vector(length: number): Bytes {
    return masked(this.bytes((length + 7) >> 3), length);
  }
}

/** Bytes whose bits from `length` on are 0. */
function masked(bytes: Bytes, length: number): Bytes {
  const padding = -length & 7;
  if (padding) bytes[bytes.length - 1] &= 0xff << padding;
  return bytes;
}
