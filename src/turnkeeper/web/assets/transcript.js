// One conversation as staff see it, folded from its event stream. A call's card is made of the journal's events and of
// nothing that a text says; text is text, and the only HTML is what the server has made of a reply's Markdown.

import { ask, dayOf, follow, make, put, Refused, timeOf } from "./shared.js";
import { keepCards } from "./cards.js";
import { chip, count, money, say, serverNow, span, visible, whoIs, wordOf } from "./drawing.js";
import { drawTimes, Times } from "./timeline.js";

const one = document.getElementById("one");

let call = null, me = null;
let shown = null; // the conversation's id
let close = () => {};
let fold = null;

export const transcript = {
  show(given) {
    ({ call, me } = given);
    if (given.conversation === shown && fold) return;
    this.leave();
    shown = given.conversation;
    if (!shown) { one.replaceChildren(make("p", { cls: "soft hint", textContent: "Choose a conversation." })); return; }
    fold = new Fold(shown);
    close = follow(`api/console/conversations/${encodeURIComponent(shown)}/events`, (item) => fold.take(item));
  },
  changed() { fold?.waits(); },
  leave() {
    close();
    close = () => {};
    fold?.stop();
    fold = null;
    shown = null;
  },
};

const json = (value) => JSON.stringify(value, null, 2);

function details(summary, text, cls = "") {
  return make("details", { cls: `more ${cls}` }, make("summary", { textContent: summary }),
    make("pre", { cls: "code", tabIndex: 0, dir: "ltr", textContent: text, attrs: { role: "region", "aria-label": summary } }));
}

/** A conversation as it is drawn. */
class Fold {
  constructor(id) {
    this.id = id;
    this.path = `conversations/${encodeURIComponent(id)}`;
    this.turn = null;
    this.turns = 0;
    this.calls = new Map();
    this.live = null; // the reply that streams in
    this.takenOver = null;
    this.caughtUp = false;
    this.build();
    this.timer = setInterval(() => { if (this.turn && this.turn.times.end === null) this.draw(this.turn); }, 1000);
  }

  stop() { clearInterval(this.timer); }

  build() {
    this.title = make("h2", { tabIndex: -1, dir: "auto", textContent: "…" });
    this.person = make("span", { cls: "soft" });
    this.state = make("span", {});
    this.cost = make("span", { cls: "soft" });
    this.take_ = make("button", { type: "button", cls: "button small", textContent: "Take over" });
    this.stop_ = make("button", { type: "button", cls: "button small", textContent: "Stop the turn", hidden: true });
    this.fault = make("p", { cls: "fault", attrs: { role: "alert" }, hidden: true });
    this.log = make("div", { cls: "log" });
    this.cards = make("ul", { cls: "cards" });
    this.text = make("textarea", { id: "answer", rows: 2, maxLength: 20000, dir: "auto" });
    this.form = make("form", { cls: "answer", hidden: true }, make("label", { htmlFor: "answer", textContent: "Answer the customer in person" }),
      this.text, make("button", { type: "submit", cls: "button primary", textContent: "Send" }));
    this.scroll = make("div", { cls: "transcript", tabIndex: 0, attrs: { role: "region", "aria-label": "Transcript" } }, this.log, this.cards);
    one.replaceChildren(
      make("div", { cls: "one-head" },
        make("a", { cls: "button small back", href: "#conversations", textContent: "Back to the list" }),
        this.title, make("div", { cls: "one-facts" }, this.state, this.person, this.cost),
        make("div", { cls: "one-actions" }, this.take_, this.stop_)),
      this.fault, this.scroll, this.form);
    this.take_.addEventListener("click", () => this.act(this.takenOver ? "hand-back" : "take-over"));
    this.stop_.addEventListener("click", () => this.act("stop"));
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.answer(); });
    this.text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); this.answer(); }
    });
  }

  // ----- what staff do -------------------------------------------------------------------------------------------------

  async act(what) {
    this.tell("");
    for (const button of [this.take_, this.stop_]) button.disabled = true;
    try {
      await call(`${this.path}/${what}`, { body: {} });
    } catch (error) {
      this.tell(error instanceof Refused ? error.message : "The service can't be reached.");
    }
    for (const button of [this.take_, this.stop_]) button.disabled = false;
  }

  async answer() {
    const words = this.text.value.trim();
    if (!words || this.sending) return;
    this.sending = true;
    this.tell("");
    try {
      await call(`${this.path}/messages`, { body: { text: words } });
      this.text.value = "";
    } catch (error) {
      this.tell(error instanceof Refused ? error.message : "The service can't be reached; the answer was not sent.");
    }
    this.sending = false;
  }

  tell(text) { this.fault.textContent = text; this.fault.hidden = !text; }

  async waits() {
    if (!this.caughtUp) return;
    const mine = this.asked = (this.asked ?? 0) + 1;
    const answer = await call(`inbox?conversation=${encodeURIComponent(this.id)}`).catch(() => null);
    if (answer && mine === this.asked) keepCards(this.cards, answer, { call, inConversation: true, done: () => this.title.focus() });
  }

  // ----- taking events -------------------------------------------------------------------------------------------------

  take(item) {
    const end = this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight < 80;
    if (Object.hasOwn(TAKE, item.type)) TAKE[item.type](this, item);
    else this.note(item, wordOf(item.type), item);
    if (this.caughtUp && this.turn && item.seq !== undefined) this.draw(this.turn);
    if (end) this.scroll.scrollTop = this.scroll.scrollHeight;
  }

  /** Where things go: the turn that is open or was last, or the conversation itself before the first. */
  get place() { return this.turn?.body ?? this.log; }

  add(...made) { this.place.append(...made); }

  note(item, text, whole) {
    this.add(make("p", { cls: "event" }, make("time", { textContent: timeOf(item.at), dateTime: new Date(item.at * 1000).toISOString() }), ` ${text}`));
    if (whole) this.add(details("The whole event", json(whole)));
  }

  begin(item) {
    if (this.turn && this.turn.times.end === null) this.turn.times.over(item.at);
    this.turns += 1;
    const body = make("div", { cls: "turn-body" });
    const drawn = make("div", { cls: "drawn-times" });
    const waits = make("input", { type: "checkbox", checked: true });
    const switched = make("label", { cls: "soft with-waits", hidden: true }, waits, " with waits for people");
    const state = make("span", {});
    const turn = { body, drawn, state, waits, switched, times: new Times(item.at), number: this.turns, wait: null };
    waits.addEventListener("change", () => this.draw(turn));
    turn.box = make("section", { cls: "turn", attrs: { "aria-label": `Turn ${this.turns}` } },
      make("div", { cls: "turn-head" }, make("h3", { textContent: `Turn ${this.turns}` }), state,
        make("time", { cls: "soft", textContent: dayOf(item.at), dateTime: new Date(item.at * 1000).toISOString() })),
      body, make("details", { cls: "times", open: true }, make("summary", { textContent: "Timeline" }), switched, drawn));
    this.log.append(turn.box);
    this.turn = turn;
    this.status("running");
  }

  draw(turn) {
    turn.switched.hidden = !turn.times.bars.some((bar) => bar.kind === "wait");
    drawTimes(turn.drawn, turn.times, serverNow(), turn.waits.checked);
  }

  status(word) {
    if (this.turn) this.turn.state.replaceChildren(chip(word));
    this.stop_.hidden = !["running", "awaiting_approval", "awaiting_resolution"].includes(word);
    this.word = word;
    this.head();
  }

  head() {
    this.state.replaceChildren(this.takenOver ? chip("answer", `${this.takenOver} answers in person`) : this.word ? chip(this.word) : "");
    this.take_.textContent = this.takenOver ? "Hand back" : "Take over";
    this.form.hidden = this.takenOver !== me.name;
  }

  bubble(kind, who, item, { html, text, given }) {
    const body = make("div", { cls: `bubble text`, dir: "auto" });
    if (html) put(body, html);
    else { body.textContent = text; body.classList.add("plain"); }
    const made = make("div", { cls: `message ${kind}` }, make("div", { cls: "who soft" }, `${who}, `, make("time", { textContent: timeOf(item.at), dateTime: new Date(item.at * 1000).toISOString() })), body);
    if (given !== undefined && given.trim() !== body.textContent.trim()) made.append(details("As the model wrote it", given));
    this.add(made);
    return made;
  }

  callCard(item) {
    const state = make("span", {});
    const took = make("span", { cls: "soft" });
    const progress = make("div", { cls: "progress", hidden: true });
    const body = make("div", { cls: "call-body" },
      make("h4", { textContent: "Arguments" }),
      make("pre", { cls: "code", tabIndex: 0, dir: "ltr", textContent: item.text, attrs: { role: "region", "aria-label": `Arguments of ${item.name}` } }));
    const card = make("details", { cls: "call" },
      make("summary", {}, make("span", { cls: "tool", textContent: item.name }), state,
        item.effect ? chip("quiet", item.effect) : null,
        item.untrusted ? make("span", { cls: "chip warn", textContent: `after text of ${item.untrusted}` }) : null, took),
      progress, body);
    this.add(card);
    const made = { card, state, took, progress, body, name: item.name, times: this.turn?.times };
    if (item.invalid) body.append(make("p", { cls: "fault", textContent: item.invalid }));
    this.calls.set(item.id, made);
    this.mark(item.id, "requested");
  }

  mark(id, word) {
    const found = this.calls.get(id);
    if (found) found.state.replaceChildren(chip(word));
    return found;
  }

  say(id, name, ...value) {
    this.calls.get(id)?.body.append(make("p", { cls: "fact" }, make("strong", { textContent: `${name}: ` }), ...value));
  }

  result(id, text, isError) {
    const found = this.calls.get(id);
    if (!found) return;
    const name = isError ? "Result, an error" : "Result";
    found.body.append(make("h4", { textContent: name }),
      make("pre", { cls: `code${isError ? " bad" : ""}`, tabIndex: 0, dir: "auto", textContent: text, attrs: { role: "region", "aria-label": `${name} of ${found.name}` } }));
  }

  drop() {
    this.live?.row.remove();
    this.live = null;
  }
}

const TAKE = {
  conversation_started(f, item) {
    f.person.textContent = whoIs(item.principal);
    f.note(item, item.forked_from ? `forked from ${item.forked_from.conversation}` : `begun by ${whoIs(item.principal)}`);
  },
  identity_changed(f, item) {
    f.person.textContent = `${whoIs(item.principal)}, ${item.principal.level}`;
    f.note(item, `is now ${whoIs(item.principal)}, ${item.principal.level} (${wordOf(item.reason)})`);
  },
  messages_imported(f, item) {
    for (const said of item.said) {
      const who = said.staff ? f.takenOver ?? "staff" : said.role === "assistant" ? "Model" : "Customer";
      if (said.text) f.bubble(said.role === "assistant" ? "theirs" : "mine", who, item, said);
      for (const block of said.blocks) f.add(details("Another block", block));
    }
    named(f, item.said[0]?.text);
  },
  turn_started(f, item) {
    f.begin(item);
    if (item.text) f.bubble("mine", "Customer", item, { text: item.text });
    named(f, item.text);
  },
  turn_resumed(f, item) { f.note(item, "work goes on"); if (f.turn) f.turn.times.end = null; f.status("running"); },
  choice_guided(f, item) { f.note(item, "the tool choice was said in words"); },
  request_started(f, item) {
    f.turn?.times.start(`r${item.reply}`, "request", item.attempt > 1 ? `${item.number}, try ${item.attempt}` : String(item.number), item.at);
    f.note(item, `request ${item.number}${item.attempt > 1 ? `, try ${item.attempt}` : ""} to ${item.model}`);
  },
  delta(f, item) {
    if (f.live?.reply !== item.reply) {
      f.drop();
      const body = make("div", { cls: "bubble text plain", dir: "auto", attrs: { "aria-busy": "true" } });
      f.live = { reply: item.reply, length: 0, body, row: make("div", { cls: "message theirs live" }, make("div", { cls: "who soft", textContent: "Model, writing" }), body) };
      f.add(f.live.row);
      f.turn?.times.streams(`r${item.reply}`, serverNow());
    }
    if (item.offset !== 0 && item.offset !== f.live.length) return;
    if (item.offset === 0) f.live.body.textContent = visible(item.text);
    else f.live.body.append(visible(item.text));
    f.live.length = item.offset + [...item.text].length;
  },
  reply_received(f, item) {
    f.drop();
    f.turn?.times.stop(`r${item.reply}`, item.at, { failed: !item.kept, text: item.first_at ?? null });
    for (const block of item.blocks) {
      if (block.type === "thinking") f.add(details("Thinking", block.thinking || "(not shown by the API)"));
      else if (!["text", "tool_use"].includes(block.type)) f.add(details(wordOf(block.type), json(block)));
    }
    if (item.html) f.bubble("theirs", item.kept ? "Model" : "Model (not kept)", item, { html: item.html, text: "", given: item.given });
    for (const asked of item.calls) f.callCard(asked);
    const usage = item.usage ?? {};
    const parts = [`${count(usage.input_tokens ?? 0)} tokens in`, `${count(usage.output_tokens ?? 0)} out`];
    if (usage.cache_read_input_tokens) parts.push(`${count(usage.cache_read_input_tokens)} cached`);
    if (item.cost != null) parts.push(money(item.cost));
    f.note(item, `reply ${item.number}: ${wordOf(item.stop_reason ?? "no stop reason")}, ${parts.join(", ")}${item.reason ? `, ${wordOf(item.reason)}` : ""}`);
    if (f.caughtUp && item.given) say(`Model: ${item.given}`);
  },
  request_failed(f, item) {
    f.drop();
    f.turn?.times.stop(`r${item.reply}`, item.at, { failed: true });
    f.note(item, `request ${item.number} failed: ${item.kind}${item.status ? ` (${item.status})` : ""}: ${item.message}${item.delay != null ? `; again in ${span(item.delay)}` : ""}`);
  },
  call_rejected(f, item) { f.mark(item.call_id, "rejected"); f.say(item.call_id, "Not run", wordOf(item.reason)); f.result(item.call_id, item.result, true); },
  call_started(f, item) {
    const found = f.mark(item.call_id, "started");
    f.turn?.times.start(`c${item.call_id}`, "call", item.tool, item.at);
    if (found && !found.key) { found.key = item.key; f.say(item.call_id, "Key", make("code", { textContent: item.key })); }
  },
  progress(f, item) {
    const found = f.calls.get(item.call_id);
    if (!found) return;
    found.progress.hidden = false;
    const bar = make("progress", { max: 1, attrs: { "aria-label": `Progress of ${found.name}` } });
    if (item.fraction != null) bar.value = item.fraction;
    found.progress.replaceChildren(bar, make("span", { textContent: visible(item.message) }));
  },
  call_finished(f, item) {
    const found = f.mark(item.call_id, item.state);
    f.turn?.times.stop(`c${item.call_id}`, item.at, { failed: item.is_error });
    if (!found) return;
    found.progress.hidden = true;
    found.took.textContent = span(item.seconds);
    if (item.untrusted) f.say(item.call_id, "Untrusted text from", item.untrusted);
    if (item.error_id) f.say(item.call_id, "Error", `${item.error_id} (the log tells more)`);
    f.result(item.call_id, item.result, item.is_error);
    if (item.whole_length) found.body.append(whole(f, item));
  },
  approval_requested(f, item) {
    f.mark(item.call_id, "awaiting_approval");
    f.say(item.call_id, "Approval asked by", item.policy, item.policy_version && item.policy_version !== item.policy ? ` (${item.policy_version})` : "", `, ${dayOf(item.at)}, for ${whoIs(item.requester)}`);
  },
  approval_decided(f, item) {
    f.mark(item.call_id, item.decision);
    f.say(item.call_id, "Decided", `${wordOf(item.decision)} by ${item.by ? whoIs(item.by) : "nobody, in time"}, ${dayOf(item.at)}${item.reason ? `: ${item.reason}` : ""}`);
    if (item.text) {
      f.calls.get(item.call_id)?.body.append(make("h4", { textContent: "Arguments it runs with" }),
        make("pre", { cls: "code", tabIndex: 0, dir: "ltr", textContent: item.text, attrs: { role: "region", "aria-label": "Arguments it runs with" } }));
    }
    if (item.result) f.result(item.call_id, item.result, true);
  },
  call_unresolved(f, item) { f.mark(item.call_id, "outcome_unknown"); f.turn?.times.stop(`c${item.call_id}`, item.at, { failed: true }); },
  call_resolved(f, item) {
    f.mark(item.call_id, item.happened ? "resolved" : "approved");
    f.say(item.call_id, "Outcome", `${item.happened ? "it happened" : "it did not happen"}, says ${whoIs(item.by)}, ${dayOf(item.at)}${item.reason ? `: ${item.reason}` : ""}`);
    if (item.result) f.result(item.call_id, item.result, false);
  },
  turn_parked(f, item) {
    f.turn?.times.start("w", "wait", item.status === "awaiting_approval" ? "for approval" : "for an outcome", item.at);
    f.status(item.status);
    f.waits();
  },
  turn_woken(f, item) { f.turn?.times.stop("w", item.at); f.status("running"); f.waits(); },
  turn_warned(f, item) {
    if (item.code === "taken_over" || item.code === "handed_back") {
      f.takenOver = item.code === "taken_over" ? item.message : null;
      f.note(item, `${item.message} ${item.code === "taken_over" ? "took the conversation over" : "handed the conversation back"}`);
      f.head();
      if (f.caughtUp && f.takenOver === me.name) f.text.focus();
    } else f.note(item, `${wordOf(item.code)}: ${item.message}`);
  },
  turn_ended(f, item) {
    f.drop();
    f.turn?.times.over(item.at);
    f.status(item.status);
    f.note(item, `turn ended: ${wordOf(item.status)}${item.reason ? ` (${wordOf(item.reason)})` : ""}`);
    f.waits();
  },
  caught_up(f) {
    f.caughtUp = true;
    for (const turn of f.log.querySelectorAll(".turn")) turn.querySelector(".times").open = turn === f.turn?.box;
    if (f.turn) f.draw(f.turn);
    f.waits();
    f.scroll.scrollTop = f.scroll.scrollHeight;
  },
};

/** The conversation is called after what was said first. */
function named(f, text) {
  if (f.titled || !text) return;
  f.titled = true;
  const line = text.split(/\s+/).join(" ").trim();
  f.title.textContent = line.length > 80 ? `${line.slice(0, 79)}…` : line;
}

/** The rest of a result too long for the model, fetched when it is asked for. */
function whole(f, item) {
  const button = make("button", { type: "button", cls: "button small", textContent: `Show all of it (${count(item.whole_length)} characters)` });
  button.addEventListener("click", async () => {
    const event = await ask(`api/console/${f.path}/events/${item.seq}`).catch(() => null);
    if (event) button.replaceWith(make("pre", { cls: "code", tabIndex: 0, textContent: event.whole, attrs: { role: "region", "aria-label": "The whole result" } }));
  });
  return button;
}
