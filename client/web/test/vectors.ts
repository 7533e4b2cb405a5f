// The published vectors, and the shapes that their files share.

import { readFileSync } from "node:fs";
import { fromHex } from "../src/bytes.js";
import type { JsonObject } from "../src/canonical.js";
import { Coins } from "../src/coins.js";
import { type Domain, parseDomain } from "../src/domains.js";
import { renewalThreshold } from "../src/dyadic.js";
import { Fraction } from "../src/fraction.js";
import type { Mechanism } from "../src/mechanisms/mechanism.js";
import { kindOf, loadMechanism, MECHANISMS } from "../src/mechanisms/registry.js";

// biome-ignore lint/suspicious/noExplicitAny: the files have many shapes
export type Case = any;

await Promise.all(Object.keys(MECHANISMS).map(loadMechanism));

/** The folder is found from build/test, where the compiled tests are. */
export const read = (name: string): Case =>
  JSON.parse(readFileSync(new URL(`../../../../tests/vectors/${name}.json`, import.meta.url), "utf8"));

export const hex64 = (value: bigint): string => `0x${value.toString(16).padStart(16, "0")}`;

export const stream = (file: Case, ...last: Uint8Array[]): Coins =>
  Coins.derive(fromHex(file.key), ...file.labels.map(fromHex), ...last);

const labels = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${prefix} ${at}`);

/** The domain of a vector that names only its size. */
export function domainOf(vector: Case): Domain {
  const { domain = {} } = vector;
  if (domain.type) return parseDomain(domain);
  if (vector.radices) {
    const attributes = vector.radices.map((radix: number, at: number) => ({
      name: `a${at}`,
      labels: labels("l", radix),
    }));
    return parseDomain({ type: "record", attributes });
  }
  if (vector.text) return parseDomain({ type: "text", max_bytes: 16 });
  const values = vector.values ?? domain.values;
  if (values) return parseDomain({ type: "number", low: "0", high: `${values - 1}`, step: "1" });
  if (domain.choices) return parseDomain({ type: "choice", labels: labels("choice", domain.choices) });
  const limit: JsonObject = domain.at_most ? { constraint: "at-most", at_most: domain.at_most } : {};
  return parseDomain({ type: "bits", labels: labels("bit", domain.bits), ...limit });
}

/** The value of a vector, as an app would give it. */
export function answerOf(vector: Case, domain: Domain): unknown {
  if (vector.text) return vector.text;
  if (vector.places)
    return Object.fromEntries(vector.places.map((place: number, at: number) => [`a${at}`, `l ${place}`]));
  if ("value" in vector) return vector.value;
  if (domain.type === "bits") return Array.from({ length: domain.size }, (_, at) => vector.yes.includes(at));
  return vector.yes[0];
}

export function mechanismOf(id: string, vector: Case, domain: Domain): Mechanism {
  const report = Fraction.decimal(vector.epsilon);
  const epsilon = Fraction.decimal(vector.permanent ?? vector.epsilon);
  const sampled = "sampled" in vector ? { sampled: vector.sampled } : {};
  return kindOf(id).create({ domain, epsilon, report, parameters: { ...vector.parameters, ...sampled } });
}

export const renewalOf = (vector: Case, { threshold, differing, alphabet, support }: Mechanism): bigint =>
  renewalThreshold(
    threshold,
    Fraction.decimal(vector.epsilon).div(new Fraction(differing)),
    alphabet,
    support,
  );
