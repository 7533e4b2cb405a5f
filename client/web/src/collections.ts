// The manifests of this device: verified, checked against earlier ones, stored.

import { sha256 } from "@noble/hashes/sha2.js";
import { equal, toHex, utf8 } from "./bytes.js";
import { type Collection, isLive, type Limits, prepare } from "./collection.js";
import type { Answer } from "./domains.js";
import { ForkError, ManifestError } from "./errors.js";
import { joinAccount } from "./ledger.js";
import { loadManifest, type Manifest, parseManifest, verifyManifest } from "./manifest/manifest.js";
import { epochAt, holdAt } from "./manifest/schedule.js";
import { checkSuccessor } from "./manifest/successor.js";
import type { Outcome } from "./outcome.js";
import { newKey } from "./random.js";
import type { Store, StoredManifest, StoredState, Tx } from "./store.js";

const SLACK = 10_000; // steps that a new chain begins in the past: by so many epochs a clock may be ahead

export interface Rules {
  readonly trust: readonly string[];
  readonly origins: readonly string[];
  readonly limits: Limits;
  readonly hasVouchers: boolean;
  /** The page's own origin; undefined where there is no page. */
  readonly page?: string;
}

/** An answer that a collection takes. */
export interface Examined {
  readonly collection: Collection;
  readonly answer: Answer;
}

export class Collections {
  #all: readonly Collection[] = [];
  readonly #trust: string;

  constructor(
    readonly store: Store,
    readonly rules: Rules,
    readonly clock: () => number,
  ) {
    this.#trust = trustDigest(rules.trust);
  }

  get all(): readonly Collection[] {
    return this.#all;
  }

  /** The newest collection of that name that runs now, or the outcome if there is none. */
  find(nameOrId: string, now: number): Collection | Outcome {
    const named = this.#all.filter(
      ({ manifest: { name, collection } }) => nameOrId === name || nameOrId === collection,
    );
    const live = named.find((each) => isLive(each, now));
    if (live) return live.admitted ? live : "over-ceiling";
    return named.some(({ manifest }) => now >= manifest.ends) ? "expired" : "unknown-collection";
  }

  /** What is wrong with a collection or a value; the answer in its encoded form otherwise. */
  examine(nameOrId: string, value: unknown, now: number): Examined | Outcome {
    const collection = this.find(nameOrId, now);
    if (typeof collection === "string") return collection;
    try {
      return { collection, answer: collection.manifest.domain.encode(value) };
    } catch {
      return "invalid-value";
    }
  }

  /** Take a signed manifest. Throws ManifestError, SignatureError or ForkError if it is refused. */
  async add(envelope: Uint8Array, nameOrId?: string): Promise<void> {
    const manifest = await verifyManifest(envelope.slice() as Uint8Array<ArrayBuffer>, this.rules.trust);
    if (nameOrId !== undefined && nameOrId !== manifest.name && nameOrId !== manifest.collection) {
      throw new ManifestError(`${nameOrId}: the aggregator answered with ${manifest.collection}`);
    }
    this.#check(manifest);
    await this.store.write((tx) => enroll(tx, manifest, this.rules.trust, this.clock()));
    await this.load();
  }

  /** Prepare the newest version of each collection that these keys signed. */
  async load(): Promise<void> {
    const stored = await this.store.read((tx) => tx.all("manifests"));
    const newest = new Map<string, StoredManifest>();
    for (const each of stored) if (each.trust === this.#trust) newest.set(each.collection, each);
    const manifests = await Promise.all([...newest.values()].map(({ body }) => this.#usable(body)));
    this.#all = manifests
      .filter((manifest) => manifest !== undefined)
      .map((manifest) => prepare(manifest, this.rules.limits))
      .sort((one, other) => other.manifest.starts - one.manifest.starts);
  }

  async #usable(body: Uint8Array<ArrayBuffer>): Promise<Manifest | undefined> {
    try {
      const manifest = await loadManifest(body);
      this.#check(manifest);
      return manifest;
    } catch {
      return undefined;
    }
  }

  #check({ collection, ingest, requires, presence, webOrigins }: Manifest): void {
    const strange = ingest.find((origin) => !this.rules.origins.includes(origin));
    if (strange)
      throw new ManifestError(`${collection}: ingest names ${strange}, which is not in this app's list`);
    if (this.rules.page !== undefined && !webOrigins.includes(this.rules.page)) {
      throw new ManifestError(
        `${collection}: web_origins does not name this page's origin, ${this.rules.page}`,
      );
    }
    if (presence === "always") {
      throw new ManifestError(
        `${collection}: a page cannot keep presence = "always", as it runs during a visit only`,
      );
    }
    if (requires.length && !this.rules.hasVouchers) {
      throw new ManifestError(`${collection} requires ${requires.join()}: give the client \`vouchers\``);
    }
  }
}

function trustDigest(keys: readonly string[]): string {
  return toHex(sha256(utf8([...keys].sort().join("\n"))));
}

async function enroll(tx: Tx, manifest: Manifest, keys: readonly string[], now: number): Promise<void> {
  const { collection, version, body } = manifest;
  const stored = (await tx.all("manifests")).filter((each) => each.collection === collection);
  try {
    checkAgainst(stored, manifest);
  } catch (error) {
    if (!isOfAnotherKey(stored, keys)) throw error;
    throw new ManifestError(
      `${collection}: this database has it from a service with another key: give each service a \`state\` of its own`,
    );
  }
  await tx.put("manifests", { collection, version, trust: trustDigest(keys), body });
  await joinAccount(tx, manifest.name, manifest.ledgerGroup);
  await join(tx, manifest, now);
}

/** Whether the newest stored manifest was stored for keys that are not among these. */
function isOfAnotherKey(stored: readonly StoredManifest[], keys: readonly string[]): boolean {
  const last = stored.at(-1);
  if (!last) return false;
  for (let some = 1; some < 1 << keys.length; some++) {
    if (trustDigest(keys.filter((_, place) => some & (1 << place))) === last.trust) return false;
  }
  return true;
}

function checkAgainst(stored: readonly StoredManifest[], manifest: Manifest): void {
  const known = stored.find(({ version }) => version === manifest.version);
  if (known) {
    if (equal(known.body, manifest.body)) return;
    throw new ForkError(
      `${manifest.collection} version ${manifest.version} was signed with two different bodies`,
    );
  }
  const last = stored.at(-1);
  if (!last) return;
  if (manifest.version < last.version) {
    throw new ManifestError(
      `${manifest.collection}: version ${manifest.version} is a rollback: version ${last.version} is known`,
    );
  }
  checkSuccessor(parseManifest(last.body), manifest, parseManifest(stored[0].body));
}

/** Start a collection's chains of keys, with keys if there is consent. Chains that exist stay. */
export async function join(tx: Tx, manifest: Manifest, now: number): Promise<StoredState> {
  const known = await tx.get("collections", manifest.collection);
  if (known?.key) return known;
  const begun = known ?? { collection: manifest.collection, ...beginning(manifest, now) };
  const granted = (await tx.installation()).consent === "granted";
  const epochKey = begun.epochAt === undefined ? undefined : newKey();
  const state = granted ? { ...begun, key: newKey(), epochKey } : begun;
  await tx.put("collections", state);
  return state;
}

/** The hold and the epoch that new keys belong to. */
function beginning(manifest: Manifest, now: number): { at: number; epochAt?: number } {
  const { repeat, firstEpoch, lastEpoch, epochSeconds, holdEpochs } = manifest;
  const epoch = Math.min(Math.max(epochAt(now, epochSeconds), firstEpoch), lastEpoch);
  if (repeat === "once") return { at: 0 };
  const begun = Math.max(firstEpoch, epoch - SLACK);
  if (repeat === "fresh") return { at: begun };
  return { at: Math.max(0, holdAt({ repeat, firstEpoch, holdEpochs }, epoch) - SLACK), epochAt: begun };
}
