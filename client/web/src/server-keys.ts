// The operator's key list: fetched, verified, checked against the last one and the log, and stored.

import type { Address } from "./addresses.js";
import { type Bytes, fromHex, toHex } from "./bytes.js";
import { DeniableError, ForkError, TransportError } from "./errors.js";
import { declareFork, type Installation, type Store } from "./store.js";
import { activeKey, checkSuccessor, type KeyList, type PublicKey, verifyKeyList } from "./wire/key-list.js";
import { extend, parseLogPage } from "./wire/log.js";

const MOST_PAGES = 1_000;

/** Fetches a document of the aggregator. */
export type Get = (url: string) => Promise<Bytes>;

export class ServerKeys {
  #list?: KeyList;

  constructor(
    readonly store: Store,
    readonly trust: readonly string[],
    readonly clock: () => number,
  ) {}

  /** The active key. Uses the network only if the stored list has expired, or with `renew`. */
  async active(get: Get, addresses: readonly Address[], renew = false): Promise<PublicKey> {
    this.#list ??= await this.#stored();
    const usable = this.#list && this.clock() < this.#list.until && activeKey(this.#list);
    if (usable && !renew) return usable;
    this.#list = await this.#fetch(get, addresses);
    const key = activeKey(this.#list);
    if (!key) throw new DeniableError("the key list has no active key of suite 1");
    return key;
  }

  async #stored(): Promise<KeyList | undefined> {
    const { keysEnvelope } = await this.store.read((tx) => tx.installation());
    return keysEnvelope && this.#verify(keysEnvelope).catch(() => undefined);
  }

  async #fetch(get: Get, addresses: readonly Address[]): Promise<KeyList> {
    for (const address of addresses.slice(0, -1)) {
      try {
        return await this.#fetchAt(get, address);
      } catch (error) {
        if (error instanceof ForkError) throw error;
      }
    }
    return this.#fetchAt(get, addresses[addresses.length - 1]);
  }

  async #fetchAt(get: Get, { base }: Address): Promise<KeyList> {
    const envelope = await get(`${base}/v1/keys`);
    const offered = await this.#verify(envelope);
    const before = await this.store.read((tx) => tx.installation());
    try {
      await this.#check(before, offered);
      await follow(before, offered, (size) => get(`${base}/v1/log?from=${size}`));
    } catch (error) {
      if (error instanceof ForkError) await declareFork(this.store, error.message);
      throw error;
    }
    await this.store.write(async (tx) => {
      const now = await tx.installation();
      if (now.keysVersion !== before.keysVersion || now.logSize !== before.logSize) {
        throw new TransportError("another tab has stored a newer key list");
      }
      const { version: keysVersion, logSize, logHead } = offered;
      await tx.put("installation", { ...now, keysVersion, keysEnvelope: envelope, logSize, logHead });
    });
    return offered;
  }

  #verify(envelope: Bytes, now = this.clock()): Promise<KeyList> {
    return verifyKeyList(envelope, this.trust, now);
  }

  /** Throws ForkError for a list that cannot follow; any other error for one that is late. */
  async #check(
    { keysVersion, keysEnvelope, logSize, logHead }: Installation,
    offered: KeyList,
  ): Promise<void> {
    if (logHead === undefined) return;
    const known = keysEnvelope && (await this.#verify(keysEnvelope, 0).catch(() => undefined));
    if (offered.version < keysVersion) {
      if (known) checkSuccessor(offered, known);
      throw new DeniableError(
        `the key list fell from version ${keysVersion} to ${offered.version}: a replica lags`,
      );
    }
    if (offered.logSize < logSize)
      throw new ForkError(`the log shrank from ${logSize} to ${offered.logSize} entries`);
    if (offered.logSize === logSize && offered.logHead !== logHead) {
      throw new ForkError(`the log of ${logSize} entries ends in two different ways`);
    }
    if (!known) return;
    if (offered.version > known.version) checkSuccessor(known, offered);
    else if (toHex(offered.body) !== toHex(known.body))
      throw new ForkError(`key list ${known.version} has two bodies`);
  }
}

/** Fetch the new entries, and follow them to the head that the list names. */
async function follow(
  { logSize, logHead }: Installation,
  offered: KeyList,
  page: (size: number) => Promise<Bytes>,
): Promise<void> {
  if (logHead === undefined) return;
  let [size, head] = [logSize, fromHex(logHead)];
  for (let pages = 0; size < offered.logSize; pages++) {
    const { size: shown, entries } = parseLogPage(await page(size), size);
    if (shown < offered.logSize || pages === MOST_PAGES)
      throw new DeniableError("the log is behind the key list");
    const taken = entries.slice(0, offered.logSize - size);
    [size, head] = [size + taken.length, extend(head, taken)];
  }
  if (toHex(head) !== offered.logHead)
    throw new ForkError(`the log of ${logSize} entries does not lead to that of ${offered.logSize}`);
}
