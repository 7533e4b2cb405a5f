// Recognises the aggregator's own replies to an upload, and decides what happens to a report.
// After any other reply the client keeps its reports.

import { type Bytes, equal, fromUtf8 } from "../bytes.js";
import { decodeErrors, ERRORS_MEDIA_TYPE } from "./report.js";

/** A reply: header names in lower case. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Bytes;
}

export type Action =
  | "done"
  | "reseal"
  | "fetch-manifest"
  | "later"
  | "await-voucher"
  | "drop"
  | "back-off"
  | "drop-and-stop"
  | "drop-collection";

/** What a reply means for one report: the action, why, and the aggregator's own Date. */
export interface Decision {
  readonly action: Action;
  readonly problem: string;
  readonly date?: number;
}

const PROBLEM_MEDIA_TYPE = "application/problem+json";
const SLUGS: Readonly<Record<number, string>> = {
  1: "epoch-closed",
  5: "cannot-open",
  7: "collection-expired",
  8: "invalid-message",
  9: "too-early",
  10: "not-started",
  11: "outdated-key",
  128: "manifest-unknown",
  129: "token-required",
  130: "token-invalid",
  131: "unknown-extension",
  132: "voucher-required",
  133: "voucher-invalid",
  134: "voucher-spent",
};
const BY_CODE: Readonly<Record<number, Action>> = {
  9: "later",
  11: "reseal",
  128: "fetch-manifest",
  133: "later",
};
const STATUSES: Readonly<Record<string, number>> = {
  "invalid-argument": 400,
  "invalid-message": 400,
  unauthorized: 401,
  forbidden: 403,
  "form-refused": 403,
  "read-refused": 403,
  "not-found": 404,
  "unknown-collection": 404,
  "method-not-allowed": 405,
  "not-acceptable": 406,
  conflict: 409,
  "too-few-reports": 409,
  "budget-exhausted": 409,
  "epoch-open": 409,
  "ledger-behind": 409,
  "collection-closed": 410,
  "length-required": 411,
  "too-large": 413,
  "unsupported-media-type": 415,
  "manifest-refused": 422,
  "too-many-requests": 429,
  internal: 500,
  damaged: 500,
  "release-failed": 500,
  unavailable: 503,
};
const BY_PROBLEM: Readonly<Record<string, Action>> = {
  "invalid-message": "drop-and-stop",
  "too-large": "drop-and-stop",
  "unsupported-media-type": "drop-and-stop",
  "collection-closed": "drop-collection",
};

/** The decision for the one report that a request carried. */
export function readReply(reply: Reply, reportId: Bytes): Decision {
  const statuses = readStatuses(reply);
  if (!statuses) return readRefusal(reply);
  const date = readDate(reply.headers.date);
  if (statuses.some((status) => !equal(status.reportId, reportId))) {
    return { action: "back-off", problem: "the answer is about another report" };
  }
  if (!statuses.length) return { action: "done", problem: "", date };
  const { error } = statuses[0];
  const problem = SLUGS[error] ?? `code-0x${error.toString(16).padStart(2, "0")}`;
  return { action: BY_CODE[error] ?? "drop", problem, date };
}

function readStatuses(reply: Reply) {
  if (reply.status !== 200 || !isOwn(reply, ERRORS_MEDIA_TYPE)) return undefined;
  try {
    return decodeErrors(reply.body);
  } catch {
    return undefined;
  }
}

function readRefusal(reply: Reply): Decision {
  const problem = readProblem(reply);
  if (!problem)
    return { action: "back-off", problem: `http-${reply.status}, which is not the aggregator's own answer` };
  return { action: BY_PROBLEM[problem] ?? "back-off", problem, date: readDate(reply.headers.date) };
}

function readProblem(reply: Reply): string | undefined {
  if (!isOwn(reply, PROBLEM_MEDIA_TYPE)) return undefined;
  let type: unknown;
  try {
    type = JSON.parse(fromUtf8(reply.body))?.type;
  } catch {}
  const slug = typeof type === "string" ? /^urn:deniable:problem:([a-z-]+)$/.exec(type)?.[1] : undefined;
  return slug && Object.hasOwn(STATUSES, slug) && STATUSES[slug] === reply.status ? slug : undefined;
}

/** The moment of a Date header field in unix seconds. */
export function readDate(value = ""): number | undefined {
  const seconds = /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/.test(value)
    ? Date.parse(value) / 1000
    : Number.NaN;
  return Number.isNaN(seconds) ? undefined : seconds;
}

/** Retry-After in seconds from now; 0 where there is none that can be read. */
export function retryAfter({ headers }: Reply, now: number): number {
  const value = headers["retry-after"] ?? "";
  if (/^\d+$/.test(value)) return Number(value.slice(0, 9));
  return Math.max(0, (readDate(value) ?? now) - now);
}

const isOwn = (reply: Reply, mediaType: string): boolean =>
  names(reply.headers["content-type"] ?? "", mediaType) &&
  !reply.headers["content-encoding"] &&
  isWhole(reply);

/** Whether the reply states its length and has it: a truncated one may look like success. */
const isWhole = ({ headers, body }: Reply): boolean =>
  headers["transfer-encoding"]?.toLowerCase() === "chunked" || headers["content-length"] === `${body.length}`;

/** Whether a Content-Type names this media type; case, order and other parameters aside. */
function names(given: string, wanted: string): boolean {
  const [kind, ...parameters] = parts(given);
  const [wantedKind, ...needed] = parts(wanted);
  const distinct = new Set(parameters.map((parameter) => parameter.split("=")[0]));
  return (
    kind === wantedKind &&
    needed.every((each) => parameters.includes(each)) &&
    distinct.size === parameters.length
  );
}

const parts = (mediaType: string): string[] =>
  mediaType.toLowerCase().replace(/["\s]/g, "").split(";").filter(Boolean);
