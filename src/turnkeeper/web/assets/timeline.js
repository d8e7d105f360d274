// A turn drawn to scale: its requests, the part of each in which text streamed in, its calls, its waits for people. It is a
// table whose cells hold bars, so that what is drawn is also what is read out.

import { make } from "./shared.js";
import { span } from "./drawing.js";

/**
 * One turn's times, gathered from its events. A bar has a kind (`request`, `call`, `wait`), a name, where it begins and
 * ends (null while it goes on) and, for a request, where its text began.
 */
export class Times {
  constructor(at) {
    this.begin = at;
    this.end = null;
    this.bars = [];
    this.open = new Map();
  }

  start(key, kind, name, at) {
    const bar = { kind, name, from: at, to: null, text: null, failed: false };
    this.bars.push(bar);
    this.open.set(key, bar);
  }

  stop(key, at, { failed = false, text = null } = {}) {
    const bar = this.open.get(key);
    if (!bar) return;
    this.open.delete(key);
    Object.assign(bar, { to: at, failed, text: text ?? bar.text });
  }

  /** Text of that request has begun to come. */
  streams(key, at) {
    const bar = this.open.get(key);
    if (bar && bar.text === null) bar.text = Math.max(at, bar.from);
  }

  over(at) {
    for (const key of [...this.open.keys()]) this.stop(key, at);
    this.end = at;
  }

  /** Until when the drawing goes. */
  until(now) {
    return Math.max(this.end ?? now, ...this.bars.map((bar) => bar.to ?? bar.from), this.begin);
  }
}

const KIND = { request: "Request", call: "Call", wait: "Wait" };

/** Draw the times into an element. `withWaits` false cuts out the waits for people: the scale is that of the work. */
export function drawTimes(element, times, now, withWaits = true) {
  const bars = times.bars.filter((bar) => withWaits || bar.kind !== "wait");
  const cuts = withWaits ? [] : times.bars.filter((bar) => bar.kind === "wait").map((bar) => [bar.from, bar.to ?? now]);
  const place = (at) => at - times.begin - cuts.reduce((sum, [from, to]) => sum + Math.max(Math.min(at, to) - Math.min(at, from), 0), 0);
  const whole = Math.max(place(times.until(now)), 0.001);
  const share = (seconds) => `${Math.min(Math.max((seconds / whole) * 100, 0), 100).toFixed(3)}%`;
  const bar = (kind, from, to) => {
    const made = make("span", { cls: `bar ${kind}`, attrs: { "aria-hidden": "true" } });
    made.style.insetInlineStart = share(place(from));
    made.style.width = share(place(to) - place(from));
    return made;
  };
  const rows = bars.map((one) => {
    const to = one.to ?? now;
    const track = make("div", { cls: "track" }, bar(one.failed ? "failed" : `a-${one.kind}`, one.from, to));
    if (one.text !== null && one.text <= to) track.append(bar("a-text", one.text, to));
    const words = [span(to - one.from)];
    if (one.to === null) words.push("so far");
    if (one.text !== null) words.push(`first text after ${span(one.text - one.from)}`);
    if (one.failed) words.push("failed");
    return make("tr", {}, make("th", { attrs: { scope: "row" } }, `${KIND[one.kind]} `, make("span", { cls: "what", textContent: one.name })),
      make("td", { cls: "drawn" }, track), make("td", { cls: "took" }, words.join(", ")));
  });
  element.replaceChildren(make("table", { cls: "timeline" },
    make("caption", { textContent: `${span(whole)} from beginning to ${times.end === null ? "now" : "end"}${withWaits ? "" : ", waits for people left out"}` }),
    make("colgroup", {}, ["c1", "c2", "c3"].map((cls) => make("col", { cls }))),
    make("thead", { cls: "hidden" }, make("tr", {}, ["What", "When", "How long"].map((head) => make("th", { textContent: head, attrs: { scope: "col" } })))),
    make("tbody", {}, rows)));
}
