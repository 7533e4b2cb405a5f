// The secrets of one collection on this device, and every stream derived from them.
// The coins of an answer also depend on the answer: two answers never use one stream.

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { type Bytes, concat, uint, utf8 } from "./bytes.js";
import { Coins } from "./coins.js";

const NEXT = concat(utf8("next"), Uint8Array.of(1)); // HKDF-Expand's only block here
const [COINS, SAMPLING, PUBLIC, REPORT_ID] = ["coins", "sampling", "public", "rid"].map((use) =>
  utf8(`deniable/1 ${use}`),
);
const [FIRST_ROUND, SECOND_ROUND] = [Uint8Array.of(1), Uint8Array.of(2)];

/** The key `steps` steps later. A key cannot be stepped back. */
export function advance(key: Bytes, steps: number): Bytes {
  for (let step = 0; step < steps; step++) key = hmac(sha256, key, NEXT) as Bytes;
  return key;
}

/** The coins of one draw. The same device, collection, hold and value get the same coins. */
export const coins = (key: Bytes, identity: Bytes, hold: number, value: Bytes): Coins =>
  Coins.derive(key, COINS, FIRST_ROUND, identity, uint(hold, 4), value);

/** The coins of the second round in one epoch, for one permanent answer. */
export const renewalCoins = (key: Bytes, identity: Bytes, epoch: number, permanent: Bytes): Coins =>
  Coins.derive(key, COINS, SECOND_ROUND, identity, uint(epoch, 4), permanent);

/** The coin that decides whether this device answers in a hold. The value plays no part. */
export const samplingCoins = (key: Bytes, identity: Bytes, hold: number): Coins =>
  Coins.derive(key, SAMPLING, identity, uint(hold, 4));

/** The coins of the public part of an answer. The value plays no part. */
export const publicCoins = (key: Bytes, identity: Bytes, hold: number): Coins =>
  Coins.derive(key, PUBLIC, identity, uint(hold, 4));

/** The one id a report of this collection and epoch can have on this device. */
export const reportId = (key: Bytes, collection: string, epoch: number): Bytes =>
  Coins.derive(key, REPORT_ID, utf8(collection), uint(epoch, 4)).bytes(16);
