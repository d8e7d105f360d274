// What the console's parts share: words for what the journal says, times by the server's clock, SVG by the DOM.

import { make } from "./shared.js";

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes and children; text children are text. */
export function draw(tag, attrs = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attrs)) if (value != null) element.setAttribute(name, value);
  element.append(...children.flat(Infinity).filter((child) => child != null));
  return element;
}

let ahead = 0; // how far the server's clock is before this one, in seconds

/** Take the server's time from an answer. */
export function setClock(now) {
  ahead = now - Date.now() / 1000;
}

export const serverNow = () => Date.now() / 1000 + ahead;

/** Characters nobody sees, written out, in text that did not pass the server's own cleaning yet (it streams in). */
export function visible(text) {
  return text.replace(/[\p{Cf}\p{Cc}]/gu, (one) =>
    /[\n\t]/.test(one) ? one : `⟨U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

const WORDS = {
  awaiting_approval: "waits for approval", awaiting_resolution: "outcome unknown", answer: "waits for an answer",
  limit_reached: "limit reached", timed_out: "timed out", outcome_unknown: "outcome unknown",
  did_not_happen: "did not happen", taken_over: "took over", handed_back: "handed back", signed_in: "signed in",
  signed_out: "signed out", sign_in_refused: "sign-in refused", edited: "approved with other arguments", happened: "said it happened",
  expired: "ran out", exported: "exported",
};

/** A stable word of the journal as people read it. */
export const wordOf = (word) => WORDS[word] ?? String(word ?? "").replaceAll("_", " ");

const KINDS = {
  completed: "good", succeeded: "good", approved: "good", resolved: "good", awaiting_approval: "warn", awaiting_resolution: "warn",
  outcome_unknown: "warn", edited: "good", answer: "warn", running: "busy", started: "busy", failed: "bad", denied: "bad", rejected: "bad",
  timed_out: "bad", expired: "bad", cancelled: "quiet", refused: "bad", limit_reached: "bad", truncated: "bad",
};

/** A status as a small label: a word, and a colour that says the same. */
export function chip(word, text) {
  return make("span", { cls: `chip ${KINDS[word] ?? "quiet"}`, textContent: text ?? wordOf(word) });
}

/** A length of time: 0.04 s, 12.3 s, 4 min 5 s, 2 h 3 min, 5 days. */
export function span(seconds) {
  const left = Math.max(seconds, 0);
  if (left < 10) return `${left.toFixed(2)} s`;
  if (left < 60) return `${left.toFixed(1)} s`;
  const [days, hours, minutes] = [Math.floor(left / 86400), Math.floor(left / 3600) % 24, Math.floor(left / 60) % 60];
  if (days) return hours && days < 3 ? `${days} d ${hours} h` : `${days} d`;
  if (hours) return minutes ? `${hours} h ${minutes} min` : `${hours} h`;
  return Math.floor(left % 60) ? `${minutes} min ${Math.floor(left % 60)} s` : `${minutes} min`;
}

/** The same in whole seconds, for what is counted while one looks. */
export const coarse = (seconds) => (seconds < 60 ? `${Math.max(Math.floor(seconds), 0)} s` : span(Math.floor(seconds)));

/** US dollars; small amounts with as many digits as they need. */
export function money(cost, priced = true) {
  const value = Number(cost);
  const digits = value && value < 1 ? Math.min(6, 1 - Math.floor(Math.log10(value))) : 2;
  const text = new Intl.NumberFormat("en", { style: "currency", currency: "USD", minimumFractionDigits: 2, maximumFractionDigits: Math.max(digits, 2) }).format(value);
  return priced ? text : `${text} and what has no known price`;
}

export const count = (number) => new Intl.NumberFormat("en").format(number);

export const whoIs = (who) => (who ? `${who.kind} ${who.id}` : "nobody named");

const running = new Map(); // element -> how to write the time in it

/** An element whose text is written again every second: what is left, or how long it has been. */
export function ticking(write) {
  const element = make("span", { cls: "ticking", textContent: write(serverNow()) });
  running.set(element, write);
  return element;
}

setInterval(() => {
  for (const [element, write] of running) {
    if (!element.isConnected && element.dataset.shown) { running.delete(element); continue; }
    if (element.isConnected) element.dataset.shown = "1";
    const text = write(serverNow());
    if (element.textContent !== text) element.textContent = text;
  }
}, 1000);

/** A table with a caption for those who hear it. */
export function table(caption, heads, rows, { right = [] } = {}) {
  const cls = (column) => (right.includes(column) ? "right" : null);
  return make("div", { cls: "wide-table", tabIndex: 0, attrs: { role: "region", "aria-label": caption } },
    make("table", {},
      make("caption", { cls: "hidden", textContent: caption }),
      make("thead", {}, make("tr", {}, heads.map((head, n) => make("th", { cls: cls(n), textContent: head, attrs: { scope: "col" } })))),
      make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell, n) =>
        make(n ? "td" : "th", { cls: cls(n), attrs: { scope: n ? null : "row" } }, cell)))))));
}

/** Say it to those who don't see it. */
export function say(text) {
  document.getElementById("status").textContent = text;
}
