// The person's decision, and its effect on the store. It is unknown until the app asks.

import { ConfigurationError } from "./errors.js";
import { newKey } from "./random.js";
import type { Consent, Tx } from "./store.js";

/** The decision in `answer`. Throws ConfigurationError for any other. */
export function parseConsent(answer: string): Consent {
  if (answer === "granted" || answer === "denied") return answer;
  throw new ConfigurationError(`consent must be "granted" or "denied", got ${JSON.stringify(answer)}`);
}

/** Allow recording, and make keys for collections without one. Spent budget stays spent. */
export async function grant(tx: Tx): Promise<void> {
  await tx.put("installation", { ...(await tx.installation()), consent: "granted" });
  for (const state of await tx.all("collections")) {
    if (!state.key) {
      const epochKey = state.epochAt === undefined ? undefined : newKey();
      await tx.put("collections", { ...state, key: newKey(), epochKey });
    }
  }
}

/** Delete queue, keys and permanent answers. What was spent and settled stays as a tombstone. */
export async function deny(tx: Tx): Promise<void> {
  await tx.put("installation", { ...(await tx.installation()), consent: "denied" });
  for (const { key: _key, epochKey: _epochKey, permanent: _permanent, ...rest } of await tx.all(
    "collections",
  )) {
    await tx.put("collections", rest);
  }
  for (const { collection, epoch, version, closesAt } of await tx.all("outbox")) {
    const times = { closesAt, sendAt: 0, retryAt: 0, floor: 0, attempts: 0 };
    await tx.put("outbox", { collection, epoch, version, state: "wiped", ...times });
  }
}

/** The browser's opt-out, in words; undefined if there is none. One is enough. */
export function optOut(): string | undefined {
  const { globalPrivacyControl, doNotTrack } = navigator as {
    globalPrivacyControl?: boolean;
    doNotTrack?: string | null;
  };
  if (globalPrivacyControl) return "Global Privacy Control is on";
  return doNotTrack === "1" || doNotTrack === "yes" ? "Do Not Track is on" : undefined;
}

/** What this browser lacks, in words; undefined if nothing. The client is silent without it. */
export function missing(): string | undefined {
  if (!globalThis.crypto?.subtle) return "WebCrypto, which only secure pages have";
  if (!globalThis.indexedDB) return "IndexedDB";
  return globalThis.navigator?.locks ? undefined : "Web Locks";
}
