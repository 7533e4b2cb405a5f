// Histories of devices for a test in Python that lives through the same ones with its own client.
// Reads {start, manifests, histories} as JSON from standard input, writes one line a history: what the
// device said and kept after each act. All keys of one history are one key, so that coins are equal.

import { readFileSync } from "node:fs";
import { fromHex, toHex, utf8 } from "../src/bytes.js";
import type { Client } from "../src/index.js";
import type { Case } from "./vectors.js";
import { type Aggregator, world } from "./world.js";

const { start, manifests, histories } = JSON.parse(readFileSync(0, "utf8"));

async function live({ key, acts }: Case): Promise<unknown[]> {
  const { open, aggregator, clock } = await world(utf8(manifests[0]), {
    ceiling: { epsilonPerReport: "2", epsilonPermanent: "4", epsilonLifetime: "8" },
  });
  const envelopes = await Promise.all(manifests.map((body: string) => aggregator.publish(utf8(body))));
  const own = crypto.getRandomValues.bind(crypto);
  crypto.getRandomValues = (array: Case) => {
    if (array.length === 32) array.set(fromHex(key));
    return array.length === 32 ? array : own(array);
  };
  clock.now = start;
  let client = open({ manifests: envelopes });
  const said: unknown[] = [];
  for (const [act, ...given] of acts as [string, ...Case[]][]) {
    if (act === "reopen") {
      await client.close();
      client = open({ manifests: envelopes });
    }
    aggregator.now = clock.now += act === "wait" ? given[0] : 0;
    const answer = act === "record" ? await client.record(given[0], given[1]) : "";
    if (act === "consent") await client.consent(given[0]);
    if (act === "flush") await flush(client, aggregator, given[0]);
    said.push([answer, await client.consent(), await kept(client)]);
  }
  await client.close();
  crypto.getRandomValues = own;
  const counted = aggregator.reports.map(({ id, epoch, payload }) => `${id} ${epoch} ${payload}`);
  return [said, [...new Set(counted)].sort()];
}

async function flush(client: Client, aggregator: Aggregator, isOnline: boolean): Promise<void> {
  if (!isOnline) aggregator.script.push(...Array.from({ length: 99 }, () => new Error("offline")));
  await client.flush({ early: true });
  aggregator.script.length = 0;
}

/** ε spent and left, and every row of the queue. */
async function kept(client: Client): Promise<unknown> {
  const { budget, reports } = await client.explain();
  const rows = reports.map(({ collection, epoch, state, payload, requests }) => [
    collection,
    epoch,
    state,
    payload ? toHex(payload) : "",
    requests,
  ]);
  const names = Object.entries(budget.collections).map(([name, { spent, left }]) => [name, spent, left]);
  return [budget.spent, budget.left, names.sort(), rows];
}

for (const history of histories) process.stdout.write(`${JSON.stringify(await live(history))}\n`);
