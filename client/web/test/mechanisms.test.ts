// Every vector of every mechanism of this client: thresholds, payloads, permanent answers, reports.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Bytes, fromHex, toHex, utf8 } from "../src/bytes.js";
import { Coins } from "../src/coins.js";
import { MECHANISMS } from "../src/mechanisms/registry.js";
import { answerOf, type Case, domainOf, hex64, mechanismOf, read, renewalOf, stream } from "./vectors.js";

const PUBLIC = utf8("public");

/** The coins of what is sent openly: the files write them in two ways. */
const openly = (file: Case): Coins =>
  file.public
    ? stream(file, fromHex(file.public))
    : Coins.derive(fromHex(file.key), PUBLIC, ...file.labels.map(fromHex));

const checked = new Map<string, number>();

function check(file: Case, id: string, vector: Case): void {
  const domain = domainOf(vector);
  const mechanism = mechanismOf(id, vector, domain);
  const answer = domain.encode(answerOf(vector, domain));
  const coins = stream(file, answer.canonical);
  const payload = mechanism.randomize(answer, coins, hasPublicStream(vector, file) ? openly(file) : coins);
  assert.equal(hex64(mechanism.threshold), vector.threshold ?? vector.permanent_threshold);
  assert.equal(payload.length, mechanism.payloadSize);
  assert.equal(toHex(payload), vector.payload ?? vector.answer);
  if (vector.permanent) checkChain(file, vector, mechanism, payload);
  checked.set(id, (checked.get(id) ?? 0) + 1);
}

const hasPublicStream = (vector: Case, file: Case): boolean => file.hasPublic ?? !("values" in vector);

function checkChain(
  file: Case,
  vector: Case,
  mechanism: ReturnType<typeof mechanismOf>,
  answer: Bytes,
): void {
  const keep = renewalOf(vector, mechanism);
  assert.equal(hex64(keep), vector.renewal_threshold);
  const reports = vector.reports.map((_: string, t: number) =>
    toHex(mechanism.rerandomize(answer, keep, stream(file, answer, Uint8Array.of(t)))),
  );
  assert.deepEqual(reports, vector.reports);
}

const ours = (id: string): boolean => Object.hasOwn(MECHANISMS, id);

for (const name of ["designs", "encodings", "numbers", "records", "sketches", "prefixes"]) {
  const file = read(name);
  for (const vector of file.cases.filter((each: Case) => ours(each.mechanism))) {
    test(`${name}: ${vector.name ?? `${vector.mechanism} ${vector.values} ${vector.epsilon} ${vector.value}`}`, () =>
      check(file, vector.mechanism, vector));
  }
}

const chains = read("chains");
for (const vector of chains["rr-sampled/1"])
  test(`chains: ${vector.name}`, () => check(chains, "rr-sampled/1", vector));
for (const vector of chains.chains)
  test(`chains: chain, ${vector.name}`, () => check(chains, vector.mechanism, vector));

const payloads = read("payloads");
for (const id of ["rr/1", "grr/1"]) {
  for (const vector of payloads[id])
    test(`payloads: ${id}, ${vector.name}`, () => check({ ...payloads, ...vector }, id, vector));
}

test("every mechanism is held by a vector", () => {
  assert.deepEqual([...checked.keys()].sort(), Object.keys(MECHANISMS).sort());
});
