// Seals and sends one report, and decides by the reply what happens next.
// Nothing here randomizes a payload.

import { sha256 } from "@noble/hashes/sha2.js";
import { type Address, route } from "./addresses.js";
import { type Bytes, toHex } from "./bytes.js";
import { reasonOf } from "./errors.js";
import { loadManifest, type Manifest } from "./manifest/manifest.js";
import { empty } from "./outbox.js";
import { randomShare } from "./random.js";
import type { Get, ServerKeys } from "./server-keys.js";
import type { Row, Store, Tx } from "./store.js";
import type { PublicKey } from "./wire/key-list.js";
import { type Action, type Decision, type Reply, readReply, retryAfter } from "./wire/replies.js";
import {
  type Extension,
  encodePlaintext,
  encodeUpload,
  MEDIA_TYPE,
  sealInfo,
  voucherExtension,
} from "./wire/report.js";
import { seal } from "./wire/seal.js";

/** The voucher that the app's backend issued for a collection and an epoch; undefined for none yet. */
export type Vouchers = (collection: string, epoch: number) => Promise<string | undefined>;

/** The result for one row in one run. */
export interface Sent {
  sent: number;
  accepted: number;
  dropped: number;
  stop: boolean;
  problem?: string;
  date?: number;
}

/** One exchange within the limits of a run. Rejects where there is no whole reply. */
export interface Exchange {
  get: Get;
  post(url: string, body: Bytes, contentType: string): Promise<Reply>;
}

const BACK_OFF_BASE = 30;
const BACK_OFF_CAP = 6 * 3600;
const TOO_EARLY = 6 * 3600;
const VOUCHER_SPAN = 900;
const KEEPING: readonly Action[] = ["back-off", "later", "reseal", "await-voucher"];
const BUSY = ["too-many-requests", "unavailable"];

interface Attempt {
  readonly decision: Decision;
  readonly wait: number;
  readonly sent: number;
}

export class Sender {
  constructor(
    readonly store: Store,
    readonly addresses: readonly Address[],
    readonly keys: ServerKeys,
    readonly fetchManifest: (nameOrId: string, tried?: Address) => Promise<void>,
    readonly clock: () => number,
    readonly vouchers?: Vouchers,
  ) {}

  /** Seal and send one row. Throws where there is no key to seal to. */
  async send(row: Row, exchange: Exchange): Promise<Sent | undefined> {
    const found = await manifestsOf(this.store, row);
    if (!found) return undefined;
    const addresses = route(this.addresses, found.ingest, row.attempts);
    const key = await this.keys.active(exchange.get, addresses);
    const extensions = await this.#extensions(row, found.manifest);
    if (typeof extensions === "string") {
      return this.#conclude(row, {
        decision: { action: "await-voucher", problem: extensions },
        wait: 0,
        sent: 0,
      });
    }
    let attempt = await this.#post(row, found.manifest, extensions, key, exchange, addresses[0]);
    if (attempt?.decision.action === "reseal") {
      attempt = await this.#reseal(row, found.manifest, extensions, exchange, addresses, attempt);
    }
    if (!attempt) return undefined;
    const { action, problem } = attempt.decision;
    const moved = action === "back-off" && !BUSY.includes(problem) && addresses.length > 1 && attempt.sent;
    if (moved) await this.fetchManifest(row.collection, addresses[0]).catch(() => undefined);
    if (action === "fetch-manifest") await this.fetchManifest(row.collection).catch(() => undefined);
    return this.#conclude(row, attempt);
  }

  async #extensions({ collection, epoch }: Row, { requires }: Manifest): Promise<Extension[] | string> {
    if (!requires.length) return [];
    try {
      const voucher = await this.vouchers?.(collection, epoch);
      return voucher === undefined ? "there is no voucher yet" : [voucherExtension(voucher)];
    } catch (error) {
      return `vouchers failed: ${reasonOf(error)}`;
    }
  }

  async #post(
    row: Row,
    manifest: Manifest,
    extensions: Extension[],
    key: PublicKey,
    exchange: Exchange,
    address: Address,
  ): Promise<Attempt | undefined> {
    const { collection, epoch, version: manifestVersion } = row;
    const [reportId, payload] = [row.reportId as Bytes, row.payload as Bytes];
    const header = { reportId, epoch, manifestVersion, keyId: key.id };
    const info = sealInfo(collection, manifest.digest, header);
    let sent = 0;
    try {
      const request = encodeUpload(
        header,
        await seal(encodePlaintext(payload, extensions), key.publicKey, info),
      );
      if (!(await this.store.write((tx) => markSending(tx, row, request)))) return undefined;
      sent = 1;
      const reply = await exchange.post(
        `${address.base}/v1/collections/${collection}/reports`,
        request,
        MEDIA_TYPE,
      );
      return { decision: readReply(reply, reportId), wait: retryAfter(reply, this.clock()), sent };
    } catch (error) {
      return { decision: { action: "back-off", problem: reasonOf(error) }, wait: 0, sent };
    }
  }

  async #reseal(
    row: Row,
    manifest: Manifest,
    extensions: Extension[],
    exchange: Exchange,
    addresses: readonly Address[],
    { sent }: Attempt,
  ): Promise<Attempt | undefined> {
    try {
      const key = await this.keys.active(exchange.get, addresses, true);
      const again = await this.#post(row, manifest, extensions, key, exchange, addresses[0]);
      return again && { ...again, sent: sent + again.sent };
    } catch (error) {
      return { decision: { action: "back-off", problem: reasonOf(error) }, wait: 0, sent };
    }
  }

  async #conclude(row: Row, { decision, wait, sent }: Attempt): Promise<Sent> {
    const { action, problem, date } = decision;
    const dropped = await this.store.write((tx) => this.#write(tx, row, decision, wait));
    const where = `${row.collection}, epoch ${row.epoch}: ${problem}`;
    const accepted = Number(action === "done");
    return {
      sent,
      accepted,
      dropped,
      stop: action === "drop-and-stop",
      problem: accepted ? undefined : where,
      date,
    };
  }

  /** What the decision does to the store; the number of rows dropped. */
  async #write(
    tx: Tx,
    { collection, epoch, attempts }: Row,
    { action, problem }: Decision,
    wait: number,
  ): Promise<number> {
    const row = await tx.get("outbox", [collection, epoch]);
    if (!row?.waiting) return 0;
    if (KEEPING.includes(action)) {
      await tx.put("outbox", postponed(row, attempts, action, wait, this.clock()));
      return 0;
    }
    const rows =
      action === "drop-collection"
        ? (await tx.waitingRows()).filter((each) => each.waiting === collection)
        : [row];
    const state = action === "done" ? "done" : "dropped";
    for (const each of rows) await empty(tx, each, state, problem || undefined);
    return state === "done" ? 0 : rows.length;
  }
}

/** `attempts`: before this one. */
function postponed(row: Row, attempts: number, action: Action, retryAfterSeconds: number, now: number): Row {
  const wait = Math.min(action === "later" ? TOO_EARLY : retryAfterSeconds, BACK_OFF_CAP);
  const doubled = Math.min(BACK_OFF_BASE * 2 ** Math.min(attempts, 10), BACK_OFF_CAP);
  const span = action === "reseal" ? 0 : action === "await-voucher" ? VOUCHER_SPAN : doubled;
  return { ...row, retryAt: now + wait + span * randomShare(), floor: wait ? now + wait : 0 };
}

/** The manifest that a row was recorded under, and where the newest one lets it go. */
async function manifestsOf(store: Store, row: Row) {
  const all = await store.read((tx) => tx.all("manifests"));
  const stored = all.filter(({ collection }) => collection === row.collection);
  const own = stored.find(({ version }) => version === row.version);
  if (!own) return undefined;
  const [manifest, { ingest }] = await Promise.all(
    [own, stored[stored.length - 1]].map(({ body }) => loadManifest(body)),
  );
  return { manifest, ingest };
}

/** Note that the first byte of this request is about to leave; false if it must not any more. */
async function markSending(tx: Tx, { collection, epoch }: Row, request: Bytes): Promise<boolean> {
  const { consent, forked } = await tx.installation();
  const row = await tx.get("outbox", [collection, epoch]);
  if (!row?.waiting || consent !== "granted" || forked !== undefined) return false;
  const noted = { requestDigest: toHex(sha256(request)), requestBytes: request.length };
  await tx.put("outbox", { ...row, ...noted, state: "sending", attempts: row.attempts + 1 });
  return true;
}
