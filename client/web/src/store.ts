// What a device keeps: one IndexedDB database. All access is one transaction at a time.
//
//   installation   consent, whether the log forked, the operator's key list and log as last seen
//   names          one row a name: its account (shared by a ledger group) and ε spent, in millionths
//   collections    one row a collection: its keys, the hold settled last, the permanent answer
//   manifests      every (collection, version) ever accepted, with its verified body
//   outbox         one row a (collection, epoch) ever answered: kept permanently, emptied once done

import type { Bytes } from "./bytes.js";
import type { State } from "./draw.js";
import { DeniableError } from "./errors.js";

const VERSION = 1;

export type Consent = "unknown" | "granted" | "denied";

export interface Installation {
  consent: Consent;
  forked?: string;
  keysVersion: number;
  keysEnvelope?: Bytes;
  logSize: number;
  logHead?: string;
}

export interface Account {
  readonly name: string;
  readonly account: string;
  readonly spent: number;
}

export interface StoredState extends State {
  readonly collection: string;
}

export interface StoredManifest {
  readonly collection: string;
  readonly version: number;
  readonly trust: string;
  readonly body: Bytes;
}

/** Times are unix seconds. A row that waits has a payload, and its collection as `waiting`. */
export interface Row {
  readonly collection: string;
  readonly epoch: number;
  readonly version: number;
  readonly state: "waiting" | "sending" | "done" | "dropped" | "wiped";
  readonly waiting?: string;
  readonly reportId?: Bytes;
  readonly payload?: Bytes;
  readonly closesAt: number;
  readonly sendAt: number;
  readonly retryAt: number;
  readonly floor: number;
  readonly attempts: number;
  readonly reason?: string;
  readonly requestDigest?: string;
  readonly requestBytes?: number;
}

interface Tables {
  installation: Installation;
  names: Account;
  collections: StoredState;
  manifests: StoredManifest;
  outbox: Row;
}

type Table = keyof Tables;
type Key = string | number | (string | number)[];

const TABLES: Readonly<Record<Table, string | string[] | null>> = {
  installation: null,
  names: "name",
  collections: "collection",
  manifests: ["collection", "version"],
  outbox: ["collection", "epoch"],
};
const ROW = "this device";
const NEW: Installation = { consent: "unknown", keysVersion: 0, logSize: 0 };

/** Storage that cannot be used now: blocked, full, or deleted by the browser. */
export class StorageError extends DeniableError {}

export class Store {
  #db?: Promise<IDBDatabase>;

  constructor(readonly name: string) {}

  /** One transaction, on the disk when this resolves. `work` awaits nothing but its requests. */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#run("readwrite", work);
  }

  read<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#run("readonly", work);
  }

  async close(): Promise<void> {
    const db = this.#db;
    this.#db = undefined;
    (await db?.catch(() => undefined))?.close();
  }

  /** Close and delete everything. */
  async erase(): Promise<void> {
    await this.close();
    await settled(indexedDB.deleteDatabase(this.name));
  }

  async #run<T>(mode: IDBTransactionMode, work: (tx: Tx) => Promise<T>): Promise<T> {
    try {
      const transaction = (await this.#open()).transaction(Object.keys(TABLES), mode, {
        durability: "strict",
      });
      const ended = new Promise<void>((resolve, reject) => {
        transaction.oncomplete = () => resolve();
        transaction.onabort = () =>
          reject(transaction.error ?? new StorageError("the transaction was aborted"));
      });
      ended.catch(() => undefined);
      const result = await work(new Tx(transaction)).catch((error) => {
        abort(transaction);
        throw error;
      });
      await ended;
      return result;
    } catch (error) {
      if (error instanceof DeniableError) throw error;
      this.#db = undefined;
      throw new StorageError(`the browser's storage is not usable now: ${(error as Error).name}`);
    }
  }

  #open(): Promise<IDBDatabase> {
    this.#db ??= open(this.name, () => {
      this.#db = undefined;
    });
    return this.#db;
  }
}

async function open(name: string, closed: () => void): Promise<IDBDatabase> {
  const request = indexedDB.open(name, VERSION);
  request.onupgradeneeded = () => {
    for (const [table, keyPath] of Object.entries(TABLES))
      request.result.createObjectStore(table, { keyPath });
    request.transaction?.objectStore("outbox").createIndex("waiting", "waiting");
  };
  const db = await settled(request);
  db.onclose = closed;
  db.onversionchange = () => {
    db.close(); // another tab brings a newer version, or erases: this one does not stand in its way
    closed();
  };
  return db;
}

function abort(transaction: IDBTransaction): void {
  try {
    transaction.abort();
  } catch {} // it has ended by itself
}

function settled<T>(request: IDBRequest<T> | IDBOpenDBRequest): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result as T);
    request.onerror = () => reject(request.error);
    if ("onblocked" in request)
      request.onblocked = () => reject(new StorageError("another tab keeps the storage open"));
  });
}

/** One transaction over all tables. */
export class Tx {
  constructor(readonly transaction: IDBTransaction) {}

  get<T extends Table>(table: T, key: Key): Promise<Tables[T] | undefined> {
    return settled(this.transaction.objectStore(table).get(key));
  }

  all<T extends Table>(table: T): Promise<Tables[T][]> {
    return settled(this.transaction.objectStore(table).getAll());
  }

  async put<T extends Table>(table: T, value: Tables[T]): Promise<void> {
    const key = table === "installation" ? ROW : undefined;
    await settled(this.transaction.objectStore(table).put(value, key));
  }

  async installation(): Promise<Installation> {
    return (await this.get("installation", ROW)) ?? { ...NEW };
  }

  /** How many reports wait, in all or of one collection. */
  waiting(collection?: string): Promise<number> {
    return settled(this.transaction.objectStore("outbox").index("waiting").count(collection));
  }

  waitingRows(): Promise<Row[]> {
    return settled(this.transaction.objectStore("outbox").index("waiting").getAll());
  }

  /** The highest epoch in which a collection was ever answered. */
  async highest(collection: string): Promise<number | undefined> {
    const range = IDBKeyRange.bound([collection], [collection, []]);
    const cursor = await settled(this.transaction.objectStore("outbox").openKeyCursor(range, "prev"));
    return (cursor?.primaryKey as [string, number] | undefined)?.[1];
  }
}

/** Stop this device permanently; the first reason stays. */
export const declareFork = (store: Store, reason: string): Promise<void> =>
  store.write(async (tx) => {
    const before = await tx.installation();
    await tx.put("installation", { ...before, forked: before.forked ?? reason });
  });
