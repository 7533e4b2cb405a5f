// What a device sends: PROTOCOL.md, section 4.

import { type Bytes, concat, fromBase64Url, lp, toNumber, uint, utf8 } from "../bytes.js";
import { DecodeError } from "../errors.js";

export const MEDIA_TYPE = "application/vnd.deniable;message=upload-req;version=1";
export const ERRORS_MEDIA_TYPE = "application/vnd.deniable;message=upload-errors;version=1";
export const ID_BYTES = 16;

const STATUS_BYTES = 17;
const MAX_REPORTS = 1000;
const MAX_EXTENSIONS = 4096;
const MAX_PAYLOAD = 24_000;
const FRAME_BYTES = 6;
const BLOCK = 64;
const VOUCHER = { type: 1, bytes: 32 };

export interface Extension {
  readonly type: number;
  readonly data: Bytes;
}

export interface ReportHeader {
  readonly reportId: Bytes;
  readonly epoch: number;
  readonly manifestVersion: number;
  readonly keyId: number;
  readonly extensions?: readonly Extension[];
}

const encodeExtensions = (extensions: readonly Extension[] = []): Bytes => {
  const rising = extensions.every(({ type }, at) => !at || type > extensions[at - 1].type);
  const encoded = lp(concat(...extensions.map(({ type, data }) => concat(uint(type, 2), lp(data)))));
  if (!rising || encoded.length > MAX_EXTENSIONS + 2)
    throw new DecodeError("extension types must rise, in 4,096 bytes");
  return encoded;
};

export const encodeHeader = (header: ReportHeader): Bytes =>
  concat(
    header.reportId,
    uint(header.epoch, 4),
    uint(header.manifestVersion, 2),
    uint(header.keyId, 1),
    encodeExtensions(header.extensions),
  );

/** HPKE `info`: what a sealed report is bound to. */
export const sealInfo = (collection: string, digest: Bytes, header: ReportHeader): Bytes =>
  concat(...[utf8("deniable/1 report"), utf8(collection), digest, encodeHeader(header)].map(lp));

/** The least 64·2^k that holds the payload, the framing and the encoded extensions. */
export function paddedSize(payloadSize: number, extensionBytes = 0): number {
  let size = BLOCK;
  while (size < payloadSize + FRAME_BYTES + extensionBytes) size *= 2;
  return size;
}

/** The payload and its extensions, padded with zeros. */
export function encodePlaintext(payload: Bytes, extensions: readonly Extension[] = []): Bytes {
  if (!payload.length || payload.length > MAX_PAYLOAD)
    throw new DecodeError("payload must be 1…24,000 bytes");
  const encoded = encodeExtensions(extensions);
  const plaintext = new Uint8Array(paddedSize(payload.length, encoded.length - 2));
  plaintext.set(concat(lp(payload), encoded));
  return plaintext;
}

/** The body of an upload of one report. */
export const encodeUpload = (header: ReportHeader, sealed: Bytes): Bytes =>
  concat(encodeHeader(header), lp(sealed));

/** The extension that carries a voucher. Throws DecodeError for a text that is none. */
export function voucherExtension(text: unknown): Extension {
  const data = fromBase64Url(text);
  if (data.length !== VOUCHER.bytes) throw new DecodeError("a voucher must be 43 characters of base64url");
  return { type: VOUCHER.type, data };
}

export interface ReportStatus {
  readonly reportId: Bytes;
  readonly error: number;
}

/** The reports that failed. Throws DecodeError for a body that is no list of them. */
export function decodeErrors(body: Bytes): ReportStatus[] {
  if (body.length % STATUS_BYTES || body.length > MAX_REPORTS * STATUS_BYTES) {
    throw new DecodeError("upload errors must be entries of 17 bytes");
  }
  return Array.from({ length: body.length / STATUS_BYTES }, (_, at) => {
    const entry = body.slice(at * STATUS_BYTES, (at + 1) * STATUS_BYTES) as Bytes;
    return { reportId: entry.slice(0, ID_BYTES) as Bytes, error: toNumber(entry.subarray(ID_BYTES)) };
  });
}
