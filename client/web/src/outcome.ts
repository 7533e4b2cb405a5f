// The results of `Client.record`.

/** `queued`, `held` and `repeated` made a report. */
export type Outcome =
  /** Randomized, charged and waiting to be sent. */
  | "queued"
  /** This device has answered for this epoch, or permanently. */
  | "already-answered"
  /** The hold's permanent answer was renewed and waits; the value was not used (memoized). */
  | "held"
  /** The same with the last answer that was paid for, at no cost (memoized). */
  | "repeated"
  /** Sampling did not choose this device. */
  | "not-sampled"
  /** The answer would cost more ε than this device may still spend. */
  | "budget-exhausted"
  /** The collection costs more ε than the app's ceiling allows. */
  | "over-ceiling"
  /** The person has not agreed, or has said no. */
  | "no-consent"
  /** Do Not Track or Global Privacy Control is on, or this browser lacks what the client needs. */
  | "disabled"
  /** No manifest of that name or id is here, or it has not started yet. */
  | "unknown-collection"
  /** The collection has ended. */
  | "expired"
  /** The value is outside the collection's domain. */
  | "invalid-value"
  /** The queue of waiting answers is full. */
  | "queue-full"
  /** The browser's storage did not take the answer, or a file of this client was not loaded. Nothing was drawn. */
  | "storage-busy"
  /** The aggregator contradicted itself, so nothing is recorded or sent any more. */
  | "log-forked"
  /** This client was closed. */
  | "closed";
