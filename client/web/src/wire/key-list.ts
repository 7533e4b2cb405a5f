// The keys that reports are sealed to: operator key → delegation → online key → key list.

import { type Bytes, fromBase64Url } from "../bytes.js";
import { type Json, type JsonObject, members, quote, strictJson } from "../canonical.js";
import { DecodeError, ForkError, SignatureError } from "../errors.js";
import * as dsse from "./dsse.js";

const KEYS_TYPE = "application/vnd.deniable.keys.v1+json";
const DELEGATION_TYPE = "application/vnd.deniable.delegation.v1+json";
const MAX_KEYS = 256;
const MAX_KEY_BYTES = 4096;
const KEY_BYTES: Readonly<Record<number, number>> = { 1: 32, 2: 1216 };
const STATES = ["pending", "active", "expired"];

export interface PublicKey {
  readonly id: number;
  readonly suite: number;
  readonly publicKey: Bytes;
  readonly state: string;
}

/** Times are unix seconds; `until` is when list or delegation ends. */
export interface KeyList {
  readonly version: number;
  readonly issued: number;
  readonly until: number;
  readonly logSize: number;
  readonly logHead: string;
  readonly keys: readonly PublicKey[];
  readonly body: Bytes;
}

/** The list, if a trusted operator key delegates the key that signed it and nothing expired. */
export async function verifyKeyList(
  envelope: Bytes,
  trusted: readonly string[],
  now: number,
): Promise<KeyList> {
  const decoded = dsse.decode(envelope, KEYS_TYPE, "delegation");
  if (decoded.signatures.length !== 1) throw new DecodeError("a key list has one signature");
  const { onlineKey, until } = await delegated(decoded.signatures[0].delegation, trusted, now);
  await dsse.check(decoded, [onlineKey]);
  const list = parse(decoded.payload);
  if (now >= list.until) throw new SignatureError(`the key list expired at ${list.until}`);
  return { ...list, until: Math.min(list.until, until) };
}

async function delegated(document: Json, trusted: readonly string[], now: number) {
  const delegation = dsse.decodeDocument(document, DELEGATION_TYPE);
  await dsse.check(delegation, trusted);
  const body = members(
    strictJson(delegation.payload),
    ["spec", "online_key", "issued", "expires"],
    "delegation",
  );
  checkSpec(body, "deniable/delegation/1");
  const { until } = validity(body);
  if (now >= until) throw new SignatureError(`the delegation expired at ${until}`);
  dsse.keyBytes(body.online_key);
  return { onlineKey: body.online_key as string, until };
}

function parse(payload: Bytes): KeyList {
  const body = members(
    strictJson(payload),
    ["spec", "version", "issued", "expires", "log", "keys"],
    "key list",
  );
  checkSpec(body, "deniable/keys/1");
  const log = members(body.log, ["size", "head"], "log");
  const { keys } = body;
  if (!Array.isArray(keys) || keys.length < 1 || keys.length > MAX_KEYS) {
    throw new DecodeError(`keys must be a list of 1…${MAX_KEYS}`);
  }
  const parsed = keys.map(parseKey);
  if (new Set(parsed.map(({ id }) => id)).size < parsed.length)
    throw new DecodeError("keys must have different ids");
  return {
    version: integer(body, "version", 1),
    ...validity(body),
    logSize: integer(log, "size", 0),
    logHead: hash(log.head, "log.head"),
    keys: parsed,
    body: payload,
  };
}

function parseKey(document: Json): PublicKey {
  const key = members(document, ["id", "suite", "public_key", "state"], "key");
  const suite = integer(key, "suite", 1, 255);
  const publicKey = fromBase64Url(key.public_key);
  const wanted = KEY_BYTES[suite] ?? publicKey.length;
  if (publicKey.length !== wanted || !wanted || wanted > MAX_KEY_BYTES) {
    throw new DecodeError(`keys[].public_key must be ${wanted} bytes, got ${publicKey.length}`);
  }
  if (typeof key.state !== "string" || !STATES.includes(key.state))
    throw new DecodeError("keys[].state is unknown");
  return { id: integer(key, "id", 0, 255), suite, publicKey, state: key.state };
}

/** The key to seal to: active, of suite 1, of several that of the highest id. */
export const activeKey = ({ keys }: KeyList): PublicKey | undefined =>
  keys
    .filter(({ state, suite }) => state === "active" && suite === 1)
    .reduce<PublicKey | undefined>((best, key) => (best && best.id > key.id ? best : key), undefined);

const NEXT: Readonly<Record<string, readonly string[]>> = {
  new: ["new", "pending"],
  pending: ["pending", "active", "gone"],
  active: ["active", "expired"],
  expired: ["expired", "gone"],
  gone: ["gone"],
};
const SETTLED = 10; // after so many lists any key can be gone and another one in its place

/** Throws ForkError unless `after` may follow `before` on a reader who has seen `before`. */
export function checkSuccessor(before: KeyList, after: KeyList): void {
  const steps = after.version - before.version;
  if (steps < 1) throw new ForkError(`the key list fell from version ${before.version} to ${after.version}`);
  if (after.issued < before.issued)
    throw new ForkError(`key list ${after.version} was issued before list ${before.version}`);
  if (after.logSize < before.logSize + steps)
    throw new ForkError(`the log is too short for key list ${after.version}`);
  for (const id of new Set([...before.keys, ...after.keys].map((key) => key.id))) {
    const [old, next] = [before, after].map(({ keys }) => keys.find((key) => key.id === id));
    if (!mayFollow(old, next, steps))
      throw new ForkError(`key ${id} went from ${old?.state ?? "new"} to ${next?.state ?? "gone"}`);
  }
}

function mayFollow(old: PublicKey | undefined, next: PublicKey | undefined, steps: number): boolean {
  const [from, to] = [old?.state ?? "new", next?.state ?? "gone"];
  const sameKey = old?.suite === next?.suite && `${old?.publicKey}` === `${next?.publicKey}`;
  if (!old || !next || sameKey) return reached(from, steps).has(to);
  const gaps = Array.from({ length: Math.max(0, Math.min(steps, SETTLED) - 1) }, (_, at) => at + 1);
  return gaps.some((gone) => reached(from, gone).has("gone") && reached("new", steps - gone).has(to));
}

/** What a key may be so many lists later. */
function reached(state: string, steps: number): Set<string> {
  let states = new Set([state]);
  for (let step = 0; step < Math.min(steps, SETTLED); step++) {
    states = new Set([...states].flatMap((each) => NEXT[each]));
  }
  return states;
}

function validity(body: JsonObject): { issued: number; until: number } {
  const [issued, until] = [integer(body, "issued", 0), integer(body, "expires", 0)];
  if (until <= issued) throw new DecodeError(`expires must be later than issued = ${issued}, got ${until}`);
  return { issued, until };
}

function checkSpec(body: JsonObject, spec: string): void {
  if (body.spec !== spec) throw new DecodeError(`spec must be "${spec}", got ${quote(body.spec)}`);
}

export function integer(body: JsonObject, name: string, low: number, high = Number.MAX_SAFE_INTEGER): number {
  const value = body[name];
  if (typeof value === "number" && value >= low && value <= high) return value;
  throw new DecodeError(`${name} must be an integer in ${low}…${high}, got ${quote(value)}`);
}

export function hash(text: Json, what: string): string {
  if (typeof text === "string" && /^[0-9a-f]{64}$/.test(text)) return text;
  throw new DecodeError(`${what} must be 64 hex digits, got ${quote(text)}`);
}
