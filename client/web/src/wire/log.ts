// The operator's log: one chain of hashes over every manifest, key list and release, in order.
//
//   head after an entry = SHA-256(head before ‖ type ‖ body hash)      at first: 32 zero bytes

import { sha256 } from "@noble/hashes/sha2.js";
import { type Bytes, concat, fromHex, utf8 } from "../bytes.js";
import { type Json, members, quote, strictJson } from "../canonical.js";
import { DecodeError } from "../errors.js";
import { hash, integer } from "./key-list.js";

export const GENESIS: Bytes = new Uint8Array(32);
const PAGE = 1000;

export interface LogEntry {
  readonly type: string;
  readonly bodyHash: Bytes;
}

export interface LogPage {
  readonly size: number;
  readonly head: string;
  readonly entries: readonly LogEntry[];
}

/** The page that was asked for with from=`first`. Throws DecodeError for any other document. */
export function parseLogPage(data: Bytes, first: number): LogPage {
  const document = members(strictJson(data), ["size", "head", "entries"], "log");
  if (!Array.isArray(document.entries) || document.entries.length > PAGE) {
    throw new DecodeError(`entries must be a list of at most ${PAGE}`);
  }
  const page = {
    size: integer(document, "size", 0),
    head: hash(document.head, "head"),
    entries: document.entries.map(entry),
  };
  const end = first + page.entries.length;
  if (end > page.size || (end < page.size && !page.entries.length)) {
    throw new DecodeError(`entries must be some of those from ${first} up to size = ${page.size}`);
  }
  return page;
}

function entry(pair: Json): LogEntry {
  if (
    Array.isArray(pair) &&
    pair.length === 2 &&
    typeof pair[0] === "string" &&
    /^[a-z][a-z0-9-]{0,31}$/.test(pair[0])
  ) {
    return { type: pair[0], bodyHash: fromHex(hash(pair[1], "hash")) };
  }
  throw new DecodeError(`entries must each be [type, hash], got ${quote(pair)}`);
}

/** The head after more entries. */
export const extend = (head: Bytes, entries: readonly LogEntry[]): Bytes =>
  entries.reduce((head, { type, bodyHash }) => sha256(concat(head, utf8(type), bodyHash)) as Bytes, head);
