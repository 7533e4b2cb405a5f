// A tab that ends between any two steps: the next one finishes what the first began. Within intact
// storage no answer is drawn twice, nothing is paid twice, and after a denial nothing leaves.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Client } from "../src/index.js";
import { type Aggregator, DAY, manifest, memoized, world } from "./world.js";

const YES = { dark_mode: true, beta: false };
const NO = { dark_mode: false, beta: true };

/** Ends a tab at one of its steps: what it asks of storage, and both ends of a request. */
class Ending {
  #steps = 0;
  #over = false;

  constructor(readonly at: number) {}

  step(): void {
    this.#over ||= this.#steps++ === this.at;
    if (this.#over) throw new DOMException("the tab is gone", "AbortError");
  }

  get happened(): boolean {
    return this.#over;
  }
}

const STORAGE: readonly [prototype: object, methods: readonly string[]][] = [
  [IDBFactory.prototype, ["open"]],
  [IDBDatabase.prototype, ["transaction"]],
  [IDBObjectStore.prototype, ["get", "getAll", "put", "openKeyCursor"]],
  [IDBIndex.prototype, ["count", "getAll"]],
];
type Methods = Record<string, (...given: unknown[]) => unknown>;

/** Run `work` where each step of storage counts. */
async function counted(ending: Ending, work: () => Promise<void>): Promise<void> {
  const before = STORAGE.map(([prototype, methods]) => methods.map((name) => (prototype as Methods)[name]));
  STORAGE.forEach(([prototype, methods], at) => {
    methods.forEach((name, place) => {
      (prototype as Methods)[name] = function (this: unknown, ...given: unknown[]) {
        if (given[1] !== "versionchange") ending.step(); // that one is the database's own
        return before[at][place].apply(this, given);
      };
    });
  });
  try {
    await work();
  } finally {
    STORAGE.forEach(([prototype, methods], at) => {
      methods.forEach((name, place) => {
        (prototype as Methods)[name] = before[at][place];
      });
    });
  }
}

function cutRequests(transport: Aggregator["transport"], ending: Ending): Aggregator["transport"] {
  return async (request) => {
    ending.step(); // before it leaves
    const reply = await transport(request);
    ending.step(); // the aggregator has it; the tab does not learn that
    return reply;
  };
}

/** One visit that ends at each of its steps in turn, and what must hold after it. */
async function cutEverywhere(
  body: ReturnType<typeof manifest>,
  visit: (client: Client, clock: { now: number }) => Promise<void>,
  after: (client: Client, aggregator: Aggregator, ended: Ending) => Promise<void>,
): Promise<number> {
  for (let at = 0; ; at++) {
    const { open, aggregator, clock } = await world(body);
    const ending = new Ending(at);
    await counted(ending, async () => {
      const first = open({ transport: cutRequests(aggregator.transport, ending) });
      await visit(first, clock).catch(() => undefined); // a tab that is gone reports nothing
      await first.preview("settings", YES); // what it began is over
      await first.close();
    });
    await after(open(), aggregator, ending);
    if (!ending.happened) return at;
  }
}

async function answered(client: Client, answer: object): Promise<void> {
  await client.consent("granted");
  await client.record("settings", answer);
  await client.flush({ early: true });
}

const one = (values: readonly string[]): number => new Set(values).size;

test("one answer and one charge, wherever the visit ends", async () => {
  const steps = await cutEverywhere(
    manifest("settings"),
    (client) => answered(client, YES),
    async (client, { reports }) => {
      await answered(client, NO);
      assert.equal(one(reports.map(({ id }) => id)), 1);
      assert.equal(one(reports.map(({ payload }) => payload)), 1);
      assert.equal((await client.budget()).spent, 1_000_000);
      assert.equal((await client.flush({ early: true })).waiting, 0);
    },
  );
  assert.ok(steps > 60, `${steps} steps`);
});

for (const [name, body, spent] of [
  ["fresh", manifest("settings", { repeat: "fresh", epsilon: { report: "1", lifetime: "2" } }), 2_000_000],
  ["memoized", memoized(), 2_000_000],
] as const) {
  test(`${name}: each day has one report, wherever the visit ends`, async () => {
    await cutEverywhere(
      body,
      async (client, clock) => {
        await answered(client, YES);
        clock.now += DAY;
        await answered(client, YES);
      },
      async (client, aggregator) => {
        await answered(client, NO);
        const days = new Map<number, Set<string>>();
        for (const { epoch, id, payload } of aggregator.reports)
          days.set(epoch, (days.get(epoch) ?? new Set()).add(`${id} ${payload}`));
        assert.ok([...days.values()].every((reports) => reports.size === 1));
        assert.ok((await client.budget()).spent <= spent);
      },
    );
  });
}

test("after a denial nothing leaves, wherever the visit ends", async () => {
  let denied = false;
  await cutEverywhere(
    manifest("settings"),
    async (client) => {
      denied = false;
      await client.consent("granted");
      await client.record("settings", YES);
      await client.consent("denied");
      denied = true;
    },
    async (client, aggregator) => {
      const consent = await client.consent();
      if (denied) assert.equal(consent, "denied");
      const { sent, waiting } = await client.flush({ early: true });
      if (consent === "denied") assert.deepEqual([sent, waiting, aggregator.reports], [0, 0, []]);
    },
  );
});
