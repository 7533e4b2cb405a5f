// How bytes reach the aggregator. A browser may reuse a connection: `fetch` cannot promise one each.

import type { Bytes } from "./bytes.js";
import { concat } from "./bytes.js";
import { TransportError } from "./errors.js";
import type { Reply } from "./wire/replies.js";

const MAX_REPLY_BYTES = 1 << 20;
export const TIMEOUT_SECONDS = 10;

export interface Request {
  readonly url: string;
  /** The body of a POST; a GET has none. */
  readonly body?: Bytes;
  readonly contentType?: string;
  readonly signal: AbortSignal;
}

/** The interface between this client and a network. Rejects if there is no whole reply. */
export type Transport = (request: Request) => Promise<Reply>;

export const fetchTransport: Transport = async ({ url, body, contentType, signal }) => {
  const headers: Record<string, string> = contentType ? { "Content-Type": contentType } : {};
  const response = await fetch(url, {
    method: body ? "POST" : "GET",
    body,
    headers,
    mode: "cors",
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
    referrerPolicy: "no-referrer",
    signal,
  });
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await read(response),
  };
};

async function read(response: Response): Promise<Bytes> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    size += part.value.length;
    if (size > MAX_REPLY_BYTES) throw new TransportError("the answer is longer than 1 MiB");
    chunks.push(part.value);
  }
  return concat(...chunks);
}
