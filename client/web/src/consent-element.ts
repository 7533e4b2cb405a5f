// <deniable-consent>: asks a person whether this page may ask, in plain words. No cookie wall: both
// answers look alike, nothing is covered, and the answer can be changed at any time.
//
//   import { defineConsent } from "deniable-client/consent";
//   defineConsent(client, { words: { heading: "Darf diese Seite Sie etwas fragen?" } });
//   <deniable-consent></deniable-consent>

import type { Client } from "./client.js";
import type { Explanation } from "./explain.js";
import type { Consent } from "./store.js";

/** The element's words. A site gives those of its language; what it leaves out stays English. */
export interface Words {
  readonly heading: string;
  readonly promise: string;
  readonly agree: string;
  readonly refuse: string;
  readonly agreed: string;
  readonly refused: string;
  readonly paused: string;
  readonly change: string;
  readonly details: string;
  /** Follows the purposes of the questions, as their operators wrote them. */
  readonly asks: string;
  /** `{sure}` is a number of percent. */
  readonly sure: string;
}

export const ENGLISH: Words = {
  heading: "May this page ask you something?",
  promise:
    "Your answer is scrambled in this browser before it is sent: any answer could have led to what is sent.",
  agree: "Yes, ask me",
  refuse: "No, thanks",
  agreed: "You agreed. You can change that at any time.",
  refused: "You said no. Nothing is recorded or sent.",
  paused: "Your browser says that it does not want to be asked. Nothing is recorded or sent.",
  change: "Change my answer",
  details: "What exactly does this reveal?",
  asks: "It asks:",
  sure: "Someone who was undecided about you can be at most {sure} % sure after all answers to these questions.",
};

const STYLE = `
:host { display: block; color: inherit; font: inherit; line-height: 1.5; }
:host([hidden]) { display: none; }
section { border: 1px solid currentColor; border-radius: 0.5rem; padding: 1rem; max-width: 40rem; }
h2 { font-size: 1.1em; margin: 0 0 0.5rem; }
p, ul { margin: 0 0 0.75rem; }
details { margin-top: 0.75rem; }
button { font: inherit; color: inherit; background: transparent; border: 1px solid currentColor;
  border-radius: 0.4rem; padding: 0.5rem 1rem; min-height: 2.75rem; margin-inline-end: 0.5rem; cursor: pointer; }
button:focus-visible, summary:focus-visible { outline: 3px solid Highlight; outline-offset: 2px; }
pre { white-space: pre-wrap; font: inherit; font-size: 0.9em; }
`;

export interface ConsentOptions {
  readonly words?: Partial<Words>;
  /** Name of the element. */
  readonly tag?: string;
}

/** Defines the element for one client. A page has one of it, wherever its design puts it. */
export function defineConsent(
  client: Client,
  { words = {}, tag = "deniable-consent" }: ConsentOptions = {},
): void {
  const said: Words = { ...ENGLISH, ...words };
  customElements.define(
    tag,
    class extends HTMLElement {
      readonly #root = this.attachShadow({ mode: "open" });

      connectedCallback(): void {
        const sheet = new CSSStyleSheet(); // no inline style: a strict policy forbids it
        sheet.replaceSync(STYLE);
        this.#root.adoptedStyleSheets = [sheet];
        void this.#show();
      }

      async #show(changing = false): Promise<void> {
        const explanation = await client.explain().catch(() => undefined);
        this.hidden = !explanation?.collections.some(({ admitted }) => admitted); // nothing is asked
        if (!explanation) return;
        const asking = !explanation.deniedBy && (changing || explanation.consent === "unknown");
        const parts = asking ? this.#question(explanation) : this.#answer(explanation);
        const section = element("section", {}, ...parts, this.#details(explanation));
        section.setAttribute("aria-labelledby", "heading");
        this.#root.replaceChildren(section);
        if (changing) section.querySelector("button")?.focus();
      }

      #question({ collections, mostSureEver }: Explanation): Node[] {
        const asked = collections.filter(({ admitted }) => admitted);
        const purposes = asked.map(({ purpose }) => element("li", {}, purpose));
        return [
          element("h2", { id: "heading" }, said.heading),
          element("p", {}, said.promise),
          element("p", {}, said.asks),
          element("ul", {}, ...purposes),
          element("p", {}, said.sure.replace("{sure}", mostSureEver)),
          this.#button(said.agree, "granted"),
          this.#button(said.refuse, "denied"),
        ];
      }

      #answer({ consent, deniedBy }: Explanation): Node[] {
        const text = deniedBy ? said.paused : consent === "granted" ? said.agreed : said.refused;
        const change = element("button", { type: "button" }, said.change);
        change.addEventListener("click", () => void this.#show(true));
        const status = element("p", { id: "heading", role: "status" }, text);
        return deniedBy ? [status] : [status, change];
      }

      #button(label: string, answer: Exclude<Consent, "unknown">): HTMLElement {
        const button = element("button", { type: "button" }, label);
        button.addEventListener("click", () => void this.#decide(answer));
        return button;
      }

      async #decide(answer: Exclude<Consent, "unknown">): Promise<void> {
        await client.consent(answer).catch(() => undefined);
        await this.#show();
        this.#root.querySelector("button")?.focus();
        this.dispatchEvent(
          new CustomEvent("deniable-consent", { bubbles: true, detail: { consent: answer } }),
        );
      }

      #details({ text }: Explanation): HTMLElement {
        return element("details", {}, element("summary", {}, said.details), element("pre", {}, text));
      }
    },
  );
}

function element(
  name: string,
  attributes: Record<string, string>,
  ...content: (Node | string)[]
): HTMLElement {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...content);
  return made;
}
