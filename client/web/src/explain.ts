// What this client reveals, in words and numbers to show to a person.

import type { Bytes } from "./bytes.js";
import { toHex } from "./bytes.js";
import type { Collection } from "./collection.js";
import { expBounds, SCALE } from "./dyadic.js";
import { Fraction } from "./fraction.js";
import type { Budget } from "./ledger.js";
import { holds, paidHolds, type Rule } from "./manifest/schedule.js";
import type { Consent, Row, Tx } from "./store.js";

/** One collection. ε as decimals; chances and certainties as shares of 1. */
export interface CollectionExplanation {
  readonly name: string;
  readonly collection: string;
  readonly version: number;
  readonly purpose: string;
  readonly owner: string;
  readonly topics: readonly string[];
  readonly epsilonReport: number;
  /** The most that this device ever spends on it. */
  readonly epsilonLifetime: number;
  /** The chance that one report supports the true answer, and that it supports a given other one. */
  readonly truth: number;
  readonly other: number;
  /** Someone who thought two answers equally likely is at most so sure, in percent. */
  readonly mostSure: string;
  readonly mostSureEver: string;
  readonly linkage: number;
  readonly identified: boolean;
  readonly public: boolean;
  readonly schedule: string;
  readonly admitted: boolean;
  readonly text: string;
}

/** One report: its payload as long as it waits, the digest of the last request it left in after that. */
export interface ReportExplanation {
  readonly collection: string;
  readonly epoch: number;
  readonly state: Row["state"];
  readonly reason?: string;
  readonly requests: number;
  readonly payload?: Bytes;
  readonly requestSha256?: string;
  readonly requestBytes?: number;
}

export interface Explanation {
  readonly url: string;
  readonly consent: Consent;
  readonly deniedBy?: string;
  readonly forked?: string;
  readonly budget: Budget;
  readonly collections: readonly CollectionExplanation[];
  readonly reports: readonly ReportExplanation[];
  /** How sure one can be, in percent, after all reports about all these questions together. */
  readonly mostSureEver: string;
  readonly text: string;
}

const CONSENT: Readonly<Record<Consent, string>> = {
  granted: "You agreed. You can withdraw that at any time.",
  denied: "You said no. Nothing is recorded or sent.",
  unknown: "You were not asked yet. Nothing is recorded or sent.",
};
const PERIODS: Readonly<Record<number, string>> = { 3600: "hour", 86400: "day", 604800: "week" };
const MOST_TOPICS = 12;
const MOST_REPORTS = 5;

interface Subject {
  readonly url: string;
  readonly deniedBy?: string;
  readonly budget: Budget;
  readonly lifetime: Fraction;
  readonly collections: readonly Collection[];
}

export async function explain(tx: Tx, subject: Subject): Promise<Explanation> {
  const { consent, forked } = await tx.installation();
  const reports = (await tx.all("outbox")).map(explainReport);
  const { url, deniedBy, budget, lifetime } = subject;
  const collections = subject.collections.map((each) => explainCollection(each, budget));
  const status = [`Answers go to ${url}, randomized in this browser before they are kept.`, CONSENT[consent]];
  if (deniedBy) status.push(`Everything is paused: ${deniedBy}.`);
  if (forked) status.push(`Everything is stopped, as the operator contradicted itself: ${forked}.`);
  const total = `All questions together: ε = ${decimal(budget.spent)} of at most ${decimal(budget.lifetime)} spent, which no server can raise.`;
  const texts = [
    status.join("\n"),
    ...collections.map(({ text }) => text),
    total,
    reportsText(reports, subject),
  ];
  const asked = subject.collections.filter(({ admitted }) => admitted);
  const ever = asked.reduce((sum, { rule }) => sum.add(everSpent(rule)), new Fraction(0));
  const mostSureEver = mostSure(ever.min(lifetime));
  const text = texts.join("\n\n");
  return { url, consent, deniedBy, forked, budget, collections, reports, mostSureEver, text };
}

const everSpent = (rule: Rule): Fraction =>
  rule.price.mul(new Fraction(Math.min(paidHolds(rule), holds(rule))));

function explainReport(row: Row): ReportExplanation {
  const { collection, epoch, state, reason, attempts: requests, payload } = row;
  const { requestDigest: requestSha256, requestBytes } = row;
  return { collection, epoch, state, reason, requests, payload, requestSha256, requestBytes };
}

function explainCollection(each: Collection, budget: Budget): CollectionExplanation {
  const { manifest, rule, admitted } = each;
  const kept = manifest.renewal === undefined ? new Fraction(1) : new Fraction(manifest.renewal, SCALE);
  const drawn = new Fraction(1)
    .sub(kept)
    .mul(new Fraction(manifest.mechanism.support, manifest.mechanism.alphabet));
  const chance = (permanent: Fraction) => kept.mul(permanent).add(drawn).toNumber();
  const ever = everSpent(rule);
  const facts = {
    name: manifest.name,
    collection: manifest.collection,
    version: manifest.version,
    purpose: manifest.purpose,
    owner: manifest.owner,
    topics: manifest.domain.topics,
    epsilonReport: manifest.report.toNumber(),
    epsilonLifetime: ever.toNumber(),
    truth: chance(manifest.mechanism.p),
    other: chance(manifest.mechanism.q),
    mostSure: mostSure(manifest.report),
    mostSureEver: mostSure(ever),
    linkage: manifest.linkage,
    identified: manifest.requires.length > 0,
    public: manifest.values.public === true,
    schedule: describe(rule, manifest.epochSeconds),
    admitted,
  };
  return { ...facts, text: collectionText(facts, each, budget) };
}

function collectionText(
  facts: Omit<CollectionExplanation, "text">,
  { manifest }: Collection,
  budget: Budget,
): string {
  const { name, purpose, owner, topics, truth, other } = facts;
  const more = topics.length > MOST_TOPICS ? ` and ${topics.length - MOST_TOPICS} more` : "";
  const lines = [
    `${name}: ${purpose}`,
    `  Asked by ${owner}, about: ${topics.slice(0, MOST_TOPICS).join(", ")}${more}.`,
  ];
  if (!facts.admitted)
    return [...lines, "  It asks for more than this page allows, so it gets no answer."].join("\n");
  const alone =
    manifest.domain.type === "bits" || Math.abs(truth + (manifest.domain.size - 1) * other - 1) < 1e-9;
  lines.push(
    alone
      ? `  In a report the answer is true with a chance of ${percent(truth)} and wrong otherwise: any answer could have led to any report.`
      : `  A report points to several answers at once: to the true one with a chance of ${percent(truth)}, to any other with ${percent(other)}.`,
    `  One report: ε = ${facts.epsilonReport}. Someone who thought two answers equally likely can be at most ${facts.mostSure} % sure after it.`,
    `  All reports about this question: ε = ${facts.epsilonLifetime}, at most ${facts.mostSureEver} % sure. This browser ${facts.schedule}.`,
    "  That this browser answered, and when, can be seen. Reports are sent during your visit.",
  );
  if (facts.identified)
    lines.push(
      "  Reports carry a voucher that was issued for you: the operator can see which report is yours.",
    );
  if (manifest.renewal)
    lines.push(
      `  Two reports of one answer share ${facts.linkage.toFixed(2)} bits, by which they can be linked.`,
    );
  if (facts.public) lines.push("  The answers of all people together are public, never a single report.");
  const spent = budget.collections[name] ?? { spent: 0, left: budget.left };
  lines.push(`  Spent so far: ${decimal(spent.spent)}; left: ${decimal(spent.left)}.`);
  return lines.join("\n");
}

function reportsText(reports: readonly ReportExplanation[], { collections }: Subject): string {
  const waiting = reports.filter(({ payload }) => payload);
  const gone = reports.filter(({ payload, requests }) => !payload && requests);
  const where = ({ collection, epoch }: ReportExplanation): string => {
    const seconds = collections.find(({ manifest }) => manifest.collection === collection)?.manifest
      .epochSeconds;
    return `${collection}, ${seconds ? dateOf(epoch * seconds) : `period ${epoch}`}`;
  };
  return [
    `Reports waiting: ${waiting.length}. Reports that left this browser: ${gone.length}.`,
    ...waiting
      .slice(-MOST_REPORTS)
      .map((each) => `  waiting  ${where(each)}: ${toHex(each.payload as Bytes)}`),
    ...gone
      .slice(-MOST_REPORTS)
      .map(
        (each) =>
          `  ${each.state}  ${where(each)}: ${each.requestBytes} bytes, SHA-256 ${each.requestSha256}`,
      ),
  ].join("\n");
}

/** When a device answers and when it stops, in words for people, after "a device". */
function describe(rule: Rule, epochSeconds: number): string {
  const period = PERIODS[epochSeconds] ?? "period";
  const [{ repeat }, all] = [rule, holds(rule)];
  const paid = Math.min(paidHolds(rule), all);
  if (!paid) return "never answers: ε for its lifetime is too small";
  if (repeat === "once") return "answers once";
  if (repeat === "fresh") return `answers ${period === "day" ? "on" : "in"} ${counted(paid, period)}`;
  const kept = counted(rule.holdEpochs, period);
  const noise = `with new noise each ${period}`;
  if (paid === 1 && all === 1) return `keeps one scrambled answer for ${kept} and sends it ${noise}`;
  return `makes a new scrambled answer every ${kept}, ${paid} in total, and sends the latest one ${noise}`;
}

const counted = (many: number, noun: string): string =>
  `${many.toLocaleString("en")} ${noun}${many === 1 ? "" : "s"}`;

/** Unix seconds of this century, as people read them. */
const dateOf = (seconds: number): string =>
  `${new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;

const decimal = (millionths: number): string => `${millionths / 1_000_000}`;

const percent = (share: number): string => `${(Math.ceil(share * 1000) / 10).toFixed(1)} %`;

/** e^ε/(1 + e^ε) in percent, never rounded down: one decimal, or as many as stay below 100. */
function mostSure(epsilon: Fraction): string {
  if (epsilon.n === 0n) return "50.0";
  const { high, precision } = expBounds(epsilon, 64);
  for (let digits = 1; ; digits++) {
    const scale = 10n ** BigInt(digits);
    const steps = (high * 100n * scale) / (high + (1n << precision)) + 1n;
    if (steps < 100n * scale) return `${steps / scale}.${`${steps % scale}`.padStart(digits, "0")}`;
  }
}
