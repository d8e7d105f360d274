// What conversations cost, as a plot with its table beside it, and the record of who did what.

import { dayOf, make } from "./shared.js";
import { count, draw, money, table, visible, whoIs, wordOf } from "./drawing.js";

const $ = (id) => document.getElementById(id);

let call = null;
let asked = 0;

// ----- usage -----------------------------------------------------------------------------------------------------------

/** Round values for an axis that reaches `most`. */
export function steps(most) {
  if (!(most > 0)) return [0, 1];
  const size = 10 ** Math.floor(Math.log10(most));
  const step = [0.2, 0.5, 1, 2].map((one) => one * size).find((one) => most / one <= 5) ?? 2 * size;
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, n) => Number((n * step).toPrecision(12)));
}

function plot(days) {
  const narrow = matchMedia("(max-width: 700px)").matches;
  const [width, height, left, bottom, top] = [narrow ? 350 : 760, narrow ? 200 : 240, 64, 26, 10];
  const marks = steps(Math.max(...days.map((one) => Number(one.cost))));
  const most = marks.at(-1);
  const y = (value) => height - bottom - (value / most) * (height - bottom - top);
  const room = (width - left) / days.length;
  const every = Math.ceil(days.length / (narrow ? 4 : 8));
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "plot", role: "img", "aria-label": `Cost by day, ${days[0].day} to ${days.at(-1).day}; the table below has the figures` },
    marks.map((mark) => [
      draw("line", { x1: left, x2: width, y1: y(mark), y2: y(mark), class: "grid" }),
      draw("text", { x: left - 8, y: y(mark) + 4, class: "mark end" }, money(mark)),
    ]),
    days.map((one, n) => [
      Number(one.cost) > 0 ? draw("rect", { x: left + n * room + room * 0.12, y: y(Number(one.cost)), width: room * 0.76, height: Math.max(height - bottom - y(Number(one.cost)), 1), class: "column", rx: Math.min(3, room * 0.2) },
        draw("title", {}, `${one.day}: ${money(one.cost, one.priced)}`)) : null,
      n % every === 0 ? draw("text", { x: left + n * room + room / 2, y: height - 8, class: "mark middle" }, one.day.slice(5)) : null,
    ]));
}

const HEADS = ["Requests", "In", "Cached", "Written", "Out", "Cost"];
const RIGHT = [1, 2, 3, 4, 5, 6];
const cells = (one) => [count(Math.round(one.requests * 1000) / 1000), count(one.input_tokens), count(one.cached_tokens), count(one.written_tokens), count(one.output_tokens), money(one.cost, one.priced)];

function part(title, name, rows, cell = (one) => one[name]) {
  return make("section", { cls: "panel" }, make("h3", { textContent: title }),
    rows.length ? table(title, [title, ...HEADS], rows.map((one) => [cell(one), ...cells(one)]), { right: RIGHT }) : make("p", { cls: "soft", textContent: "Nothing." }));
}

async function load() {
  const mine = ++asked;
  const days = $("days").value;
  $("usage-csv").href = `api/console/usage.csv?days=${days}`;
  for (;;) {
    const found = await call(`usage?days=${days}`).catch(() => null);
    if (!found || mine !== asked) return;
    const { total } = found;
    $("figures").replaceChildren(
      make("dl", { cls: "sums" }, [
        ["Cost", money(total.cost, total.priced)], ["Requests", count(total.requests)], ["Tokens in", count(total.input_tokens)],
        ["Tokens out", count(total.output_tokens)], ["Conversations", count(found.conversations)],
      ].map(([name, value]) => make("div", { cls: "panel" }, make("dt", { textContent: name }), make("dd", { textContent: value })))),
      ...(found.left_out ? [make("p", { cls: "soft", textContent: "There are more conversations than figures are kept of; the oldest are left out." })] : []),
      ...(found.complete ? [] : [make("p", { cls: "soft", textContent: "Older conversations are being read; the figures grow." })]),
      make("section", { cls: "panel" }, make("h3", { textContent: "Cost by day (UTC)" }), plot(found.days),
        make("details", { cls: "more" }, make("summary", { textContent: "As a table" }),
          table("Cost by day", ["Day", ...HEADS], found.days.map((one) => [one.day, ...cells(one)]), { right: RIGHT }))),
      part("Model", "model", found.models),
      part("Read results of", "tool", found.tools),
      part("Conversation", "id", found.dearest, (one) => make("a", { href: `#c/${encodeURIComponent(one.id)}`, textContent: visible(one.id) })));
    if (found.complete) return;
  }
}

export const usage = {
  show(given) { ({ call } = given); load(); },
  leave() { asked += 1; $("figures").replaceChildren(); },
};

$("days").addEventListener("change", load);

// ----- the record ------------------------------------------------------------------------------------------------------

const GOOD = { signed_in: "quiet", signed_out: "quiet", sign_in_refused: "bad", approved: "good", edited: "good", denied: "bad", expired: "bad", happened: "good", did_not_happen: "warn", taken_over: "warn", handed_back: "quiet", exported: "quiet" };

async function entries(more = false) {
  const mine = ++asked;
  const month = $("month").value;
  const before = more ? $("entries").querySelectorAll("tbody tr").length : 0;
  let found;
  do {
    found = await call(`audit?offset=${before}&month=${encodeURIComponent(month)}`).catch(() => null);
    if (!found || mine !== asked) return;
  } while (!found.complete && found.entries.length < 100);
  if (!month) $("month").value = found.month;
  $("record-csv").href = `api/console/audit.csv?month=${found.month}`;
  const rows = found.entries.map((one) => [
    dayOf(one.at), make("span", { cls: `chip ${GOOD[one.what] ?? "quiet"}`, textContent: wordOf(one.what) }),
    one.who ? whoIs(one.who) : "", one.tool,
    one.conversation ? make("a", { href: `#c/${encodeURIComponent(one.conversation)}`, textContent: "conversation", title: one.conversation }) : "", one.about]);
  const made = table("Entries of the record", ["When", "What", "Who", "Tool", "Where", "About"], rows);
  if (more) $("entries").querySelector("tbody").append(...made.querySelectorAll("tbody tr"));
  else $("entries").replaceChildren(rows.length ? made : make("p", { cls: "soft", textContent: "Nothing in this month." }));
  $("entries").querySelector(".button")?.remove();
  if (found.next !== null) {
    const button = make("button", { type: "button", cls: "button", textContent: "Show more" });
    button.addEventListener("click", () => entries(true));
    $("entries").append(button);
  }
}

export const record = {
  show(given) { ({ call } = given); entries(); },
  leave() { asked += 1; $("entries").replaceChildren(); },
};

$("month").addEventListener("change", () => entries());
