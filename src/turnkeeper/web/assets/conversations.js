// The list of conversations, live and page by page, the search, and beside it the one that is looked at.

import { dayOf, make, Refused } from "./shared.js";
import { chip, coarse, count, money, ticking, whoIs, wordOf } from "./drawing.js";
import { transcript } from "./transcript.js";

const $ = (id) => document.getElementById(id);
const PAGE = 50;

let call = null;
let mode = "all"; // or "waiting", or "search"
let offset = 0;
let selected = null;
let asked = 0; // the newest request for the list: answers to older ones are void

export const conversations = {
  show(given) {
    ({ call } = given);
    const fresh = selected !== given.conversation;
    selected = given.conversation;
    $("conversations").classList.toggle("has-one", Boolean(selected));
    if (fresh || !selected) transcript.show(given);
    if (mode === "search") mark();
    else load();
  },
  changed() {
    if (mode !== "search") load();
    transcript.changed();
  },
  leave() {
    transcript.leave();
    selected = null;
  },
};

async function load() {
  const number = ++asked;
  let answer;
  try {
    answer = await call(`conversations?show=${mode}&offset=${offset}&limit=${PAGE}`);
  } catch (error) {
    if (number === asked && error instanceof Refused && error.status !== 401) note(error.message);
    return;
  }
  if (number !== asked) return;
  if (!answer.conversations.length && offset && answer.next === null) { offset = Math.max(offset - PAGE, 0); load(); return; }
  note(answer.conversations.length ? "" : mode === "waiting" ? "No conversation waits for a person." : "No conversations yet.");
  fill(answer.conversations);
  $("newer").disabled = offset === 0;
  $("older").disabled = answer.next === null;
  $("page").textContent = answer.conversations.length ? `${count(offset + 1)} to ${count(offset + answer.conversations.length)}` : "";
}

function note(text) {
  $("found").hidden = !text;
  $("found").textContent = text;
}

/** Write the rows, keeping the keyboard's place. */
function fill(rows) {
  const focused = document.activeElement?.closest?.("#list a")?.dataset.id;
  const scrolled = $("list").scrollTop;
  $("list").replaceChildren(...rows.map(line));
  $("list").scrollTop = scrolled;
  if (focused !== undefined) [...$("list").querySelectorAll("a")].find((one) => one.dataset.id === focused)?.focus();
}

function line(one) {
  const states = [];
  if (one.taken_over) states.push(chip("answer", `with ${one.taken_over}`));
  if (one.waiting) states.push(make("span", { cls: "chip warn" }, `${wordOf(one.waiting.for)}, `, ticking((now) => coarse(now - one.waiting.since))));
  else if (!one.taken_over) states.push(chip(one.status));
  if (!one.readable) states.push(chip("failed", "can't be read"));
  return make("li", {}, make("a", {
    href: `#c/${encodeURIComponent(one.id)}`, data: { id: one.id }, attrs: { "aria-current": one.id === selected ? "true" : null },
  },
    make("span", { cls: "name", dir: "auto", textContent: one.title || "Untitled" }),
    one.found ? make("span", { cls: "excerpt", dir: "auto", textContent: one.found }) : null,
    make("span", { cls: "states" }, states),
    make("span", { cls: "row-meta" },
      make("span", { cls: "person", textContent: whoIs(one.principal) }),
      make("span", { textContent: money(one.cost, one.priced) }),
      make("time", { dateTime: new Date(one.updated_at * 1000).toISOString(), textContent: dayOf(one.updated_at) }))));
}

function mark() {
  for (const link of $("list").querySelectorAll("a")) {
    if (link.dataset.id === selected) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

// ----- search ----------------------------------------------------------------------------------------------------------

async function search(wanted) {
  const number = ++asked;
  const found = new Map();
  let rest = false; // it was given up before its end
  fill([]);
  $("newer").disabled = $("older").disabled = true;
  $("page").textContent = "";
  for (const place of ["names", "messages"]) {
    for (let next = 0; next !== null && found.size < 200;) {
      note(`Searching ${place === "names" ? "titles and names" : "messages"}: ${count(next)} looked at, ${count(found.size)} found …`);
      let answer;
      try {
        answer = await call(`search?q=${encodeURIComponent(wanted)}&in=${place}&offset=${next}`);
      } catch (error) {
        if (number === asked) note(error.message);
        return;
      }
      if (number !== asked) return;
      const before = found.size;
      for (const one of answer.conversations) if (!found.has(one.id)) found.set(one.id, one);
      if (found.size !== before) fill([...found.values()]);
      ({ next } = answer);
      rest = next !== null;
    }
  }
  note(found.size ? `${count(found.size)}${rest ? " or more" : ""} found` : "Nothing found");
}

function choose(which) {
  mode = which;
  offset = 0;
  for (const id of ["all", "waiting"]) $(id).setAttribute("aria-pressed", String(id === which));
}

$("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const wanted = $("wanted").value.trim();
  choose(wanted ? "search" : "all");
  if (wanted) search(wanted);
  else load();
});
$("wanted").addEventListener("search", () => { if (!$("wanted").value && mode === "search") { choose("all"); load(); } });
for (const id of ["all", "waiting"]) $(id).addEventListener("click", () => { $("wanted").value = ""; choose(id); load(); });
$("newer").addEventListener("click", () => { offset = Math.max(offset - PAGE, 0); load(); $("list").scrollTop = 0; });
$("older").addEventListener("click", () => { offset += PAGE; load(); $("list").scrollTop = 0; });
