// What a page gives a client.

import type { Ceiling } from "./collection.js";
import { ConfigurationError } from "./errors.js";
import type { Vouchers } from "./sender.js";
import type { Transport } from "./transport.js";

export interface Options {
  /** The aggregator's address, or a list of up to 8. The first one is where it is today. */
  readonly url: string | readonly string[];
  /** The operator's public key or keys. */
  readonly trust: string | readonly string[];
  /** Signed manifests that the page ships: their text or bytes. Others are fetched by `refresh`. */
  readonly manifests?: readonly (string | Uint8Array)[];
  /** The most ε that this page ever spends on one person. */
  readonly ceiling: Ceiling;
  /** Name of the IndexedDB database. */
  readonly state?: string;
  /** Seconds after an answer in which its report is sent, while the visit lasts. */
  readonly visitSeconds?: number;
  /** Called for a voucher just before a report is sent. */
  readonly vouchers?: Vouchers;
  /** The origin that collections must name in `web_origins`; by default that of the page. */
  readonly page?: string;
  /** For tests. `clock` gives unix seconds; without `background` only `flush` and `uploadDue` send. */
  readonly transport?: Transport;
  readonly clock?: () => number;
  readonly background?: boolean;
}

const MOST_KEYS = 8;

/** The keys in `trust`. Throws ConfigurationError for what is not 1…8 keys. */
export function parseTrust(trust: Options["trust"]): string[] {
  const keys = typeof trust === "string" ? [trust] : [...(trust ?? [])];
  if (keys.length && keys.length <= MOST_KEYS && keys.every((key) => /^ed25519:[\w-]{43}$/.test(key)))
    return keys;
  throw new ConfigurationError('trust must be 1…8 keys like "ed25519:" and 43 more characters');
}
