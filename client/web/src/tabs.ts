// Which tab sends, and how requests are stopped: those of this tab, and those of the others.

import { TransportError } from "./errors.js";

export class Tabs {
  #abort = new AbortController();

  constructor(readonly name: string) {}

  /** Aborts when this tab must stop sending. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Stop every request of this tab that is under way. */
  stop(): void {
    this.#abort.abort();
    this.#abort = new AbortController();
  }

  /** Stop the requests of other tabs: the tab that holds the lock loses it. */
  stopOthers(): void {
    navigator.locks?.request(this.#lock, { steal: true }, () => undefined).catch(() => undefined);
  }

  /** Do work that one tab does at a time. Rejects if another tab does it now. */
  async alone(work: () => Promise<void>): Promise<void> {
    try {
      await navigator.locks.request(this.#lock, { ifAvailable: true }, (lock) => {
        if (!lock) throw new TransportError("another tab is uploading");
        return work();
      });
    } catch (error) {
      if ((error as Error).name === "AbortError") this.stop(); // another tab took the lock: consent was denied there
      throw error;
    }
  }

  get #lock(): string {
    return `deniable ${this.name}`;
  }
}
