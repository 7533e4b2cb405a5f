// How long one report takes: encode, draw, id and the next key. Runs in Node.js and in a page.

import type { Json } from "../src/canonical.js";
import { parseDomain } from "../src/domains.js";
import { Fraction } from "../src/fraction.js";
import * as keychain from "../src/keychain.js";
import { kindOf, loadMechanism } from "../src/mechanisms/registry.js";
import { newKey } from "../src/random.js";

type Row = readonly [id: string, domain: Json, parameters: Record<string, number>, value: unknown];

const labels = (count: number): string[] => Array.from({ length: count }, (_, at) => `label ${at}`);
const choice = (size: number): Json => ({ type: "choice", labels: labels(size) });
const number: Json = { type: "number", low: "0", high: "240", step: "1" };

const record: Json = {
  type: "record",
  attributes: Array.from({ length: 6 }, (_, at) => ({ name: `a${at}`, labels: ["yes", "no"] })),
};
const answers = Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`a${at}`, "yes"]));

const ROWS: readonly Row[] = [
  ["rr/1", { type: "bits", labels: labels(2) }, {}, [true, false]],
  ["rr/1", { type: "bits", labels: labels(100) }, {}, Array(100).fill(true)],
  ["rr-sampled/1", { type: "bits", labels: labels(100) }, { sampled: 3 }, Array(100).fill(true)],
  ["grr/1", choice(5), {}, "label 3"],
  ["subset/1", choice(20), { subset_size: 5 }, "label 3"],
  ["affine/1", choice(500), { modulus: 503, subset_size: 135 }, "label 3"],
  ["cyclic/1", choice(500), { dimension: 6, field_order: 4 }, "label 3"],
  ["projective/1", choice(500), { dimension: 6, field_order: 4 }, "label 3"],
  ["hadamard/1", choice(500), {}, "label 3"],
  ["optimal-mean/1", number, { odds: 178_145, outputs: 18, window: 9 }, 120],
  ["duchi/1", number, {}, 120],
  ["haar/1", number, {}, 120],
  ["tree/1", number, { fan_out: 16 }, 120],
  ["square-wave/1", number, { reach: 60 }, 120],
  ["pairs/1", record, {}, answers],
  ["fourier/1", record, { ways: 2 }, answers],
  ["prefix-hash/1", { type: "text", max_bytes: 16 }, { base: 5, digits: 6, tables: 5, step: 1 }, "coffee"],
];
const [BATCHES, TURNS] = [20, 100]; // a browser's clock is too coarse for one turn

/** Milliseconds of one turn, in the median batch. */
async function median([id, document, parameters, value]: Row): Promise<number> {
  await loadMechanism(id);
  const [domain, epsilon] = [parseDomain(document), new Fraction(1)];
  const mechanism = kindOf(id).create({ domain, epsilon, report: epsilon, parameters });
  const identity = new Uint8Array(32);
  const report = (turn: number): void => {
    const key = newKey();
    const answer = domain.encode(value);
    const coins = keychain.coins(key, identity, turn, answer.canonical);
    mechanism.randomize(answer, coins, mechanism.open ? keychain.publicCoins(key, identity, turn) : coins);
    keychain.reportId(key, "settings-qgd4v4", turn);
    keychain.advance(key, 1);
  };
  const times = Array.from({ length: BATCHES }, () => {
    const begun = performance.now();
    for (let turn = 0; turn < TURNS; turn++) report(turn);
    return (performance.now() - begun) / TURNS;
  });
  return times.sort((one, other) => one - other)[BATCHES / 2];
}

/** To the console, or to the page that this runs in. */
const print = (line: string): void =>
  globalThis.document ? document.body.append(`${line}\n`) : console.log(line);

async function main(): Promise<void> {
  for (const row of ROWS) {
    const { type, labels: named } = row[1] as { type: string; labels?: string[] };
    const of = named ? `${named.length} ${type === "bits" ? "bits" : "labels"}` : type;
    print(`${row[0].padEnd(16)} ${of.padEnd(12)} ${(await median(row)).toFixed(4)} ms`);
  }
}

void main();
