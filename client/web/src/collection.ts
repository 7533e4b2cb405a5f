// One collection, prepared under the app's ceiling: what an answer costs, when it is sent.

import { SCALE } from "./dyadic.js";
import { ConfigurationError } from "./errors.js";
import { Fraction } from "./fraction.js";
import type { Manifest } from "./manifest/manifest.js";
import { epochAt, holdAt, paidHolds, type Rule } from "./manifest/schedule.js";

/** The most ε that an app ever spends on one person, as decimals. No server can raise it. */
export interface Ceiling {
  /** The limit of one report, 0.01…20. */
  readonly epsilonPerReport: string;
  /** The limit of one hold's permanent answer, 0.01…20. */
  readonly epsilonPermanent: string;
  /** The limit of everything that this device ever sends, 0.01…99. */
  readonly epsilonLifetime: string;
}

export interface Limits {
  readonly report: Fraction;
  readonly permanent: Fraction;
  readonly lifetime: Fraction;
}

/** Throws ConfigurationError for a ceiling that is not three decimals within their bounds. */
export function parseCeiling(ceiling: Ceiling): Limits {
  const read = (name: keyof Ceiling, most: number): Fraction => {
    const text = ceiling?.[name];
    const fits = typeof text === "string" && /^[0-9]{1,2}(\.[0-9]{1,6})?$/.test(text);
    if (fits && Number(text) >= 0.01 && Number(text) <= most) return Fraction.decimal(text);
    throw new ConfigurationError(`ceiling.${name} must be a decimal in a string, "0.01" to "${most}"`);
  };
  return {
    report: read("epsilonPerReport", 20),
    permanent: read("epsilonPermanent", 20),
    lifetime: read("epsilonLifetime", 99),
  };
}

/** ε in integer millionths, rounded down: exact for manifests. */
export const millionths = (epsilon: Fraction): number => Number(epsilon.mul(new Fraction(1_000_000)).floor());

/** The epoch a report belongs to, the hold it lies in, and how many draws the lifetime pays. */
export interface Period {
  readonly epoch: number;
  readonly hold: number;
  readonly paid: number;
}

export interface Collection {
  readonly manifest: Manifest;
  readonly rule: Rule;
  /** Whether the app's ceiling allows its ε at all. */
  readonly admitted: boolean;
  /** Millionths of ε: of one draw, and of a lifetime. */
  readonly cost: number;
  readonly limit: number;
  /** Out of 2^64: a device answers if its sampling coin is below. */
  readonly sampling: bigint;
}

export function prepare(manifest: Manifest, ceiling: Limits): Collection {
  const { report, permanent, repeat, firstEpoch, lastEpoch, holdEpochs } = manifest;
  const lifetime = manifest.lifetime.min(ceiling.lifetime);
  const price = permanent ?? report;
  const fits = (epsilon: Fraction, most: Fraction) => epsilon.compare(most.min(ceiling.lifetime)) <= 0;
  return {
    manifest,
    rule: { repeat, price, lifetime, firstEpoch, lastEpoch, holdEpochs },
    admitted: fits(report, ceiling.report) && (!permanent || fits(permanent, ceiling.permanent)),
    cost: millionths(price),
    limit: millionths(lifetime),
    sampling: manifest.sampling.mul(new Fraction(SCALE)).floor(),
  };
}

export const isLive = ({ manifest: { starts, ends } }: Collection, now: number): boolean =>
  starts <= now && now < ends;

export function periodOf({ rule }: Collection, epoch: number): Period {
  return { epoch, hold: holdAt(rule, epoch), paid: paidHolds(rule) };
}

export const epochOf = ({ manifest }: Collection, now: number): number => epochAt(now, manifest.epochSeconds);

/** When the aggregator stops taking reports of the epoch. */
export const closesAt = ({ manifest: { epochSeconds, graceSeconds } }: Collection, epoch: number): number =>
  (epoch + 1) * epochSeconds + graceSeconds;

/** The latest random sending time of an epoch: its end plus half the grace. */
export const latestSend = ({ manifest: { epochSeconds, graceSeconds } }: Collection, epoch: number): number =>
  (epoch + 1) * epochSeconds + graceSeconds / 2;
