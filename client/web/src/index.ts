// Randomize answers in the browser, upload them deniable. See README.md.

export { Client } from "./client.js";
export type { Ceiling } from "./collection.js";
export { ConfigurationError, DeniableError, ManifestError } from "./errors.js";
export type { CollectionExplanation, Explanation, ReportExplanation } from "./explain.js";
export type { Amount, Budget } from "./ledger.js";
export type { Options } from "./options.js";
export type { Outcome } from "./outcome.js";
export type { Vouchers } from "./sender.js";
export type { Consent } from "./store.js";
export type { Request, Transport } from "./transport.js";
export type { FlushResult } from "./uploader.js";
export type { Reply } from "./wire/replies.js";
