// Cards for what waits for a person: approvals and outcomes that nobody knows. They are made of the API's fields, shown as
// text; a card that somebody is writing in stays as it is while the list around it changes.

import { dayOf, make, Refused } from "./shared.js";
import { chip, coarse, count, say, ticking, whoIs } from "./drawing.js";

const $ = (id) => document.getElementById(id);

let number = 0;

/** A labelled text field of a card. */
function field(label, properties = {}) {
  const id = `field-${++number}`;
  const { tag = "textarea", ...rest } = properties;
  const input = make(tag, { id, ...rest });
  return { input, row: make("div", { cls: "field" }, make("label", { htmlFor: id, textContent: label }), input) };
}

function facts(pairs) {
  return make("dl", { cls: "facts" }, pairs.filter(([, value]) => value != null && value !== "").flatMap(([name, value]) => [
    make("dt", { textContent: name }), make("dd", {}, value)]));
}

/** The card's frame: what it is about, its facts, and `actions`, buttons that open a form or act at once. */
function frame(title, chipped, body, one, context) {
  const heading = make("h3", { tabIndex: -1, textContent: title });
  const fault = make("p", { cls: "fault", attrs: { role: "alert" }, hidden: true });
  const row = make("div", { cls: "actions" });
  const forms = make("div", {});
  const card = make("li", { cls: "card panel" }, make("div", { cls: "card-head" }, heading, chipped), body, fault, row, forms);
  card.tell = (text) => { fault.textContent = text; fault.hidden = !text; };
  card.close = (text) => {
    card.classList.add("closed");
    row.replaceChildren(make("p", { cls: "soft", textContent: text }));
    forms.replaceChildren();
    card.tell("");
  };
  /** Do it once; what the service says against it is shown on the card. */
  card.act = async (work, done) => {
    if (card.busy) return;
    card.busy = true;
    card.tell("");
    for (const button of card.querySelectorAll("button")) button.disabled = true;
    try {
      await work();
      card.close(done);
      say(done);
      context.done?.(card);
    } catch (error) {
      card.tell(error instanceof Refused ? sentence(error.message) : "The service can't be reached; nothing was decided.");
    } finally {
      card.busy = false;
      for (const button of card.querySelectorAll("button")) button.disabled = false;
    }
  };
  card.offer = (label, kind, open) => {
    const button = make("button", { type: "button", cls: `button ${kind}`, textContent: label });
    button.addEventListener("click", () => {
      if (!open.form) { open(); return; }
      const form = open.form();
      const back = make("button", { type: "button", cls: "button", textContent: "Back" });
      back.addEventListener("click", () => { forms.replaceChildren(); row.hidden = false; button.focus(); });
      form.querySelector(".actions").append(back);
      row.hidden = true;
      forms.replaceChildren(form);
      form.querySelector("textarea, input")?.focus();
    });
    row.append(button);
  };
  card.isWriting = () => forms.childElementCount > 0 || card.busy;
  card.heading = heading;
  if (one.obstacle) row.append(make("p", { cls: "soft", textContent: sentence(one.obstacle) }));
  return card;
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

function form(label, kind, rows, submit) {
  const made = make("form", { cls: "card-form" }, rows, make("div", { cls: "actions" },
    make("button", { type: "submit", cls: `button ${kind}`, textContent: label })));
  made.addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  return made;
}

function where(one, context) {
  return context.inConversation ? null
    : make("a", { href: `#c/${encodeURIComponent(one.conversation)}`, textContent: "Show the conversation" });
}

function code(text) {
  return make("pre", { cls: "code", tabIndex: 0, dir: "ltr", textContent: text, attrs: { "aria-label": "Arguments", role: "region" } });
}

/** A call that waits for a decision. */
export function approvalCard(one, context) {
  const body = make("div", {}, code(one.text), facts([
    ["Effect", one.effect], ["Why", one.policy], ["For", whoIs(one.requester)], ["Asked", dayOf(one.requested_at)],
    ["Expires", make("span", {}, "in ", ticking((now) => (now < one.expires_at ? coarse(one.expires_at - now) : "0 s: it has run out")))],
    ["Digest", make("code", { cls: "digest", textContent: one.digest.slice(0, 16), title: one.digest })],
    ["", where(one, context)],
  ]));
  const card = frame(one.tool, chip("awaiting_approval"), body, one, context);
  if (one.obstacle) return card;
  const decide = (decision, more, done) => card.act(
    () => context.call("approvals", { body: { id: one.id, digest: one.digest, decision, ...more } }), done);
  card.offer("Approve", "primary", () => decide("approve", {}, `${one.tool} is approved.`));
  card.offer("Edit", "", { form() {
    const text = field("Arguments, as JSON", { value: one.text, rows: Math.min(one.text.split("\n").length + 1, 14), spellcheck: false, cls: "mono", dir: "ltr" });
    const reason = field("Reason (the model reads it)", { tag: "input", type: "text", maxLength: 2000 });
    return form("Run with these arguments", "primary", [text.row, reason.row], () =>
      decide("edit", { text: text.input.value, reason: reason.input.value }, `${one.tool} is approved with other arguments.`));
  } });
  card.offer("Deny", "danger", { form() {
    const reason = field("Reason (the model reads it)", { rows: 2, maxLength: 2000 });
    return form("Deny", "danger", [reason.row], () => decide("deny", { reason: reason.input.value }, `${one.tool} is denied.`));
  } });
  return card;
}

/** A call of which nobody knows whether it happened. */
export function outcomeCard(one, context) {
  const body = make("div", {}, make("p", { cls: "soft", textContent: "The program stopped while this call ran. Look in the world whether it happened, then say so." }),
    code(one.text), facts([
      ["Effect", one.effect], ["For", whoIs(one.requester)], ["Began", dayOf(one.started_at)],
      ["Key", make("code", { textContent: one.key })], ["", where(one, context)],
    ]));
  const card = frame(one.tool, chip("outcome_unknown"), body, one, context);
  if (one.obstacle) return card;
  const resolve = (happened, more, done) => card.act(
    () => context.call("outcomes", { body: { conversation: one.conversation, call: one.call, happened, ...more } }), done);
  card.offer("It happened", "primary", { form() {
    const result = field("Its result (the model reads it)", { rows: 3, value: "done" });
    return form("It happened", "primary", [result.row], () => resolve(true, { result: result.input.value }, `${one.tool} happened.`));
  } });
  card.offer("It did not happen", "danger", { form() {
    const text = make("p", { textContent: "The call runs now." });
    const reason = field("Reason (kept in the record)", { tag: "input", type: "text", maxLength: 2000 });
    return form("It did not happen: run it", "danger", [text, reason.row], () => resolve(false, { reason: reason.input.value }, `${one.tool} did not happen and runs now.`));
  } });
  return card;
}

const keyOf = (one) => one.id ?? `${one.conversation} ${one.call}`;

/** Keep a list of cards as the API says, without touching one that somebody is writing in. */
export function keepCards(list, answer, context) {
  const kept = new Map([...list.children].map((card) => [card.dataset.key, card]));
  const wanted = [...answer.approvals.map((one) => [approvalCard, one]), ...answer.outcomes.map((one) => [outcomeCard, one])];
  const keys = new Set(wanted.map(([, one]) => keyOf(one)));
  for (const [key, card] of kept) {
    if (keys.has(key)) continue;
    if (card.isWriting()) card.close("Somebody else has decided this, or it has run out.");
    else card.remove();
    kept.delete(key);
  }
  for (const [make_, one] of wanted) {
    if (kept.has(keyOf(one))) continue;
    const card = make_(one, context);
    card.dataset.key = keyOf(one);
    list.append(card);
  }
}

// ----- the inbox -------------------------------------------------------------------------------------------------------

let call = null;
let pages = 1;
let asked = 0;

async function load() {
  const mine = ++asked;
  const whole = { approvals: [], outcomes: [], next: 0 };
  try {
    for (let page = 0; page < pages && whole.next !== null; page++) {
      const answer = await call(`inbox?offset=${whole.next}`);
      whole.approvals.push(...answer.approvals);
      whole.outcomes.push(...answer.outcomes);
      whole.next = answer.next;
    }
  } catch {
    return;
  }
  if (mine !== asked) return;
  keepCards($("cards"), whole, { call, done });
  const waits = whole.approvals.length + whole.outcomes.length;
  $("inbox-empty").hidden = waits > 0;
  $("inbox-more").hidden = whole.next === null;
  badge(waits, whole.next !== null);
}

/** The keyboard goes on at the next card. */
function done(card) {
  const next = [...$("cards").children].find((one) => one !== card && !one.classList.contains("closed"));
  (next?.heading ?? $("inbox-head")).focus();
}

function badge(waits, more) {
  $("count").hidden = !waits;
  $("count").replaceChildren(`${count(waits)}${more ? "+" : ""}`, make("span", { cls: "hidden", textContent: " waiting" }));
}

export const inbox = {
  show(given) { ({ call } = given); load(); },
  changed() { load(); },
  leave() { $("cards").replaceChildren(); pages = 1; },
  /** How many wait, for the number beside the word. */
  async count(given) {
    try {
      const answer = await given.call("inbox");
      badge(answer.approvals.length + answer.outcomes.length, answer.next !== null);
    } catch { /* the next change asks again */ }
  },
};

$("inbox-more").addEventListener("click", () => { pages += 1; load(); });
