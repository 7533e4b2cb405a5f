// Turns a value into a randomized payload in the queue. The only module that randomizes.
// One transaction reads, randomizes, charges, queues and overwrites the keys. After any interruption
// either all of that happened or nothing did. The value itself is never stored.

import {
  type Collection,
  closesAt,
  epochOf,
  type Limits,
  latestSend,
  millionths,
  type Period,
  periodOf,
} from "./collection.js";
import { type Examined, join } from "./collections.js";
import { beginsHold, type Drawn, draw, refusal } from "./draw.js";
import { charge, isAffordable } from "./ledger.js";
import { dropLate, MAX_WAITING, MAX_WAITING_HERE } from "./outbox.js";
import type { Outcome } from "./outcome.js";
import { randomShare } from "./random.js";
import type { Store, Tx } from "./store.js";

export class Recorder {
  constructor(
    readonly store: Store,
    readonly limits: Limits,
    readonly visitSeconds: number,
  ) {}

  record(examined: Examined, now: number): Promise<Outcome> {
    return this.store.write((tx) => this.#answer(tx, examined, now));
  }

  async #answer(tx: Tx, { collection, answer }: Examined, now: number): Promise<Outcome> {
    const { consent, forked } = await tx.installation();
    if (consent !== "granted") return "no-consent";
    if (forked !== undefined) return "log-forked";
    const { manifest } = collection;
    const period = periodOf(collection, epochOf(collection, now));
    const state = await join(tx, manifest, now);
    const refused = refusal(manifest.repeat, state, period, await tx.highest(manifest.collection));
    if (refused) return refused;
    const lifetime = millionths(this.limits.lifetime);
    const pays = isAffordable(collection, await tx.all("names"), lifetime);
    const isFree = !beginsHold(state, period) || state.permanent !== undefined;
    if (!isFree && !pays) return "budget-exhausted";
    if (await isFull(tx, manifest.collection, now)) return "queue-full";
    const drawn = draw(collection, state, period, answer, pays);
    await tx.put("collections", { ...drawn.state, collection: manifest.collection });
    if (drawn.paid) await charge(tx, collection);
    await this.#queue(tx, collection, period, drawn, now);
    return drawn.outcome;
  }

  async #queue(tx: Tx, collection: Collection, { epoch }: Period, drawn: Drawn, now: number): Promise<void> {
    if (!drawn.payload) return;
    const { collection: id, version } = collection.manifest;
    const { payload, reportId } = drawn;
    const span = Math.min(Math.max(0, latestSend(collection, epoch) - now), this.visitSeconds);
    const times = {
      closesAt: closesAt(collection, epoch),
      sendAt: now + span * randomShare(),
      retryAt: 0,
      floor: 0,
    };
    const row = { collection: id, epoch, version, payload, reportId, attempts: 0, ...times };
    await tx.put("outbox", { ...row, state: "waiting", waiting: id });
  }
}

async function isFull(tx: Tx, collection: string, now: number): Promise<boolean> {
  const full = async () =>
    (await tx.waiting()) >= MAX_WAITING || (await tx.waiting(collection)) >= MAX_WAITING_HERE;
  if (!(await full())) return false;
  await dropLate(tx, now);
  return full();
}
