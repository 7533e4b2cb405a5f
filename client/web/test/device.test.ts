// The device in one page: consent, ledger, repetition, sending, and what a crash or a reply leaves.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { utf8 } from "../src/bytes.js";
import { Client } from "../src/index.js";
import { Store } from "../src/store.js";
import { Aggregator, browser, DAY, manifest, memoized, problem, START, URL_, world } from "./world.js";

const YES = { dark_mode: true, beta: false };
const settings = manifest("settings");

beforeEach(() => {
  browser.doNotTrack = undefined;
  browser.globalPrivacyControl = undefined;
});

async function agreed(body = settings) {
  const found = await world(body);
  const client = found.open();
  await client.consent("granted");
  return { ...found, client };
}

test("nothing is recorded or sent before a person agrees", async () => {
  const { open, aggregator } = await world(settings);
  const client = open();
  assert.equal(await client.consent(), "unknown");
  assert.equal(await client.record("settings", YES), "no-consent");
  assert.deepEqual(await client.refresh(["settings"]).then((problems) => problems.length), 1);
  assert.equal((await client.flush({ early: true })).sent, 0);
  assert.deepEqual(aggregator.requests, []);
});

test("an answer is charged, queued, sent once and never drawn again", async () => {
  const { client, aggregator } = await agreed();
  assert.equal(await client.record("settings", YES), "queued");
  assert.equal(await client.record("settings", { dark_mode: false, beta: false }), "already-answered");
  assert.deepEqual((await client.budget()).collections.settings, {
    lifetime: 1_000_000,
    spent: 1_000_000,
    left: 0,
  });
  const { sent, accepted, waiting, problems } = await client.flush({ early: true });
  assert.deepEqual([sent, accepted, waiting, problems], [1, 1, 0, []]);
  assert.equal(aggregator.reports.length, 1);
  assert.equal(aggregator.reports[0].epoch, Math.floor(START / DAY));
  assert.equal((await client.flush({ early: true })).sent, 0);
  assert.equal(await client.record("settings", YES), "already-answered");
  assert.match((await client.explain()).text, /Reports that left this browser: 1/);
});

test("a person reads how sure one can be after all questions together, up to the ceiling", async () => {
  const other = manifest("settings", { name: "sounds", purpose: "Which sounds do people hear?" });
  const { aggregator, open } = await world(settings);
  const both = [settings, other].map((body) => aggregator.signed(body));
  const sure = async (epsilonLifetime: string): Promise<string> => {
    const ceiling = { epsilonPerReport: "1", epsilonPermanent: "1", epsilonLifetime };
    return (await open({ manifests: await Promise.all(both), ceiling }).explain()).mostSureEver;
  };
  assert.equal((await open().explain()).mostSureEver, "73.2"); // one question of ε = 1
  assert.equal(await sure("8"), "88.1"); // two of them: ε = 2
  assert.equal(await sure("1.5"), "81.8");
  assert.equal(await sure("0.5"), "50.0"); // the ceiling admits neither
});

for (const [body, words] of [
  [settings, "answers once"],
  [
    memoized(),
    "makes a new scrambled answer every 91 days, 2 in total, and sends the latest one with new noise each day",
  ],
  [manifest("settings", { repeat: "fresh", epsilon: { report: "1", lifetime: "10" } }), "answers on 10 days"],
] as const) {
  test(`a person reads when this browser answers: ${words}`, async () => {
    const { open } = await world(body);
    const client = open();
    await client.consent("granted");
    await client.record("settings", YES);
    const { text } = await client.explain();
    assert.ok(text.includes(`% sure. This browser ${words}.`), text);
    assert.match(text, /waiting {2}settings-\w+, 2026-12-13 00:00 UTC: /);
  });
}

test("a report waits for its moment, within the visit", async () => {
  const { client, clock } = await agreed();
  await client.record("settings", YES);
  assert.equal((await client.uploadDue()).sent, 0);
  clock.now += 61;
  assert.equal((await client.uploadDue()).accepted, 1);
});

test("a denial wipes the queue and keeps what was spent", async () => {
  const { client, aggregator } = await agreed();
  await client.record("settings", YES);
  await client.consent("denied");
  assert.equal(await client.record("settings", YES), "no-consent");
  assert.equal((await client.flush({ early: true })).waiting, 0);
  await client.consent("granted");
  assert.equal(await client.record("settings", YES), "already-answered");
  assert.equal((await client.budget()).spent, 1_000_000);
  assert.equal((await client.flush({ early: true })).sent, 0);
  assert.deepEqual(aggregator.reports, []);
});

test("a denial in another page stops this one", async () => {
  const { client, open, aggregator } = await agreed();
  await client.record("settings", YES);
  const other = open();
  await other.consent("denied");
  assert.equal((await client.flush({ early: true })).sent, 0);
  assert.equal(await client.record("settings", YES), "no-consent");
  assert.deepEqual(aggregator.reports, []);
});

for (const [name, stop] of [
  ["a denial", (other: Client) => other.consent("denied")],
  ["forgetting", (other: Client) => other.forget()],
] as const) {
  test(`${name} stops a request of another page that is under way`, async () => {
    const found = await world(settings);
    let stopped = false;
    const hangs: Aggregator["transport"] = (request) =>
      request.body
        ? new Promise((_, reject) => {
            request.signal.addEventListener("abort", () => {
              stopped = true;
              reject(request.signal.reason);
            });
            void stop(found.open());
          })
        : found.aggregator.transport(request);
    const client = found.open({ transport: hangs });
    await client.consent("granted");
    await client.record("settings", YES);
    const { accepted, waiting } = await client.flush({ early: true });
    assert.deepEqual([accepted, waiting], [0, 0]);
    for (let turn = 0; turn < 50 && !stopped; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.ok(stopped);
  });
}

test("Do Not Track and Global Privacy Control pause everything", async () => {
  const { client } = await agreed();
  browser.doNotTrack = "1";
  assert.equal(await client.record("settings", YES), "disabled");
  browser.doNotTrack = undefined;
  browser.globalPrivacyControl = true;
  assert.equal(await client.record("settings", YES), "disabled");
  assert.equal((await client.flush({ early: true })).sent, 0);
  assert.match((await client.explain()).text, /Global Privacy Control is on/);
  browser.globalPrivacyControl = false;
  assert.equal(await client.record("settings", YES), "queued");
});

test("a browser without Web Locks is silent", async () => {
  const { client } = await agreed();
  const { locks } = browser;
  browser.locks = undefined;
  assert.equal(await client.record("settings", YES), "disabled");
  assert.equal((await client.flush({ early: true })).sent, 0);
  assert.equal(await client.consent("denied"), "denied");
  browser.locks = locks;
});

test("storage that throws is silence", async () => {
  const { client, aggregator } = await agreed();
  const { open } = indexedDB;
  await client.close();
  indexedDB.open = () => {
    throw new DOMException("no", "SecurityError");
  };
  const broken = new Client({
    url: URL_,
    trust: aggregator.operator.key,
    ceiling: { epsilonPerReport: "4", epsilonPermanent: "4", epsilonLifetime: "20" },
    state: "broken",
    transport: aggregator.transport,
  });
  assert.equal(await broken.record("settings", YES), "unknown-collection");
  assert.equal((await broken.flush()).sent, 0);
  indexedDB.open = open;
});

test("what is asked wrongly draws nothing", async () => {
  const { client } = await agreed();
  assert.equal(await client.record("other", YES), "unknown-collection");
  assert.equal(await client.record("settings", { dark_mode: true }), "invalid-value");
  assert.equal(await client.preview("settings", YES), "queued");
  assert.equal((await client.budget()).spent, 0);
});

test("a ceiling below the collection's ε refuses it", async () => {
  const { open } = await world(settings, {
    ceiling: { epsilonPerReport: "0.5", epsilonPermanent: "4", epsilonLifetime: "20" },
  });
  const client = open();
  await client.consent("granted");
  assert.equal(await client.record("settings", YES), "over-ceiling");
});

test("a collection that is over, or not yet begun, gets nothing", async () => {
  const { client, clock } = await agreed();
  clock.now = START + 300 * DAY;
  assert.equal(await client.record("settings", YES), "expired");
  clock.now = START - 300 * DAY;
  assert.equal(await client.record("settings", YES), "unknown-collection");
});

test("two pages record at the same time: one answer is drawn", async () => {
  const { client, open } = await agreed();
  const pages = [client, open(), open(), open()];
  const outcomes = await Promise.all(
    pages.map((page, at) => page.record("settings", { dark_mode: at % 2 === 0, beta: true })),
  );
  assert.deepEqual(outcomes.sort(), ["already-answered", "already-answered", "already-answered", "queued"]);
  assert.equal((await client.budget()).spent, 1_000_000);
});

test("one answer draws once, wherever a crash interrupts it", async () => {
  for (let crash = 0; crash < 4; crash++) {
    const { client, aggregator } = await agreed(manifest("settings", { ledger_group: `group-${crash}` }));
    await client.preview("settings", YES); // its manifest is stored
    const { put } = IDBObjectStore.prototype;
    let writes = 0;
    IDBObjectStore.prototype.put = function (this: IDBObjectStore, ...args: Parameters<typeof put>) {
      if (writes++ === crash) throw new DOMException("full", "QuotaExceededError");
      return put.apply(this, args);
    };
    const first = await client.record("settings", YES);
    IDBObjectStore.prototype.put = put;
    assert.equal(first, crash < 3 ? "storage-busy" : "queued", `write ${crash}`);
    assert.equal((await client.budget()).spent, crash < 3 ? 0 : 1_000_000);
    if (crash < 3) assert.equal(await client.record("settings", YES), "queued");
    await client.flush({ early: true });
    assert.equal(aggregator.reports.length, 1);
  }
});

test("a restored copy of the store draws the same report", async () => {
  const { client, aggregator, open, state } = await agreed();
  await client.preview("settings", YES); // its keys are made
  await client.close();
  await copy(state, `${state}, restored`);
  for (const page of [open(), open({ state: `${state}, restored` })]) {
    await page.record("settings", YES);
    await page.flush({ early: true });
  }
  const [one, other] = aggregator.reports;
  assert.deepEqual(one, other);
});

async function copy(from: string, to: string): Promise<void> {
  const [old, copied] = [new Store(from), new Store(to)];
  const [installation, names, collections, manifests] = await old.read(
    async (tx) =>
      [
        await tx.installation(),
        await tx.all("names"),
        await tx.all("collections"),
        await tx.all("manifests"),
      ] as const,
  );
  await copied.write(async (tx) => {
    await tx.put("installation", installation);
    for (const row of names) await tx.put("names", row);
    for (const row of collections) await tx.put("collections", row);
    for (const row of manifests) await tx.put("manifests", row);
  });
}

test("fresh answers once an epoch, until the lifetime is spent", async () => {
  const body = manifest("settings", { repeat: "fresh", epsilon: { report: "1", lifetime: "3" } });
  const { client, clock, aggregator } = await agreed(body);
  const outcomes: string[] = [];
  for (let day = 0; day < 5; day++) {
    outcomes.push(await client.record("settings", YES), await client.record("settings", YES));
    await client.flush({ early: true });
    clock.now += DAY;
  }
  const once = ["queued", "already-answered"];
  assert.deepEqual(outcomes, [...once, ...once, ...once, ...Array(4).fill("budget-exhausted")]);
  assert.equal(aggregator.reports.length, 3);
  clock.now = START;
  assert.equal(await client.record("settings", YES), "already-answered");
});

test("memoized keeps its permanent answer for a hold, and pays once", async () => {
  const { client, clock, aggregator } = await agreed(memoized());
  const outcomes: string[] = [];
  for (let day = 0; day < 4; day++) {
    outcomes.push(await client.record("settings", { dark_mode: day % 2 === 0, beta: false }));
    clock.now += DAY;
  }
  assert.deepEqual(outcomes, ["queued", "held", "held", "held"]);
  assert.equal((await client.budget()).spent, 2_000_000);
  await client.flush({ early: true });
  assert.equal(new Set(aggregator.reports.map(({ id }) => id)).size, aggregator.reports.length);
});

test("a key that is over is renewed, and the same payload sealed again", async () => {
  const { client, aggregator, clock } = await agreed(
    manifest("settings", { repeat: "fresh", epsilon: { report: "1", lifetime: "9" } }),
  );
  await client.record("settings", YES);
  await client.flush({ early: true });
  clock.now += DAY;
  await client.record("settings", YES);
  await aggregator.rotate(2);
  Object.assign(aggregator, { version: 4, log: Array(9).fill(aggregator.log[0]) });
  const { accepted, sent } = await client.flush({ early: true });
  assert.deepEqual([accepted, sent], [1, 2]);
});

test("a reply of another server keeps the report, which is sent later", async () => {
  const { client, aggregator, clock } = await agreed();
  await client.record("settings", YES);
  aggregator.script.push(
    { status: 200, headers: { "content-type": "text/html" }, body: utf8("<h1>Sign in</h1>") },
    new Error("offline"),
  );
  assert.equal((await client.flush({ early: true })).waiting, 1);
  assert.equal((await client.flush()).sent, 0);
  clock.now += 120;
  assert.match((await client.flush()).problems[0], /Error|offline/);
  clock.now += 600;
  assert.equal((await client.flush()).accepted, 1);
  assert.equal(aggregator.reports.length, 1);
});

test("Retry-After is a floor, for early flushes too", async () => {
  const { client, aggregator, clock } = await agreed();
  await client.record("settings", YES);
  aggregator.script.push(problem(429, "too-many-requests", { "retry-after": "3600" }));
  await client.flush({ early: true });
  clock.now += 3000;
  assert.equal((await client.flush({ early: true })).sent, 0);
  clock.now += 700;
  assert.equal((await client.flush({ early: true })).accepted, 1);
});

test("what the aggregator will never take is dropped, and stays answered", async () => {
  for (const reply of [problem(410, "collection-closed"), problem(413, "too-large")]) {
    const { client, aggregator } = await agreed();
    await client.record("settings", YES);
    aggregator.script.push(reply);
    const { dropped, waiting } = await client.flush({ early: true });
    assert.deepEqual([dropped, waiting], [1, 0]);
    assert.equal(await client.record("settings", YES), "already-answered");
  }
});

test("a log that shrank stops everything permanently", async () => {
  const { client, aggregator, clock, open } = await agreed(
    manifest("settings", { repeat: "fresh", epsilon: { report: "1", lifetime: "9" } }),
  );
  aggregator.log = Array(9).fill(aggregator.log[0]);
  aggregator.version = 4;
  await client.record("settings", YES);
  await client.flush({ early: true });
  clock.now += DAY;
  await client.record("settings", YES);
  await aggregator.rotate(2);
  aggregator.version = 5;
  aggregator.log = Array(5).fill(aggregator.log[0]);
  assert.equal((await client.flush({ early: true })).accepted, 0);
  clock.now += DAY;
  assert.equal(await open().record("settings", YES), "log-forked");
  assert.equal((await client.flush({ early: true })).sent, 0);
});

test("a report whose epoch closed is not sent; the aggregator's Date decides", async () => {
  const { client, aggregator, clock } = await agreed();
  await client.record("settings", YES);
  clock.now += 10 * DAY; // a clock that jumped ahead
  assert.deepEqual(await client.flush({ early: true }).then(({ sent, waiting }) => [sent, waiting]), [0, 1]);
  clock.now = START + 120;
  assert.equal((await client.flush({ early: true })).accepted, 1);
  assert.equal(aggregator.reports.length, 1);
});

test("presence = always is refused by name", async () => {
  const body = manifest("settings", { presence: "always", default: { dark_mode: false, beta: false } });
  const { client } = await agreed(body);
  assert.equal(await client.record("settings", YES), "unknown-collection");
  assert.match((await client.flush()).problems[0], /presence = "always"/);
});

test("a collection is answered only on the pages that its manifest names", async () => {
  const body = manifest("settings", { web_origins: ["https://www.example.org"] });
  const { open } = await world(body);
  const strange = open({ page: "https://elsewhere.example" });
  assert.match((await strange.flush()).problems[0], /does not name this page's origin/);
  const client = open({ page: "https://www.example.org" });
  await client.consent("granted");
  assert.equal(await client.record("settings", YES), "queued");
});

test("a manifest for another address, or signed by a stranger, is refused", async () => {
  const { client } = await agreed(manifest("settings", { ingest: ["https://elsewhere.example"] }));
  assert.match((await client.flush()).problems[0], /not in this app's list/);
  const stranger = await Aggregator.create();
  const found = await world(settings);
  const other = found.open({ manifests: [await stranger.signed(settings)] });
  assert.match((await other.flush()).problems[0], /no trusted key/);
});

test("a rollback and a second body are refused; the second stops everything", async () => {
  const { client, aggregator, open } = await agreed();
  const again = await aggregator.signed(manifest("settings", { purpose: "Another purpose of one version?" }));
  const other = open({ manifests: [again] });
  assert.match((await other.flush()).problems[0], /two different bodies/);
  assert.equal(await client.record("settings", YES), "log-forked");
});

test("a service with another key is no fork", async () => {
  const { client, open } = await agreed();
  const stranger = await Aggregator.create();
  const again = await stranger.signed(
    manifest("settings", { purpose: "Another purpose, on a test service?" }),
  );
  const other = open({ trust: stranger.operator.key, manifests: [again] });
  assert.match(
    (await other.flush()).problems[0],
    /from a service with another key: give each service a `state`/,
  );
  assert.equal(await client.record("settings", YES), "queued");
});

test("a fork is one for a page that trusts a key more", async () => {
  const { client, aggregator, open } = await agreed();
  const stranger = await Aggregator.create();
  const again = await aggregator.signed(manifest("settings", { purpose: "Another purpose of one version?" }));
  const other = open({ trust: [stranger.operator.key, aggregator.operator.key], manifests: [again] });
  assert.match((await other.flush()).problems[0], /two different bodies/);
  assert.equal(await client.record("settings", YES), "log-forked");
});

test("forget deletes the database, and a new one begins without consent", async () => {
  const { client, open } = await agreed();
  await client.record("settings", YES);
  await client.forget();
  assert.equal(await client.record("settings", YES), "closed");
  const again = open();
  assert.equal(await again.consent(), "unknown");
  assert.equal((await again.budget()).spent, 0);
});

test("what only the developer can put right is thrown", () => {
  const ceiling = { epsilonPerReport: "4", epsilonPermanent: "4", epsilonLifetime: "20" };
  const trust = `ed25519:${"A".repeat(43)}`;
  for (const [options, message] of [
    [{ url: "http://example.org", trust, ceiling }, /url must be/],
    [{ url: URL_, trust: "key", ceiling }, /trust must be/],
    [{ url: URL_, trust, ceiling: { ...ceiling, epsilonLifetime: "1e3" } }, /ceiling.epsilonLifetime/],
  ] as const) {
    assert.throws(() => new Client(options), message);
  }
});
