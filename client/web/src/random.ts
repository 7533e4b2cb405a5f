// Numbers from the browser's own generator.

import type { Bytes } from "./bytes.js";

export const newKey = (): Bytes => crypto.getRandomValues(new Uint8Array(32));

/** A number in 0…1, for draws that need not be repeated. */
export const randomShare = (): number => crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;
