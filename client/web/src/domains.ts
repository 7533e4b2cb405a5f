// Domains: the possible answers, and the one form in which an answer is randomized.
// A DomainError never repeats the value: apps log errors, and the value is the secret.

import { type Bytes, bigUint, bytesFor, concat, uint, utf8 } from "./bytes.js";
import { type Json, type JsonObject, quote } from "./canonical.js";
import { DomainError, ManifestError } from "./errors.js";
import { Fraction } from "./fraction.js";

const MAX_BITS = 4096;
export const MAX_CHOICES = 65_536;
export const MAX_ATTRIBUTES = 64;
export const MAX_TEXT_BYTES = 64;
const DECIMAL = /^-?[0-9]{1,12}(\.[0-9]{1,6})?$/;

/** An encoded value: an index, or its parts (bits, labels' places, bytes), and what keys its coins. */
export interface Answer {
  readonly index: number;
  readonly parts: readonly number[];
  readonly canonical: Bytes;
}

export interface Domain {
  readonly type: string;
  /** Bits, choices, values, combinations, or the most bytes. */
  readonly size: number;
  /** The labels or the range, as people read them. */
  readonly topics: readonly string[];
  /** The most places in which two answers differ, of bits. */
  readonly distance: number;
  /** Labels of each attribute, of records. */
  readonly radices: readonly number[];
  /** Throws DomainError for a value outside the domain. */
  encode(value: unknown): Answer;
  /** The answer as a manifest spells it. */
  decode(answer: Answer): Json;
}

const NONE: Pick<Domain, "distance" | "radices"> = { distance: 0, radices: [] };

/** The domain of a manifest. Throws ManifestError if it breaks a rule. */
export function parseDomain(document: Json): Domain {
  const given = object(document, "domain");
  const parse = { bits, choice, number, record, text }[given.type as string];
  if (!parse || !Object.hasOwn(TYPES, given.type as string)) {
    throw new ManifestError(`domain type must be one of ${Object.keys(TYPES).join(", ")}`);
  }
  return parse(given);
}

const TYPES = { bits, choice, number, record, text };

function bits(document: JsonObject): Domain {
  const limited = document.constraint === "at-most";
  const names = ["type", "labels"];
  if ("constraint" in document) names.push("constraint");
  if (limited) names.push("at_most");
  fields(document, names);
  if ("constraint" in document && !limited && document.constraint !== "one-hot") {
    throw new ManifestError('domain constraint must be "one-hot" or "at-most"');
  }
  const labels = readLabels(document.labels, 1, MAX_BITS);
  const size = labels.length;
  const most = limited ? integer(document.at_most, 1, size, "at_most") : "constraint" in document ? 1 : size;
  const free = !("constraint" in document);
  return {
    ...NONE,
    type: "bits",
    size,
    topics: labels,
    distance: free ? size : Math.min(2 * most, size),
    encode(value) {
      const items = inOrder(value, labels);
      const bad = items.some((item) => item !== 0 && item !== 1 && typeof item !== "boolean");
      if (items.length !== size || bad) {
        throw new DomainError(`value must be ${size} of true, false, 1 and 0, one a label`);
      }
      const parts = items.map(Number);
      const yes = parts.reduce((sum, bit) => sum + bit, 0);
      if (yes > most || (document.constraint === "one-hot" && yes !== 1)) {
        throw new DomainError("value must have as many true as the collection allows");
      }
      return { index: 0, parts, canonical: packBits(parts) };
    },
    decode: ({ parts }) => Object.fromEntries(labels.map((label, at) => [label, parts[at] === 1])),
  };
}

function inOrder(value: unknown, labels: readonly string[]): unknown[] {
  if (Array.isArray(value)) return [...value];
  if (typeof value !== "object" || value === null) {
    throw new DomainError("value must be an object from label to boolean, or a list of booleans");
  }
  if (Object.keys(value).length !== labels.length) {
    throw new DomainError(`value must name each of the ${labels.length} labels and nothing else`);
  }
  return labels.map((label) => (value as Record<string, unknown>)[label]);
}

function choice(document: JsonObject): Domain {
  fields(document, ["type", "labels"]);
  const labels = readLabels(document.labels, 2, MAX_CHOICES);
  const places = new Map(labels.map((label, place) => [label, place]));
  return {
    ...NONE,
    type: "choice",
    size: labels.length,
    topics: labels,
    encode(value) {
      const index = typeof value === "string" ? places.get(value) : value;
      if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= labels.length) {
        throw new DomainError(`value must be one of the ${labels.length} labels or its index`);
      }
      return indexed(index, labels.length);
    },
    decode: ({ index }) => labels[index],
  };
}

function number(document: JsonObject): Domain {
  fields(document, ["type", "low", "high", "step"]);
  const [low, high, step] = ["low", "high", "step"].map((name) => end(document[name], name));
  if (step.n <= 0n || low.compare(high) >= 0)
    throw new ManifestError("domain must have low < high and step > 0");
  const steps = high.sub(low).div(step);
  if (steps.d !== 1n || steps.n >= BigInt(MAX_CHOICES)) {
    throw new ManifestError(`domain high must be low plus 1 to ${MAX_CHOICES - 1} whole steps`);
  }
  const size = Number(steps.n) + 1;
  return {
    ...NONE,
    type: "number",
    size,
    topics: [`a number from ${document.low} to ${document.high}, to the nearest ${document.step}`],
    encode(value) {
      const place = exactNumber(value).sub(low).div(step).add(new Fraction(1, 2)).floor();
      return indexed(place < 0n ? 0 : place < BigInt(size) ? Number(place) : size - 1, size);
    },
    decode: ({ index }) => decimalText(low.add(step.mul(new Fraction(index)))),
  };
}

function end(text: Json, name: string): Fraction {
  if (typeof text === "string" && DECIMAL.test(text)) {
    const number = Fraction.decimal(text);
    if (decimalText(number) === text) return number;
  }
  throw new ManifestError(
    `domain ${name} must be the shortest decimal of at most six places, got ${quote(text)}`,
  );
}

/** The shortest decimal of a number of at most six places. */
function decimalText(number: Fraction): string {
  const millionths = number.mul(new Fraction(1_000_000)).floor();
  const digits = `${millionths < 0n ? -millionths : millionths}`.padStart(7, "0");
  const places = digits.slice(-6).replace(/0+$/, "");
  return `${millionths < 0n ? "-" : ""}${digits.slice(0, -6)}${places && `.${places}`}`;
}

/** A double exactly, or a decimal text. */
function exactNumber(value: unknown): Fraction {
  if (typeof value === "string" && DECIMAL.test(value)) return Fraction.decimal(value);
  if (typeof value === "bigint") return new Fraction(value);
  if (typeof value !== "number" || !Number.isFinite(value)) {
    throw new DomainError("value must be a finite number, or the text of a decimal of at most six places");
  }
  let [above, shift] = [value, 0n];
  for (; !Number.isInteger(above); above *= 2) shift++;
  return new Fraction(BigInt(above), 1n << shift);
}

function record(document: JsonObject): Domain {
  fields(document, ["type", "attributes"]);
  if (!Array.isArray(document.attributes)) {
    throw new ManifestError("domain attributes must be a list of objects with name and labels");
  }
  const attributes = document.attributes.map((each) => {
    const attribute = object(each, "attribute");
    fields(attribute, ["name", "labels"]);
    return { name: attribute.name, labels: readLabels(attribute.labels, 2, MAX_CHOICES) };
  });
  const names = readLabels(
    attributes.map(({ name }) => name),
    2,
    MAX_ATTRIBUTES,
  );
  const radices = attributes.map(({ labels }) => labels.length);
  const combinations = radices.reduce((product, radix) => product * BigInt(radix), 1n);
  return {
    ...NONE,
    type: "record",
    size: Number(combinations),
    topics: names,
    radices,
    encode(value) {
      const given = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
      const parts = attributes.map(({ labels }, at) =>
        Object.hasOwn(given, names[at]) ? labels.indexOf(given[names[at]] as string) : -1,
      );
      if (Object.keys(given).length !== names.length || parts.includes(-1)) {
        throw new DomainError(`value must have one of its labels for each of the ${names.length} attributes`);
      }
      const index = parts.reduce((sum, part, at) => sum * BigInt(radices[at]) + BigInt(part), 0n);
      return { index: Number(index), parts, canonical: bigUint(index, bytesFor(combinations)) };
    },
    decode: ({ parts }) =>
      Object.fromEntries(attributes.map(({ labels }, at) => [names[at], labels[parts[at]]])),
  };
}

function text(document: JsonObject): Domain {
  fields(document, ["type", "max_bytes"]);
  const size = integer(document.max_bytes, 1, MAX_TEXT_BYTES, "max_bytes");
  return {
    ...NONE,
    type: "text",
    size,
    topics: [`a text of at most ${size} bytes`],
    encode(value) {
      const composed = typeof value === "string" && value.length <= 8 * size ? value.normalize("NFC") : "";
      const bytes = utf8(composed);
      if (!isPrintable(composed) || bytes.length < 1 || bytes.length > size) {
        throw new DomainError(`value must be a printable text of 1 to ${size} bytes of UTF-8`);
      }
      return { index: 0, parts: [...bytes], canonical: concat(uint(bytes.length, 1), bytes) };
    },
    decode: ({ parts }) => new TextDecoder().decode(Uint8Array.from(parts)),
  };
}

/** No control, format, private or unassigned character, and no space but the usual one. */
export const isPrintable = (text: string): boolean => !/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u.test(text);

/** Zeros and ones in whole bytes, the first most significant, zero padded. */
export function packBits(parts: readonly number[]): Bytes {
  const bytes = new Uint8Array((parts.length + 7) >> 3);
  parts.forEach((bit, at) => {
    bytes[at >> 3] |= bit << (7 - (at & 7));
  });
  return bytes;
}

const indexed = (index: number, size: number): Answer => ({
  index,
  parts: [],
  canonical: uint(index, bytesFor(size)),
});

function readLabels(given: Json, low: number, high: number): string[] {
  if (!Array.isArray(given) || given.length < low || given.length > high) {
    throw new ManifestError(`domain labels must be a list of ${low} to ${high} texts`);
  }
  const labels = given.map((label) => {
    if (typeof label === "string" && label && isPrintable(label) && utf8(label).length <= MAX_TEXT_BYTES)
      return label;
    throw new ManifestError(`labels must each be 1 to 64 bytes of printable UTF-8, got ${quote(label)}`);
  });
  if (new Set(labels).size < labels.length) throw new ManifestError("labels must differ from each other");
  return labels;
}

function object(document: Json | undefined, what: string): JsonObject {
  if (typeof document === "object" && document !== null && !Array.isArray(document)) return document;
  throw new ManifestError(`${what} must be an object`);
}

function fields(document: JsonObject, names: readonly string[]): void {
  const unknown = Object.keys(document).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new ManifestError(`domain must have no field ${quote(unknown)} here`);
}

function integer(value: Json | undefined, low: number, high: number, name: string): number {
  if (typeof value === "number" && value >= low && value <= high) return value;
  throw new ManifestError(`${name} must be an integer in ${low}…${high}`);
}
