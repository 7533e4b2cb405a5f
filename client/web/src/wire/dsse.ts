// Dead Simple Signing Envelope over Ed25519: the bytes are verified before they are parsed.
// Signatures are checked by the browser's own Ed25519. A browser without it trusts nothing.

import { type Bytes, concat, fromBase64, fromBase64Url, utf8 } from "../bytes.js";
import { type Json, type JsonObject, members, quote, strictJson } from "../canonical.js";
import { DecodeError, SignatureError } from "../errors.js";

const MAX_SIGNATURES = 8;
const KEY = /^ed25519:[\w-]{43}$/;

export interface Envelope {
  readonly payloadType: string;
  readonly payload: Bytes;
  readonly signatures: readonly JsonObject[];
}

/** The 32 raw bytes of a public key. Throws DecodeError unless it is spelled in the one right way. */
export function keyBytes(key: unknown): Bytes {
  if (typeof key !== "string" || !KEY.test(key)) {
    throw new DecodeError(`a key must be ed25519: and 43 base64url characters, got ${quote(key)}`);
  }
  return fromBase64Url(key.slice(8));
}

/** A well-formed envelope of this payload type; its signatures are not checked. */
export const decode = (envelope: Bytes, payloadType: string, ...extra: readonly string[]): Envelope =>
  decodeDocument(strictJson(envelope), payloadType, ...extra);

/** The same for an envelope inside a larger document; `extra` are members of each signature. */
export function decodeDocument(document: Json, payloadType: string, ...extra: readonly string[]): Envelope {
  const envelope = members(document, ["payload", "payloadType", "signatures"], "envelope");
  if (envelope.payloadType !== payloadType) {
    throw new DecodeError(`payloadType must be "${payloadType}", got ${quote(envelope.payloadType)}`);
  }
  const { signatures } = envelope;
  if (!Array.isArray(signatures) || signatures.length < 1 || signatures.length > MAX_SIGNATURES) {
    throw new DecodeError(`signatures must be a list of 1…${MAX_SIGNATURES}`);
  }
  return {
    payloadType,
    payload: fromBase64(envelope.payload),
    signatures: signatures.map((each) => {
      const signature = members(each, ["keyid", "sig", ...extra], "signature");
      keyBytes(signature.keyid);
      fromBase64(signature.sig);
      return signature;
    }),
  };
}

/** Throws SignatureError unless a trusted key signed, and every signature of one is right. */
export async function check(envelope: Envelope, trusted: readonly string[]): Promise<void> {
  const ours = envelope.signatures.filter(({ keyid }) => trusted.includes(keyid as string));
  if (!ours.length) throw new SignatureError("no trusted key signed this");
  const kind = utf8(envelope.payloadType);
  const head = utf8(`DSSEv1 ${kind.length} ${envelope.payloadType} ${envelope.payload.length} `);
  for (const { keyid, sig } of ours) {
    if (!(await isSignature(keyBytes(keyid), fromBase64(sig), concat(head, envelope.payload)))) {
      throw new SignatureError(`the signature by ${keyid} is wrong`);
    }
  }
}

async function isSignature(key: Bytes, signature: Bytes, message: Bytes): Promise<boolean> {
  try {
    const imported = await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
    return await crypto.subtle.verify("Ed25519", imported, signature, message);
  } catch {
    throw new SignatureError("this browser cannot check Ed25519 signatures, or the page is not secure");
  }
}

/** The payload, signed by a trusted key. */
export async function verify(
  envelope: Bytes,
  payloadType: string,
  trusted: readonly string[],
): Promise<Bytes> {
  const decoded = decode(envelope, payloadType);
  await check(decoded, trusted);
  return decoded.payload;
}
