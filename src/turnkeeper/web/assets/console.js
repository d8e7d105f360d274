// The operator's console: who is signed in, which of its places is shown, and the news that each of them lives by.

import { ask, follow, Refused, themes } from "./shared.js";
import { inbox } from "./cards.js";
import { conversations } from "./conversations.js";
import { setClock } from "./drawing.js";
import { record, usage } from "./figures.js";

const $ = (id) => document.getElementById(id);
const way = document.documentElement.dataset.way;
const PLACES = { conversations, inbox, usage, record };

let me = null;
let close = () => {};
let shown = null;

/** Ask the console's API. Whoever is signed out by now gets the entrance, whatever they were doing. */
async function call(path, options) {
  try {
    const answer = await ask(`api/console/${path}`, options);
    if (answer.now) setClock(answer.now);
    return answer;
  } catch (error) {
    if (error instanceof Refused && error.status === 401 && me) leave();
    throw error;
  }
}

/** Which place the address names: [place, conversation]. */
function here() {
  const [place, ...rest] = location.hash.slice(1).split("/");
  if (place === "c" && rest.length) return ["conversations", decodeURIComponent(rest.join("/"))];
  return [Object.hasOwn(PLACES, place) ? place : "conversations", null];
}

function show() {
  if (!me) return;
  const [place, conversation] = here();
  for (const name of Object.keys(PLACES)) $(name).hidden = name !== place;
  for (const link of $("places").querySelectorAll("a")) {
    if (link.hash === `#${place}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (shown && shown !== place) PLACES[shown].leave?.();
  shown = place;
  PLACES[place].show({ call, me, conversation });
}

function changed() {
  if (!me) return;
  PLACES[shown]?.changed?.();
  if (shown !== "inbox") inbox.count({ call });
}

function enter(session) {
  me = session;
  setClock(session.now);
  $("entrance").hidden = true;
  $("places").hidden = false;
  $("me").hidden = false;
  $("me").textContent = session.name;
  $("leave").hidden = session.way === "proxy";
  $("leave").textContent = session.way === "demo" ? "Change name" : "Sign out";
  close();
  let timer = null;
  close = follow("api/console/changes", () => {
    clearTimeout(timer);
    timer = setTimeout(changed, 50);
  }, connection);
  inbox.count({ call });
  show();
}

let lost = null;

function connection(open) {
  clearTimeout(lost);
  if (open) $("banner").hidden = true;
  else lost = setTimeout(() => {
    $("banner").hidden = false;
    $("banner").textContent = "No connection. What is shown may be old; it goes on by itself.";
  }, 2500);
}

function leave() {
  me = null;
  close();
  clearTimeout(lost);
  $("banner").hidden = true;
  PLACES[shown]?.leave?.();
  for (const id of ["places", "me", "leave", ...Object.keys(PLACES)]) $(id).hidden = true;
  entrance();
}

const SAID = {
  password: "",
  demo: "This is a demo on your own machine: no password is asked for. Another name is another person.",
  proxy: "Sign in at the proxy in front of this service, then load this page again.",
  none: "This service has no staff. Start it with a staff file, or behind a proxy that signs staff in.",
};

function entrance() {
  $("entrance").hidden = false;
  $("way").textContent = SAID[way] ?? "";
  $("way").hidden = !$("way").textContent;
  $("fields").hidden = !["password", "demo"].includes(way);
  for (const id of ["password", "password-label"]) $(id).hidden = way === "demo";
  $("password").required = way === "password";
  $("wrong").hidden = true;
  $("password").value = "";
  $("name").focus();
}

$("entrance").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("wrong").hidden = true;
  try {
    enter(await ask("api/console/session", { body: { name: $("name").value.trim(), password: $("password").value } }));
    $("main").focus();
  } catch (error) {
    const wait = error.wait ? ` Try again in ${error.wait} s.` : "";
    $("wrong").textContent = error instanceof Refused ? `${error.message}.${wait}` : "The service can't be reached.";
    $("wrong").hidden = false;
    $("password").select();
  }
});

$("leave").addEventListener("click", async () => {
  await ask("api/console/session", { method: "DELETE" }).catch(() => {});
  leave();
});

addEventListener("hashchange", show);
themes($("theme"));

if (document.documentElement.dataset.signed) enter(await ask("api/console/session"));
else entrance();
