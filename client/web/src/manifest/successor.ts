// What a new version of a collection may change.

import { equal, toHex } from "../bytes.js";
import { canonicalJson, type Json } from "../canonical.js";
import { ManifestError } from "../errors.js";
import { Fraction } from "../fraction.js";
import { type Change, FIELDS } from "./fields.js";
import type { Manifest } from "./manifest.js";

const MAX_EXTENSION = 365 * 86_400;
const READS = ["live", "closed", "releases"];

const LAWS: Partial<Record<Change, (old: Json, now: Json) => boolean>> = {
  identity: () => false,
  withdraw: (_old, now) => now === undefined,
  fewer: (old, now) => origins(now).every((origin) => origins(old).includes(origin)),
  lower: (old, now) => decimal(now).compare(decimal(old)) <= 0,
  raise: (old, now) => decimal(now).compare(decimal(old)) >= 0,
  narrow: (old, now) => READS.indexOf(`${now}`) >= READS.indexOf(`${old}`),
};

/**
 * Throws ManifestError, naming the field, unless `now` may follow `old` in one collection.
 * `first` is the first version that this device saw.
 */
export function checkSuccessor(old: Manifest, now: Manifest, first: Manifest): void {
  for (const [path, { change }] of Object.entries(FIELDS)) {
    const [before, after] = [old.values[path], now.values[path]];
    if (!same(before, after) && LAWS[change]?.(before, after) === false) {
      throw new ManifestError(`${path} may not change so: make a new collection with another name`);
    }
  }
  if (now.collection !== old.collection || now.version <= old.version) {
    throw new ManifestError(`version must be more than ${old.version}, got ${now.version}`);
  }
  if (now.version === old.version + 1 && now.values.previous !== toHex(old.digest)) {
    throw new ManifestError(`previous must be the SHA-256 of version ${old.version}`);
  }
  if (now.ends > first.ends + MAX_EXTENSION) {
    throw new ManifestError("expires must be at most 365 days after the first version's");
  }
}

const origins = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);

const decimal = (value: Json): Fraction => Fraction.decimal(`${value}`);

const same = (one: Json | undefined, other: Json | undefined): boolean =>
  one === other ||
  (one !== undefined && other !== undefined && equal(canonicalJson(one), canonicalJson(other)));
