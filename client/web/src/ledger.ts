// The ledger of ε on this device. ε is in integer millionths here, so sums are exact.

import type { Collection } from "./collection.js";
import type { Account, Tx } from "./store.js";

/** ε in millionths: what may be spent in a lifetime, what is spent, what is left. */
export interface Amount {
  readonly lifetime: number;
  readonly spent: number;
  readonly left: number;
}

export interface Budget extends Amount {
  readonly collections: Readonly<Record<string, Amount>>;
}

/** Put a name into the account of its ledger group. Accounts are only ever joined. */
export async function joinAccount(tx: Tx, name: string, group: string): Promise<void> {
  for (const label of [group, name]) {
    if (!(await tx.get("names", label))) await tx.put("names", { name: label, account: label, spent: 0 });
  }
  const accounts = await tx.all("names");
  const [first, last] = [group, name].map((label) => accountOf(accounts, label)).sort();
  for (const row of accounts) {
    if (first !== last && row.account === last) await tx.put("names", { ...row, account: first });
  }
}

const accountOf = (accounts: readonly Account[], label: string): string =>
  accounts.find(({ name }) => name === label)?.account ?? label;

export const sum = (accounts: readonly Account[]): number =>
  accounts.reduce((spent, row) => spent + row.spent, 0);

/** Of all names that share an account with this one. */
export function spentWith(accounts: readonly Account[], name: string): number {
  const account = accountOf(accounts, name);
  return sum(accounts.filter((row) => row.account === account));
}

/** Whether the lifetime of the collection, and that of the app, pay one more draw. */
export const isAffordable = (
  { manifest, cost, limit }: Collection,
  accounts: readonly Account[],
  lifetime: number,
): boolean => spentWith(accounts, manifest.name) + cost <= limit && sum(accounts) + cost <= lifetime;

export async function charge(tx: Tx, { manifest: { name }, cost }: Collection): Promise<void> {
  const row = (await tx.get("names", name)) ?? { name, account: name, spent: 0 };
  await tx.put("names", { ...row, spent: row.spent + cost });
}

export function budgetOf(
  accounts: readonly Account[],
  collections: readonly Collection[],
  lifetime: number,
): Budget {
  const total = amount(lifetime, sum(accounts), lifetime);
  const limits = new Map<string, number>();
  for (const {
    manifest: { name },
    limit,
  } of collections)
    limits.set(name, Math.max(limit, limits.get(name) ?? 0));
  const names = accounts.filter(({ name, spent }) => spent || limits.has(name)).map(({ name }) => name);
  const byName = names.map((name) => [
    name,
    amount(Math.min(limits.get(name) ?? lifetime, lifetime), spentWith(accounts, name), total.left),
  ]);
  return { ...total, collections: Object.fromEntries(byName) };
}

const amount = (lifetime: number, spent: number, most: number): Amount => ({
  lifetime,
  spent,
  left: Math.max(0, Math.min(lifetime - spent, most)),
});
