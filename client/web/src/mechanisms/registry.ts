// The mechanisms of this client. What is behind an id never changes; others are refused by name.
// A page loads those that its manifests name.

import type { Json } from "../canonical.js";
import { ManifestError } from "../errors.js";
import type { Kind } from "./mechanism.js";

export const MECHANISMS: Readonly<Record<string, () => Promise<Kind>>> = {
  "rr/1": () => import("./bits.js").then(({ rr }) => rr),
  "rr-sampled/1": () => import("./bits.js").then(({ rrSampled }) => rrSampled),
  "grr/1": () => import("./choices.js").then(({ grr }) => grr),
  "subset/1": () => import("./subset.js").then(({ subset }) => subset),
  "affine/1": () => import("./choices.js").then(({ affine }) => affine),
  "cyclic/1": () => import("./choices.js").then(({ cyclic }) => cyclic),
  "projective/1": () => import("./choices.js").then(({ projective }) => projective),
  "hadamard/1": () => import("./choices.js").then(({ hadamard }) => hadamard),
  "optimal-mean/1": () => import("./numbers.js").then(({ optimalMean }) => optimalMean),
  "duchi/1": () => import("./numbers.js").then(({ duchi }) => duchi),
  "haar/1": () => import("./numbers.js").then(({ haar }) => haar),
  "tree/1": () => import("./parts.js").then(({ tree }) => tree),
  "square-wave/1": () => import("./numbers.js").then(({ squareWave }) => squareWave),
  "pairs/1": () => import("./parts.js").then(({ pairs }) => pairs),
  "fourier/1": () => import("./parts.js").then(({ fourier }) => fourier),
  "prefix-hash/1": () => import("./prefix-hash.js").then(({ prefixHash }) => prefixHash),
};

const loaded = new Map<string, Kind>();

/** Load the mechanism of an id, if this client has it. */
export async function loadMechanism(id: Json | undefined): Promise<void> {
  if (typeof id === "string" && !loaded.has(id) && Object.hasOwn(MECHANISMS, id)) {
    loaded.set(id, await MECHANISMS[id]());
  }
}

/** A mechanism that was loaded. Throws ManifestError, naming it, for one that this client lacks. */
export function kindOf(id: Json): Kind {
  const kind = typeof id === "string" && loaded.get(id);
  if (kind) return kind;
  const given = JSON.stringify(id)?.slice(0, 80);
  throw new ManifestError(
    `the web client has no mechanism ${given}: choose one of ${Object.keys(MECHANISMS).join(", ")}`,
  );
}
