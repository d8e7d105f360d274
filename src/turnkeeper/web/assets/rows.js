// The rows of the customer's page, as elements; text goes in as text.

import { make, put, t, timeOf } from "./shared.js";

/** One message: who says it, what, and below it when, with a button that copies it. */
export function row(kind, body, { at, copy } = {}) {
  const meta = make("div", { cls: "meta" });
  if (at) meta.append(make("time", { dateTime: new Date(at * 1000).toISOString(), textContent: timeOf(at) }));
  if (copy) meta.append(copyButton(copy));
  return make("div", { cls: `row ${kind}` }, make("span", { cls: "hidden", textContent: `${t(`who_${kind}`)}: ` }), body, meta);
}

function copyButton(what) {
  const button = make("button", { type: "button", textContent: t("copy") });
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(what);
      button.textContent = t("copied");
    } catch {
      button.textContent = t("copy_failed");
    }
    setTimeout(() => { button.textContent = t("copy"); }, 2000);
  });
  return button;
}

/** The customer's own words. */
export const mine = (words, at) => row("mine", make("div", { cls: "bubble", dir: "auto", textContent: words }), { at });

/** A finished answer, as the server made it of its Markdown. */
export function answered(kind, item) {
  const body = make("div", { cls: "bubble text", dir: "auto" });
  put(body, item.html);
  return row(kind, body, { at: item.at, copy: item.text });
}

/** Somebody is writing. */
export const dots = () => make("span", { cls: "typing", attrs: { "aria-hidden": "true" } }, make("i"), make("i"), make("i"));
