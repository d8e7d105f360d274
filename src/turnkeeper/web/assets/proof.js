// What stands beside the chat: the form for one-time codes, cards with what is the customer's own to confirm, and who
// they are to the service. All of it is made of what the server says of its own records; nothing of the chat's text ever
// becomes a card or a form.

import { ask, make, Refused, t } from "./shared.js";

const $ = (id) => document.getElementById(id);

/**
 * `say(words)` tells screen readers, `admitted(yes)` is called when it is known whether the conversation is open to
 * whoever sits there, `asked()` when the server has to be asked again for another reason than this.
 */
export function beside(host, { say, admitted }) {
  let conversation = null, shown = null, asking = 0, clock = null, ended = "";

  const path = (what = "") => `api/conversations/${encodeURIComponent(conversation)}/proof${what}`;

  /** Ask the server what there is to prove and to confirm; the newest answer counts. */
  async function refresh() {
    if (!conversation) return;
    const number = ++asking;
    let found;
    try {
      found = await ask(path());
    } catch (error) {
      if (error instanceof Refused && error.status === 404 && number === asking) admitted(true); // it begins with its first message
      return;
    }
    if (number === asking) draw(found);
  }

  /** Another conversation, or none. */
  function turnTo(name) {
    asking += 1;
    conversation = name;
    ended = "";
    draw(null);
  }

  function draw(found) {
    const before = JSON.stringify(shown), had = shown?.code;
    shown = found;
    if (found && JSON.stringify(found) === before) { admitted(found.admitted); return; }
    clearInterval(clock);
    if (found && had && !found.code && found.admitted && ended === "used_up" && !proven(found)) return;
    // whoever is writing is not interrupted
    const at = document.activeElement, focused = host.contains(at) || at === document.body || (at === $("text") && !at.value);
    host.replaceChildren();
    if (found) {
      if (!found.admitted && !found.code) host.append(proveAgain());
      if (found.code) host.append(codeForm(found.code));
      for (const card of found.code ? [] : found.cards) host.append(actionCard(card));
      if (found.new_contact && !found.code) host.append(newContact());
      if (found.code || found.cards.length || found.new_contact || !found.admitted) announce(found);
      admitted(found.admitted);
    }
    host.hidden = !host.childElementCount;
    $("who").hidden = !proven(found);
    if (focused && !host.hidden) host.querySelector("input, button.primary")?.focus();
    else if (focused) $("text").focus();
  }

  const proven = (found) => ["confirmed", "signed_in", "step_up"].includes(found?.level);

  function announce(found) {
    say(found.code ? `${t("code_title")}. ${sentTo(found.code)}` : host.querySelector("h2")?.textContent ?? "");
  }

  const sentTo = (code) => (code.sent_to ? t("code_sent", { to: code.sent_to }) : t("code_identify"));

  /** A card with a heading and a line for what went wrong. */
  function card(heading, ...parts) {
    const id = `card-${Math.random().toString(36).slice(2)}`;
    const problem = make("p", { cls: "problem", attrs: { role: "alert" } });
    const made = make("section", { cls: "card", attrs: { "aria-labelledby": id } }, make("h2", { id, textContent: heading }), ...parts, problem);
    made.line = problem;
    made.problem = (words) => { problem.textContent = words; };
    return made;
  }

  /** Carry out a wish, once at a time; what the server refuses stands on the card. */
  async function carry(made, what, body, then = () => {}) {
    if (made.busy) return;
    const busy = (yes) => {
      made.busy = yes;
      for (const button of made.querySelectorAll("button")) button.disabled = yes;
    };
    busy(true);
    const of = conversation;
    try {
      const answer = await ask(path(what), { body });
      busy(false);
      if (of !== conversation) return;
      asking += 1;
      if (answer.refused) made.problem(refusal(answer.refused));
      else if (!then(answer)) draw(answer.proof);
    } catch (error) {
      busy(false);
      if (of !== conversation) return;
      made.problem(error.code === "card_gone" ? t("card_gone") : t("refused_other"));
      if (error.code === "card_gone") setTimeout(refresh, 2000);
    }
  }

  function codeForm(code) {
    ended = "";
    const field = make("input", {
      type: "text", name: "code", inputMode: "numeric", autocomplete: "one-time-code", maxLength: 20, required: true,
      cls: "code", dir: "ltr", attrs: { "aria-describedby": "code-about", spellcheck: "false" },
    });
    const left = make("span", { textContent: t("code_tries", { count: code.tries_left }) });
    const time = make("span");
    const again = make("button", { type: "button", cls: "button", textContent: t("code_again") });
    const confirm = make("button", { type: "submit", cls: "button primary", textContent: t("code_confirm") });
    const entry = make("div", { cls: "entry" }, make("label", {}, make("span", { textContent: t("code_field") }), field), confirm);
    const form = make("form", { autocomplete: "off" },
      make("p", { id: "code-about", textContent: `${sentTo(code)} ${t("code_note")}` }), entry,
      make("div", { cls: "soft" }, left, time, again));
    const made = card(t("code_title"), form);
    entry.after(made.line);
    const over = (why) => { // the form has nothing to try any more; a new code can be sent
      clearInterval(clock);
      ended = why;
      made.problem(t(`code_${why}`));
      for (const one of [entry, left, time]) one.hidden = true;
      again.focus();
    };
    const tick = () => {
      const seconds = Math.max(0, Math.round(code.expires_at - Date.now() / 1000));
      time.textContent = t("code_time", { time: `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}` });
      if (!seconds) over("expired");
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      carry(made, "/code", { code: field.value }, (answer) => {
        if (answer.outcome === "right") {
          say(t(answer.purpose === "new_contact" ? "code_right_contact" : "code_right"));
          return false;
        }
        field.value = "";
        if (answer.outcome !== "wrong") { made.problem(answer.text); return true; }
        shown = answer.proof;
        if (!answer.proof.code) over("used_up");
        else {
          left.textContent = t("code_tries", { count: answer.proof.code.tries_left });
          made.problem(t("code_wrong"));
          field.focus();
        }
        return true;
      });
    });
    again.addEventListener("click", () => carry(made, "/again", {}, (answer) => {
      say(t("code_again_done"));
      shown = null;
      draw(answer.proof);
      return true;
    }));
    tick();
    clock = setInterval(tick, 1000);
    return made;
  }

  function actionCard(one) {
    const facts = make("dl", {}, one.facts.map(({ name, value }) => make("div", {},
      make("dt", { textContent: t(`fact_${name}`) }), make("dd", { dir: "auto", textContent: value }))));
    const confirm = make("button", { type: "button", cls: "button primary", textContent: t(one.by === "code" ? "card_confirm_code" : "card_confirm") });
    const withdraw = make("button", { type: "button", cls: "button", textContent: t("card_withdraw") });
    const made = card(t("card_title"), make("p", { cls: "action", textContent: t(`card_${one.action}`) }), facts,
      make("div", { cls: "buttons" }, confirm, withdraw));
    const decide = (decision) => carry(made, "/card", { id: one.id, digest: one.digest, decision });
    confirm.addEventListener("click", () => decide("confirm"));
    withdraw.addEventListener("click", () => decide("withdraw"));
    return made;
  }

  function newContact() {
    const send = make("button", { type: "button", cls: "button primary", textContent: t("contact_send") });
    const made = card(t("contact_title"), make("p", { textContent: t("contact_text") }), make("div", { cls: "buttons" }, send));
    send.addEventListener("click", () => carry(made, "/new-contact", {}));
    return made;
  }

  function proveAgain() {
    const field = make("input", { type: "text", name: "contact", autocomplete: "email", maxLength: 254, required: true, dir: "auto" });
    const send = make("button", { type: "submit", cls: "button primary", textContent: t("prove_send") });
    const form = make("form", {}, make("p", { textContent: t("prove_text") }),
      make("div", { cls: "entry" }, make("label", {}, make("span", { textContent: t("prove_field") }), field), send));
    const made = card(t("prove_title"), form);
    form.addEventListener("submit", (event) => { event.preventDefault(); carry(made, "/contact", { contact: field.value.trim() }); });
    return made;
  }

  return { refresh, turnTo };
}

/** What became of a message that was none for the assistant, in the page's language. */
export function refusal({ code, text }) {
  const words = t(`refused_${code}`);
  return words === `refused_${code}` ? text ?? t("refused_other") : words;
}
