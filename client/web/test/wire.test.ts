// Every vector of the wire: manifests, envelopes, headers, seals, the log, replies, moves, vouchers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAddresses, route } from "../src/addresses.js";
import { type Bytes, fromBase64, fromHex, toHex, utf8 } from "../src/bytes.js";
import { canonicalJson, type Json, strictJson } from "../src/canonical.js";
import { ManifestError } from "../src/errors.js";
import { MANIFEST_TYPE, parseManifest } from "../src/manifest/manifest.js";
import * as dsse from "../src/wire/dsse.js";
import { extend, GENESIS, parseLogPage } from "../src/wire/log.js";
import { readReply } from "../src/wire/replies.js";
import {
  decodeErrors,
  encodeHeader,
  encodePlaintext,
  sealInfo,
  voucherExtension,
} from "../src/wire/report.js";
import { seal } from "../src/wire/seal.js";
import { type Case, hex64, read } from "./vectors.js";

for (const vector of read("manifests").cases) {
  test(`manifest: ${vector.name}`, () => {
    const manifest = parseManifest(utf8(vector.body));
    assert.equal(manifest.collection, vector.collection);
    assert.equal(hex64(manifest.mechanism.threshold), vector.threshold);
    assert.equal(manifest.renewal && hex64(manifest.renewal), vector.renewal_threshold);
    assert.equal(toHex(manifest.identity), vector.identity);
    assert.equal(toHex(manifest.digest), vector.digest);
    assert.deepEqual(canonicalJson(strictJson(utf8(vector.body))), utf8(vector.body));
  });
}

const refusals = read("refusals");
for (const vector of refusals.manifest) {
  test(`manifest refused: ${vector.name}`, () => {
    const wrongId = /follows from the immutable/;
    const reason = reasonOf(vector.body);
    assert.equal(wrongId.test(reason), vector.name === "an id that does not follow", reason);
  });
}

function reasonOf(body: string): string {
  try {
    parseManifest(utf8(body));
  } catch (error) {
    if (error instanceof ManifestError) return error.message;
    throw error;
  }
  return assert.fail("it is accepted");
}

for (const vector of refusals.envelope) {
  test(`envelope refused: ${vector.name}`, async () => {
    const envelope = utf8(JSON.stringify(vector.envelope));
    await assert.rejects(() => dsse.verify(envelope, MANIFEST_TYPE, [refusals.trust]), /./);
  });
}

test("an envelope that its key signed is accepted", async () => {
  const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
  const raw = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
  const key = `ed25519:${Buffer.from(raw).toString("base64url")}`;
  const body = utf8("{}");
  const signed = utf8(`DSSEv1 ${MANIFEST_TYPE.length} ${MANIFEST_TYPE} 2 {}`);
  const sig = Buffer.from(await crypto.subtle.sign("Ed25519", pair.privateKey, signed)).toString("base64");
  const payload = Buffer.from(body).toString("base64");
  const document: Json = { payload, payloadType: MANIFEST_TYPE, signatures: [{ keyid: key, sig }] };
  assert.deepEqual(await dsse.verify(canonicalJson(document), MANIFEST_TYPE, [key]), body);
  await assert.rejects(
    () => dsse.verify(canonicalJson(document), MANIFEST_TYPE, [refusals.trust]),
    /no trusted key/,
  );
});

for (const { name, hex } of refusals.errors) {
  test(`answer refused: ${name}`, () =>
    assert.throws(() => decodeErrors(fromHex(hex)), /entries of 17 bytes/));
}

const headerOf = (fields: Case) => ({
  reportId: fromHex(fields.report_id),
  epoch: fields.epoch,
  manifestVersion: fields.manifest_version,
  keyId: fields.key_id,
  extensions: fields.extensions.map(({ type, data }: Case) => ({ type, data: fromHex(data) })),
});

for (const { name, fields, hex } of read("headers").cases) {
  test(`header: ${name}`, () => assert.equal(toHex(encodeHeader(headerOf(fields))), hex));
}

for (const vector of read("envelope").cases) {
  test(`seal: ${vector.name}`, async () => {
    const bytes = fromHex(vector.header);
    const header = {
      reportId: bytes.slice(0, 16) as Bytes,
      epoch: Number(`0x${vector.header.slice(32, 40)}`),
      manifestVersion: Number(`0x${vector.header.slice(40, 44)}`),
      keyId: Number(`0x${vector.header.slice(44, 46)}`),
      extensions: extensionsOf(bytes.subarray(25)),
    };
    const info = sealInfo(vector.collection, fromHex(vector.manifest_digest), header);
    assert.equal(toHex(info), vector.info);
    assert.equal(toHex(encodePlaintext(fromHex(vector.payload))), vector.plaintext);
    const ephemeral = await keyPair(vector.ephemeral_private_key, vector.sealed.slice(0, 64));
    const sealed = await seal(fromHex(vector.plaintext), fromHex(vector.public_key), info, ephemeral);
    assert.equal(toHex(sealed), vector.sealed);
  });
}

/** Seals where the first `failures` key pairs fail: how many were generated, and the length of the result. */
async function sealsAfter(failures: number): Promise<{ attempts: number; length: number }> {
  const own = crypto.subtle.generateKey;
  const counts = { attempts: 0, length: 0 };
  crypto.subtle.generateKey = (...given: unknown[]) => {
    counts.attempts += 1;
    return counts.attempts > failures
      ? Reflect.apply(own, crypto.subtle, given)
      : Promise.reject(new DOMException("", "OperationError"));
  };
  const key = fromHex(read("envelope").cases[0].public_key);
  try {
    counts.length = (await seal(utf8("answer"), key, utf8("info"))).length;
  } finally {
    crypto.subtle.generateKey = own;
  }
  return counts;
}

test("seal: a key pair that cannot be generated is tried again", async () => {
  assert.deepEqual(await sealsAfter(3), { attempts: 4, length: 54 });
});

test("seal: a browser that generates no key pair says so", async () => {
  await assert.rejects(
    () => sealsAfter(4),
    /^SealError: this browser could not seal the report, which waits$/,
  );
});

function extensionsOf(bytes: Uint8Array): { type: number; data: Bytes }[] {
  if (!bytes.length) return [];
  const [type, size] = [bytes[0] * 256 + bytes[1], bytes[2] * 256 + bytes[3]];
  return [{ type, data: bytes.slice(4, 4 + size) as Bytes }, ...extensionsOf(bytes.subarray(4 + size))];
}

async function keyPair(secret: string, open: string): Promise<CryptoKeyPair> {
  const x = Buffer.from(open, "hex").toString("base64url");
  const d = Buffer.from(secret, "hex").toString("base64url");
  const jwk = { kty: "OKP", crv: "X25519", x };
  const privateKey = await crypto.subtle.importKey("jwk", { ...jwk, d }, "X25519", true, ["deriveBits"]);
  return { privateKey, publicKey: await crypto.subtle.importKey("jwk", jwk, "X25519", true, []) };
}

for (const { name, document } of read("log").cases) {
  test(`log: ${name}`, () => {
    const page = parseLogPage(utf8(document), 0);
    assert.equal(toHex(extend(GENESIS, page.entries)), page.head);
  });
}

const replies = read("replies");
test("every reply does what its vector says", () => {
  const lower = (headers: Record<string, string>) =>
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const actions = replies.cases.map(({ name, status, headers, text, hex }: Case) => {
    const body = text === undefined ? fromHex(hex) : utf8(text);
    return [name, readReply({ status, headers: lower(headers), body }, fromHex(replies.report)).action];
  });
  const wanted = replies.cases.map(({ name, does }: Case) => [name, does.replace("keep", "back-off")]);
  assert.deepEqual(Object.fromEntries(actions), Object.fromEntries(wanted));
});

for (const vector of read("moves").cases) {
  test(`move: ${vector.name}`, () => {
    const addresses = parseAddresses(vector.addresses);
    const allowed = vector.ingest.every((origin: string) => addresses.some((each) => each.origin === origin));
    const attempts = [0, 1, 2, 3].map((attempt) => route(addresses, vector.ingest, attempt)[0].origin);
    assert.deepEqual(allowed ? attempts : null, vector.attempts);
  });
}

const vouchers = read("vouchers");
for (const vector of vouchers.cases) {
  test(`voucher: ${vector.name}`, () => {
    const extension = voucherExtension(vector.text);
    assert.equal(toHex(extension.data), vector.voucher);
    assert.equal(toHex(encodePlaintext(fromHex("80"), [extension])), vector.plaintext);
  });
}
for (const { name, text } of vouchers.refused) {
  test(`voucher refused: ${name}`, () => assert.throws(() => voucherExtension(text), /./));
}

test("base64 has one spelling", () => {
  assert.deepEqual(fromBase64("AAE="), Uint8Array.of(0, 1));
  for (const text of ["AAE", "AAF=", "AA E=", "AAE=\n"]) assert.throws(() => fromBase64(text), /base64/);
});
