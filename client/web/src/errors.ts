// Everything that this package throws. No message repeats an answer: apps log errors.

/** Root of the tree. */
export class DeniableError extends Error {
  override name = this.constructor.name;
}

/** Bytes that are not a message or a document of the protocol. */
export class DecodeError extends DeniableError {}

/** A signature that is missing, wrong or expired. */
export class SignatureError extends DeniableError {}

/** A manifest that breaks a rule, or that this client does not support. */
export class ManifestError extends DeniableError {}

/** Two statements of one operator that cannot both be true. */
export class ForkError extends DeniableError {}

/** No usable answer: no connection, a time-out, a foreign reply. The report waits. */
export class TransportError extends DeniableError {}

/** A report that this browser cannot seal. It waits. */
export class SealError extends DeniableError {}

/** A value outside the domain of a collection. */
export class DomainError extends DeniableError {}

/** A wrong argument, which only the developer of the app can correct. */
export class ConfigurationError extends DeniableError {}

/** The reason of a refusal, in words. */
export const reasonOf = (error: unknown): string =>
  error instanceof DeniableError ? error.message : `${(error as Error)?.name ?? error}`;
