// From a state and a value to the next state and a payload. Pure functions: the same state,
// collection and value give the same report, on this device or in a restored backup.

import type { Bytes } from "./bytes.js";
import type { Collection, Period } from "./collection.js";
import type { Answer } from "./domains.js";
import * as keychain from "./keychain.js";
import type { Outcome } from "./outcome.js";

/**
 * The state of one collection on this device. `key` belongs to hold `at`, `epochKey` to epoch
 * `epochAt`. `hold` is the last hold settled; `asked`: sampling chose this device in it. `permanent`
 * is the answer drawn in hold `drawn`.
 */
export interface State {
  readonly key?: Bytes;
  readonly at: number;
  readonly epochKey?: Bytes;
  readonly epochAt?: number;
  readonly first?: number;
  readonly hold?: number;
  readonly asked?: boolean;
  readonly drawn?: number;
  readonly permanent?: Bytes;
}

/** What one epoch gave: a report, unless the outcome says otherwise. */
export interface Drawn {
  readonly outcome: Outcome;
  readonly state: State;
  readonly paid: boolean;
  readonly payload?: Bytes;
  readonly reportId?: Bytes;
}

type Refusal = (state: State, period: Period, passed: boolean) => Outcome | undefined;

const settled = ({ hold, asked }: State): Outcome =>
  hold !== undefined && !asked ? "not-sampled" : "already-answered";

const REFUSALS: Readonly<Record<string, Refusal>> = {
  once: (state, _, passed) => (passed || state.hold !== undefined ? settled(state) : undefined),
  fresh(state, period, passed) {
    if (period.epoch === state.hold) return settled(state);
    if (passed || period.epoch < state.at) return "already-answered";
    const over = state.first !== undefined && period.epoch >= state.first + period.paid;
    return over ? "budget-exhausted" : undefined;
  },
  memoized(state, period, passed) {
    if (period.hold === state.hold && !state.asked) return "not-sampled";
    if (passed || period.epoch < (state.epochAt ?? 0)) return "already-answered";
    const begins = state.hold === undefined || period.hold > state.hold;
    const gone = begins ? period.hold < state.at : period.hold !== state.hold || !state.permanent;
    return gone ? "already-answered" : undefined;
  },
};

/** Why the epoch gets no report, or none any more. `highest` is the highest epoch ever answered. */
export function refusal(repeat: string, state: State, period: Period, highest?: number): Outcome | undefined {
  const passed = highest !== undefined && (repeat === "once" || period.epoch <= highest);
  return REFUSALS[repeat](state, period, passed);
}

/** Whether the period starts a hold. Otherwise its permanent answer exists. */
export const beginsHold = (state: State, period: Period): boolean =>
  !state.permanent || state.hold !== period.hold;

/** The report of an epoch that is not refused. If the budget does not pay, the last answer is used. */
export function draw(
  collection: Collection,
  before: State,
  period: Period,
  answer: Answer,
  pays: boolean,
): Drawn {
  const { manifest, sampling } = collection;
  if (!beginsHold(before, period)) {
    return renew(collection, before, period, before.drawn === period.hold ? "held" : "repeated");
  }
  const key = keychain.advance(keyOf(before.key), period.hold - before.at);
  const asked =
    manifest.sampling.n === manifest.sampling.d ||
    keychain.samplingCoins(key, manifest.identity, period.hold).bernoulli(sampling);
  const state: State = {
    ...before,
    key: keychain.advance(key, 1),
    at: period.hold + 1,
    first: before.first ?? period.epoch,
    hold: period.hold,
    asked,
  };
  if (!asked) return { outcome: "not-sampled", state, paid: false };
  if (manifest.repeat === "memoized" && !pays) return renew(collection, state, period, "repeated");
  const payload = randomize(collection, key, period.hold, answer);
  if (manifest.repeat === "memoized") {
    const drawn = { ...state, drawn: period.hold, permanent: payload };
    return { ...renew(collection, drawn, period, "queued"), paid: true };
  }
  const reportId = keychain.reportId(key, manifest.collection, period.epoch);
  return { outcome: "queued", state, paid: true, payload, reportId };
}

function randomize({ manifest }: Collection, key: Bytes, hold: number, answer: Answer): Bytes {
  const { mechanism, identity } = manifest;
  const coins = keychain.coins(key, identity, hold, answer.canonical);
  const open = mechanism.open ? keychain.publicCoins(key, identity, hold) : coins;
  return mechanism.randomize(answer, coins, open);
}

function renew({ manifest }: Collection, before: State, { epoch }: Period, outcome: Outcome): Drawn {
  const permanent = keyOf(before.permanent);
  const key = keychain.advance(keyOf(before.epochKey), epoch - (before.epochAt ?? epoch));
  const coins = keychain.renewalCoins(key, manifest.identity, epoch, permanent);
  const payload = manifest.mechanism.rerandomize(permanent, manifest.renewal as bigint, coins);
  const reportId = keychain.reportId(key, manifest.collection, epoch);
  const state = { ...before, epochKey: keychain.advance(key, 1), epochAt: epoch + 1 };
  return { outcome, state, paid: false, payload, reportId };
}

function keyOf(key: Bytes | undefined): Bytes {
  if (!key) throw new Error("a collection without keys draws nothing");
  return key;
}
