// The customer's page: one conversation at a time, drawn from its event stream. The stream's items are the truth; what
// was typed and not yet acknowledged waits in an outbox until it is.

import { beside, refusal } from "./proof.js";
import { answered, dots, mine, row } from "./rows.js";
import { ask, dayOf, follow, fresh, languages, make, patiently, t, themes } from "./shared.js";

const $ = (id) => document.getElementById(id);
const log = $("log"), text = $("text"), scroll = $("scroll");
const here = () => decodeURIComponent(location.hash.slice(1));

let shown = null; // the conversation on the page
let close = () => {};
let replies = new Map(); // reply number -> its row, while it streams and after
let over = new Set(); // replies that an event has ended: no delta of them counts
let calls = new Map();
let outbox = new Map(); // key -> {text, row}
let isRunning = false, isOpen = false;
let caughtUp = false, isListening = false;
let wasClosed = false; // its customer has to prove who they are, for it to be shown
let hasCodes = false; // whether the service has the desk's door: codes, cards, signing out

// ----- drawing ---------------------------------------------------------------------------------------------------------

const atEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
let reading = true; // at the end, where what is new comes

scroll.addEventListener("scroll", () => { reading = atEnd(); });
new ResizeObserver(() => { if (reading) scroll.scrollTop = scroll.scrollHeight; }).observe(scroll);

function keepingEnd(change) {
  const follow = atEnd();
  change();
  if (follow) scroll.scrollTop = scroll.scrollHeight;
}

function typing(number) {
  const body = make("div", { cls: "bubble plain", dir: "auto", attrs: { "aria-busy": "true" } }, dots());
  const made = row("theirs", body);
  replies.set(number, { row: made, body, length: 0 });
  log.append(made);
}

function note(words, kind = "") {
  log.append(make("div", { cls: `note ${kind}`, textContent: words }));
}

function say(words) { $("status").textContent = words; }

function drop(number) {
  replies.get(number)?.row.remove();
  replies.delete(number);
}

// ----- the stream ------------------------------------------------------------------------------------------------------

const proofs = beside($("beside"), { say, admitted });

/** What happened may have changed what there is to prove or to confirm. */
const look = () => { if (hasCodes && caughtUp) proofs.refresh(); };

/** The conversation is open to whoever sits there; or not any more, and then nothing of it stays on the page. */
function admitted(yes) {
  if (yes && shown && !isListening && wasClosed) { wasClosed = false; exports(); listen(); restore(); }
  if (yes || wasClosed) return;
  wasClosed = true;
  empty();
  $("welcome").hidden = true;
  $("more").hidden = true;
}

/** Why there is no event stream: it is another's, it is gone, or its customer has to prove again who they are. */
async function whyNot(tries = 1) {
  const name = shown;
  try {
    await ask(`api/conversations/${encodeURIComponent(name)}`);
  } catch (error) {
    if (name !== shown) return;
    if (error.status === 403 && hasCodes) proofs.refresh();
    if (error.status === 404 && !outbox.size) { show(null); note(t("no_such")); }
    if (error.status === 401 && tries > 1) location.reload();
    else if (error.status === 401) setTimeout(() => { if (name === shown) whyNot(tries + 1); }, 3000);
  }
}

const points = (words) => { let n = 0; for (const _ of words) n += 1; return n; };

const TAKE = {
  message(item) {
    if (item.from !== "customer") {
      log.append(answered(item.from === "staff" ? "staff" : "theirs", item));
      if (caughtUp) say(`${t(item.from === "staff" ? "who_staff" : "who_theirs")}: ${item.text}`);
      return;
    }
    const waiting = outbox.get(item.key);
    waiting?.row.remove();
    settle(item.key);
    log.append(mine(item.text, item.at));
    running(true);
  },
  reply_started(item) { typing(item.reply); running(true); },
  delta(item) {
    if (over.has(item.reply)) return;
    if (!replies.has(item.reply)) typing(item.reply);
    const reply = replies.get(item.reply);
    if (item.offset !== 0 && item.offset !== reply.length) return;
    if (item.offset === 0) reply.body.textContent = item.text;
    else reply.body.append(item.text);
    reply.body.normalize();
    reply.length = item.offset + points(item.text);
  },
  reply(item) {
    over.add(item.reply);
    drop(item.reply);
    if (!item.text) return;
    log.append(answered("theirs", item));
    if (caughtUp) say(`${t("who_theirs")}: ${item.text}`);
  },
  reply_discarded(item) { over.add(item.reply); drop(item.reply); },
  call(item) {
    const words = t(`call_${item.state === "yours" && !hasCodes ? "waiting" : item.state}`);
    let line = calls.get(item.call);
    if (!line) {
      line = make("div", { cls: "note" });
      calls.set(item.call, line);
    }
    if (item.state === "done") line.remove();
    else { line.textContent = words; log.append(line); }
    if (caughtUp && item.state !== "done") say(words);
    look();
  },
  waiting() { running(false); look(); },
  going_on() { running(true); },
  staff(item) {
    $("presence").hidden = !item.present;
    $("presence").textContent = item.present ? t("staff_present") : "";
    note(t(item.present ? "staff_joined" : "staff_left"));
    if (item.present) running(false);
  },
  ended(item) {
    running(false);
    for (const number of [...replies.keys()]) drop(number);
    for (const line of calls.values()) if (line.isConnected && line.textContent === t("call_running")) line.remove();
    const words = { cancelled: "ended_cancelled", failed: "ended_failed", limit_reached: "ended_limit", truncated: "ended_truncated", refused: "ended_refused" }[item.status];
    if (words) { note(t(words)); if (caughtUp) say(t(words)); }
    refresh();
    look();
  },
  caught_up() { caughtUp = true; look(); scroll.scrollTop = scroll.scrollHeight; },
};

function take(item) {
  keepingEnd(() => {
    TAKE[item.type]?.(item);
    $("welcome").hidden = log.childElementCount > 0;
  });
}

function running(yes) {
  isRunning = yes;
  $("stop").hidden = !yes;
}

function connection(open) {
  isOpen = open;
  banner();
  if (open) for (const key of outbox.keys()) deliver(key);
}

function banner() {
  const words = !navigator.onLine ? t("offline") : shown && !isOpen && close.begun ? t("reconnecting") : "";
  $("banner").hidden = !words;
  $("banner").textContent = words;
}

// ----- one conversation ------------------------------------------------------------------------------------------------

function show(conversation, { isNew = false } = {}) {
  empty();
  shown = conversation;
  wasClosed = false;
  caughtUp = isNew; // all that comes is news then
  proofs.turnTo(conversation);
  exports();
  if (conversation && location.hash !== `#${encodeURIComponent(conversation)}`) history.replaceState(null, "", `#${encodeURIComponent(conversation)}`);
  if (!conversation) history.replaceState(null, "", location.pathname + location.search);
  if (conversation && !isNew) { listen(); restore(); }
  refresh();
  $("side").classList.remove("open");
  $("menu").setAttribute("aria-expanded", "false");
}

/** Somebody chose another conversation: the way back is kept. */
function go(conversation) {
  if (conversation === shown) return show(conversation);
  history.pushState(null, "", conversation ? `#${encodeURIComponent(conversation)}` : location.pathname + location.search);
  show(conversation);
}

/** Nothing of a conversation is on the page. */
function empty() {
  close();
  close = () => {};
  isListening = false;
  replies = new Map(); over = new Set(); calls = new Map(); outbox = new Map();
  caughtUp = false;
  log.replaceChildren();
  $("welcome").hidden = false;
  $("presence").hidden = true;
  running(false);
  say("");
  banner();
}

function listen() {
  isListening = true;
  const stop = follow(`api/conversations/${encodeURIComponent(shown)}/events`, take, connection, whyNot);
  close = stop;
  setTimeout(() => { stop.begun = true; if (close === stop) banner(); }, 2500);
}

function exports() {
  const path = shown && `api/conversations/${encodeURIComponent(shown)}/export`;
  $("more").hidden = !shown;
  $("export-json").href = path ?? "";
  $("export-markdown").href = path ? `${path}?format=markdown` : "";
}

async function refresh() {
  let found;
  try {
    found = (await ask("api/conversations")).conversations;
  } catch {
    return;
  }
  $("list").replaceChildren(...found.map((one) => {
    const button = make("button", { type: "button", attrs: { "aria-current": one.id === shown ? "true" : null } },
      make("span", { cls: "name", dir: "auto", textContent: one.title || t("untitled") }),
      make("span", { cls: "when", textContent: dayOf(one.updated_at) }));
    button.addEventListener("click", () => { go(one.id); text.focus(); });
    return make("li", {}, button);
  }));
}

// ----- sending ---------------------------------------------------------------------------------------------------------

function submit() {
  const words = text.value.trim();
  if (!words) return;
  text.value = "";
  grow();
  if (!shown) show(fresh(), { isNew: true }); // it begins with this message, also where there is no connection yet
  const key = fresh();
  queue(key, words);
  deliver(key);
}

function queue(key, words) {
  const made = mine(words);
  made.classList.add("pending");
  outbox.set(key, { text: words, row: made, sending: false });
  keep();
  keepingEnd(() => { log.append(made); $("welcome").hidden = true; });
  scroll.scrollTop = scroll.scrollHeight;
}

/** Send a message until it is taken in. The key makes any number of tries one message. */
async function deliver(key) {
  const message = outbox.get(key), conversation = shown;
  if (!message || message.sending) return;
  message.sending = true;
  const path = `api/conversations/${encodeURIComponent(conversation)}/messages`;
  try {
    const answer = await patiently(() => ask(path, { body: { text: message.text }, headers: { "idempotency-key": key } }));
    if (answer.status === "kept_back") {
      keptBack(message, answer);
      settle(key);
    } else settle(key, { keepRow: true });
    if (conversation === shown && !isListening) listen();
    refresh();
  } catch (error) {
    message.row.classList.replace("pending", "failed");
    message.row.querySelector(".meta").textContent = error.status === 413 ? t("too_long") : t("not_sent");
    settle(key, { keepRow: true });
    if (!text.value) { text.value = message.text; grow(); }
    if (error.status === 403 && hasCodes) proofs.refresh();
  }
}

/** A message that was none for the assistant: it held a code, or was one too many. It goes, with a word why. */
function keptBack(message, { outcome, text: words }) {
  message.row.remove();
  const known = { right: "code_right", wrong: "code_wrong", misplaced: "code_misplaced" }[outcome];
  const said = known ? t(known) : refusal({ code: outcome, text: words });
  note(said);
  say(said);
  if (!known && !text.value) { text.value = message.text; grow(); }
  proofs.refresh();
}

/** The message has arrived (or can't): it need not be kept for a reload. */
function settle(key, { keepRow = false } = {}) {
  const message = outbox.get(key);
  if (!message) return;
  message.done = true;
  if (!keepRow) outbox.delete(key);
  keep();
}

/** What is not acknowledged survives a reload of this tab. */
function keep() {
  const open = [...outbox].filter(([, one]) => !one.done).map(([key, one]) => [key, one.text]);
  if (open.length && shown) sessionStorage.setItem("turnkeeper-outbox", JSON.stringify([shown, open]));
  else sessionStorage.removeItem("turnkeeper-outbox");
}

function restore() {
  const [conversation, open] = JSON.parse(sessionStorage.getItem("turnkeeper-outbox") ?? "[null,[]]");
  if (conversation !== shown) return;
  for (const [key, words] of open) { queue(key, words); deliver(key); }
}

async function stop() {
  if (!isRunning || !shown) return;
  say(t("stopping"));
  await ask(`api/conversations/${encodeURIComponent(shown)}/stop`, { body: {} }).catch(() => {});
}

function grow() {
  text.style.height = "auto";
  text.style.height = `${Math.min(text.scrollHeight + 2, innerHeight * 0.34)}px`;
}

// ----- the page --------------------------------------------------------------------------------------------------------

$("composer").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
text.addEventListener("input", grow);
text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); submit(); }
});
addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  if ($("side").classList.contains("open")) { $("side").classList.remove("open"); $("menu").setAttribute("aria-expanded", "false"); $("menu").focus(); }
  else if ($("more").open) { $("more").open = false; $("more").querySelector("summary").focus(); }
  else stop();
});
$("stop").addEventListener("click", stop);
$("leave").addEventListener("click", async () => {
  await ask("api/session/leave", { body: {} }).catch(() => {});
  sessionStorage.clear();
  location.replace(location.pathname + location.search);
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
$("new").addEventListener("click", () => { go(null); text.focus(); });
$("menu").addEventListener("click", () => {
  const open = $("side").classList.toggle("open");
  $("menu").setAttribute("aria-expanded", String(open));
  if (open) $("new").focus();
});
document.addEventListener("click", (event) => {
  if (!$("more").contains(event.target)) $("more").open = false;
  if (!$("side").contains(event.target) && !$("menu").contains(event.target)) { $("side").classList.remove("open"); $("menu").setAttribute("aria-expanded", "false"); }
});
addEventListener("online", banner);
addEventListener("offline", banner);
addEventListener("hashchange", () => { if (here() !== (shown ?? "")) show(here() || null); });
themes($("theme"));
languages($("language"));

try {
  hasCodes = (await patiently(() => ask("api/session", { body: {} }))).codes;
  show(here() || null);
  if (matchMedia("(hover: hover)").matches) text.focus();
} catch (error) {
  note(error.message);
}
