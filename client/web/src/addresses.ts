// Addresses of the aggregator: which origins an app may use, and the order to try them in.

import { ConfigurationError } from "./errors.js";
import { parseOrigins } from "./manifest/origins.js";

/** A base URL of the aggregator. An app sends only to the origins it was built with. */
export interface Address {
  readonly origin: string;
  readonly base: string;
}

const PATH = /^(?:\/[A-Za-z0-9._~-]+)*\/?$/;

/** One URL, or a list of 1…8 with different origins. Throws ConfigurationError for anything else. */
export function parseAddresses(urls: string | readonly string[]): Address[] {
  const addresses = (typeof urls === "string" ? [urls] : [...urls]).map(parseAddress);
  const origins = addresses.map(({ origin }) => origin);
  if (!origins.length || origins.length > 8 || new Set(origins).size < origins.length) {
    throw new ConfigurationError("url must be 1…8 addresses, with different origins");
  }
  return addresses;
}

function parseAddress(url: string): Address {
  try {
    const { origin, pathname, username, password, search, hash } = new URL(url);
    parseOrigins([origin], "url");
    if (!PATH.test(pathname) || username || password || search || hash) throw new ConfigurationError("");
    return { origin, base: origin + pathname.replace(/\/$/, "") };
  } catch {
    throw new ConfigurationError(
      `url must be like "https://telemetry.example.org", without user, query and fragment, got ${`${url}`.slice(0, 120)}`,
    );
  }
}

/**
 * All addresses in the order in which to try them: first those whose origin is in `ingest`, in the
 * app's order. Each attempt starts one address further.
 */
export function route(addresses: readonly Address[], ingest: readonly string[], attempt = 0): Address[] {
  const found = addresses.filter(({ origin }) => ingest.includes(origin));
  const named = found.length ? found : addresses;
  const first = attempt % named.length;
  return [
    ...named.slice(first),
    ...named.slice(0, first),
    ...addresses.filter((each) => !named.includes(each)),
  ];
}
