// Reads a manifest from its verified bytes: PROTOCOL.md, section 2. One manifest is one immutable
// (collection, version). T, A and the id are computed again; one that disagrees is refused.

import { sha256 } from "@noble/hashes/sha2.js";
import { type Bytes, equal } from "../bytes.js";
import { canonicalJson, type Json, quote, strictJson } from "../canonical.js";
import { type Domain, isPrintable, parseDomain } from "../domains.js";
import { renewalThreshold, SCALE } from "../dyadic.js";
import { DeniableError, ManifestError } from "../errors.js";
import { Fraction } from "../fraction.js";
import type { Mechanism } from "../mechanisms/mechanism.js";
import { kindOf, loadMechanism } from "../mechanisms/registry.js";
import * as dsse from "../wire/dsse.js";
import { collectionId, flatten, identityOf, type Values } from "./fields.js";
import { isLoopback, parseOrigins } from "./origins.js";
import { epochAt, epochsOpen } from "./schedule.js";

export const MANIFEST_TYPE = "application/vnd.deniable.manifest.v1+json";
const MAX_BODY_BYTES = 768_000;
const MAX_OPEN_INTEGERS = 1 << 24;
const MAX_LINKAGE = 1;
const SHORTEST_EPOCH = 3600;

export interface Manifest {
  readonly collection: string;
  readonly version: number;
  readonly name: string;
  readonly purpose: string;
  readonly owner: string;
  /** Unix seconds, 00:00 UTC. */
  readonly starts: number;
  readonly ends: number;
  readonly firstEpoch: number;
  readonly lastEpoch: number;
  readonly domain: Domain;
  readonly mechanism: Mechanism;
  /** A of 2^64, of memoized collections. */
  readonly renewal?: bigint;
  readonly report: Fraction;
  readonly permanent?: Fraction;
  readonly lifetime: Fraction;
  readonly ledgerGroup: string;
  readonly repeat: string;
  readonly holdEpochs: number;
  readonly epochSeconds: number;
  readonly graceSeconds: number;
  readonly presence: string;
  readonly sampling: Fraction;
  readonly linkage: number;
  readonly requires: readonly string[];
  readonly ingest: readonly string[];
  /** Origins of the pages that may answer. */
  readonly webOrigins: readonly string[];
  readonly values: Values;
  readonly identity: Bytes;
  readonly digest: Bytes;
  readonly body: Bytes;
}

/** The manifest in an envelope that a trusted key signed. */
export async function verifyManifest(envelope: Bytes, trusted: readonly string[]): Promise<Manifest> {
  return loadManifest(await dsse.verify(envelope, MANIFEST_TYPE, trusted));
}

/** A manifest from its verified bytes. Rejects with ManifestError, and the reason, for anything else. */
export async function loadManifest(body: Bytes): Promise<Manifest> {
  await loadMechanism(mechanismOf(body));
  return parseManifest(body);
}

/** The same where the mechanism is loaded. */
export function parseManifest(body: Bytes): Manifest {
  try {
    const manifest = read(body);
    checkLimits(manifest);
    return manifest;
  } catch (error) {
    throw error instanceof DeniableError ? new ManifestError(error.message) : error;
  }
}

function mechanismOf(body: Bytes): Json | undefined {
  try {
    return flatten(strictJson(body))["mechanism.id"];
  } catch {
    return undefined; // the parser says what is wrong
  }
}

function read(body: Bytes): Manifest {
  if (body.length > MAX_BODY_BYTES)
    throw new ManifestError(`a manifest must be at most ${MAX_BODY_BYTES} bytes`);
  const document = strictJson(body);
  const values = flatten(document);
  if (!equal(canonicalJson(document), body)) throw new ManifestError("a manifest must be canonical JSON");
  const from = new FieldReader(values);
  const memoized = values.repeat === "memoized";
  const domain = parseDomain(values.domain);
  const report = from.epsilon("epsilon.report", 0.01, 20);
  const permanent = memoized ? from.epsilon("epsilon.permanent", 0.01, 20) : undefined;
  const recipe = { domain, report, epsilon: permanent ?? report };
  const mechanism = build(values, recipe);
  const [starts, ends] = [from.day("valid_from"), from.day("expires")];
  const epochSeconds = from.integer("epoch_seconds", 1, 2_678_400);
  from.checkRest();
  return {
    name: from.name("name", 57),
    collection: from.name("collection"),
    version: from.integer("version", 1, 0xffff),
    purpose: from.text("purpose"),
    owner: from.text("owner"),
    starts,
    ends,
    firstEpoch: epochAt(starts, epochSeconds),
    lastEpoch: epochAt(ends - 1, epochSeconds),
    domain,
    mechanism,
    renewal: permanent && renewalOf(mechanism, report),
    report,
    permanent,
    lifetime: from.epsilon("epsilon.lifetime", 0.01, 20),
    ledgerGroup: from.name("ledger_group"),
    repeat: values.repeat as string,
    holdEpochs: memoized ? from.integer("hold_epochs", 1, 0xffff_ffff) : 1,
    epochSeconds,
    graceSeconds: from.integer("grace_seconds", 0, 2_678_400),
    presence: from.oneOf("presence", ["on_event", "always"]),
    sampling: Fraction.decimal(from.matching("sampling", /^(1|0\.[0-9]{0,11}[1-9])$/)),
    linkage: 0,
    requires: from.requires(),
    ingest: parseOrigins(values.ingest, "ingest"),
    webOrigins: "web_origins" in values ? parseOrigins(values.web_origins, "web_origins") : [],
    values,
    identity: identityOf(values),
    digest: sha256(body) as Bytes,
    body,
  };
}

function build(values: Values, recipe: { domain: Domain; report: Fraction; epsilon: Fraction }): Mechanism {
  const kind = kindOf(values["mechanism.id"]);
  if (!kind.domains.includes(recipe.domain.type)) {
    throw new ManifestError(
      `mechanism.id must answer for ${recipe.domain.type}, got ${quote(values["mechanism.id"])}`,
    );
  }
  const parameters = values["mechanism.parameters"];
  const given = typeof parameters === "object" && parameters !== null && !Array.isArray(parameters);
  if (!given || Object.keys(parameters).sort().join() !== [...kind.parameters].sort().join()) {
    throw new ManifestError(
      `mechanism.parameters must name ${kind.parameters.join(", ") || "nothing"}, got ${quote(parameters)}`,
    );
  }
  return kind.create({ ...recipe, parameters: parameters as Record<string, number> });
}

const renewalOf = (mechanism: Mechanism, report: Fraction): bigint =>
  renewalThreshold(
    mechanism.threshold,
    report.div(new Fraction(mechanism.differing)),
    mechanism.alphabet,
    mechanism.support,
  );

/** Reads values one by one; each error names the field, what is accepted and what was given. */
class FieldReader {
  constructor(readonly values: Values) {}

  matching(path: string, pattern: RegExp): string {
    const value = this.values[path];
    if (typeof value === "string" && pattern.test(value)) return value;
    return this.#refuse(path, `text like ${pattern.source}`);
  }

  name(path: string, longest = 64): string {
    return this.matching(path, new RegExp(`^[a-z0-9-]{1,${longest}}$`));
  }

  text(path: string): string {
    const value = this.values[path];
    if (typeof value === "string" && value && [...value].length <= 200 && isPrintable(value)) return value;
    return this.#refuse(path, "1…200 printable characters");
  }

  oneOf(path: string, accepted: readonly Json[]): string {
    const value = this.values[path];
    return accepted.includes(value) ? `${value}` : this.#refuse(path, `one of ${accepted.join(", ")}`);
  }

  integer(path: string, low: number, high: number): number {
    const value = this.values[path];
    if (typeof value === "number" && value >= low && value <= high) return value;
    return this.#refuse(path, `an integer in ${low}…${high}`);
  }

  epsilon(path: string, low: number, high: number): Fraction {
    const text = this.matching(path, /^[0-9]{1,2}(\.[0-9]{1,6})?$/);
    if (Number(text) >= low && Number(text) <= high) return Fraction.decimal(text);
    return this.#refuse(path, `${low}…${high}`);
  }

  day(path: string): number {
    const text = this.matching(path, /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/);
    const moment = Date.parse(`${text}T00:00:00Z`);
    const exists = !Number.isNaN(moment) && new Date(moment).toISOString().startsWith(text) && text > "0001";
    return exists ? moment / 1000 : this.#refuse(path, "a date of the calendar");
  }

  requires(): string[] {
    const value = this.values.requires;
    if (value === undefined) return [];
    return quote(value) === '["voucher/1"]' ? ["voucher/1"] : this.#refuse("requires", '["voucher/1"]');
  }

  /** The fields of which a device keeps nothing. */
  checkRest(): void {
    this.oneOf("read", ["live", "closed", "releases"]);
    this.oneOf("linkable", [true, false]);
    if (this.values.public !== undefined) this.oneOf("public", [true]);
    this.oneOf("cohorts", [1, 64]);
    this.epsilon("central.per_epoch", 0, 99);
    this.epsilon("central.per_installation", 0, 99);
    if (Number(this.matching("central.delta", /^0(\.[0-9]{1,12})?$/)) > 0.01)
      this.#refuse("central.delta", "0…0.01");
    this.integer("min_batch", 1, 1_000_000_000);
    this.integer("retention_days", 1, 3650);
    if (this.values.previous !== null) this.matching("previous", /^[0-9a-f]{64}$/);
  }

  #refuse(path: string, accepted: string): never {
    throw new ManifestError(`${path} must be ${accepted}, got ${quote(this.values[path])}`);
  }
}

const CHECKS: readonly [what: string, holds: (manifest: Manifest) => boolean][] = [
  [
    "previous must be null for version 1 and a SHA-256 for others",
    ({ version, values }) => (version === 1) === (values.previous === null),
  ],
  ["expires must be later than valid_from", ({ starts, ends }) => ends > starts],
  [
    "valid_from and expires must give epochs in 0…4294967295",
    ({ firstEpoch, lastEpoch }) => firstEpoch >= 0 && lastEpoch <= 0xffff_ffff,
  ],
  [
    "epsilon.permanent must be more than epsilon.report",
    ({ permanent, report }) => !permanent || permanent.compare(report) > 0,
  ],
  [
    "epsilon.lifetime must be at least one draw",
    ({ lifetime, permanent, report }) => lifetime.compare(permanent ?? report) >= 0,
  ],
  ["the thresholds must be those that follow from epsilon", hasItsThresholds],
  ["default must be an answer of the domain where presence is always, else null", hasItsDefault],
  [
    "epoch_seconds must be at least 3600 unless every ingest origin is loopback",
    ({ epochSeconds, ingest }) => epochSeconds >= SHORTEST_EPOCH || ingest.every(isLoopback),
  ],
  ["epochs open × cohorts × tally length must be at most 2^24", hasFewIntegers],
  [
    "collection must be the id that follows from the immutable fields",
    ({ collection, name, identity }) => collection === collectionId(name, identity),
  ],
];

function checkLimits(manifest: Manifest): void {
  const broken = CHECKS.find(([, holds]) => !holds(manifest));
  if (broken) throw new ManifestError(`${manifest.collection}: ${broken[0]}`);
  if (!manifest.renewal) return;
  const linkage = manifest.mechanism.linkage(new Fraction(manifest.renewal, SCALE));
  (manifest as { linkage: number }).linkage = linkage;
  if (linkage > MAX_LINKAGE && manifest.values.linkable !== true) {
    throw new ManifestError(
      `linkable must be true: two reports of one permanent answer share ${linkage.toFixed(2)} bits`,
    );
  }
}

function hasItsThresholds({ values, mechanism: { threshold }, renewal }: Manifest): boolean {
  const hex = (value: bigint) => `0x${value.toString(16).padStart(16, "0")}`;
  if (renewal === undefined) return values["mechanism.threshold"] === hex(threshold);
  return (
    values["mechanism.permanent_threshold"] === hex(threshold) &&
    values["mechanism.renewal_threshold"] === hex(renewal)
  );
}

function hasItsDefault({ presence, domain, values }: Manifest): boolean {
  if (presence === "on_event") return values.default === null;
  try {
    const wanted = domain.decode(domain.encode(values.default));
    return equal(canonicalJson(wanted), canonicalJson(values.default));
  } catch {
    return false;
  }
}

function hasFewIntegers({ epochSeconds, graceSeconds, values, mechanism }: Manifest): boolean {
  const epochs = epochsOpen(epochSeconds, graceSeconds);
  return epochs * (values.cohorts as number) * mechanism.tallySize <= MAX_OPEN_INTEGERS;
}
