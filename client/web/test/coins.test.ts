// Coins and thresholds: the published streams, draws and integers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fromHex, toBigInt, toHex } from "../src/bytes.js";
import { Coins } from "../src/coins.js";
import { renewalThreshold, threshold } from "../src/dyadic.js";
import { Fraction } from "../src/fraction.js";
import { type Case, hex64, read } from "./vectors.js";

const file = read("coins");
const coinsOf = ({ key, labels = [] }: Case): Coins => Coins.derive(fromHex(key), ...labels.map(fromHex));

for (const vector of file.streams) {
  test(`stream: ${vector.name}`, () => {
    assert.equal(toHex(coinsOf(vector).bytes(vector.stream.length / 2)), vector.stream);
  });
}

for (const vector of file.draws) {
  test(`draws: ${vector.name}`, () => {
    const coins = coinsOf(vector);
    for (const each of vector.reads) assert.equal(drawn(coins, each), each.result);
  });
}

function drawn(coins: Coins, { read, count, bound, threshold, length }: Case): string | boolean {
  if (read === "bits") return coins.bits(count).toString(16);
  if (read === "below" && typeof bound === "number") return coins.below(bound).toString(16);
  if (read === "below") return coins.belowBig(BigInt(bound)).toString(16);
  if (read === "bernoulli") return coins.bernoulli(BigInt(threshold)) ? "1" : "0";
  if (read === "bytes") return toHex(coins.bytes(count));
  return (toBigInt(coins.bernoulliVector(BigInt(threshold), length)) >> BigInt(-length & 7)).toString(16);
}

const dyadic = read("dyadic");

test("thresholds are those published", () => {
  for (const { epsilon, messages, favoured, threshold: wanted } of dyadic.thresholds) {
    assert.equal(hex64(threshold(Fraction.decimal(epsilon), messages, favoured)), wanted);
  }
});

test("renewal thresholds are those published", () => {
  for (const { epsilon, messages, permanent_threshold, renewal_threshold } of dyadic.renewals) {
    const kept = renewalThreshold(BigInt(permanent_threshold), Fraction.decimal(epsilon), BigInt(messages));
    assert.equal(hex64(kept), renewal_threshold);
  }
});
