// Bytes, and the few spellings of them that the protocol has.

import { DecodeError } from "./errors.js";

export type Bytes = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export const utf8 = (text: string): Bytes => encoder.encode(text) as Bytes;

/** Text of UTF-8 bytes. Throws DecodeError for any other bytes. */
export function fromUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new DecodeError("not UTF-8");
  }
}

export function concat(...parts: readonly Uint8Array[]): Bytes {
  const joined = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

export const equal = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && one.every((byte, place) => byte === other[place]);

/** An integer below 2^53 as so many bytes, big-endian. */
export function uint(value: number, size: number): Bytes {
  const bytes = new Uint8Array(size);
  for (let at = size - 1; at >= 0; at--) {
    bytes[at] = value % 256;
    value = Math.floor(value / 256);
  }
  return bytes;
}

/** The same of any integer. */
export function bigUint(value: bigint, size: number): Bytes {
  return size ? fromHex(value.toString(16).padStart(2 * size, "0")) : new Uint8Array(0);
}

/** The integer of big-endian bytes; below 2^53 only. */
export const toNumber = (bytes: Uint8Array): number => bytes.reduce((value, byte) => value * 256 + byte, 0);

export const toBigInt = (bytes: Uint8Array): bigint => BigInt(`0x0${toHex(bytes)}`);

/** A uint16 length, then the bytes. */
export function lp(bytes: Uint8Array): Bytes {
  if (bytes.length > 0xffff) throw new DecodeError(`length must be 0…65535, got ${bytes.length}`);
  return concat(uint(bytes.length, 2), bytes);
}

export const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

export const fromHex = (hex: string): Bytes =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

export const toBase64 = (bytes: Uint8Array): string => {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
};

/** Bytes of padded base64 in its one spelling. Throws DecodeError for any other text. */
export function fromBase64(text: unknown): Bytes {
  let bytes: Bytes | undefined;
  try {
    if (typeof text === "string") bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  } catch {}
  if (!bytes || toBase64(bytes) !== text) throw new DecodeError("base64 with padding expected");
  return bytes;
}

/** Bytes of base64url without padding, in its one spelling. Throws DecodeError otherwise. */
export function fromBase64Url(text: unknown): Bytes {
  if (typeof text !== "string" || /[^\w-]/.test(text)) throw new DecodeError("base64url expected");
  const plain = text.replaceAll("-", "+").replaceAll("_", "/");
  return fromBase64(plain + "=".repeat(-plain.length & 3));
}

/** Fewest whole bytes that hold every index below `size`. */
export const bytesFor = (size: number | bigint): number => (bitLength(BigInt(size) - 1n) + 7) >> 3;

export const bitLength = (value: bigint): number => (value ? value.toString(2).length : 0);

/** The number of ones in an integer of at most 32 bits. */
export function ones(value: number): number {
  let count = 0;
  for (let rest = value >>> 0; rest; rest &= rest - 1) count++;
  return count;
}
