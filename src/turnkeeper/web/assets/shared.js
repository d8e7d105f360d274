// What both pages share. Server-made HTML enters a page through `put` and nowhere else: the policy below is the only one
// that the Content-Security-Policy allows.

const policy = globalThis.trustedTypes
  ? trustedTypes.createPolicy("turnkeeper", { createHTML: (html) => html })
  : { createHTML: (html) => html };

/** Put HTML that the server has made safe into an element. What may be wider than it can be scrolled with the keyboard. */
export function put(element, html) {
  element.innerHTML = policy.createHTML(html);
  for (const one of element.querySelectorAll("pre, table")) one.tabIndex = 0;
}

/** An element with properties, data and children; text children are text. */
export function make(tag, { cls, data, attrs, on, ...properties } = {}, ...children) {
  const element = document.createElement(tag);
  if (cls) element.className = cls;
  Object.assign(element, properties);
  for (const [name, value] of Object.entries(attrs ?? {})) if (value != null) element.setAttribute(name, value);
  Object.assign(element.dataset, data ?? {});
  for (const [name, handler] of Object.entries(on ?? {})) element.addEventListener(name, handler);
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

const phrases = JSON.parse(document.documentElement.dataset.phrases ?? "{}");

/** The phrase of that name in the page's language, with {places} filled in. */
export function t(name, values = {}) {
  return (phrases[name] ?? name).replace(/\{(\w+)\}/g, (_, place) => values[place] ?? "");
}

export class Refused extends Error {
  constructor(status, code, message, wait) {
    super(message);
    Object.assign(this, { status, code, wait });
  }
}

/** Ask the API. `body` makes it a POST of JSON. Refused for an answer that is no success, TypeError where none comes. */
export async function ask(path, { method, body, headers = {} } = {}) {
  const options = { method: method ?? (body === undefined ? "GET" : "POST"), headers: { ...headers }, cache: "no-store" };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["content-type"] = "application/json";
  }
  const answer = await fetch(path, options);
  const value = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    const { code = "http", message = answer.statusText } = value.error ?? {};
    throw new Refused(answer.status, code, message, Number(answer.headers.get("retry-after") ?? 0));
  }
  return value;
}

/** Do it again until it works or is refused for good: with longer and longer waits, and at once when the network is back. */
export async function patiently(action) {
  for (let wait = 1000; ; wait = Math.min(wait * 2, 15000)) {
    try {
      return await action();
    } catch (error) {
      if (error instanceof Refused && error.status < 500 && error.status !== 429) throw error;
      await pause(Math.max(wait, (error.wait ?? 0) * 1000));
    }
  }
}

const pause = (time) => new Promise((done) => {
  const timer = setTimeout(finish, time);
  function finish() { clearTimeout(timer); removeEventListener("online", finish); done(); }
  addEventListener("online", finish);
});

/** A random id, also where crypto.randomUUID isn't offered. */
export function fresh() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) => one.toString(16).padStart(2, "0")).join("");
}

/**
 * An event stream that comes back whatever happens: the browser does it after a lost connection, this after a refusal.
 * `take(item)` gets each item once, `state(open)` whether there is a connection; `refused()` is told of a refusal.
 */
export function follow(path, take, state = () => {}, refused = () => {}) {
  let source, timer, last = 0, wait = 1000, closed = false;
  const open = () => {
    source = new EventSource(last ? `${path}?after=${last}` : path);
    source.onopen = () => { wait = 1000; state(true); };
    source.onmessage = (event) => {
      const item = JSON.parse(event.data);
      if (item.seq !== undefined) {
        if (item.seq <= last) return;
        last = item.seq;
      }
      take(item);
    };
    source.onerror = () => {
      state(false);
      if (source.readyState !== EventSource.CLOSED || closed) return;
      refused();
      timer = setTimeout(open, wait);
      wait = Math.min(wait * 2, 15000);
    };
  };
  open();
  const now = () => { if (source.readyState !== EventSource.OPEN && !closed) { clearTimeout(timer); source.close(); open(); } };
  addEventListener("online", now);
  return () => { closed = true; clearTimeout(timer); source.close(); removeEventListener("online", now); };
}

const language = document.documentElement.lang;

export function timeOf(seconds) {
  return new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" }).format(seconds * 1000);
}

export function dayOf(seconds) {
  const options = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" };
  return new Intl.DateTimeFormat(language, options).format(seconds * 1000);
}

/** A <select> whose choice is kept: the page's theme. Nothing else is stored by name. */
export function themes(select) {
  const kept = localStorage.getItem("turnkeeper-theme") ?? "";
  const apply = (value) => {
    if (value) document.documentElement.dataset.theme = value;
    else delete document.documentElement.dataset.theme;
  };
  select.value = kept;
  apply(select.value);
  select.addEventListener("change", () => {
    localStorage.setItem("turnkeeper-theme", select.value);
    apply(select.value);
  });
}

/** The page in another language. */
export function languages(select) {
  select.addEventListener("change", () => {
    const url = new URL(location.href);
    url.searchParams.set("lang", select.value);
    location.assign(url);
  });
}
