// The page: a client of the server's API. For each address, a module asks for what is there and makes `<main>` of it.

import { ask, attempt } from "./api.js";
import { debounced, find, replaceKeeping } from "./dom.js";
import { editorPage } from "./edit.js";
import { valuesOf } from "./fields.js";
import { follow } from "./follow.js";
import { historyPage } from "./history.js";
import { listPage } from "./list.js";
import { promptPage } from "./prompt.js";
import { errorPage, listAddress, plain } from "./text.js";
import { decoded, editTokenPage, showIsKept, tokenPage } from "./token.js";

const search = find("#search");
const { query } = search.elements;
const isList = location.pathname === "/";

/** What is shown: `{ title, main }`, and `all` prompts, the `values` that are typed and `copy`, or an `editor`. */
let page = { main: find("#main") };

/** Returns the page at an address. All prompts and what was typed on the page `before` are used again. */
async function pageAt(url, before) {
  const { pathname, searchParams } = new URL(url);
  const [kind, ...folders] = pathname.slice(1).split("/");
  const name = decoded(folders.join("/"));
  if (name === null || !["", "prompts", "new", "edit", "history"].includes(kind)) {
    return errorPage("Not found", "There is no such page", "nothing is at this address");
  }
  try {
    const me = await ask("GET", "/api/me");
    if (kind === "") return await listPage(me, Object.fromEntries(searchParams), before.all);
    if (kind === "prompts") return await promptPage(me, name, before.values ?? valuesOf(searchParams));
    if (!me.may_edit) return editTokenPage(me);
    if (kind === "history") return await historyPage(name, searchParams.get("revision"));
    return await editorPage(me, kind === "new" ? null : name, searchParams.get("command") ?? "");
  } catch (refused) {
    if (refused.status === 401) return tokenPage(refused.token);
    // Otherwise what is on the page stays: another attempt may work.
    const isFinal = refused.status >= 400 && refused.status < 500 && refused.status !== 429;
    if (!isFinal) throw refused;
    return errorPage("Error", "This page cannot be shown", refused.message);
  }
}

let loads = 0;

/** Returns the page at an address; `null` if the server refuses it, or another page was asked for since. */
async function load(url) {
  loads += 1;
  const number = loads;
  const next = await attempt(() => pageAt(url, page));
  return number === loads ? next : null;
}

/** Shows a page in place of the one before. */
function show(next) {
  replaceKeeping(page.main, next.main);
  page = next;
  document.title = `${plain(page.title)} · prompt-expander`;
  // For screen readers, which do not announce that `<main>` is replaced.
  find("#announcement").textContent = page.main.querySelector(".count, .alone h1")?.textContent ?? "";
  showIsKept();
  page.editor?.check();
}

/** Returns the address of what is shown; that of a list with the words of the search. */
function address() {
  if (!isList) return location.href;
  const choices = Object.fromEntries(new URLSearchParams(location.search));
  return new URL(listAddress({ ...choices, query: query.value }), location).href;
}

/** Shows what the words of the search find. */
async function searchNow() {
  const url = address();
  const next = await load(url);
  if (!next) return;
  history.replaceState(null, "", url);
  show(next);
}

/** Shows this address as it is now. What is typed stays. */
async function refresh() {
  if (page.editor) return page.editor.update();
  page.all = null;
  const typed = JSON.stringify(page.values);
  const next = await load(address());
  if (!next) return;
  if (JSON.stringify(page.values) !== typed) return refresh();
  if (page.main.isEqualNode(next.main)) page.all = next.all;
  else show(next);
}

/** `/` goes to the search, Ctrl+Enter copies the text, Ctrl+S saves, and the arrow keys move through the list. */
function pressKey(event) {
  const { key, target } = event;
  const isCommand = event.ctrlKey || event.metaKey;
  if (event.isComposing) return;
  if (key === "/" && !isCommand && !event.altKey && !target.matches("input, textarea, select")) {
    event.preventDefault();
    query.focus();
    query.select();
  } else if (key === "Enter" && isCommand && target.closest("#form")) {
    event.preventDefault();
    page.copy();
  } else if (key === "s" && isCommand && page.editor) {
    page.editor.goOn(event);
  } else if (key === "ArrowDown" || key === "ArrowUp") {
    moveInList(event);
  }
}

/** Moves the focus through the search and the rows of the list below it. */
function moveInList(event) {
  const stops = [query, ...document.querySelectorAll(".rows a")];
  const index = stops.indexOf(document.activeElement);
  const next = index + (event.key === "ArrowDown" ? 1 : -1);
  if (index < 0 || !stops[next]) return;
  event.preventDefault();
  stops[next].focus();
}

if (isList) {
  query.value = new URLSearchParams(location.search).get("query") ?? "";
  search.addEventListener("input", debounced(90, searchNow));
  search.addEventListener("submit", (event) => {
    event.preventDefault();
    searchNow();
  });
}
addEventListener("keydown", pressKey);
addEventListener("beforeunload", (event) => {
  if (page.editor?.isDirty()) event.preventDefault();
});

const first = await load(location.href);
if (first) show(first);
if (!first?.asksForToken) follow(refresh);
