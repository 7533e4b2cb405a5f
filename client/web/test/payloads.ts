// Payloads of many (key, value, hold) for a test in Python that compares them with its own.
// Reads {recipes, draws} as JSON from standard input, writes one line a draw: payload, id, key, sampling coin.

import { readFileSync } from "node:fs";
import { fromHex, toHex } from "../src/bytes.js";
import { parseDomain } from "../src/domains.js";
import { renewalThreshold } from "../src/dyadic.js";
import { Fraction } from "../src/fraction.js";
import * as keychain from "../src/keychain.js";
import { kindOf } from "../src/mechanisms/registry.js";
import "./vectors.js"; // loads every mechanism
import type { Case } from "./vectors.js";

const { recipes, draws } = JSON.parse(readFileSync(0, "utf8"));

const made = recipes.map((recipe: Case) => {
  const domain = parseDomain(recipe.domain);
  const report = Fraction.decimal(recipe.epsilon);
  const epsilon = Fraction.decimal(recipe.permanent ?? recipe.epsilon);
  const mechanism = kindOf(recipe.mechanism).create({
    domain,
    report,
    epsilon,
    parameters: recipe.parameters,
  });
  const { threshold, differing, alphabet, support } = mechanism;
  const share = report.div(new Fraction(differing));
  const keep = recipe.permanent && renewalThreshold(threshold, share, alphabet, support);
  return { domain, mechanism, keep };
});

const lines = draws.map(([at, keyHex, identityHex, hold, value]: Case) => {
  const { domain, mechanism, keep } = made[at];
  const [key, identity] = [fromHex(keyHex), fromHex(identityHex)];
  const answer = domain.encode(value);
  const coins = keychain.coins(key, identity, hold, answer.canonical);
  const open = mechanism.open ? keychain.publicCoins(key, identity, hold) : coins;
  let payload = mechanism.randomize(answer, coins, open);
  if (keep)
    payload = mechanism.rerandomize(payload, keep, keychain.renewalCoins(key, identity, hold, payload));
  const id = toHex(keychain.reportId(key, "settings-qgd4v4", hold));
  const next = toHex(keychain.advance(key, 3));
  return `${toHex(payload)} ${id} ${next} ${keychain.samplingCoins(key, identity, hold).bits(64)}`;
});
process.stdout.write(`${lines.join("\n")}\n`);
