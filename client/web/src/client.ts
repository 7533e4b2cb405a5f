// Public entry point: records answers and uploads them in the background.

import { type Address, parseAddresses, route } from "./addresses.js";
import { type Limits, millionths, parseCeiling } from "./collection.js";
import { Collections } from "./collections.js";
import { deny, grant, missing, optOut, parseConsent } from "./consent.js";
import type { Device, DeviceParts } from "./device.js";
import { ConfigurationError, DeniableError, ForkError, reasonOf } from "./errors.js";
import type { Explanation } from "./explain.js";
import { type Budget, budgetOf } from "./ledger.js";
import { type Options, parseTrust } from "./options.js";
import type { Outcome } from "./outcome.js";
import { type Consent, declareFork, Store } from "./store.js";
import { Tabs } from "./tabs.js";
import type { FlushResult, Run } from "./uploader.js";

const VISIT_SECONDS = 60;
const WAKE_UP_SECONDS = 900;
const REPORTED: readonly Outcome[] = ["queued", "held", "repeated"];

const NOTHING: Run = { sent: 0, accepted: 0, dropped: 0, problems: [] };

export class Client {
  readonly #store: Store;
  readonly #collections: Collections;
  readonly #tabs: Tabs;
  readonly #parts: DeviceParts;
  readonly #addresses: readonly Address[];
  readonly #limits: Limits;
  readonly #clock: () => number;
  readonly #background: boolean;
  readonly #loaded: Promise<void>;
  #device?: Promise<Device>;
  #problems: string[] = [];
  #timer?: ReturnType<typeof setTimeout>;
  #vetoed = false;
  #closed = false;

  /** Throws ConfigurationError for a mistake that only the developer can correct. */
  constructor(options: Options) {
    const trust = parseTrust(options.trust);
    this.#addresses = parseAddresses(options.url);
    this.#limits = parseCeiling(options.ceiling);
    this.#clock = options.clock ?? (() => Date.now() / 1000);
    this.#background = options.background ?? true;
    this.#store = new Store(options.state ?? "deniable");
    this.#tabs = new Tabs(this.#store.name);
    const origins = this.#addresses.map(({ origin }) => origin);
    const page = options.page ?? globalThis.location?.origin;
    const rules = { page, trust, origins, limits: this.#limits, hasVouchers: options.vouchers !== undefined };
    this.#collections = new Collections(this.#store, rules, this.#clock);
    this.#parts = {
      addresses: this.#addresses,
      trust,
      limits: this.#limits,
      visitSeconds: options.visitSeconds ?? VISIT_SECONDS,
      transport: options.transport,
      vouchers: options.vouchers,
      clock: this.#clock,
      allows: () => !this.#vetoed && !this.#closed && !missing() && !optOut(),
      fetchManifest: (name, tried) => this.#fetch(name, tried),
    };
    this.#loaded = missing() ? Promise.resolve() : this.#load(options.manifests ?? []);
  }

  /**
   * Store the person's decision, "granted" or "denied"; without an argument, only return it. "denied" deletes
   * queue and keys and stops a request in progress. Spent budget stays spent.
   */
  async consent(answer?: "granted" | "denied"): Promise<Consent> {
    if (answer !== undefined) await this.#decide(parseConsent(answer));
    if (this.#vetoed) return "denied";
    return missing() ? "unknown" : (await this.#store.read((tx) => tx.installation())).consent;
  }

  /** Record an answer to a collection, by name or id. The value is randomized at once. Never throws. */
  async record(collection: string, value: unknown): Promise<Outcome> {
    if (this.#closed) return "closed";
    if (this.#vetoed) return "no-consent";
    if (missing() || optOut()) return "disabled";
    try {
      await this.#loaded;
      const now = this.#clock();
      const examined = this.#collections.examine(collection, value, now);
      if (typeof examined === "string") return this.#refused(examined);
      const outcome = (await (await this.#agreed())?.recorder.record(examined, now)) ?? "no-consent";
      if (REPORTED.includes(outcome)) this.#schedule();
      return outcome;
    } catch (error) {
      this.#note(error);
      return "storage-busy";
    }
  }

  /** Return what is wrong with a collection or a value, or "queued". Nothing else is checked. */
  async preview(collection: string, value: unknown): Promise<Outcome> {
    await this.#loaded;
    const examined = this.#collections.examine(collection, value, this.#clock());
    return typeof examined === "string" ? examined : "queued";
  }

  /** The ε spent and left, in millionths, in total and for each name. */
  async budget(): Promise<Budget> {
    await this.#loaded;
    const accounts = await this.#store.read((tx) => tx.all("names"));
    return budgetOf(accounts, this.#collections.all, millionths(this.#limits.lifetime));
  }

  /** What this client reveals and has revealed, as numbers and as text for the person. */
  async explain(): Promise<Explanation> {
    await this.#loaded;
    const budget = await this.budget();
    const url = this.#addresses.map(({ base }) => base).join(" or ");
    const lifetime = this.#limits.lifetime;
    const { explain } = await import("./explain.js");
    const explanation = await this.#store.read((tx) =>
      explain(tx, { url, deniedBy: optOut(), budget, lifetime, collections: this.#collections.all }),
    );
    if (explanation.consent === "unknown") this.#prepare(); // the person is about to be asked
    return explanation;
  }

  /** Fetch manifests: of known collections, and of `names`. Nothing is fetched without consent. */
  async refresh(names: readonly string[] = []): Promise<readonly string[]> {
    await this.#loaded;
    const known = this.#collections.all.map(({ manifest }) => manifest.name);
    const problems: string[] = [];
    for (const name of new Set([...known, ...names])) {
      await this.#fetch(name).catch((error) => problems.push(`${name}: ${reasonOf(error)}`));
    }
    return problems;
  }

  /** Send every report that is due; with `early` also those before their random time. */
  async flush({ early = false }: { early?: boolean } = {}): Promise<FlushResult> {
    return this.#upload(early ? "allowed" : "due");
  }

  /** Do one background run: send one new report and at most three retries, if due. */
  uploadDue(): Promise<FlushResult> {
    return this.#upload("wake-up");
  }

  /** Delete everything: the tombstone, too, and the database. Then close. */
  async forget(): Promise<void> {
    this.#vetoed = true;
    this.#tabs.stop();
    await this.#store.write(deny).catch(() => undefined);
    this.#tabs.stopOthers();
    await this.close();
    await this.#store.erase();
  }

  /** Send nothing more and close the database. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#tabs.stop();
    await this.#store.close();
  }

  async #load(manifests: readonly (string | Uint8Array)[]): Promise<void> {
    try {
      if ((await this.consent()) === "granted") this.#prepare();
      await this.#collections.load();
      for (const manifest of manifests) await this.#add(manifest);
      if (await this.#store.read((tx) => tx.waiting())) this.#schedule();
    } catch (error) {
      this.#note(error);
    }
  }

  /** Why nothing is recorded: without consent that comes first, as in the Python client. */
  async #refused(outcome: Outcome): Promise<Outcome> {
    const consent = await this.consent().catch(() => "granted");
    return consent === "granted" ? outcome : "no-consent";
  }

  /** Load what records and sends before it is needed: the page may be offline then. */
  #prepare(): void {
    if (this.#parts.allows()) this.#openDevice().catch((error) => this.#note(error));
  }

  /** What records and sends; undefined without consent. */
  async #agreed(): Promise<Device | undefined> {
    if (!this.#parts.allows()) return undefined;
    if (!this.#device && (await this.consent()) !== "granted") return undefined;
    return this.#openDevice();
  }

  #openDevice(): Promise<Device> {
    this.#device ??= this.#loadDevice();
    return this.#device;
  }

  async #loadDevice(): Promise<Device> {
    try {
      const { Device } = await import("./device.js");
      return new Device(this.#store, this.#tabs, this.#parts);
    } catch {
      this.#device = undefined;
      throw new DeniableError("a file of the client was not loaded, so nothing is recorded or sent now");
    }
  }

  async #add(manifest: string | Uint8Array, name?: string): Promise<void> {
    try {
      await this.#collections.add(
        typeof manifest === "string" ? new TextEncoder().encode(manifest) : manifest,
        name,
      );
    } catch (error) {
      if (error instanceof ForkError) await declareFork(this.#store, error.message);
      if (name !== undefined) throw error;
      this.#note(error);
    }
  }

  /** Fetch one manifest. If an address fails, the next one is tried; `tried` comes last. */
  async #fetch(name: string, tried?: Address): Promise<void> {
    if (!/^[a-z0-9-]{1,64}$/.test(name))
      throw new ConfigurationError("a name must be 1…64 of a-z, 0-9 and -");
    const known = this.#collections.all.filter(
      ({ manifest }) => name === manifest.name || name === manifest.collection,
    );
    const ordered = route(
      this.#addresses,
      known.flatMap(({ manifest }) => manifest.ingest),
    );
    const addresses = [
      ...ordered.filter((each) => each !== tried),
      ...ordered.filter((each) => each === tried),
    ];
    let first: unknown;
    for (const { base } of addresses) {
      try {
        const device = await this.#agreed();
        if (!device) throw new DeniableError("nothing is fetched without consent, or with an opt-out");
        return await this.#add(await device.uploader.get(`${base}/v1/collections/${name}/manifest`), name);
      } catch (error) {
        first ??= error;
        if (error instanceof ForkError) break;
      }
    }
    throw first;
  }

  async #decide(answer: Consent): Promise<void> {
    if (answer === "granted") {
      await this.#store.write(grant);
      this.#vetoed = false;
      this.#prepare();
      return;
    }
    this.#vetoed = true; // holds in this page even if it cannot be written down
    this.#tabs.stop();
    await this.#store.write(deny);
    this.#tabs.stopOthers();
  }

  async #upload(which: "allowed" | "due" | "wake-up"): Promise<FlushResult> {
    await this.#loaded;
    const device = await this.#agreed().catch((error) => this.#note(error));
    const done = (await device?.uploader.run(which)) ?? NOTHING;
    const waiting = await this.#store.read((tx) => tx.waiting()).catch(() => 0);
    return { ...done, waiting, problems: [...this.#problems.splice(0), ...done.problems] };
  }

  /** Wake up when the next report is due, and at least every 15 minutes, while reports wait. */
  #schedule(): void {
    if (!this.#background || this.#closed) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#agreed()
      .then((device) => device?.uploader.nextIn())
      .then((seconds) => {
        if (seconds === undefined || this.#timer || this.#closed) return;
        const wait = Math.min(Math.max(seconds, 1), WAKE_UP_SECONDS);
        this.#timer = setTimeout(() => this.#wakeUp(), wait * 1000);
      })
      .catch((error) => this.#note(error));
  }

  #wakeUp(): void {
    this.uploadDue()
      .then(({ problems }) => this.#problems.push(...problems.slice(0, 50)))
      .catch((error) => this.#note(error))
      .finally(() => this.#schedule());
  }

  #note(error: unknown): undefined {
    this.#problems = [...this.#problems.slice(-49), reasonOf(error)];
  }
}
