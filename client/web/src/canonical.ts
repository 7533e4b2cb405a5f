// JSON with one spelling: read strictly, written canonically.

import { type Bytes, fromUtf8, utf8 } from "./bytes.js";
import { DecodeError } from "./errors.js";

export type Json = null | boolean | number | bigint | string | Json[] | JsonObject;
export interface JsonObject {
  [name: string]: Json;
}

const MAX_BYTES = 1 << 20;
const MAX_DEPTH = 8;
const MAX_DIGITS = 19;
const TOKEN =
  /[ \t\n\r]*(?:([[\]{}:,]|true|false|null)|("(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9][0-9]*)))/uy;

/** Keys sorted by code point, no spaces, UTF-8 unescaped. */
export const canonicalJson = (document: Json): Bytes => utf8(spell(document));

function spell(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(spell).join(",")}]`;
  if (value === null || typeof value !== "object") {
    return typeof value === "bigint" ? `${value}` : JSON.stringify(value);
  }
  const names = Object.keys(value).sort(byCodePoint);
  return `{${names.map((name) => `${JSON.stringify(name)}:${spell(value[name])}`).join(",")}}`;
}

function byCodePoint(one: string, other: string): number {
  const [left, right] = [[...one], [...other]];
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const gap = (left[at].codePointAt(0) ?? 0) - (right[at].codePointAt(0) ?? 0);
    if (gap) return gap;
  }
  return left.length - right.length;
}

/**
 * The document. Throws DecodeError for bad JSON, more than 1 MiB, duplicate keys, any float,
 * integers of more than 19 digits, nesting deeper than 8, and text that is not UTF-8.
 */
export function strictJson(bytes: Uint8Array): Json {
  if (bytes.length > MAX_BYTES) throw new DecodeError(`JSON must be at most ${MAX_BYTES} bytes`);
  const reader = new Reader(fromUtf8(bytes));
  const document = reader.value(0);
  reader.end();
  return document;
}

class Reader {
  #at = 0;

  constructor(readonly text: string) {}

  value(depth: number): Json {
    const token = this.#token();
    if (token === "{" || token === "[") {
      if (depth === MAX_DEPTH) throw new DecodeError(`JSON must nest at most ${MAX_DEPTH} deep`);
      return token === "{" ? this.#object(depth + 1) : this.#list(depth + 1);
    }
    if (token[0] === '"') return text(token);
    if (token === "null") return null;
    if (token === "true" || token === "false") return token === "true";
    return integer(token);
  }

  end(): void {
    if (/[^ \t\n\r]/.test(this.text.slice(this.#at))) this.#fail();
  }

  #object(depth: number): JsonObject {
    const object: JsonObject = Object.create(null);
    for (let token = this.#token(); token !== "}"; ) {
      if (token[0] !== '"') this.#fail();
      const name = text(token);
      if (name in object) throw new DecodeError(`field ${name.slice(0, 80)} is given twice`);
      if (this.#token() !== ":") this.#fail();
      object[name] = this.value(depth);
      token = this.#next("}");
    }
    return object;
  }

  #list(depth: number): Json[] {
    const list: Json[] = [];
    const start = this.#at;
    if (this.#token() === "]") return list;
    this.#at = start;
    do list.push(this.value(depth));
    while (this.#comma("]"));
    return list;
  }

  /** The token after a comma, or the end. */
  #next(end: string): string {
    return this.#comma(end) ? this.#nameToken() : end;
  }

  #nameToken(): string {
    const token = this.#token();
    return token === "}" ? this.#fail() : token;
  }

  #comma(end: string): boolean {
    const token = this.#token();
    if (token !== "," && token !== end) this.#fail();
    return token === ",";
  }

  #token(): string {
    TOKEN.lastIndex = this.#at;
    const match = TOKEN.exec(this.text);
    if (!match) return this.#fail();
    this.#at = TOKEN.lastIndex;
    return match[1] ?? match[2] ?? match[3];
  }

  #fail(): never {
    throw new DecodeError(`not JSON of integers, at character ${this.#at}`);
  }
}

function text(token: string): string {
  const text: string = JSON.parse(token);
  if (/\p{Surrogate}/u.test(text)) throw new DecodeError("text has half a surrogate pair");
  return text;
}

function integer(token: string): number | bigint {
  if (token.length > MAX_DIGITS) throw new DecodeError(`integers have at most ${MAX_DIGITS} digits`);
  const value = BigInt(token);
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** What was given, as a message may quote it. */
export function quote(value: unknown): string {
  const shown = typeof value === "bigint" ? `${value}` : (JSON.stringify(value) ?? `${value}`);
  return shown.length > 80 ? `${shown.slice(0, 79)}…` : shown;
}

/** The members of an object that has exactly these fields. Throws DecodeError otherwise. */
export function members(document: Json | undefined, names: readonly string[], what: string): JsonObject {
  const isObject = typeof document === "object" && document !== null && !Array.isArray(document);
  const given = isObject ? Object.keys(document).sort() : [];
  if (!isObject || given.join() !== [...names].sort().join()) {
    throw new DecodeError(`the fields of the ${what} must be ${names.join(", ")}`);
  }
  return document;
}
