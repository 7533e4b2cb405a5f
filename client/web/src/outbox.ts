// The queue of randomized answers. A row is kept permanently; being done or dropped only empties it.
//
// A row is late once this device's clock is past `closesAt`; its `sendAt` is then when that was
// first seen. A late row is not sent. It is kept, since the clock may have jumped, until the
// aggregator's clock is past `closesAt` too, or this one has been for a week.

import type { Row, Tx } from "./store.js";

export const MAX_WAITING = 1_000;
export const MAX_WAITING_HERE = 256;
const LATE_SECONDS = 7 * 86_400;
const LONGEST_SECONDS = 12 * 3600 + 1; // a longer wait was written under another clock

export const isLate = ({ closesAt }: Row, now: number): boolean => closesAt < now;

const passed = (moment: number, now: number): boolean => moment <= now || moment > now + LONGEST_SECONDS;

/** Whether the aggregator allows it now; ignores the schedule. */
export const isAllowed = ({ floor }: Row, now: number): boolean => passed(floor, now);

/** Whether the schedule allows sending now. */
export const isDue = (row: Row, now: number): boolean =>
  row.sendAt <= now && passed(row.retryAt, now) && isAllowed(row, now);

/** Seconds until the schedule allows sending. */
export const dueIn = (row: Row, now: number): number => Math.max(row.sendAt, row.retryAt, row.floor) - now;

/** Empty a row: the aggregator has it, or never takes it. */
export async function empty(tx: Tx, row: Row, state: "done" | "dropped", reason?: string): Promise<void> {
  const { waiting: _waiting, payload: _payload, reportId: _reportId, ...rest } = row;
  await tx.put("outbox", { ...rest, state, reason });
}

/** Drop what is late at that moment; the number of rows. */
export async function dropLate(tx: Tx, moment: number): Promise<number> {
  const late = (await tx.waitingRows()).filter((row) => isLate(row, moment));
  for (const row of late) await empty(tx, row, "dropped", "epoch-closed");
  return late.length;
}

/** Note since when rows are late; drop those that have been for a week; the number dropped. */
export async function watchLate(tx: Tx, now: number): Promise<number> {
  let dropped = 0;
  for (const row of await tx.waitingRows()) {
    const noted = row.sendAt > row.closesAt;
    const renew = isLate(row, now) ? !noted || row.sendAt > now : noted;
    if (renew) await tx.put("outbox", { ...row, sendAt: now });
    else if (noted && row.sendAt < now - LATE_SECONDS) {
      await empty(tx, row, "dropped", "epoch-closed");
      dropped++;
    }
  }
  return dropped;
}

/** Drop what is late by this clock and by the aggregator's; keep the rest for another week. */
export async function judgeLate(tx: Tx, now: number, date: number): Promise<number> {
  const dropped = await dropLate(tx, Math.min(now, date));
  for (const row of await tx.waitingRows()) {
    if (isLate(row, now)) await tx.put("outbox", { ...row, sendAt: now });
  }
  return dropped;
}
