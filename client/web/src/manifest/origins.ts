// Where reports may be sent: origins, https anywhere, http on loopback only.

import { type Json, quote } from "../canonical.js";
import { ManifestError } from "../errors.js";

const MAX_ORIGINS = 8;
const NAME = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const ORIGIN = new RegExp(
  `^(https?)://(\\[[0-9a-f:.]{2,45}\\]|${NAME}(?:\\.${NAME})*)(?::([1-9][0-9]{0,4}))?$`,
);
const BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const LOOPBACK = new RegExp(`^(?:localhost|\\[::1\\]|127(?:\\.${BYTE}){3})$`);

/** 1…8 different origins. Throws ManifestError otherwise. */
export function parseOrigins(value: Json, field: string): string[] {
  if (!Array.isArray(value) || value.length < 1 || value.length > MAX_ORIGINS) {
    throw new ManifestError(`${field} must be a list of 1…${MAX_ORIGINS} origins, got ${quote(value)}`);
  }
  const origins = value.map((origin) => parseOrigin(origin, field));
  if (new Set(origins).size < origins.length) throw new ManifestError(`${field} must name each origin once`);
  return origins;
}

/** Whether an origin is this very machine. */
export const isLoopback = (origin: string): boolean => LOOPBACK.test(ORIGIN.exec(origin)?.[2] ?? "");

function parseOrigin(value: Json, field: string): string {
  const [, scheme, host = "", port] = (typeof value === "string" && ORIGIN.exec(value)) || [];
  const usualPort = Number(port) > 65_535 || port === { https: "443", http: "80" }[scheme ?? ""];
  if (!scheme || !hostExists(host) || usualPort || (scheme === "http" && !LOOPBACK.test(host))) {
    throw new ManifestError(
      `${field} must hold origins like "https://telemetry.example.org", http on loopback only, got ${quote(value)}`,
    );
  }
  return value as string;
}

function hostExists(host: string): boolean {
  if (!host.startsWith("[")) return host.length <= 253;
  try {
    return new URL(`http://${host}`).hostname === host;
  } catch {
    return false;
  }
}
