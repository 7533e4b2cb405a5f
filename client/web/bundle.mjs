// Writes dist/browser: the client for pages without a build, in files that load when they are needed.
// Prints what a page loads, gzipped, and fails above the limit.

import { readFileSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const FOLDER = "dist/browser";
const MOST_AT_FIRST = 20_000;
const LATER = /src\/(?:device|explain|mechanisms\/[\w-]+)\.ts$/;

/** What files that load later share with the client stays in one file: each of them imports the client. */
const oneFileAtFirst = {
  name: "one file at first",
  setup({ onLoad }) {
    onLoad({ filter: LATER }, async ({ path }) => ({
      loader: "ts",
      contents: `${await readFile(path, "utf8")}\nexport { Client } from "${path.replace(/src\/.*/, "src/client.ts")}";`,
    }));
  },
};

rmSync(FOLDER, { recursive: true, force: true });
const {
  metafile: { outputs },
} = await build({
  entryPoints: { "deniable-client": "src/index.ts", consent: "src/consent-element.ts" },
  outdir: FOLDER,
  bundle: true,
  splitting: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
  metafile: true,
  plugins: [oneFileAtFirst],
});

/** Files that load with one: those that it imports, but not those that it may import later. */
function loaded(file, seen = new Set()) {
  seen.add(file);
  for (const { path, kind } of outputs[file].imports) {
    if (kind === "import-statement" && !seen.has(path)) loaded(path, seen);
  }
  return seen;
}

const bytes = (files) =>
  [...files].reduce((sum, file) => sum + gzipSync(readFileSync(file), { level: 9 }).length, 0);
const first = loaded(`${FOLDER}/deniable-client.js`);
/** What the file of a source adds to what the page has. */
const besides = (source) => bytes([...loaded(fileOf(source))].filter((file) => !first.has(file)));
const fileOf = (source) => Object.keys(outputs).find((file) => outputs[file].entryPoint === source);
const mechanisms = Object.values(outputs)
  .map(({ entryPoint }) => entryPoint)
  .filter((source) => source?.startsWith("src/mechanisms/"))
  .map(besides);
const sizes = {
  "at first": bytes(first),
  "the smallest mechanism": Math.min(...mechanisms),
  "the largest mechanism": Math.max(...mechanisms),
  "the consent element": besides("src/consent-element.ts"),
  explanations: besides("src/explain.ts"),
  "once a person agreed": besides("src/device.ts"),
  everything: bytes(Object.keys(outputs)),
};
for (const [what, size] of Object.entries(sizes))
  console.log(`${what}: ${size.toLocaleString("en")} bytes gzipped`);
if (sizes["at first"] > MOST_AT_FIRST)
  throw new Error(`a page loads more than ${MOST_AT_FIRST} bytes at first`);
