// Serves the example site, under a strict content security policy:
//
//   node example/serve.mjs --aggregator http://127.0.0.1:8000 --trust ed25519:… --question question.json --port 8080
//
// `question.json` is the signed manifest of a bits collection that names this site in `web_origins`.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { parseArgs } from "node:util";

const { values: given } = parseArgs({
  options: {
    aggregator: { type: "string" },
    trust: { type: "string" },
    question: { type: "string" },
    name: { type: "string", default: "settings" },
    port: { type: "string", default: "8080" },
  },
});
for (const name of ["aggregator", "trust", "question"]) {
  if (!given[name]) throw new Error(`--${name} is missing`);
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  `connect-src 'self' ${new URL(given.aggregator).origin}`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
const here = (path) => new URL(path, import.meta.url);
const FILES = {
  "/": ["text/html; charset=utf-8", here("index.html")],
  "/example.css": ["text/css; charset=utf-8", here("example.css")],
  "/example.js": ["text/javascript; charset=utf-8", here("example.js")],
  "/question.json": ["application/json", given.question],
};
const settings = JSON.stringify({ url: given.aggregator, trust: given.trust, name: given.name });

/** The media type of an address and its file; the files of the client lie in one folder. */
function found(pathname) {
  if (pathname === "/settings.json") return ["application/json"];
  const script = /^\/client\/([\w-]+\.js)$/.exec(pathname);
  if (script) return ["text/javascript; charset=utf-8", here(`../dist/browser/${script[1]}`)];
  return FILES[pathname] ?? [];
}

const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, "http://localhost");
  const [type, file] = found(pathname);
  if (!type || request.method !== "GET") return response.writeHead(404).end();
  const body = file ? await readFile(file).catch(() => undefined) : settings;
  if (body === undefined) return response.writeHead(404).end();
  response.writeHead(200, {
    "Content-Type": type,
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
  });
  response.end(body);
});
server.listen(Number(given.port), "127.0.0.1", () => {
  console.log(`the example site is at http://127.0.0.1:${server.address().port}`);
});
