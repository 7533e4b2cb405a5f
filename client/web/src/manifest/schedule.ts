// How often one device answers, what it pays for, and when it stops. Times are unix seconds.

import type { Fraction } from "../fraction.js";

export const EARLY_SECONDS = 300;

export const epochAt = (now: number, epochSeconds: number): number => Math.floor(now / epochSeconds);

/** Most epochs that take reports at once: this one, those in grace, those of fast clocks. */
export const epochsOpen = (epochSeconds: number, graceSeconds: number): number =>
  1 + Math.ceil(graceSeconds / epochSeconds) + Math.ceil(EARLY_SECONDS / epochSeconds);

export interface Rule {
  readonly repeat: string;
  /** ε of one draw: of a report, or of a permanent answer. */
  readonly price: Fraction;
  readonly lifetime: Fraction;
  readonly firstEpoch: number;
  readonly lastEpoch: number;
  readonly holdEpochs: number;
}

/** The draw an epoch belongs to, as it keys the coins: 0 of `once`, of `fresh` the epoch. */
export function holdAt(
  { repeat, firstEpoch, holdEpochs }: Pick<Rule, "repeat" | "firstEpoch" | "holdEpochs">,
  epoch: number,
): number {
  if (repeat === "memoized") return Math.floor((epoch - firstEpoch) / holdEpochs);
  return repeat === "fresh" ? epoch : 0;
}

/** Draws that the lifetime pays, each of which serves one hold. */
export function paidHolds({ repeat, price, lifetime }: Rule): number {
  const affordable = Number(lifetime.div(price).floor());
  return repeat === "once" ? Math.min(affordable, 1) : affordable;
}

/** Draws that the collection's life has room for. */
export function holds(rule: Rule): number {
  const epochs = rule.lastEpoch - rule.firstEpoch + 1;
  if (rule.repeat === "memoized") return Math.ceil(epochs / rule.holdEpochs);
  return rule.repeat === "fresh" ? epochs : 1;
}

/** When a device stops, in words that follow "a device". */
export function describe(rule: Rule): string {
  const all = holds(rule);
  const paid = Math.min(paidHolds(rule), all);
  const { repeat } = rule;
  if (repeat === "once" || !paid) return `answers in ${counted(paid, "epoch")}`;
  const memoized = repeat === "memoized";
  const answered = memoized
    ? `${counted(paid, "hold")} of ${counted(rule.holdEpochs, "epoch")}`
    : counted(paid, "epoch");
  const after = memoized ? "then repeats its last" : "counted from its first";
  return `answers in ${answered}, ${paid < all ? after : "all there are"}`;
}

/** 1 day, 2 days. */
export const counted = (many: number, noun: string): string =>
  `${many.toLocaleString("en")} ${noun}${many === 1 ? "" : "s"}`;
