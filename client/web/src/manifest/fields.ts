// The fields of a manifest as data: which there are, and what a new version may do to each.

import { sha256 } from "@noble/hashes/sha2.js";
import { type Bytes, toBigInt } from "../bytes.js";
import { canonicalJson, type Json, type JsonObject, quote } from "../canonical.js";
import { ManifestError } from "../errors.js";

export type Change =
  | "identity"
  | "next"
  | "lower"
  | "raise"
  | "narrow"
  | "expiry"
  | "free"
  | "withdraw"
  | "fewer"
  | "move";

interface Field {
  readonly change: Change;
  readonly repeats?: readonly string[];
  readonly optional?: boolean;
}

const MEMOIZED = ["memoized"];

export const FIELDS: Readonly<Record<string, Field>> = {
  spec: { change: "identity" },
  collection: { change: "next" },
  version: { change: "next" },
  previous: { change: "next" },
  name: { change: "identity" },
  purpose: { change: "free" },
  owner: { change: "free" },
  valid_from: { change: "identity" },
  expires: { change: "expiry" },
  domain: { change: "identity" },
  "mechanism.id": { change: "identity" },
  "mechanism.parameters": { change: "identity" },
  "mechanism.threshold": { change: "identity", repeats: ["once", "fresh"] },
  "mechanism.permanent_threshold": { change: "identity", repeats: MEMOIZED },
  "mechanism.renewal_threshold": { change: "identity", repeats: MEMOIZED },
  "epsilon.report": { change: "identity" },
  "epsilon.permanent": { change: "identity", repeats: MEMOIZED },
  "epsilon.lifetime": { change: "lower" },
  ledger_group: { change: "identity" },
  repeat: { change: "identity" },
  hold_epochs: { change: "identity", repeats: MEMOIZED },
  epoch_seconds: { change: "identity" },
  grace_seconds: { change: "identity" },
  presence: { change: "identity" },
  default: { change: "identity" },
  sampling: { change: "identity" },
  linkable: { change: "identity" },
  requires: { change: "identity", optional: true },
  read: { change: "narrow" },
  public: { change: "withdraw", optional: true },
  "central.per_epoch": { change: "lower" },
  "central.per_installation": { change: "lower" },
  "central.delta": { change: "lower" },
  cohorts: { change: "identity" },
  min_batch: { change: "raise" },
  retention_days: { change: "lower" },
  ingest: { change: "move" },
  web_origins: { change: "fewer", optional: true },
};

const SPEC = "deniable/manifest/1";
const REPEATS = ["once", "fresh", "memoized"];
const GROUPS = ["mechanism", "epsilon", "central"];
const BASE32 = "0123456789abcdefghjkmnpqrstvwxyz";

/** The values of a manifest by path, like "epsilon.report". */
export type Values = Readonly<Record<string, Json>>;

/** Throws ManifestError for a missing or an unknown field. */
export function flatten(document: Json): Values {
  if (!isObject(document)) throw new ManifestError("a manifest must be an object");
  if (document.spec !== SPEC) throw new ManifestError(`spec must be "${SPEC}", got ${quote(document.spec)}`);
  const { repeat } = document;
  if (typeof repeat !== "string" || !REPEATS.includes(repeat)) {
    throw new ManifestError(`repeat must be one of ${REPEATS.join(", ")}, got ${quote(repeat)}`);
  }
  const values = paths(document);
  for (const path of Object.keys(values)) {
    if (!Object.hasOwn(FIELDS, path)) throw new ManifestError(`a manifest has no field ${quote(path)}`);
  }
  for (const [path, { repeats = REPEATS, optional = false }] of Object.entries(FIELDS)) {
    const belongs = repeats.includes(repeat);
    if (path in values !== belongs && !(belongs && optional)) {
      throw new ManifestError(
        `${path} ${belongs ? "is missing from the manifest" : `does not belong to repeat = "${repeat}"`}`,
      );
    }
  }
  return values;
}

function paths(document: JsonObject): Values {
  const values: Record<string, Json> = Object.create(null);
  for (const [name, value] of Object.entries(document)) {
    if (name.includes(".")) throw new ManifestError(`a manifest has no field ${quote(name)}`);
    if (!GROUPS.includes(name) || !isObject(value)) values[name] = value;
    else for (const [inner, each] of Object.entries(value)) values[`${name}.${inner}`] = each;
  }
  return values;
}

/** SHA-256 of the canonical immutable fields, by path. */
export function identityOf(values: Values): Bytes {
  const immutable = Object.entries(values).filter(([path]) => FIELDS[path].change === "identity");
  return sha256(canonicalJson(Object.fromEntries(immutable))) as Bytes;
}

/** The name and the first 30 bits of the identity, five a character, in Crockford's base 32. */
export function collectionId(name: string, identity: Bytes): string {
  const bits = Number(toBigInt(identity.subarray(0, 4)) >> 2n);
  return `${name}-${[25, 20, 15, 10, 5, 0].map((shift) => BASE32[(bits >> shift) & 31]).join("")}`;
}

const isObject = (value: Json): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
