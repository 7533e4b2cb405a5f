// A browser and an aggregator in this process: storage, locks, signed documents, a scripted network.

import "fake-indexeddb/auto";
import { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";
import { type Bytes, concat, fromHex, toHex, utf8 } from "../src/bytes.js";
import { canonicalJson, type Json, type JsonObject, strictJson } from "../src/canonical.js";
import { Client, type Options } from "../src/index.js";
import { collectionId, flatten, identityOf } from "../src/manifest/fields.js";
import { MANIFEST_TYPE } from "../src/manifest/manifest.js";
import type { Request } from "../src/transport.js";
import { extend, GENESIS, type LogEntry } from "../src/wire/log.js";
import type { Reply } from "../src/wire/replies.js";
import { ERRORS_MEDIA_TYPE, sealInfo } from "../src/wire/report.js";
import { type Case, read } from "./vectors.js";

export const URL_ = "https://telemetry.example.org";
export const START = Date.parse("2026-12-13T06:00:00Z") / 1000;
export const DAY = 86_400;

/** Locks of one browser: `ifAvailable` and `steal`, as pages use them. */
class FakeLocks {
  readonly #held = new Map<string, (error: Error) => void>();

  async request(
    name: string,
    options: { ifAvailable?: boolean; steal?: boolean },
    work: (lock: object | null) => unknown,
  ) {
    if (options.steal) this.#held.get(name)?.(new DOMException("stolen", "AbortError"));
    else if (this.#held.has(name)) return work(null);
    return new Promise((resolve, reject) => {
      this.#held.set(name, reject);
      Promise.resolve()
        .then(() => work({}))
        .then(resolve, reject)
        .finally(() => this.#held.delete(name));
    });
  }
}

export const browser: { locks?: FakeLocks; doNotTrack?: string; globalPrivacyControl?: boolean } = {
  locks: new FakeLocks(),
};
Object.defineProperty(globalThis, "navigator", { value: browser, configurable: true });

export interface Signer {
  readonly key: string;
  sign(body: Bytes, type: string, extra?: JsonObject): Promise<Bytes>;
}

const base64 = (bytes: ArrayBuffer | Bytes): string => Buffer.from(bytes as Bytes).toString("base64");

export async function signer(): Promise<Signer> {
  const { publicKey, privateKey } = (await crypto.subtle.generateKey("Ed25519", true, [
    "sign",
    "verify",
  ])) as CryptoKeyPair;
  const raw = await crypto.subtle.exportKey("raw", publicKey);
  const key = `ed25519:${Buffer.from(raw).toString("base64url")}`;
  return {
    key,
    async sign(body, payloadType, extra = {}) {
      const head = utf8(`DSSEv1 ${utf8(payloadType).length} ${payloadType} ${body.length} `);
      const sig = base64(await crypto.subtle.sign("Ed25519", privateKey, concat(head, body)));
      return canonicalJson({
        payload: base64(body),
        payloadType,
        signatures: [{ keyid: key, sig, ...extra }],
      });
    },
  };
}

const bodies: Record<string, string> = Object.fromEntries(
  read("manifests").cases.map((each: Case) => [each.name, each.body]),
);

/** The body of a published manifest with other values; its id follows. */
export function manifest(name: string, changes: JsonObject = {}): Bytes {
  const document: JsonObject = {
    ...(strictJson(utf8(bodies[name])) as JsonObject),
    ingest: [URL_],
    ...changes,
  };
  const collection = collectionId(document.name as string, identityOf(flatten(document)));
  return canonicalJson({ ...document, collection });
}

/** A question that each person answers permanently for 91 days, with a report a day. */
export function memoized(): Bytes {
  return manifest("settings", {
    repeat: "memoized",
    hold_epochs: 91,
    epsilon: { report: "1", permanent: "2", lifetime: "4" },
    mechanism: {
      id: "rr/1",
      parameters: {},
      permanent_threshold: "0xbb26a7aead15e6ca",
      renewal_threshold: "0x87ad97eb4fa4f8cc",
    },
  });
}

/** An aggregator that takes every report, unless its script says otherwise. */
export class Aggregator {
  readonly requests: { method: string; path: string }[] = [];
  readonly reports: { id: string; epoch: number; payload: string }[] = [];
  /** What the next requests get instead of an answer. */
  readonly script: (Reply | Error)[] = [];
  readonly manifests = new Map<string, Bytes>();
  log: LogEntry[] = [{ type: "manifest", bodyHash: new Uint8Array(32).fill(7) }];
  version = 1;
  now = START;
  keyId = 1;
  readonly #suite = new CipherSuite({
    kem: new DhkemX25519HkdfSha256(),
    kdf: new HkdfSha256(),
    aead: new Aes128Gcm(),
  });
  #pair?: CryptoKeyPair;

  constructor(
    readonly operator: Signer,
    readonly online: Signer,
  ) {}

  static async create(): Promise<Aggregator> {
    const aggregator = new Aggregator(await signer(), await signer());
    await aggregator.rotate(1);
    return aggregator;
  }

  async rotate(keyId: number): Promise<void> {
    this.keyId = keyId;
    this.#pair = await this.#suite.kem.generateKeyPair();
  }

  async signed(body: Bytes): Promise<Bytes> {
    return this.operator.sign(body, MANIFEST_TYPE);
  }

  async keyList(): Promise<Bytes> {
    const day = 7 * DAY;
    const delegation = canonicalJson({
      spec: "deniable/delegation/1",
      online_key: this.online.key,
      issued: START - day,
      expires: START + 400 * DAY,
    });
    const word = strictJson(
      await this.operator.sign(delegation, "application/vnd.deniable.delegation.v1+json"),
    );
    const raw = await this.#suite.kem.serializePublicKey((this.#pair as CryptoKeyPair).publicKey);
    const key = {
      id: this.keyId,
      suite: 1,
      public_key: Buffer.from(raw).toString("base64url"),
      state: "active",
    };
    const list: Json = {
      spec: "deniable/keys/1",
      version: this.version,
      issued: START - DAY + this.version,
      expires: START + 300 * DAY,
      log: { size: this.log.length, head: toHex(extend(GENESIS, this.log)) },
      keys: [key],
    };
    return this.online.sign(canonicalJson(list), "application/vnd.deniable.keys.v1+json", {
      delegation: word,
    });
  }

  readonly transport = async ({ url, body, signal }: Request): Promise<Reply> => {
    const path = url.slice(URL_.length);
    this.requests.push({ method: body ? "POST" : "GET", path });
    signal.throwIfAborted();
    const scripted = body && this.script.shift();
    if (scripted instanceof Error) throw scripted;
    if (scripted) return scripted;
    if (body) return this.#count(path, body);
    if (path === "/v1/keys") return this.#document(await this.keyList());
    if (path.startsWith("/v1/log")) return this.#document(this.#logFrom(Number(path.split("=")[1])));
    const found = this.manifests.get(path.split("/")[3]);
    return found ? this.#document(found) : problem(404, "unknown-collection");
  };

  #logFrom(first: number): Bytes {
    const entries = this.log.slice(first).map(({ type, bodyHash }) => [type, toHex(bodyHash)]);
    return canonicalJson({ size: this.log.length, head: toHex(extend(GENESIS, this.log)), entries });
  }

  #document = (body: Bytes): Reply => ({
    status: 200,
    headers: { "content-type": "application/json" },
    body,
  });

  async #count(path: string, body: Bytes): Promise<Reply> {
    const collection = path.split("/")[3];
    const header = {
      reportId: body.slice(0, 16) as Bytes,
      epoch: number(body, 16, 4),
      manifestVersion: number(body, 20, 2),
      keyId: body[22],
    };
    if (header.keyId !== this.keyId) return ok(concat(header.reportId, Uint8Array.of(11)), this.now);
    const digest = this.#digests.get(collection) as Bytes;
    const recipientKey = (this.#pair as CryptoKeyPair).privateKey;
    const sealed = body.slice(27);
    const info = sealInfo(collection, digest, header).buffer as ArrayBuffer;
    const context = await this.#suite.createRecipientContext({
      recipientKey,
      enc: sealed.slice(0, 32).buffer as ArrayBuffer,
      info,
    });
    const plain = new Uint8Array(await context.open(sealed.slice(32).buffer as ArrayBuffer));
    const payload = toHex(plain.slice(2, 2 + number(plain, 0, 2)));
    this.reports.push({ id: toHex(header.reportId), epoch: header.epoch, payload });
    return ok(new Uint8Array(0), this.now);
  }

  readonly #digests = new Map<string, Bytes>();

  async publish(body: Bytes): Promise<Bytes> {
    const envelope = await this.signed(body);
    const { collection, name } = strictJson(body) as { collection: string; name: string };
    this.#digests.set(collection, new Uint8Array(await crypto.subtle.digest("SHA-256", body)));
    this.manifests.set(collection, envelope);
    this.manifests.set(name, envelope);
    return envelope;
  }
}

const number = (bytes: Uint8Array, at: number, size: number): number =>
  Number(`0x${toHex(bytes.slice(at, at + size))}`);

export const ok = (body: Bytes, now: number): Reply => ({
  status: 200,
  headers: {
    "content-type": ERRORS_MEDIA_TYPE,
    "content-length": `${body.length}`,
    date: new Date(now * 1000).toUTCString(),
  },
  body,
});

export function problem(status: number, slug: string, headers: Record<string, string> = {}): Reply {
  const body = utf8(JSON.stringify({ type: `urn:deniable:problem:${slug}`, status }));
  return {
    status,
    headers: { "content-type": "application/problem+json", "content-length": `${body.length}`, ...headers },
    body,
  };
}

export interface World {
  readonly aggregator: Aggregator;
  readonly clock: { now: number };
  readonly state: string;
  /** Another page of the same browser. */
  open(more?: Partial<Options>): Client;
}

let worlds = 0;

/** A browser with an empty store, and a page that ships one manifest. */
export async function world(body: Bytes, more: Partial<Options> = {}): Promise<World> {
  const aggregator = await Aggregator.create();
  const envelope = await aggregator.publish(body);
  const clock = { now: START };
  const state = `world ${worlds++}`;
  const open = (others: Partial<Options> = {}) =>
    new Client({
      url: URL_,
      trust: aggregator.operator.key,
      manifests: [envelope],
      ceiling: { epsilonPerReport: "4", epsilonPermanent: "4", epsilonLifetime: "20" },
      state,
      transport: aggregator.transport,
      clock: () => clock.now,
      background: false,
      ...more,
      ...others,
    });
  return { aggregator, clock, state, open };
}

export { fromHex };
