// Sends the queue. A wake-up sends one new report and three retries, a flush all that may be sent.
// One tab at a time, by a Web Lock. If a run dies, the worst result is a report sent twice
// under one id, which is counted once.

import type { Address } from "./addresses.js";
import type { Bytes } from "./bytes.js";
import { reasonOf, TransportError } from "./errors.js";
import { dueIn, isAllowed, isDue, isLate, judgeLate, watchLate } from "./outbox.js";
import { randomShare } from "./random.js";
import { Sender, type Sent, type Vouchers } from "./sender.js";
import { ServerKeys } from "./server-keys.js";
import type { Row, Store } from "./store.js";
import type { Tabs } from "./tabs.js";
import { fetchTransport, TIMEOUT_SECONDS, type Transport } from "./transport.js";
import type { Reply } from "./wire/replies.js";

/**
 * What one run did. `sent` counts requests with a report, `accepted` those the aggregator has,
 * `dropped` the reports it will never take. `problems` say why.
 */
export interface Run {
  readonly sent: number;
  readonly accepted: number;
  readonly dropped: number;
  readonly problems: readonly string[];
}

/** `waiting`: the reports that are left. */
export interface FlushResult extends Run {
  readonly waiting: number;
}

export interface Parts {
  readonly addresses: readonly Address[];
  readonly trust: readonly string[];
  readonly transport?: Transport;
  readonly vouchers?: Vouchers;
  readonly clock: () => number;
  /** Whether this page may send now, but for what the store says. */
  readonly allows: () => boolean;
  readonly fetchManifest: (nameOrId: string, tried?: Address) => Promise<void>;
}

const NEW_A_WAKE_UP = 1;
const RETRIES_A_WAKE_UP = 3;

type Choice = (rows: Row[], now: number) => Row[];

const CHOICES: Readonly<Record<string, Choice>> = {
  allowed: (rows, now) => rows.filter((row) => isAllowed(row, now)),
  due: (rows, now) => rows.filter((row) => isDue(row, now)),
  "wake-up"(rows, now) {
    const due = shuffled(CHOICES.due(rows, now));
    const retries = due.filter(({ attempts }) => attempts).slice(0, RETRIES_A_WAKE_UP);
    return [...due.filter(({ attempts }) => !attempts).slice(0, NEW_A_WAKE_UP), ...retries];
  },
};

export class Uploader {
  #stopped = false;
  readonly #sender: Sender;

  constructor(
    readonly store: Store,
    readonly tabs: Tabs,
    readonly parts: Parts,
  ) {
    const { addresses, trust, clock, vouchers, fetchManifest } = parts;
    this.#sender = new Sender(
      store,
      addresses,
      new ServerKeys(store, trust, clock),
      fetchManifest,
      clock,
      vouchers,
    );
  }

  /** A document of the aggregator. Rejects without consent. */
  async get(url: string): Promise<Bytes> {
    const { status, body } = await this.#exchange({ url });
    if (status !== 200) throw new TransportError(`${url}: status ${status}`);
    return body;
  }

  /** Seconds until the next report is due; undefined where none waits. */
  async nextIn(): Promise<number | undefined> {
    const now = this.parts.clock();
    const rows = (await this.store.read((tx) => tx.waitingRows())).filter((row) => !isLate(row, now));
    return rows.length ? Math.min(...rows.map((row) => dueIn(row, now))) : undefined;
  }

  /** Send what the choice takes, unless another tab sends. */
  async run(which: keyof typeof CHOICES): Promise<Run> {
    const run = { sent: 0, accepted: 0, dropped: 0, problems: [] as string[] };
    try {
      if (await this.#isOpen()) await this.tabs.alone(() => this.#upload(run, CHOICES[which]));
    } catch (error) {
      run.problems.push(reasonOf(error));
    }
    return run;
  }

  async #upload(
    run: { sent: number; accepted: number; dropped: number; problems: string[] },
    choose: Choice,
  ): Promise<void> {
    if (this.#stopped) throw new TransportError("the aggregator refused this version's messages");
    const now = this.parts.clock();
    run.dropped += await this.store.write((tx) => watchLate(tx, now));
    const waiting = await this.store.read((tx) => tx.waitingRows());
    const inTime = waiting.filter((row) => !isLate(row, now));
    let date: number | undefined;
    for (const row of shuffled(choose(inTime, now))) {
      if (!(await this.#isOpen())) return;
      const sent = await this.#send(row);
      if (!sent) continue;
      run.sent += sent.sent;
      run.accepted += sent.accepted;
      run.dropped += sent.dropped;
      if (sent.problem) run.problems.push(sent.problem);
      date = sent.date ?? date;
      this.#stopped ||= sent.stop;
      if (this.#stopped) break;
    }
    if (date !== undefined && inTime.length < waiting.length) {
      const [clock, said] = [this.parts.clock(), date];
      run.dropped += await this.store.write((tx) => judgeLate(tx, clock, said));
    }
  }

  #send(row: Row): Promise<Sent | undefined> {
    return this.#sender.send(row, {
      get: (url) => this.get(url),
      post: (url, body, contentType) => this.#exchange({ url, body, contentType }),
    });
  }

  /** One exchange of at most ten seconds, if everything still allows it. */
  async #exchange(request: { url: string; body?: Bytes; contentType?: string }): Promise<Reply> {
    const { signal } = this.tabs;
    if (!(await this.#isOpen()))
      throw new TransportError("nothing is sent: no consent, an opt-out, or a forked log");
    signal.throwIfAborted();
    return (this.parts.transport ?? fetchTransport)({
      ...request,
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_SECONDS * 1000)]),
    });
  }

  async #isOpen(): Promise<boolean> {
    if (!this.parts.allows()) return false;
    const { consent, forked } = await this.store.read((tx) => tx.installation());
    return this.parts.allows() && consent === "granted" && forked === undefined;
  }
}

/** In an order that does not depend on when they were recorded. */
function shuffled(rows: Row[]): Row[] {
  const order = rows.map((row) => ({ row, at: randomShare() })).sort((one, other) => one.at - other.at);
  return order.map(({ row }) => row);
}
