// The example site: one question about settings, asked with plain HTML.

import { defineConsent } from "./client/consent.js";
import { Client } from "./client/deniable-client.js";

const { url, trust, name } = await (await fetch("settings.json")).json();
const client = new Client({
  url,
  trust,
  ceiling: { epsilonPerReport: "2", epsilonPermanent: "4", epsilonLifetime: "8" },
  manifests: [await (await fetch("question.json")).text()],
});
globalThis.client = client; // for the console of a developer

const form = document.getElementById("question");
const status = document.getElementById("status");

function checkbox(topic) {
  const label = document.createElement("label");
  const box = Object.assign(document.createElement("input"), { type: "checkbox", name: topic });
  label.append(box, ` ${topic}`);
  return label;
}

async function show() {
  const { consent, collections } = await client.explain();
  const topics = collections.find((each) => each.name === name)?.topics ?? [];
  document.getElementById("labels").replaceChildren(...topics.map(checkbox));
  form.hidden = consent !== "granted" || topics.length === 0;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const boxes = [...form.querySelectorAll("input")];
  const outcome = await client.record(name, Object.fromEntries(boxes.map((box) => [box.name, box.checked])));
  status.textContent =
    outcome === "queued" ? "Thank you. Your scrambled answer is sent within a minute." : outcome;
});

document.addEventListener("deniable-consent", show);
await show();
defineConsent(client);
document.documentElement.dataset.ready = "true";
